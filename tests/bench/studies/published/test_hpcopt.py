"""The rules of HPCOpt second by second, and its table on traces."""

import numpy as np
import pytest
from oracles.paper_rules import hpcopt_starts

from hpcdispatch.bench.studies.published.hpcopt import DISPATCHERS, values
from hpcdispatch.simulation import check, simulate
from hpcdispatch.workloads import Job, Machine, Workload
from hpcdispatch.workloads.fetching import TRACES

CORES, LAST = 8, 3000


def crowd(seed):
    rng = np.random.default_rng(seed)
    submit, jobs = 0, []
    for number in range(40):
        submit += int(rng.choice([0, 1, 4, 9]))
        walltime = int(rng.integers(1, 30))
        jobs.append(Job(str(number), submit, int(rng.integers(1, walltime + 1)), walltime, int(rng.integers(1, 7))))
    return jobs


def starts_of(jobs, name):
    """Return the starts by a table of the free cores of each second."""
    starts, real = {}, np.full(LAST, CORES)

    def start(job, now):
        starts[job.id] = now
        real[now : now + job.runtime] -= job.nodes

    for now in range(LAST // 2):
        # Plans are made at arrivals and ends alone.
        happens = {job.submit for job in jobs} | {starts[job.id] + job.runtime for job in jobs if job.id in starts}
        waiting = [job for job in jobs if job.submit <= now and job.id not in starts]
        if not waiting or now not in happens:
            continue
        if name == "conservative":
            plan = real.copy()
            for job in waiting:
                fits = (at for at in range(now, LAST) if plan[at : at + job.walltime].min() >= job.nodes)
                at = next(fits)
                plan[at : at + job.walltime] -= job.nodes
                if at == now:
                    start(job, now)
            continue
        first = waiting[0]
        shadow = next(at for at in range(now, LAST) if real[at] >= first.nodes)
        for job in waiting:
            if job.nodes <= real[now] and (shadow == now or now + job.walltime <= shadow):
                start(job, now)
    return starts


@pytest.mark.parametrize("name", ["EASY", "conservative"])
def test_every_start_is_that_of_another_simulator(name):
    for seed in range(8):
        jobs = crowd(seed)
        workload = Workload(jobs, Machine.pool(CORES))
        result = simulate(workload, DISPATCHERS[name], "oracle")
        check(workload, result)
        expected = starts_of(jobs, name)
        assert result.jobs.set_index("id")["start"].to_dict() == expected, seed
        assert hpcopt_starts(jobs, CORES, name) == expected, seed


@pytest.mark.traces
def test_the_published_values_are_met(trace):
    for row in values("ctc-sp2", trace(TRACES["ctc-sp2"].file)):
        if row.setting != "conservative":
            assert row.ours == pytest.approx(row.theirs, rel=3e-4)
        assert row.equal_starts == row.jobs
