"""Scenarios of the eviction paper, drawn."""

import pytest

from hpcdispatch.base import InputError
from hpcdispatch.simulation import simulate
from hpcdispatch.workloads import generate


@pytest.mark.parametrize(("jobs", "grain"), [(12, 128), (16, 128), (24, 128), (24, 1), (34, 128), (7, 100)])
def test_is_as_the_paper_says(jobs, grain):
    workload = generate("theta-scenario", jobs=jobs, grain=grain, seed=2)
    instant = workload.provenance.options["instant"]
    assert len(workload) == jobs
    assert sum(job.nodes for job in workload.jobs) == 4352
    assert min(job.nodes for job in workload.jobs) >= 128
    assert workload.machine.nodes == 4392
    assert workload.jobs[0].submit == 0
    for job in workload.jobs:
        assert job.submit <= instant < job.submit + job.runtime
        assert job.submit <= 9660
        assert 7860 <= job.runtime <= min(36900, job.walltime)
        assert 0.4 * 208 <= job.checkpoint.system_size <= 0.9 * 208
        assert 0.2 <= job.checkpoint.application_size / job.checkpoint.system_size <= 0.6
        assert job.checkpoint.interval == 3600
    if grain == 128:
        assert all(job.nodes % 128 == 0 for job in workload.jobs)


def test_the_seed_decides():
    one, two, other = (generate("theta-scenario", jobs=16, seed=seed) for seed in (1, 1, 2))
    assert one == two
    assert one.digest() != other.digest()
    assert generate(one.provenance.source).jobs == one.jobs


def test_every_job_starts_when_it_is_submitted():
    result = simulate(generate("theta-scenario", jobs=24, seed=4), "fcfs")
    assert (result.jobs["wait"] == 0).all()


def test_a_larger_machine_is_there_if_it_is_needed():
    assert generate("theta-scenario", jobs=200, nodes=30_000).machine.nodes == 30_000


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"jobs": 0}, "jobs must be a whole number >= 1 and <= 1048576, got 0"),
        ({"jobs": 12.0}, "jobs must be a whole number >= 1 and <= 1048576, got 12.0"),
        ({"jobs": 35}, "nodes: expected at least 128 for each of 35 jobs, 4,480, got 4,352"),
        ({"grain": 0}, "grain must be a whole number >= 1 and <= 1048576, got 0"),
    ],
)
def test_options_out_of_range_are_refused(options, message):
    with pytest.raises(InputError, match=f"workload theta-scenario: {message}"):
        generate("theta-scenario", **options)
