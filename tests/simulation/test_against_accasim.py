"""FCFS with first-fit equals AccaSim's own FirstInFirstOut with FirstFit. Job by job, on nodes of one core."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from oracles.stock_accasim import Schedule, on_one_core_nodes, run_stock

from hpcdispatch.simulation import simulate
from hpcdispatch.workloads import Job, Machine, Workload, generate, read


def ours(workload: Workload) -> Schedule:
    jobs = simulate(workload, "fcfs").jobs
    columns = zip(jobs["id"], jobs["start"], jobs["end"], jobs["placement"], strict=True)
    return {id_: (start, end, tuple(np.sort(placement).tolist())) for id_, start, end, placement in columns}


def assert_equal(workload: Workload) -> None:
    stock = run_stock(workload, "fifo").schedule
    mine = ours(workload)
    different = {job.id: (stock[job.id], mine[job.id]) for job in workload.jobs if stock[job.id] != mine[job.id]}
    assert not different, f"{len(different)} of {len(workload)} jobs differ from AccaSim: {list(different.items())[:3]}"


def test_fcfs_equals_stock_fifo_on_a_generated_workload():
    workload = on_one_core_nodes(generate("lublin", jobs=400, processors=48, load=0.9, seed=3))
    # Submissions are on full minutes, the first at time 0. This gives ties, and the instant that AccaSim takes for "not
    # set".
    first = workload.jobs[0].submit
    assert_equal(workload.with_jobs(replace(job, submit=(job.submit - first) // 60 * 60) for job in workload.jobs))


def test_fcfs_equals_stock_fifo_on_whole_nodes():
    rng = np.random.default_rng(1)
    sizes = 128 * rng.integers(1, 9, 30)
    runtimes = rng.integers(120, 20_000, 30)
    jobs = [
        Job(str(place + 1), 60 * place, int(runtime), 2 * int(runtime), int(size), {"core": 64})
        for place, (size, runtime) in enumerate(zip(sizes, runtimes, strict=True))
    ]
    assert_equal(Workload(tuple(jobs), Machine.homogeneous(1100, core=64)))


@pytest.mark.traces
@pytest.mark.nightly
def test_fcfs_equals_stock_fifo_on_the_first_jobs_of_kth(trace):
    assert_equal(on_one_core_nodes(read(trace("KTH-SP2-1996-2.swf.gz")).head(3000)))


@pytest.mark.parametrize(
    ("job", "message"),
    [
        (Job("1", 0, 0, 10), "job 1: AccaSim needs .* run time > 0 s, got 0 s"),
        (Job("one", 0, 5, 10), "job one: AccaSim needs a number as id"),
        (Job("1", 0, 5, 10, 1, {"core": 1, "mem": 2}), "job 1: .* cores and nothing else"),
    ],
)
def test_what_accasim_cannot_simulate_is_refused(job, message):
    with pytest.raises(ValueError, match=message):
        run_stock(Workload((job,), Machine.homogeneous(4, core=1)), "fifo")


def test_an_unknown_scheduler_is_refused():
    with pytest.raises(ValueError, match="scheduler must be one of fifo, easy, got 'sjf'"):
        run_stock(Workload((), Machine.homogeneous(4, core=1)), "sjf")
