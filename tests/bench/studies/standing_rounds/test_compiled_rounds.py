"""Rounds in compiled code give the records of the engine's single decisions."""

import itertools

import numpy as np
import pytest
from drawn import number_of_inputs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import stats

from hpcdispatch.bench.studies.standing_rounds import compiled_rounds
from hpcdispatch.dispatchers import ReservationSequences, create_dispatcher
from hpcdispatch.dispatchers.reservations.request_strategies import Adaptive, UpperBound
from hpcdispatch.dispatchers.reservations.rounds import Rounds
from hpcdispatch.simulation import Budget, check, simulate
from hpcdispatch.simulation.events.compiled_events import CompiledEvents
from hpcdispatch.testing import assert_same_records
from hpcdispatch.workloads import Job, Machine, Workload, generate

LAWS = [None, stats.uniform(0, 60), stats.expon(0, 8), stats.uniform(5, 20)]
#: A budget that is never spent leaves every decision to the engine.
BY_ENGINE = Budget(decisions=10**9)


@st.composite
def crowds(draw):
    number = st.integers
    jobs, now = [], 0
    for id_ in range(draw(number(1, 60))):
        now += draw(st.sampled_from([0, 0, 0, 1, 7, 90]))
        runtime = draw(number(1, 70))
        walltime = draw(number(1, 60))
        nodes = draw(number(1, 9))
        law = draw(st.sampled_from(LAWS))
        name = draw(st.sampled_from("abc"))
        jobs.append(Job(str(id_), now, runtime, walltime, nodes=nodes, law=law, name=name))
    return Workload(tuple(jobs), Machine.pool(8))


@pytest.mark.nightly
@pytest.mark.parametrize(
    "name", ["classic-hpc", "neuroscience:history=2", "toptimal:n=9", "atoptimal:n=5,rate=0.5", ""]
)
@given(data=st.data())
@settings(max_examples=number_of_inputs(12), suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_has_the_records_of_the_engine(name, data):
    workload = data.draw(crowds())
    batch = data.draw(st.sampled_from(["none", 1, 3, 100]))
    over = f"batch={batch},move=never"
    sign = "," if ":" in name else ":"
    dispatcher = f"{name}{sign}over=rounds:{over.replace(',', '/')}" if name else f"rounds:{over}"
    result = simulate(workload, dispatcher, overrun="kill", seed=3)
    assert_same_records(result, simulate(workload, dispatcher, overrun="kill", seed=3, budget=BY_ENGINE))
    check(workload, result)


@pytest.mark.parametrize(
    ("dispatcher", "overrun"),
    [
        ("toptimal", "run"),
        *(
            pytest.param(*each, marks=pytest.mark.nightly)
            for each in itertools.product(("toptimal", "neuroscience", "atoptimal:rate=0.1"), ("run", "kill"))
            if each != ("toptimal", "run")
        ),
    ],
)
def test_has_them_beside_a_stream_and_in_many_steps(dispatcher, overrun, monkeypatch):
    monkeypatch.setattr(compiled_rounds, "_DECISIONS", 200)
    options = {"processors": "beta", "low": 1, "high": 20, "work_rate": 0.8, "window": 15, "stream_processors": 20}
    workload = generate("stochastic", large=30, seed=5, **options)
    told = []
    name = f"{dispatcher}{',' if ':' in dispatcher else ':'}over=rounds:batch=5/move=never"
    result = simulate(workload, name, overrun=overrun, progress=told.append)
    assert told == sorted(told)
    assert told[-1] == len(workload)
    assert len(told) > 5
    assert result.decisions["queued"].max() > 50
    assert (result.jobs["attempts"] > 1).any()
    assert_same_records(result, simulate(workload, name, overrun=overrun, budget=BY_ENGINE))


@pytest.fixture
def compiled(monkeypatch):
    """Return whether a simulation is one of compiled steps."""
    taken = []
    step = CompiledEvents.next_events
    monkeypatch.setattr(CompiledEvents, "next_events", lambda self: taken.append(1) or step(self))

    def simulated(workload, dispatcher, predictor="walltime", **options):
        taken.clear()
        simulate(workload, dispatcher, predictor, **options)
        return bool(taken)

    return simulated


STANDING = "rounds:batch=3,move=never"


class Others(Rounds):
    """Rounds of a subclass that may behave otherwise."""


class TheirBound(UpperBound):
    """A strategy of a subclass that may behave otherwise."""


def test_takes_what_depends_on_nothing_else(compiled):
    workload = generate("stochastic", large=5, processors="beta", seed=1)
    assert compiled(workload, STANDING)
    assert compiled(workload, STANDING, overrun="kill")
    for name in ("classic-hpc", "neuroscience", "toptimal", "atoptimal:rate=0.5"):
        assert compiled(workload, f"{name}{',' if ':' in name else ':'}over={STANDING.replace(',', '/')}")
    over = create_dispatcher(STANDING)
    for dispatcher in (
        "rounds:batch=3",
        "toptimal:over=easy",
        f"atoptimal:over={STANDING.replace(',', '/')}",
        f"toptimal:over={STANDING.replace(',', '/')},backfill=speculative",
        Others(move="never"),
        ReservationSequences(TheirBound(), over=over),
        ReservationSequences(Adaptive(9), over=over),
        ReservationSequences(UpperBound(), over=Others(move="never")),
    ):
        assert not compiled(workload, dispatcher)
    assert not compiled(workload, STANDING, "last2")
    assert not compiled(workload, STANDING, overrun="resubmit")
    assert not compiled(workload, STANDING, same_instant="sequence")


def test_leaves_what_may_come_back_at_the_same_instant_or_outlive_its_request(compiled):
    jobs = [Job("1", 0, 5, 9), Job("2", 0, 9, 9)]
    pool = Machine.pool(4)
    assert compiled(Workload(tuple(jobs), pool), STANDING)
    assert not compiled(Workload((*jobs, Job("3", 1, 0, 9)), pool), STANDING)
    assert compiled(Workload((*jobs, Job("3", 1, 10, 9)), pool), STANDING, overrun="kill")
    assert not compiled(Workload((*jobs, Job("3", 1, 10, 9)), pool), STANDING)
    assert not compiled(Workload(tuple(jobs), Machine.homogeneous(4, core=1)), STANDING)


class Refusing:
    """A law that cannot be discretized."""

    def support(self):
        return 0.0, 50.0

    def cdf(self, x):
        raise RuntimeError("no law")


def test_what_a_law_refuses_is_said_by_the_engine():
    workload = Workload((Job("1", 7, 5, 9, law=Refusing()),), Machine.pool(4))
    with pytest.raises(Exception, match=r"ReservationSequences at t=7: dispatch raised RuntimeError: no law"):
        simulate(workload, "toptimal:over=rounds:move=never")


def test_jobs_with_the_same_requests_share_them():
    workload = generate("stochastic", large=50, seed=1)
    requests, first, count = compiled_rounds.requested(create_dispatcher("toptimal").strategy, workload.columns)
    assert len(set(first.tolist())) == 1
    assert len(requests) == 50 + count[0]
    assert np.all(np.diff(requests[first[0] : first[0] + count[0]]) > 0)
    assert requests[first[0] + count[0] - 1] == 16 * 3600
