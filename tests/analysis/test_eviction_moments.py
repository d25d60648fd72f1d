"""Eviction scenarios from the moments of a trace. The trade-off of one moment."""

import numpy as np
import pandas as pd
import pytest

from hpcdispatch.analysis import Scenario, eviction_front, recorded_starts, scenario_at, scenario_of
from hpcdispatch.base import InputError
from hpcdispatch.models.eviction import plan
from hpcdispatch.workloads import Job, Machine, Workload, generate


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
        [Job("a", 0, 10, 10, 1, {"gpu": 1})],
        Machine.homogeneous(1, core=4, gpu=1),
        records=pd.DataFrame({"wait": [0]}),
    )
    with pytest.raises(InputError, match="job a: expected a size"):
        scenario_at(sizeless, 5)


@pytest.mark.nightly
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
