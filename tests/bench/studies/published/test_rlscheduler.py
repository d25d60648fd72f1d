"""The rules of RLScheduler against a simulator of its own, and its table on traces."""

import math
from dataclasses import replace

import numpy as np
import pytest

from hpcdispatch.base import InputError
from hpcdispatch.bench.studies.published.rlscheduler import (
    ORDERS,
    RULES,
    TABLE,
    Committed,
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


KEYS = {
    "FCFS": lambda job: job.submit,
    "SJF": lambda job: job.walltime,
    "F1": lambda job: math.log10(job.walltime) * job.nodes + 870 * math.log10(job.submit),
}


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


@pytest.mark.nightly
@pytest.mark.parametrize("backfill", [False, True])
@pytest.mark.parametrize("order", ORDERS)
def test_every_start_is_that_of_another_simulator(order, backfill):
    for seed in range(6):
        jobs = crowd(seed)
        workload = Workload(jobs, Machine.pool(CORES))
        expected = starts_of(jobs, KEYS[order], backfill)
        subjects = [Committed(order=ORDERS[order], backfill=backfill)]
        subjects += [] if backfill else [f"fcfs:order={ORDERS[order]},commit=true"]
        for subject in subjects:
            result = simulate(workload, subject, **RULES.simulate)
            check(workload, result)
            assert result.jobs.set_index("id")["start"].to_dict() == expected, seed


def test_jobs_of_several_cores_in_one_slot_count_by_their_cores():
    jobs = crowd(1)
    slots = [replace(job, nodes=1, per_node={"core": job.nodes}) for job in jobs]
    starts = [
        simulate(Workload(each, Machine.pool(CORES)), Committed(order="sjf"), **RULES.simulate).jobs["start"].tolist()
        for each in (jobs, slots)
    ]
    assert starts[0] == starts[1]


def test_other_machines_than_pools_are_refused():
    nodes = Machine.homogeneous(2, core=4)
    with pytest.raises(InputError, match="expected a pool of cores, got 2 nodes with core"):
        simulate(Workload([Job("1", 0, 1, 1, 1, {"core": 1})], nodes), Committed())


@pytest.mark.traces
@pytest.mark.parametrize("name", ["lublin-256", "sdsc-sp2"])
def test_the_published_values_are_met(name, trace):
    jobs = jobs_of(trace(TRACES[name].file))
    for order in ("FCFS", "F1"):
        for backfill, value in zip((False, True), TABLE[name][order], strict=True):
            assert bounded_slowdown(jobs, order, backfill) == pytest.approx(value, abs=0.006)
