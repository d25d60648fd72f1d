"""A state as `evict` reads it is where a simulation begins."""

from dataclasses import replace

import pytest

from hpcdispatch.analysis.cluster_state import cluster_state
from hpcdispatch.analysis.eviction_scenario import checked_scenario
from hpcdispatch.analysis.simulated_state import from_state
from hpcdispatch.base import InputError
from hpcdispatch.simulation import check, simulate
from hpcdispatch.workloads import Job, Machine, Workload
from hpcdispatch.workloads.slurm_cluster import ClusterJob, ClusterNode, Snapshot

RUNS = {"id": "r", "nodes": 2, "elapsed": 30, "ends": 20, "placement": [1, 2], "waited": 5}
WAITS = {"id": "w", "nodes": 3, "waited": 40, "walltime": 10}


def state(*running, waiting=(WAITS,), nodes=3):
    return checked_scenario({"machine": {"nodes": nodes}, "jobs": running or [RUNS], "waiting": waiting}, "state")


@pytest.mark.parametrize("machine", [Machine.homogeneous(3, core=4), Machine.homogeneous(1, core=3), None])
def test_what_waits_starts_when_what_runs_has_ended(machine):
    later = Workload((Job("t", 0, 5, 5, per_node={"core": 1}),), machine) if machine else None
    workload, begin = from_state(state(), later)
    result = simulate(workload, "fcfs", state=begin)
    check(workload, result)
    jobs = result.jobs.set_index("id")
    assert begin.at == 40
    assert jobs.loc["r", ["submit", "start", "end"]].tolist() == [5, 10, 60]
    assert jobs.loc["w", ["submit", "start", "wait"]].tolist() == [0, 60, 60]
    if later is not None:
        assert jobs.loc["t", ["submit", "start"]].tolist() == [40, 70]
    if machine is None or machine.nodes == 3:
        assert list(jobs.loc["r", "placement"]) == [1, 2]


@pytest.mark.parametrize(
    ("found", "machine", "message"),
    [
        (state(), Machine.homogeneous(4, core=4), "state: expected the machine of the trace, .* got 3 nodes"),
        (state({"id": "r", "nodes": 2, "elapsed": 30}), Machine.homogeneous(3, core=4), "job r: expected ends"),
    ],
)
def test_what_does_not_go_together_is_refused(found, machine, message):
    with pytest.raises(InputError, match=message):
        from_state(found, Workload((), machine))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"placement": [1, 3]}, "jobs: job r: expected nodes below 3, got 3"),
        ({"placement": [1]}, "placement: expected 2 nodes, got 1"),
        ({"id": "w"}, "id 'w' must be unique"),
    ],
)
def test_a_state_that_cannot_be_is_refused(change, message):
    with pytest.raises(InputError, match=message):
        state({**RUNS, **change})


def test_a_cluster_has_its_queue_and_its_nodes():
    nodes = tuple(ClusterNode(f"n{place}", 4, True) for place in range(3))
    runs = ClusterJob("1", "ann", "phys", "long", 900, 950, 600, ("n2",), 4)
    waits = replace(runs, id="2", submit=960, start=None, nodes=(), cores=8, tasks=2, ids=("2_0", "2_1"))
    found = cluster_state(Snapshot(1000, nodes, (runs,), (waits, replace(waits, id="3", limit=None))))
    assert [(job.placement, job.elapsed, job.ends, job.waited) for job in found.jobs] == [((2,), 50, 550, 50)]
    assert [(job.id, job.nodes, job.waited, job.walltime) for job in found.waiting] == [
        ("2_0", 2, 40, 600),
        ("2_1", 2, 40, 600),
    ]
    workload, begin = from_state(found)
    assert simulate(workload, "easy", state=begin).jobs["start"].tolist() == [50, 100, 700]
