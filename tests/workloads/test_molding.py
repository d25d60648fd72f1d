"""Rigid jobs made moldable."""

import numpy as np
import pytest

from hpcdispatch.models.moldable import DowneyLaw, amdahl, n_limit
from hpcdispatch.simulation import check, simulate
from hpcdispatch.workloads import Job, Machine, Shape, Workload, generate, mold

RIGID = generate("lublin:jobs=80,processors=32", seed=1)


def test_shapes_take_the_time_that_the_speedup_says():
    def speedup(n):
        return amdahl(n, 0.1)

    molded = mold(RIGID, speedup, choices=4, seed=2)
    for job in molded.jobs:
        assert len({shape.nodes for shape in job.shapes} | {job.nodes}) == len(job.shapes) + 1
        assert 1 <= len(job.shapes) + 1 <= 5
        for shape in job.shapes:
            factor = float(speedup(job.nodes) / speedup(shape.nodes))
            assert shape.nodes <= 32
            assert (shape.runtime, shape.walltime) == (np.ceil(job.runtime * factor), np.ceil(job.walltime * factor))
    assert sum(len(job.shapes) for job in molded.jobs) > 100


def test_the_seed_and_nothing_else_decides():
    first, again, other = (mold(RIGID, DowneyLaw(), seed=seed).jobs for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_no_shape_is_wider_than_the_job_has_a_use_for():
    law = DowneyLaw((3.0, 3.0), (0.5, 0.5))
    assert all(
        shape.nodes <= max(job.nodes, n_limit(3, 0.5)) for job in mold(RIGID, law).jobs for shape in job.shapes
    )  # fmt: skip


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
