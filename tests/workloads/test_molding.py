"""Rigid jobs made moldable."""

from dataclasses import replace

import numpy as np
import pytest

from hpcdispatch.models.moldable import DowneyLaw, amdahl, n_limit
from hpcdispatch.simulation import check, simulate
from hpcdispatch.workloads import Job, Machine, Shape, Workload, generate, mold

RIGID = generate("lublin:jobs=80,processors=32", seed=1)


NODES = Workload(
    [replace(job, nodes=job.per_node["core"], per_node={"core": 2}) for job in RIGID.jobs],
    Machine.homogeneous(16, core=4),
)


def on_pool(request):
    return request.per_node["core"]


def on_nodes(request):
    assert request.per_node == {"core": 2}
    return request.nodes


@pytest.mark.parametrize(("rigid", "size"), [(RIGID, on_pool), (NODES, on_nodes)])
def test_shapes_take_the_time_that_the_speedup_says(rigid, size):
    def speedup(n):
        return amdahl(n, 0.1)

    molded = mold(rigid, speedup, choices=4, seed=2)
    for job in molded.jobs:
        own = size(job)
        sizes = [size(shape) for shape in job.shapes]
        assert len({own, *sizes}) == len(sizes) + 1 <= 5
        for shape in job.shapes:
            factor = float(speedup(own) / speedup(size(shape)))
            assert 1 <= size(shape) <= 32
            assert (shape.runtime, shape.walltime) == (np.ceil(job.runtime * factor), np.ceil(job.walltime * factor))
    every = [(size(job), size(shape)) for job in molded.jobs for shape in job.shapes]
    assert any(smaller < own for own, smaller in every)
    assert any(wider > own for own, wider in every)


def test_other_resources_of_a_pool_follow_the_processors():
    job = Job("1", 0, 10, 10, per_node={"core": 4, "mem": 10})
    molded = mold(Workload([job], Machine.homogeneous(1, core=8, mem=30)), DowneyLaw(), 9, 1).jobs[0]
    assert {shape.per_node["mem"] for shape in molded.shapes} <= {3, 5, 8, 13, 15, 18, 20}
    assert molded.shapes


def test_the_seed_and_nothing_else_decides():
    first, again, other = (mold(RIGID, DowneyLaw(), seed=seed).jobs for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_no_shape_is_wider_than_the_job_has_a_use_for():
    law = DowneyLaw((3.0, 3.0), (0.5, 0.5))
    assert all(
        on_pool(shape) <= max(on_pool(job), n_limit(3, 0.5)) for job in mold(RIGID, law).jobs for shape in job.shapes
    )


def test_jobs_with_shapes_keep_them():
    job = Job("1", 0, 10, 10, shapes=(Shape(2, 5, 5),))
    assert mold(Workload([job], Machine.pool(8)), DowneyLaw()).jobs[0] == job


def test_molded_jobs_run():
    molded = mold(RIGID, DowneyLaw(), seed=3)
    for spec in ("sa", "sa:over=easy", "easy"):
        check(molded, simulate(molded, spec))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mold(RIGID, DowneyLaw(), choices=1), "choices must be a whole number >= 2, got 1"),
        (lambda: DowneyLaw((0.5, 3.0)), "A: the least must be a number >= 1, got 0.5"),
        (lambda: DowneyLaw((3.0, 2.0)), "A: the largest must be a number >= 3, got 2"),
    ],
)
def test_numbers_out_of_range_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
