"""Heterogeneous jobs, numbers of nodes of tasks, attempts of preempted jobs, and reservations known from their jobs."""

import warnings

import pytest

from hpcdispatch.analysis.site_cases import SiteRecord
from hpcdispatch.analysis.site_scenarios import Texts
from hpcdispatch.simulation import UnheededWarning, check, simulate
from hpcdispatch.workloads import Job, Machine, Workload
from hpcdispatch.workloads.slurm_workload import slurm_workload

CONF = """NodeName=s[1-4] CPUs=4 Feature=small
NodeName=b[1-2] CPUs=8 Feature=big
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=bf_interval=10,bf_resolution=10
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=low Nodes=ALL PriorityTier=1
PartitionName=all Nodes=ALL PriorityTier=2 Default=YES
PartitionName=wide Nodes=s[1-4] PriorityTier=2 MinNodes=3 MaxNodes=4
"""
HEADER = (
    "JobID|User|Account|Partition|Submit|Eligible|Start|End|TimelimitRaw|ReqNodes|NNodes|NCPUS|State|NodeList|"
    "Reservation|Constraints|SubmitLine"
)
ZERO = 1_795_000_000


@pytest.fixture
def replay(tmp_path):
    """Return the starts of jobs (id, submit, start, end, partition, nodes, CPUs, node list, line[, more])."""

    def run(*jobs, begin=0):
        lines = []
        for id_, submit, start, end, queue, nodes, cpus, where, line, *more in jobs:
            given = dict(zip(("reservation", "eligible", "state", "minutes"), more, strict=False))
            feature = line.partition("-C ")[2].partition(" ")[0] if " : " not in line else ""
            times = (submit, given.get("eligible", submit), start, end)
            seconds = "|".join(str(ZERO + time) for time in times)
            lines.append(
                f"{id_}|ann|phys|{queue}|{seconds}|{given.get('minutes', 2)}|1|{nodes}|{cpus}|"
                f"{given.get('state', 'COMPLETED')}|{where}|{given.get('reservation', '')}|{feature}|sbatch {line} x.sh"
            )
        (tmp_path / "slurm.conf").write_text(CONF)
        (tmp_path / "jobs.sacct").write_text("\n".join([HEADER, *lines, ""]))
        texts = Texts(tmp_path / "slurm.conf", "", None)
        record = SiteRecord.read(texts, "", lambda conf: slurm_workload(tmp_path / "jobs.sacct", conf), begin)
        case = record.baseline()
        result = simulate(case.workload, case.dispatcher, state=case.state)
        check(case.workload, result)
        attempts = result.attempts.groupby("id")["start"].max()
        return record, {id_: int(at) for id_, at in attempts.items()}

    return run


HETEROGENEOUS = "-n 12 -C big : -n 16 -C small"


def test_components_start_together_on_their_own_nodes(replay):
    record, starts = replay(
        ("1", 0, 0, 60, "all", 4, 16, "s[1-4]", "-N 4 --ntasks-per-node=4 -C small"),
        ("2", 0, 0, 30, "all", 2, 16, "b[1-2]", "-N 2 --ntasks-per-node=8 -C big"),
        ("3+0", 5, 65, 90, "all", 2, 12, "b[1-2]", HETEROGENEOUS),
        ("3+1", 5, 65, 90, "all", 4, 16, "s[1-4]", HETEROGENEOUS),
        ("4", 6, 70, 80, "all", 1, 2, "b1", "-n 2 -C big"),
    )
    jobs = {job.id: job for job in record.workload.jobs}
    assert {name for name in jobs["3+0"].per_node if "feature" in name} == {"feature/big"}
    assert {name for name in jobs["3+1"].per_node if "feature" in name} == {"feature/small"}
    assert starts["3+0"] == starts["3+1"]
    assert 60 <= starts["3+0"] <= 75
    # The main scheduler does not pass a waiting component.
    assert starts["4"] >= starts["3+0"]


def test_a_component_that_waits_holds_the_others(replay):
    _, starts = replay(
        ("1", 0, 0, 90, "all", 1, 4, "s1", "-N 1 -n 4 -C small"),
        ("2+0", 5, 95, 99, "all", 1, 4, "b1", "-n 4 -C big : -n 16 -C small"),
        ("2+1", 5, 95, 99, "all", 4, 16, "s[1-4]", "-n 4 -C big : -n 16 -C small"),
    )
    assert starts["2+0"] == starts["2+1"] >= 90


def test_other_dispatchers_say_that_components_start_apart():
    jobs = tuple(Job(f"1+{place}", 0, 9, 9, together="1") for place in range(2))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        simulate(Workload(jobs, Machine.homogeneous(1, core=4)), "easy")
    assert [str(each.message) for each in told if each.category is UnheededWarning] == [
        "components of heterogeneous jobs start one by one"
    ]


def test_partitions_have_a_least_number_of_nodes(replay):
    # Six tasks would fit on two nodes. They use three, so that a job of three more fits beside them.
    _, starts = replay(
        ("1", 0, 0, 60, "wide", 3, 6, "s[1-3]", "-n 6"),
        ("2", 1, 3, 60, "wide", 3, 6, "s[1-3]", "-N 3 -n 6"),
        ("3", 2, 3, 60, "wide", 3, 3, "s[1-4]", "-n 3"),
    )
    assert starts["2"] - starts["1"] <= 3
    assert starts["3"] >= 60


def test_a_range_of_nodes_uses_what_there_is(replay):
    record, starts = replay(
        ("1", 0, 0, 60, "all", 3, 9, "s[1-3]", "-N 3 --ntasks-per-node=3 -C small"),
        ("2", 1, 3, 60, "all", 4, 6, "s[1-4]", "-N 2-4 -n 6 -C small"),
    )
    assert [job.spread for job in record.workload.jobs] == [None, (2, 4)]
    assert starts["2"] <= 4


def test_tasks_per_node_say_the_nodes(replay):
    record, _ = replay(("1", 0, 0, 60, "all", 4, 8, "s[1-4]", "-n 8 --ntasks-per-node=2"))
    (job,) = record.workload.jobs
    assert (job.nodes, job.per_node["core"], job.spread) == (4, 2, (1, 4))


def test_a_preempted_job_keeps_its_nodes_as_long_as_on_record(replay):
    first = ("1", 0, 0, 50, "low", 2, 16, "b[1-2]", "-N 2 --ntasks-per-node=8 -C big", "", 0, "PREEMPTED", 10)
    again = ("1", 80, 205, 300, "low", 2, 16, "b[1-2]", first[8], "", 201, "COMPLETED", 10)
    record, starts = replay(first, ("2", 48, 80, 110, "all", 2, 16, "b[1-2]", "-N 2 --ntasks-per-node=8 -C big"), again)
    assert record.stop_time == 30
    assert 75 <= starts["2"] <= 85
    assert starts["1"] == pytest.approx(205, abs=15)


def test_a_replay_begins_beside_an_attempt(replay):
    first = ("1", 0, 0, 50, "low", 2, 16, "b[1-2]", "-N 2 --ntasks-per-node=8 -C big", "", 0, "PREEMPTED", 10)
    again = ("1", 51, 205, 300, "low", 2, 16, "b[1-2]", first[8], "", 172, "COMPLETED", 10)
    jobs = first, ("2", 48, 52, 110, "all", 2, 16, "b[1-2]", "-N 2 --ntasks-per-node=8 -C big"), again
    record, _ = replay(*jobs, begin=20)
    assert [(since.id, since.start) for since in record.state.running] == [("1", 0)]
    record, starts = replay(*jobs, begin=100)
    assert [since.id for since in record.state.running] == ["2"]
    assert starts["1"] >= 172


def test_a_reservation_is_known_from_its_jobs(replay):
    jobs = (
        ("1", 0, 1, 31, "all", 1, 8, "b2", "-N 1 -n 8 -C big"),
        ("2", 2, 60, 90, "all", 1, 8, "b1", "-n 8 --reservation=course", "course", 60),
        ("3", 3, 32, 62, "all", 1, 8, "b2", "-N 1 -n 8 -C big"),
    )
    record, starts = replay(*jobs, begin=10)
    (course,) = record.inferred
    assert (course.name, course.start - record.texts.zero, course.nodes) == ("course", 60, (4,))
    assert starts["2"] == 60
    assert starts["3"] >= 31
    assert "known only from its jobs" in record.baseline().notes[0]
