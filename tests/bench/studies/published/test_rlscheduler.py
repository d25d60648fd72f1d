"""The rules of RLScheduler against a simulator of its own, and its table on traces."""

from dataclasses import replace

import numpy as np
import pytest
from oracles.paper_rules import rlscheduler_starts

from hpcdispatch.base import InputError
from hpcdispatch.bench.studies.published.rlscheduler import (
    LENGTH,
    ORDERS,
    RULES,
    WINDOWS,
    Committed,
    jobs_of,
    value,
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


@pytest.mark.nightly
@pytest.mark.parametrize("backfill", [False, True])
@pytest.mark.parametrize("order", ORDERS)
def test_every_start_is_that_of_another_simulator(order, backfill):
    for seed in range(6):
        jobs = crowd(seed)
        workload = Workload(jobs, Machine.pool(CORES))
        expected = rlscheduler_starts(jobs, CORES, order, backfill)
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
        for backfill in (False, True):
            row = value(name, jobs, order, backfill)
            assert row.ours == pytest.approx(row.theirs, abs=0.006)
            assert row.equal_starts == LENGTH * len(WINDOWS)
