"""The rules of RLScheduler against a simulator of its own, and its table on traces."""

import numpy as np
import pytest

from hpcdispatch.bench.studies.published.rlscheduler import (
    ORDERS,
    TABLE,
    Committed,
    NeverMet,
    bounded_slowdown,
    jobs_of,
)
from hpcdispatch.simulation import check, simulate
from hpcdispatch.workloads import Job, Machine, Workload
from hpcdispatch.workloads.fetching import TRACES

CORES = 16


def crowd(seed):
    rng = np.random.default_rng(seed)
    submit, jobs = 1, []
    for number in range(80):
        submit += int(rng.choice([0, 0, 5, 10, 40]))
        walltime = int(rng.choice([10, 20, 50, 100]))
        runtime = int(rng.choice([walltime, walltime // 2, 5, 10]))
        jobs.append(Job(str(number), submit, runtime, walltime, int(rng.integers(1, 12)), {"core": 1}))
    return jobs


def starts_of(jobs, key, backfill):
    """Return the starts: time goes from event to event, arrivals first, while one chosen job waits."""
    coming, queue, running, starts = list(jobs), [], [], {}

    def free():
        return CORES - sum(job.nodes for job, _ in running)

    def start(job, now):
        queue.remove(job)
        running.append((job, now))
        starts[job.id] = now

    def step():
        ends = [begin + job.runtime for job, begin in running]
        if coming and (not ends or coming[0].submit <= min(ends)):
            queue.append(coming.pop(0))
            return queue[-1].submit
        first = ends.index(min(ends))
        del running[first]
        return min(ends)

    now = 0
    while coming or queue:
        while not queue:
            now = step()
        chosen = min(queue, key=key)
        left, shadow = free(), now
        for end, nodes in sorted((begin + job.walltime, job.nodes) for job, begin in running):
            if left >= chosen.nodes:
                break
            left, shadow = left + nodes, end
        while chosen.nodes > free():
            for job in queue[:] if backfill else ():
                if job is not chosen and job.nodes <= free() and now + job.walltime < shadow:
                    start(job, now)
            now = step()
        start(chosen, now)
    return starts


@pytest.mark.parametrize("backfill", [False, True])
@pytest.mark.parametrize("order", ORDERS)
def test_every_start_is_that_of_another_simulator(order, backfill):
    for seed in range(6):
        jobs = crowd(seed)
        workload = Workload(jobs, Machine.pool(CORES))
        result = simulate(workload, Committed(ORDERS[order], backfill), NeverMet(), same_instant="arrivals-first")
        check(workload, result)
        assert result.jobs.set_index("id")["start"].to_dict() == starts_of(jobs, ORDERS[order], backfill), seed


@pytest.mark.traces
@pytest.mark.parametrize("name", ["lublin-256", "sdsc-sp2"])
def test_the_published_values_are_met(name, trace):
    processors, published = TABLE[name]
    jobs = jobs_of(trace(TRACES[name].file))
    for order in ("FCFS", "F1"):
        for backfill, value in zip((False, True), published[order], strict=True):
            assert bounded_slowdown(jobs, processors, order, backfill) == pytest.approx(value, abs=0.006)
