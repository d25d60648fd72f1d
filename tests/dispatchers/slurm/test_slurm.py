"""When the parts of Slurm run, and that it keeps to a configuration."""

import pytest

from hpcdispatch.base import InputError
from hpcdispatch.dispatchers import Slurm, create_dispatcher
from hpcdispatch.simulation import check, simulate
from hpcdispatch.workloads import Job, Machine, Workload
from hpcdispatch.workloads.slurm_conf import read_slurm_conf

NODES = Machine.homogeneous(2, core=4)
CONF = """NodeName=n[1-4] CPUs=4
KillWait=2
PriorityWeightPartition=100
PriorityDecayHalfLife=00:10:00
SchedulerParameters=bf_interval=5,bf_continue,bf_resolution=1
PartitionName=short Nodes=n[1-4] MaxTime=2 PriorityJobFactor=100
PartitionName=long Nodes=n[1-2] MaxTime=10 PriorityJobFactor=20
"""


def starts(jobs, machine=NODES, dispatcher="slurm", **options):
    """Return the starts of jobs (submit, runtime, walltime, slots, per node[, more fields])."""
    made = [
        Job(str(index), submit, runtime, walltime, nodes=slots, per_node=per_node, **(more[0] if more else {}))
        for index, (submit, runtime, walltime, slots, per_node, *more) in enumerate(jobs)
    ]
    workload = Workload(tuple(made), machine)
    result = simulate(workload, dispatcher, **options)
    check(workload, result)
    return result.jobs["start"].tolist()


@pytest.fixture
def conf(tmp_path):
    path = tmp_path / "slurm.conf"
    path.write_text(CONF)
    return path


def test_the_main_scheduler_runs_no_sooner_than_its_delay_after_the_last_time():
    one = {"core": 1}
    assert starts([(0, 9, 60, 1, one), (1, 9, 60, 1, one), (7, 9, 60, 1, one)]) == [0, 3, 7]
    assert starts([(0, 9, 60, 1, one), (1, 9, 60, 1, one)], dispatcher="slurm:batch_sched_delay=0") == [0, 1]


def test_a_job_behind_one_that_waits_is_left_to_backfill():
    whole = {"core": 4}
    jobs = [(0, 600, 600, 1, whole), (1, 60, 600, 2, whole), (2, 60, 60, 1, whole)]
    assert starts(jobs) == [0, 600, 30]
    assert starts(jobs, dispatcher="slurm:bf_interval=7") == [0, 600, 7]


def test_partitions_have_their_nodes_and_their_factor(conf):
    machine = read_slurm_conf(conf).machine()
    job = (0, 60, 120, 1, {"core": 4, "partition/long": 1}, {"queue": "long"})
    short = (0, 60, 120, 1, {"core": 4, "partition/short": 1}, {"queue": "short"})
    found = starts([job, job, job, short, short], machine, Slurm(config=str(conf)))
    # The short ones go first. No long one gets nodes 1 and 2 before they end.
    assert sorted(found[3:]) == [0, 0]
    assert sorted(found[:3]) == [60, 60, 120]


def test_options_beside_a_configuration_come_first(conf):
    made = create_dispatcher(f"slurm:config={conf},bf_interval=9")
    assert made._rules.bf_interval == 9
    assert made._rules.bf_resolution == 1
    assert made._rules.KillWait == 2
    assert create_dispatcher(f"slurm:config={conf},bf_interval=30")._rules.bf_interval == 30  # its default
    assert made._rules.PriorityDecayHalfLife == "00:10:00"


def test_slots_that_ask_for_it_lie_on_different_nodes():
    machine = Machine.homogeneous(3, core=4, node=4)
    workload = Workload(
        (Job("a", 0, 60, 60, nodes=3, per_node={"core": 1, "node": 1}), Job("b", 0, 60, 60, 3)), machine
    )
    placement = simulate(workload, "slurm").attempts.set_index("id")["placement"]
    assert sorted(placement["a"].tolist()) == [0, 1, 2]
    assert placement["b"].tolist() == [0, 0, 0]


def test_a_job_that_its_partition_never_has_room_for_is_rejected(conf):
    workload = Workload(
        (Job("a", 0, 60, 60, nodes=3, per_node={"core": 4}, queue="long"),), Machine.homogeneous(4, core=4)
    )
    jobs = simulate(workload, Slurm(config=str(conf))).jobs
    assert jobs["reason"].tolist() == ["Requested node configuration is not available"]


def test_usage_is_charged_at_the_tick_and_lowers_a_user():
    whole = {"core": 4}
    ann = {"user": "ann", "group": "a"}
    ben = {"user": "ben", "group": "b"}
    jobs = [(0, 400, 420, 2, whole, ann), (301, 60, 60, 2, whole, ann), (302, 60, 60, 2, whole, ben)]
    assert starts(jobs, dispatcher="slurm:PriorityWeightFairshare=100,PriorityCalcPeriod=5") == [0, 460, 400]
    assert starts(jobs, dispatcher="slurm") == [0, 400, 460]
    shares = "slurm:PriorityWeightFairshare=100,shares=a=0;b=1"
    assert starts([(0, 60, 60, 2, whole), *jobs[1:]], dispatcher=shares)[1:] == [301, 361]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("bf_interval=0", "bf_interval must be a whole number >= 1"),
        ("PriorityMaxAge=soon", "PriorityMaxAge must be a time such as 5, 00:10:00 or 7-0, got 'soon'"),
        ("PriorityCalcPeriod=0", "PriorityCalcPeriod must be above 0, got '0'"),
        ("shares=a", "shares must be parts NAME=N with ; between, got 'a'"),
        ("bf_intervall=3", "unknown option 'bf_intervall'"),
    ],
)
def test_values_out_of_range_are_refused(spec, message):
    with pytest.raises(InputError, match=message):
        create_dispatcher(f"slurm:{spec}")


def test_a_configuration_of_another_machine_is_refused(conf):
    with pytest.raises(Exception, match="expected the 2 nodes of the machine, got 4"):
        starts([(0, 1, 1, 1, {"core": 1})], dispatcher=Slurm(config=str(conf)))
