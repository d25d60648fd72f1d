"""Look-ahead in compiled steps has the records that the engine makes of the same dispatcher as a plug-in."""

import math

import numpy as np
import pytest
from drawn import number_of_inputs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hpcdispatch.dispatchers import Lookahead
from hpcdispatch.dispatchers.lookahead.lookahead import LookaheadOptions
from hpcdispatch.simulation import check, simulate
from hpcdispatch.simulation.events import compiled_events
from hpcdispatch.testing import assert_same_records
from hpcdispatch.workloads import Job, Machine, Shape, Workload, generate

HOUR = 3600
MACHINE = Machine(("core", "mem"), np.array([[8, 20]]))


class PlugIn:
    """Decides as another dispatcher does, which the engine cannot know."""

    def __init__(self, over):
        self.dispatch = over.dispatch
        self.reset = over.reset
        self.report = over.report


@pytest.fixture(autouse=True)
def worth_it(monkeypatch):
    monkeypatch.setattr(compiled_events, "WORTH", 1)


@st.composite
def crowds(draw):
    number = st.integers
    jobs = []
    now = 0
    scale = draw(st.sampled_from([1, HOUR]))
    for id_ in range(draw(number(1, 70))):
        now += scale * draw(st.sampled_from([0, 0, 0, 1, 7]))
        runtime = scale * draw(number(0, 30))
        walltime = scale * draw(number(1, 25))
        nodes = draw(number(1, 9))
        slot = draw(st.sampled_from([{"core": 1}, {"core": 1, "mem": 3}, {"core": 2, "mem": 1}]))
        jobs.append(Job(str(id_), now, runtime, walltime, nodes=nodes, per_node=slot))
    return Workload(tuple(jobs), MACHINE)


@st.composite
def dispatchers(draw):
    patience = draw(st.sampled_from([math.inf, 0.9, 0.1]))
    blocked = draw(st.sampled_from([0, 3]))
    guards = draw(st.sampled_from([0, 2, 30]))
    trust = draw(st.sampled_from([math.inf, 0.1, 1]))
    iterations = draw(st.sampled_from([0, 60]))
    due = draw(st.sampled_from(["12h", 5]))
    recent = draw(st.sampled_from([math.inf, 10, 2 * HOUR]))
    chosen = {"blocked": blocked, "guards": guards, "iterations": iterations, "trust": trust}
    return Lookahead(patience=patience, least_due=due, recent=recent, **chosen)


@pytest.mark.parametrize("overrun", ["run", "kill"])
@pytest.mark.parametrize("predictor", ["walltime", "oracle"])
@given(workload=crowds(), dispatcher=dispatchers())
@settings(max_examples=number_of_inputs(25), suppress_health_check=[HealthCheck.too_slow])
def test_has_the_records_of_the_engine(overrun, predictor, workload, dispatcher):
    result = simulate(workload, dispatcher, predictor, overrun=overrun)
    assert_same_records(result, simulate(workload, PlugIn(dispatcher), predictor, overrun=overrun))
    check(workload, result)


def test_has_them_with_a_long_queue_and_in_many_steps(monkeypatch):
    monkeypatch.setattr("hpcdispatch.dispatchers.lookahead.compiled_lookahead._DECISIONS", 100)
    told = []
    workload = generate("lublin", jobs=900, processors=64, load=2.0, seed=2)
    result = simulate(workload, Lookahead(), progress=told.append)
    assert result.decisions["queued"].max() > 100
    assert set(result.decisions["used"]) == {"none", "list", "search"}
    assert result.decisions["guarantees"].max() == LookaheadOptions().guards
    assert len(told) > 10
    assert_same_records(result, simulate(workload, PlugIn(Lookahead())))


def test_has_them_where_no_job_fits():
    workload = Workload((Job("1", 0, 5, 5, nodes=9), Job("2", 3, 5, 5, nodes=9)), Machine.pool(8))
    result = simulate(workload, Lookahead())
    assert not len(result.decisions)
    assert_same_records(result, simulate(workload, PlugIn(Lookahead())))


@pytest.fixture
def compiled(monkeypatch):
    """Return whether a simulation is one of compiled steps."""
    taken = []
    step = compiled_events.CompiledEvents.next_events
    monkeypatch.setattr(compiled_events.CompiledEvents, "next_events", lambda self: taken.append(1) or step(self))

    def simulated(workload, dispatcher="lookahead", predictor="walltime"):
        taken.clear()
        simulate(workload, dispatcher, predictor)
        return bool(taken)

    return simulated


def test_leaves_what_it_does_not_know_to_the_engine(compiled, monkeypatch):
    job = Job("1", 0, 5, 5)
    workload = Workload((job, Job("2", 3, 5, 5)), Machine.pool(4))
    assert compiled(workload)
    assert compiled(workload, "lookahead", "oracle")
    assert not compiled(workload, PlugIn(Lookahead()))
    assert not compiled(workload, "lookahead", "last2")
    assert not compiled(workload, "lookahead:reserve_by=walltimes")
    assert not compiled(Workload((job, Job("2", 3, 5, 5)), Machine.homogeneous(2, core=4)))
    assert not compiled(Workload((job, Job("2", 3, 5, 5, shapes=(Shape(2, 3, 3),))), Machine.pool(4)))
    monkeypatch.setattr(compiled_events, "WORTH", 3)
    assert not compiled(workload)
