"""With guaranteed starts by walltimes, and walltimes that hold, no job starts late."""

from dataclasses import replace

import pytest
from drawn import number_of_inputs
from hypothesis import given, settings
from hypothesis import strategies as st
from random_workloads import workloads

from hpcdispatch.dispatchers import EASY, EASYSJBF, Lookahead, Start
from hpcdispatch.simulation import check, simulate
from hpcdispatch.testing import assert_same_records
from hpcdispatch.workloads import Machine, generate

POOLS = st.integers(2, 8).map(Machine.pool)


def that_hold(workload):
    """Let no job run longer than it requests."""
    return workload.with_jobs(replace(job, runtime=min(job.runtime, job.walltime)) for job in workload.jobs)


class Wrong:
    """Predicts anything but the truth: too short for some, too long for others."""

    def __init__(self, seed):
        self.seed = seed

    def predict(self, job, now):
        return 1 + (int(job.id) * 7919 + self.seed) % (2 * job.walltime)

    def observe(self, job):
        """Learn nothing."""


class Watched(Lookahead):
    """Remembers the first guaranteed start of each job."""

    def forget(self):
        super().forget()
        self.first = {}

    def dispatch(self, state):
        actions = super().dispatch(state)
        for entry, ahead in zip(state.queue, self._history._guaranteed[self._seen(state)].tolist(), strict=True):
            if ahead < 1 << 60:
                self.first.setdefault(entry.id, ahead)
        return actions

    def _seen(self, state):
        return [self._history._row[entry.id] for entry in state.queue]


def late(workload, dispatcher, predictor, first):
    """Return the delays behind the guaranteed start, by id, of late jobs."""
    result = simulate(workload, dispatcher, predictor)
    check(workload, result)
    starts = result.jobs.set_index("id")["start"]
    return {id_: starts[id_] - promised for id_, promised in first().items() if starts[id_] > promised}


@settings(max_examples=number_of_inputs(40), deadline=None)
@given(workloads(POOLS, max_jobs=25), st.integers(0, 99), st.sampled_from([0.0, 0.5]))
def test_lookahead_keeps_the_first_promise(workload, seed, tolerance):
    dispatcher = Watched(reserve_by="walltimes", patience=0.2, least_due=20, tolerance=tolerance)
    assert not late(that_hold(workload), dispatcher, Wrong(seed), lambda: dispatcher.first)


def crowd(seed):
    return that_hold(generate("lublin:jobs=250,processors=16,load=1.2", seed=seed))


@pytest.mark.parametrize("seed", [1, 2])
def test_lookahead_keeps_it_in_a_long_queue(seed):
    dispatcher = Watched(reserve_by="walltimes", patience=0.3, guards=30)
    assert not late(crowd(seed), dispatcher, Wrong(seed), lambda: dispatcher.first)
    assert len(dispatcher.first) > 50


class Reserving:
    """Remembers the first start with room for the head of the queue, by walltimes."""

    def __init__(self, inner):
        self.inner, self.first = inner, {}

    def dispatch(self, state):
        actions = self.inner.dispatch(state)
        started = {action.job.id for action in actions if isinstance(action, Start)}
        rest = [entry for entry in state.queue if entry.id not in started]
        if rest:
            begun = [(entry.job.walltime, amount(entry)) for entry in state.queue if entry.id in started]
            ends = [(run.start + run.job.walltime - state.now, amount(run)) for run in state.running]
            free = int(state.free[0, 0]) - sum(taken for _, taken in begun)
            self.first.setdefault(rest[0].id, state.now + until_free(amount(rest[0]), free, begun + ends))
        return actions


def amount(entry):
    return entry.nodes * entry.demand[0]


def until_free(needed, free, ends):
    """Return after how many seconds so many are free."""
    return min(
        time for time in (0, *(end for end, _ in ends)) if free + sum(n for end, n in ends if end <= time) >= needed
    )


@pytest.mark.parametrize("kind", [EASY, EASYSJBF])
@settings(max_examples=number_of_inputs(40), deadline=None)
@given(workloads(POOLS, max_jobs=25), st.integers(0, 99))
def test_easy_keeps_what_it_reserved(kind, workload, seed):
    dispatcher = Reserving(kind(reserve_by="walltimes"))
    assert not late(that_hold(workload), dispatcher, Wrong(seed), lambda: dispatcher.first)


def test_easy_with_promises_by_requests_needs_no_predictions():
    workload = crowd(3)
    starts = simulate(workload, "easy").jobs["start"]
    assert starts.equals(simulate(workload, "easy:reserve_by=walltimes", Wrong(1)).jobs["start"])
    assert not starts.equals(simulate(workload, "easy", Wrong(1)).jobs["start"])


@pytest.mark.parametrize("kind", ["easy", "easy-sjbf"])
def test_where_requests_are_the_predictions_nothing_changes(kind):
    nodes = generate("lublin:jobs=200,processors=16,load=1.1", seed=1)
    for workload in (crowd(1), replace(nodes, machine=Machine.homogeneous(16, core=1))):
        assert_same_records(simulate(workload, kind), simulate(workload, f"{kind}:reserve_by=walltimes"))
