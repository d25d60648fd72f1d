"""A simulation leaves no cycles of objects behind, which only a garbage collection would free."""

import gc

import pytest

import hpcdispatch as hd
from hpcdispatch.testing import cluster, moldable, overrunning, pool, urgent


@pytest.fixture(scope="module", autouse=True)
def _present():
    """Look for no garbage in what is there already."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.parametrize(
    ("workload", "dispatcher", "overrun"),
    [
        (pool(20), "fcfs", "run"),
        (pool(20), "easy", "kill"),
        (pool(20), "easy:depth=2", "run"),
        (cluster(20), "easy", "run"),
        (overrunning(20), "easy-sjbf", "resubmit"),
        (urgent(12), "evict", "run"),
        (moldable(10), "sa", "run"),
        (pool(20), "conservative", "run"),
        (pool(20), "lookahead", "run"),
        (pool(20), "hcp3", "run"),
    ],
)
def test_jobs_and_queues_are_freed_without_a_collection(workload, dispatcher, overrun):
    hd.simulate(workload, dispatcher, overrun=overrun)
    gc.collect()
    gc.disable()
    try:
        hd.simulate(workload, dispatcher, overrun=overrun)
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        left = {type(each).__name__ for each in gc.garbage}
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    of_jobs = {"SimulatedJob", "Attempt", "WaitingQueue", "JobsOnMachine", "WaitingJobs", "RunningJobs", "Problem"}
    assert left & of_jobs == set()
