"""Moments of a trace at which jobs run, as scenarios of eviction, and the trade-off of one."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

from hpcdispatch.analysis import Scenario, eviction_front, recorded_starts, scenario_at, scenario_of
from hpcdispatch.base import InputError
from hpcdispatch.models.eviction import plan
from hpcdispatch.workloads import Job, Machine, OnDemand, Workload, generate, with_on_demand


def trace(rows, waits, cores=10):
    jobs = [Job(str(place), *row, 1, {"core": size}) for place, (*row, size) in enumerate(rows)]
    return Workload(jobs, Machine.homogeneous(1, core=cores), records=pd.DataFrame({"wait": waits}))


#: Starts at 10, 50 and 50; ends at 4010, 4050 and 150.
THREE = trace([(0, 4000, 4000, 4), (10, 4000, 4000, 6), (20, 100, 100, 2)], [10, 40, 30], cores=12)


def test_a_scenario_is_what_ran_then():
    scenario = scenario_at(THREE, 3650, seed=3)
    assert [(job.id, job.nodes, job.elapsed) for job in scenario.jobs] == [("0", 4, 3640), ("1", 6, 3600)]
    assert scenario.idle == 2
    assert float(scenario.running()[0].loss) == pytest.approx(4 * 40 / 3600)
    assert scenario_at(THREE, 3650, seed=3) == scenario != scenario_at(THREE, 3650, seed=4)


def test_what_cannot_be_taken_is_named():
    with pytest.raises(InputError, match="expected a moment at which jobs ran, got none at 5 s"):
        scenario_at(THREE, 5)
    with pytest.raises(InputError, match="expected recorded waits of all jobs, got none"):
        recorded_starts(generate("lublin", jobs=5, seed=1))
    with pytest.raises(InputError, match="expected at most the 3 nodes of the machine, got 4"):
        scenario_at(trace([(0, 10, 10, 2), (0, 10, 10, 2)], [0, 0], cores=3), 5)
    sizeless = Workload(
        [Job("a", 0, 10, 10, 1, {"gpu": 1})], Machine.homogeneous(1, core=4, gpu=1),
        records=pd.DataFrame({"wait": [0]}),
    )  # fmt: skip
    for ask in (partial(scenario_at, instant=5), with_on_demand):
        with pytest.raises(InputError, match="job a: expected a size"):
            ask(sizeless)


def test_the_front_is_the_plans_of_each_number_of_nodes():
    scenario = scenario_of(generate("theta-scenario", jobs=12, seed=2))
    found = eviction_front(scenario, 800, 600, 60)
    assert sorted(found["nodes"].unique()) == list(range(100, 801, 100))
    for row in found.itertuples():
        expected = plan(scenario.running(), max(0, row.nodes - scenario.idle), 600, 60)[row.deadline]
        assert (row.loss, row.checkpoint_time) == (expected.loss, expected.checkpoint_time)
        assert row.killed + row.checkpointed + row.ended == len(expected.actions)
    wide = found.pivot(index="nodes", columns="deadline", values="loss").to_numpy()
    assert (np.diff(wide, axis=0) >= 0).all()
    assert (np.diff(wide, axis=1) <= 0).all()
    shared = eviction_front(scenario, 800, 600, 60, sharing=True)
    assert (shared["loss"] <= found["loss"]).all()
    assert np.isinf(
        eviction_front(Scenario.model_validate(scenario.model_dump(exclude_unset=True)), 9000, 60)["loss"]
    ).any()


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
