"""The columns that dispatchers see are always those of the entries."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcdispatch.dispatchers import create_dispatcher
from hpcdispatch.dispatchers.ordered_jobs import KeptColumns, WaitingQueue
from hpcdispatch.simulation import simulate
from hpcdispatch.testing import samples

OF_QUEUE = ("order", "nodes", "predicted", "since")
OF_RUNNING = ("order", "nodes", "predicted_end", "start")


class Checking:
    """A dispatcher that compares columns and entries before another one decides, at every `every`-th decision."""

    def __init__(self, inner, every):
        self.inner = create_dispatcher(inner)
        self.every = every
        self.calls = 0
        self.compared = 0

    def reset(self, machine, rng=None):
        if hasattr(self.inner, "reset"):
            self.inner.reset(machine, rng)

    def dispatch(self, state):
        self.calls += 1
        if self.calls % self.every == 0:
            self.compare(state.queue, OF_QUEUE)
            self.compare(state.running, OF_RUNNING)
            assert state.queue.submit.tolist() == [waiting.job.submit for waiting in state.queue]
        return self.inner.dispatch(state)

    def compare(self, jobs, names):
        for name in names:
            column = getattr(jobs, name)
            assert column.tolist() == [getattr(entry, name) for entry in jobs], name
            assert column.dtype == np.int64
            with pytest.raises(ValueError, match="read-only"):
                column[:] = 0
        assert jobs.demand.tolist() == [list(entry.demand) for entry in jobs]
        self.compared += len(jobs)


@pytest.mark.parametrize("every", [1, pytest.param(7, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("name", ["easy", "lookahead", "evict:over=sjf", "toptimal:over=conservative"])
def test_columns_are_those_of_the_entries(name, every):
    compared = 0
    for workload in samples(0.2 if every == 1 else 0.8):
        for predictor, overrun in (("walltime", "run"), ("last2:correction=sc15", "kill"), ("empirical", "resubmit")):
            checking = Checking(name, every)
            simulate(workload, checking, predictor, overrun=overrun)
            compared += checking.compared
    assert compared > 1000


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 10**6)), max_size=300))
def test_put_in_and_taken_out_anywhere(changes):
    columns = KeptColumns(np.zeros((2, 0), dtype=np.int64))
    expected = []
    for number, (put, where) in enumerate(changes):
        if put or not expected:
            index = where % (len(expected) + 1)
            expected.insert(index, number)
            columns.put(index, (number, -number))
        else:
            index = where % len(expected)
            del expected[index]
            columns.take(index)
        assert columns.shown.tolist() == [expected, [-number for number in expected]]


def test_columns_without_readers_are_given_up():
    class Entry:
        def __init__(self, order):
            self.order = order
            self.since = 0
            self.nodes = 1
            self.predicted = 1
            self.demand = (1,)
            self.job = self
            self.submit = self.walltime = 0
            self.place = 0, 0, order

    queue = WaitingQueue(1)
    assert queue.shown.order.tolist() == []
    for order in range(1000):
        queue.add(Entry(order))
    assert queue._columns is not None  # Making them anew would have cost as much.
    for entry in list(queue.entries[:900]):
        queue.remove(entry)
    assert queue._columns is None
    assert queue.shown.order.tolist() == list(range(900, 1000))
