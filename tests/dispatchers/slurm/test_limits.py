"""Limits on running jobs: rules one by one."""

import pytest

from hpcdispatch.dispatchers import Slurm
from hpcdispatch.simulation import check, simulate
from hpcdispatch.workloads import Job, Machine, Workload

ASSOCIATIONS = "Account|User|ParentName|GrpJobs|GrpTRES|MaxJobs"
QUALITIES = "Name|GrpJobs|GrpTRES|MaxJobsPU|MaxTRESPU"
ANN = {"user": "ann", "group": "a"}
BEN = {"user": "ben", "group": "b"}


def starts(tmp_path, limits, jobs, every=1):
    """Return starts and refusals of one-minute jobs on two nodes. Jobs are (submit, slots of a core, user)."""
    path = tmp_path / "limits.txt"
    path.write_text(limits + "\n")
    made = [Job(str(index), at, 60, 60, slots, {"core": 1}, **whose) for index, (at, slots, whose) in enumerate(jobs)]
    workload = Workload(tuple(made), Machine.homogeneous(2, core=4))
    result = simulate(workload, Slurm(limits=str(path), batch_sched_delay=0, bf_interval=every, bf_resolution=1))
    check(workload, result)
    return result.jobs["start"].where(result.jobs["status"] != "rejected", -1).tolist()


FAST = {"user": "ann", "group": "a", "qos": "fast"}
WIDE = f"{QUALITIES}|MaxTRESPA|GrpTRESRunMins|MaxWall|MaxTRES|MinTRES|Flags"


@pytest.mark.parametrize(
    ("limits", "jobs", "wanted"),
    [
        # Those of a quality of service hold for its jobs alone.
        (f"{QUALITIES}\nfast|1|||", [(0, 1, FAST), (0, 1, FAST), (0, 1, ANN)], [0, 60, 0]),
        (f"{QUALITIES}\nfast||cpu=3,mem=1G||", [(0, 2, FAST), (0, 2, FAST)], [0, 60]),
        # An account's users count together.
        (f"{WIDE}\nnormal|||||cpu=2|||||", [(0, 1, ANN), (0, 1, {**BEN, "group": "a"}), (0, 1, ANN)], [0, 0, 60]),
        # Jobs of a minute: three CPU-minutes at a time.
        (f"{WIDE}\nnormal||||||cpu=3||||", [(0, 2, ANN), (0, 2, ANN), (0, 1, ANN)], [0, 60, 0]),
        # A job beyond a limit per job is refused. The rest is not.
        (f"{WIDE}\nfast|||||||00:00:30|||", [(0, 1, FAST), (0, 1, ANN)], [-1, 0]),
        (f"{WIDE}\nfast||||||||cpu=2||", [(0, 3, FAST), (0, 2, FAST)], [-1, 0]),
        (f"{WIDE}\nfast|||||||||cpu=2|", [(0, 1, FAST), (0, 2, FAST)], [-1, 0]),
        # The default quality of service of an association.
        (f"Account|User|Def QOS\na|ann|fast\n\n{QUALITIES}\nfast|1|||", [(0, 1, ANN), (0, 1, ANN)], [0, 60]),
    ],
)
def test_every_column_limits_the_jobs_that_it_is_about(tmp_path, limits, jobs, wanted):
    found = starts(tmp_path, limits, jobs)
    assert [start if start < 60 else 60 for start in found] == wanted


@pytest.mark.parametrize(
    "limits",
    [
        f"{ASSOCIATIONS}\na|ann||||2",
        f"{ASSOCIATIONS}\na|||2||",
        f"{ASSOCIATIONS}\nroot|||2||\na||root|||",
        f"{ASSOCIATIONS}\na|||||\n\n{QUALITIES}\nnormal|||2|",
        f"{QUALITIES}\nnormal||||cpu=2",
        f"{ASSOCIATIONS}\na||||cpu=2|",
    ],
)
def test_a_third_job_waits_and_holds_no_other_up(tmp_path, limits):
    # Two of ann's three jobs run. Ben's comes last and starts at once.
    found = starts(tmp_path, limits, [(0, 1, ANN), (0, 1, ANN), (0, 1, ANN), (1, 1, BEN)])
    assert found[:2] == [0, 0]
    assert 60 <= found[2] <= 63
    assert found[3] == (1 if "root" not in limits else found[3])


@pytest.mark.parametrize(("most", "ben"), [("|||2|", 1), ("||||cpu=9", 1)])
def test_a_job_that_is_held_back_holds_up_no_job_behind(tmp_path, most, ben):
    # Ann's third job has no room. It would block the partition if it were tried.
    jobs = [(0, 1, ANN), (0, 1, ANN), (0, 8, ANN), (1, 1, BEN)]
    assert starts(tmp_path, f"{QUALITIES}\nnormal{most}", jobs, every=600)[3] == ben


def test_a_limit_of_all_counts_both_users(tmp_path):
    found = starts(tmp_path, f"{QUALITIES}\nnormal|2|||", [(0, 1, ANN), (0, 1, BEN), (0, 1, ANN)])
    assert found[:2] == [0, 0]
    assert found[2] >= 60


def test_what_alone_is_beyond_a_limit_is_refused(tmp_path):
    assert starts(tmp_path, f"{QUALITIES}\nnormal||||cpu=2", [(0, 3, ANN), (0, 2, ANN)]) == [-1, 0]


def test_without_a_limit_nothing_changes(tmp_path):
    assert starts(tmp_path, f"{QUALITIES}\nnormal||||", [(0, 4, ANN), (0, 4, ANN)]) == [0, 0]


def test_minutes_of_a_running_job_are_those_that_are_left(tmp_path):
    # Each job takes ten CPU-minutes at its start; fifteen may be left at a time.
    (tmp_path / "limits.txt").write_text(f"{WIDE}\nnormal||||||cpu=15||||\n")
    jobs = [Job(name, 0, 600, 600, 1, {"core": 1}, **ANN) for name in "ab"]
    workload = Workload(jobs, Machine.homogeneous(1, core=4))
    result = simulate(workload, Slurm(limits=str(tmp_path / "limits.txt"), bf_interval=10))
    first, second = result.jobs["start"]
    assert first + 300 <= second <= first + 300 + 60
