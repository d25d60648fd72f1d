"""The rules of SC 2015 against a simulator of their own, and its table on traces."""

import numpy as np
import pytest
from combinations import each_value
from drawn import number_of_inputs
from oracles.paper_rules import SC15_PREDICTIONS, sc15_starts

from hpcdispatch.base import InputError
from hpcdispatch.bench.studies.published.sc15 import (
    FILES,
    TABLE,
    PyssEASY,
    independent_starts,
    simulated,
    values,
)
from hpcdispatch.bench.studies.published.values import equal_starts
from hpcdispatch.simulation import check, simulate
from hpcdispatch.workloads import Job, Machine, Workload
from hpcdispatch.workloads.fetching import TRACES

CORES = 16
DISPATCHERS = ("easy", "easy-sjbf", "pyss-easy")


def crowded(seed, jobs=120):
    """Return jobs whose submissions, run times and walltimes are few different numbers. Some exceed their walltime."""
    rng = np.random.default_rng(seed)
    made = []
    submit = 0
    for number in range(jobs):
        submit += int(rng.choice([0, 0, 0, 10, 20]))
        walltime = int(rng.choice([20, 40, 60, 120]))
        runtime = int(rng.choice([walltime, walltime // 2, 10, 20, 30]))
        cores = int(rng.integers(1, 9))
        made.append(Job(str(number), submit, runtime, walltime, cores, {"core": 1}, user=f"u{rng.integers(0, 3)}"))
    return Workload(made, Machine.pool(CORES))


@pytest.mark.parametrize(("prediction", "dispatcher"), each_value(list(SC15_PREDICTIONS), list(DISPATCHERS)))
def test_every_start_is_that_of_another_simulator(prediction, dispatcher):
    other_orders = 0
    for seed in range(number_of_inputs(12, 3)):
        workload = crowded(seed)
        starts = independent_starts(workload, dispatcher, prediction)
        result = simulated(workload, dispatcher, prediction)
        check(workload, result)
        assert equal_starts(result, starts) == len(workload), f"seed {seed}"
        for order in ("batch", "sequence"):
            other = simulated(workload, dispatcher.removeprefix("pyss-"), prediction, same_instant=order)
            other_orders += equal_starts(other, starts) < len(workload)
    if dispatcher == "easy-sjbf":  # In the order of submission the others may start the same jobs.
        assert other_orders > 0


def test_a_correction_is_found_at_an_arrival_or_at_the_next_end():
    # Job 4 may start once job 1 is known to end later than foreseen. Then job 5 arrives, which does not fit.
    jobs = [
        Job("u", 0, 10, 10, 1, user="a"),
        Job("v", 0, 10, 10, 1, user="a"),
        Job("1", 20, 100, 100, 2, user="a"),
        Job("2", 20, 30, 60, 1, user="b"),
        Job("3", 21, 10, 10, 4, user="b"),
        Job("4", 21, 65, 65, 1, user="b"),
        Job("5", 40, 10, 10, 4, user="b"),
    ]
    workload = Workload(jobs, Machine.pool(4))
    starts = {name: simulated(workload, name, "AVG2, reqtime").jobs.set_index("id")["start"] for name in DISPATCHERS}
    assert [starts["easy"][job] for job in "34"] == [120, 40]
    assert [starts["pyss-easy"][job] for job in "34"] == [120, 50]
    assert dict(starts["pyss-easy"]) == sc15_starts(jobs, 4, "AVG2, reqtime", False, True)


def test_other_machines_than_pools_are_refused():
    nodes = Machine.homogeneous(2, core=4)
    with pytest.raises(InputError, match="expected a pool of cores, got 2 nodes with core"):
        simulate(Workload([Job("1", 0, 1, 1, 1, {"core": 1})], nodes), PyssEASY())


@pytest.mark.traces
@pytest.mark.parametrize(
    "name", [name if name == "kth-sp2" else pytest.param(name, marks=pytest.mark.nightly) for name in TABLE]
)
def test_the_published_values_are_met(name, trace):
    path = trace(FILES.get(name) or TRACES[name].file)
    for row in values(name, path):
        assert row.ours == pytest.approx(row.theirs, rel=1.5e-3 if name == "sdsc-sp2" else 2e-4)
        assert row.equal_starts == row.jobs
