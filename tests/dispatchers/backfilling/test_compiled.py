"""Compiled code on a pool decides as the code for any machine does."""

import pytest
from combinations import each_pair, each_value

from hpcdispatch.dispatchers.backfilling import counted
from hpcdispatch.dispatchers.backfilling.conservative import Conservative
from hpcdispatch.dispatchers.backfilling.reservations import Reservations
from hpcdispatch.simulation import simulate
from hpcdispatch.testing import assert_same_records, overrunning, pool, tiny
from hpcdispatch.workloads import Machine, generate

BELIEFS = [("walltime", "run"), ("heuristic", "kill"), ("last2", "resubmit"), ("last2:correction=sc15", "run")]
SAMPLES = {
    "tiny": tiny,
    "pool": lambda: pool(150),
    "overrunning": lambda: overrunning(120),
    "lublin": lambda: generate("lublin", jobs=200, processors=64, load=1.1, seed=5),
}


class AnyMachine(Conservative):
    """Conservative backfilling as on nodes."""

    def open(self, state):
        return Reservations(state, self.options.placement)


@pytest.mark.parametrize(
    ("sample", "compress", "predictor", "overrun"),
    each_value(list(SAMPLES), ["until-stable", "once", "never"], BELIEFS),
)
def test_conservative(sample, compress, predictor, overrun):
    workload = SAMPLES[sample]()
    pair = [kind(compress=compress) for kind in (Conservative, AnyMachine)]
    assert_same_records(*(simulate(workload, policy, predictor, overrun=overrun) for policy in pair))


@pytest.mark.parametrize(
    ("sample", "name", "predictor", "overrun"),
    each_pair([*SAMPLES, "nodes"], ["easy", "easy-sjbf", "sjf", "ljf", "lxf", "sejf", "lejf"], BELIEFS),
)
def test_both_ways_of_a_decision(sample, name, predictor, overrun, monkeypatch):
    """Guards the way of short queues and that of long ones."""
    workload = SAMPLES.get(sample, SAMPLES["pool"])()
    if sample == "nodes":  # The same jobs, a core each slot, on nodes of four.
        workload = type(workload)(workload.jobs, Machine(("core",), [[4]] * 8))
    results = []
    for least in (0, 10**9):
        monkeypatch.setattr(counted, "LONG", least)
        results.append(simulate(workload, name, predictor, overrun=overrun))
    assert_same_records(*results)
