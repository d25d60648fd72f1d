"""Jobs of higher tiers preempt those of lower tiers. Which jobs, when their nodes are used, and their outcome."""

import numpy as np
import pytest

from hpcdispatch.dispatchers import Slurm
from hpcdispatch.models.slurm.jobs import Cluster, SlurmQueue, SlurmRun, job_table
from hpcdispatch.models.slurm.main_scheduler import main_pass
from hpcdispatch.models.slurm.preemption import Preemption
from hpcdispatch.simulation import check, simulate
from hpcdispatch.workloads import Job, MachineState, RunningSince, Workload
from hpcdispatch.workloads.slurm_conf import read_slurm_conf

CONF = """NodeName=n[1-4] CPUs=4
PreemptType=preempt/partition_prio
PreemptMode={}
SchedulerParameters=bf_interval=5,bf_resolution=1,batch_sched_delay=0
PartitionName=low Nodes=ALL PriorityTier=1
PartitionName=high Nodes=ALL PriorityTier=2
PartitionName=safe Nodes=ALL PriorityTier=1 PreemptMode=OFF
"""


@pytest.fixture
def run(tmp_path):
    """Simulate jobs (submit, runtime, whole nodes, partition); return the result."""

    def simulated(*jobs, mode="REQUEUE", state=None, more="", **options):
        (tmp_path / "slurm.conf").write_text(CONF.format(mode) + more)
        machine = read_slurm_conf(tmp_path / "slurm.conf").machine()
        made = [
            Job(str(place), submit, runtime, 600, nodes, {"core": 4, f"partition/{queue}": 1}, queue=queue)
            for place, (submit, runtime, nodes, queue) in enumerate(jobs)
        ]
        workload = Workload(tuple(made), machine)
        result = simulate(workload, Slurm(config=str(tmp_path / "slurm.conf"), **options), state=state)
        check(workload, result)
        return result

    return simulated


def stays(result):
    return [(row.id, row.start, row.end, row.outcome) for row in result.attempts.itertuples()]


def test_a_job_of_a_higher_tier_starts_a_second_after_it_stopped_others(run):
    found = stays(run((0, 100, 4, "low"), (10, 50, 4, "high")))
    assert ("0", 0, 10, "killed") in found
    assert ("1", 11, 61, "completed") in found


def test_what_was_stopped_starts_anew_two_minutes_later(run):
    result = run((0, 100, 4, "low"), (10, 50, 4, "high"))
    (again,) = [start for id_, start, _, outcome in stays(result) if id_ == "0" and outcome == "completed"]
    assert 10 + 122 <= again <= 10 + 122 + 5
    assert result.jobs["end"].tolist()[0] == again + 100


@pytest.mark.parametrize(("mode", "more"), [("CANCEL", ""), ("REQUEUE", "JobRequeue=0\n")])
def test_what_is_cancelled_does_not_come_back(run, mode, more):
    result = run((0, 100, 4, "low"), (10, 50, 4, "high"), mode=mode, more=more)
    assert result.jobs["status"].tolist() == ["rejected", "completed"]
    assert result.jobs["reason"].tolist()[0] == "a job that comes before it stopped it"
    assert ("1", 11, 61, "completed") in stays(result)


@pytest.mark.parametrize(
    "given",
    [{"mode": "OFF"}, {"mode": "SUSPEND,GANG"}, {"PreemptType": "preempt/none"}, {"PreemptType": "preempt/qos"}],
)
def test_without_it_no_job_gives_way(run, given):
    assert stays(run((0, 100, 4, "low"), (10, 50, 4, "high"), **given))[0] == ("0", 0, 100, "completed")


def test_equal_tiers_and_partitions_without_it_do_not_give_way(run):
    assert stays(run((0, 100, 4, "low"), (10, 50, 4, "low")))[0] == ("0", 0, 100, "completed")
    assert stays(run((0, 100, 4, "safe"), (10, 50, 4, "high")))[0] == ("0", 0, 100, "completed")


def test_no_job_is_stopped_while_there_is_room(run):
    assert all(stay[3] == "completed" for stay in stays(run((0, 100, 2, "low"), (10, 50, 2, "high"))))


def test_the_job_on_the_fewest_nodes_gives_way(run):
    found = stays(run((0, 100, 3, "low"), (0, 100, 1, "low"), (10, 50, 1, "high")))
    assert [stay[0] for stay in found if stay[3] == "killed"] == ["1"]


def test_backfill_stops_jobs_too(run):
    # The first of the higher tier waits for nodes that no job releases. It takes them from the second.
    jobs = (0, 300, 3, "safe"), (0, 300, 1, "low"), (10, 50, 3, "high"), (11, 50, 1, "high")
    found = stays(run(*jobs))
    assert any(stay[0] == "1" and stay[3] == "killed" for stay in found)
    assert next(start for id_, start, _, _ in found if id_ == "3") < 30


def test_a_job_that_ran_at_the_beginning_gives_way(run):
    state = MachineState(5, (RunningSince("0", 1),))
    assert ("0", 1, 10, "killed") in stays(run((0, 100, 4, "low"), (10, 50, 4, "high"), state=state))


QOS = """Name|Priority|Preempt|PreemptMode
low|0||cluster
mid|5|low|{}
high|9|mid|cluster
"""


@pytest.mark.parametrize(
    ("first", "second", "mode", "killed"),
    [
        ("low", "mid", "cluster", True),
        ("mid", "high", "requeue", True),
        ("mid", "high", "off", False),
        ("low", "high", "cluster", False),  # It is not named, though its priority is lower.
        ("mid", "low", "cluster", False),
        ("", "high", "cluster", False),
    ],
)
def test_jobs_give_way_to_the_qualities_of_service_that_name_theirs(tmp_path, first, second, mode, killed):
    (tmp_path / "slurm.conf").write_text(CONF.format("REQUEUE").replace("partition_prio", "qos"))
    (tmp_path / "qos.txt").write_text(QOS.format(mode))
    made = [
        Job(str(place), at, 50, 600, 4, {"core": 4, "partition/low": 1}, queue="low", qos=qos)
        for place, (at, qos) in enumerate([(0, first), (10, second)])
    ]
    workload = Workload(tuple(made), read_slurm_conf(tmp_path / "slurm.conf").machine())
    slurm = Slurm(config=str(tmp_path / "slurm.conf"), limits=str(tmp_path / "qos.txt"))
    found = stays(simulate(workload, slurm))
    assert (("0", 0, 10, "killed") in found) is killed
    assert ("1", 11 if killed else 50, 61 if killed else 100, "completed") in found


def stopped(held, nodes, wanted, of=6):
    """Return the running jobs (tiers, nodes) that are stopped for a job of so many nodes."""
    width = np.array([len(each) for each in nodes])
    nothing = np.zeros((1, 1), int)
    tried = SlurmQueue(*map(np.array, ([0], [wanted], [True], [[1]], [60], nothing, nothing, [len(nodes)])))
    rows = [SlurmRun(1000, np.array(each), np.ones(len(each), int), (1,)) for each in nodes]
    order = np.lexsort((width, held))
    gives_way = np.tri(6, 6, -1, dtype=bool)  # Those of lower classes do.
    preemption = Preemption(np.array([5]), np.array(held), gives_way, order, np.full(len(held), -1))
    cluster = Cluster(np.zeros((of, 1), int), np.ones((1, of), bool), 0, np.ones(of, int))
    assert main_pass(tried, cluster, stopping=(job_table(rows, tried, of), preemption)) == []
    return np.flatnonzero(preemption.by == 0).tolist()


def test_the_lowest_tier_and_the_fewest_nodes_come_first():
    assert stopped([2, 1, 1], [[0], [1, 2], [3]], 1) == [2]
    assert stopped([2, 1, 1], [[0], [1, 2], [3]], 3) == [1, 2]


def test_those_that_give_most_are_taken_first_the_second_time():
    # One node after the other would be taken before the three. Then the three alone are enough.
    assert stopped([1, 1, 1], [[0], [1], [3, 4, 5]], 3) == [2]


def test_jobs_that_are_not_enough_are_not_stopped():
    assert stopped([1, 5], [[0, 1], [2, 3, 4, 5]], 3) == []
