"""Moments of a trace at which many jobs run."""

import numpy as np
import pandas as pd
import pytest

from hpcdispatch.base import InputError
from hpcdispatch.bench.studies.reproductions.dsrt2020.on_demand import OnDemand, with_on_demand
from hpcdispatch.bench.studies.reproductions.dsrt2020.recorded_moments import moments, occupancy, spans_at
from hpcdispatch.workloads import Job, Machine, Workload

#: Starts at 10, 50 and 50; ends at 4010, 4050 and 150.
THREE = Workload(
    [
        Job(str(place), *row, 1, {"core": size})
        for place, (*row, size) in enumerate([(0, 4000, 4000, 4), (10, 4000, 4000, 6), (20, 100, 100, 2)])
    ],
    Machine.homogeneous(1, core=12),
    records=pd.DataFrame({"wait": [10, 40, 30]}),
)


def test_occupancy_is_what_held_nodes():
    found = occupancy(THREE)
    assert found.times.tolist() == [10, 50, 150, 4010, 4050]
    assert found.nodes.tolist() == [4, 12, 10, 6, 0]
    assert found.jobs.tolist() == [1, 3, 2, 1, 0]
    assert found.expendable.tolist() == [0, 1, 0, 0, 0]
    assert (found.most_common(), found.days(10)) == (10, pytest.approx(3860 / 86400))


def test_moments_have_so_many_jobs_and_none_that_is_expendable():
    found = occupancy(THREE)
    assert moments(found, 2) == [150 + 3860 // 2]
    assert moments(found, 3, 12) == []
    assert moments(found, 1, 6) == [4030]
    assert moments(found, 1, 6, least=40) == [4030]
    assert moments(found, 1, 6, least=41) == []


def test_spans_are_those_of_the_jobs_that_ran_then():
    assert spans_at(THREE, 3650) == pytest.approx(np.array([[0, 4000 / 3600, 4], [40 / 3600, 4040 / 3600, 6]]))


def test_a_trace_with_on_demand_jobs():
    made = with_on_demand(THREE, OnDemand(rate=86400 / 5, restart=7, seed=1))
    batch = [job for job in made.jobs if job.kind == "batch"]
    assert [(job.nodes, job.per_node, job.checkpoint.restart) for job in batch] == [
        (4, {"node": 1}, 7),
        (6, {"node": 1}, 7),
        (2, {"node": 1}, 7),
    ]
    assert all(job.checkpoint.write == int(np.ceil(job.checkpoint.application_size / 0.7)) for job in batch)
    urgent = [job for job in made.jobs if job.kind == "on-demand"]
    assert 0 < len(urgent) < 12
    assert all((job.nodes, job.deadline) == (6, 900) and 300 <= job.runtime <= 3600 for job in urgent)
    assert with_on_demand(THREE, OnDemand(rate=86400 / 5, restart=7, seed=1)).digest() == made.digest()
    with pytest.raises(ValueError, match="restart must be a whole number >= 0, got -1"):
        OnDemand(restart=-1)


def test_a_job_without_a_size_is_named():
    sizeless = Workload(
        [Job("a", 0, 10, 10, 1, {"gpu": 1})],
        Machine.homogeneous(1, core=4, gpu=1),
        records=pd.DataFrame({"wait": [0]}),
    )
    for ask in (occupancy, with_on_demand):
        with pytest.raises(InputError, match="job a: expected a size"):
            ask(sizeless)
