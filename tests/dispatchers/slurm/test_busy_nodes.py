"""bf_busy_nodes: later starts are planned on nodes with jobs, so that idle nodes stay free for long jobs."""

import pytest

from hpcdispatch.dispatchers import Slurm
from hpcdispatch.simulation import check, simulate
from hpcdispatch.workloads import Job, Workload
from hpcdispatch.workloads.slurm_conf import read_slurm_conf

CONF = """NodeName=n[1-{idle}] CPUs=4 Weight={first}
NodeName=b[1-{busy}] CPUs=4 Feature=big Weight={others}
PartitionName=all Nodes=ALL
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=bf_interval=5,bf_resolution=5{more}
"""


def starts(folder, more, *, first=1, others=1, idle=2, busy=2, waiting=(3, {"core": 4, "node": 1})):
    """Return the starts of a job on the big nodes, one that waits for its end, and a long one behind it."""
    text = CONF.format(first=first, others=others, idle=idle, busy=busy, more=more)
    (folder / "slurm.conf").write_text(text)
    machine = read_slurm_conf(folder / "slurm.conf").machine(["big"])
    given = [
        (0, 60, (busy, {"core": 4, "node": 1, "feature/big": 1})),
        (1, 60, waiting),
        (2, 3600, (1, {"core": 4, "node": 1})),
    ]
    jobs = tuple(
        Job(str(place), submit, length, length, nodes, {**amounts, "partition/all": 1}, queue="all")
        for place, (submit, length, (nodes, amounts)) in enumerate(given)
    )
    workload = Workload(jobs, machine)
    result = simulate(workload, Slurm(config=str(folder / "slurm.conf")), overrun="kill")
    check(workload, result)
    return [int(start) for start in result.jobs["start"]]


@pytest.mark.parametrize("more", ["", ",bf_busy_nodes", ",bf_busy_nodes=yes"])
def test_an_idle_node_stays_free_for_a_long_job(tmp_path, more):
    first, second, long = starts(tmp_path, more)
    assert (first, 60 <= second < 100) == (0, True)
    # Otherwise the second job is planned on n1, n2 and b1.
    assert (long < 30) == bool(more)


@pytest.mark.parametrize("waiting", [(12, {"core": 1}), (10, {"core": 1}), (3, {"core": 3, "node": 1})])
def test_tasks_and_parts_of_nodes_prefer_them_too(tmp_path, waiting):
    assert starts(tmp_path, ",bf_busy_nodes", waiting=waiting)[2] < 30
    assert starts(tmp_path, "", waiting=waiting)[2] >= 60


@pytest.mark.parametrize(("first", "others", "early"), [(9, 1, True), (1, 9, False), (2, 2, True)])
def test_the_weight_comes_before_that(tmp_path, first, others, early):
    found = starts(tmp_path, ",bf_busy_nodes", first=first, others=others)
    assert (found[2] < 30) == early


def test_all_nodes_are_taken_if_all_are_needed(tmp_path):
    _, second, long = starts(tmp_path, ",bf_busy_nodes", waiting=(4, {"core": 4, "node": 1}))
    assert 60 <= second < 100
    assert long >= 120


@pytest.mark.parametrize(("idle", "early"), [(1, False), (2, True)])
def test_one_idle_node_more_is_planned(tmp_path, idle, early):
    # Slurm 22.05 looks at the idle nodes even if the busy ones suffice. A real one does so.
    found = starts(tmp_path, ",bf_busy_nodes", idle=idle, busy=4, waiting=(3, {"core": 4, "node": 1}))
    assert 60 <= found[1] < 100
    assert (found[2] < 30) == early
