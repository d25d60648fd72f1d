"""The look-ahead plan and its guarantees."""

import numpy as np
import pytest
from drawn import number_of_inputs
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcdispatch.models.lookahead import guarantees, planning
from hpcdispatch.models.lookahead.guarantees import MachineRoom, PlanSettings, Queue, Walltimes
from hpcdispatch.models.lookahead.planning import weights

HORIZON = 40
QUICK = settings(max_examples=number_of_inputs(100))
SETTINGS = PlanSettings(due=100, tolerance=0.0, blocked=3, guards=10, iterations=30, age_scale=50.0)


#: Neither walltimes nor earlier guarantees.
NOTHING = Walltimes(*(np.zeros(0, dtype=np.int64) for _ in range(3)))


def plan(queue, running, options):
    return planning.plan(queue, running, options, NOTHING)[0]


def guarantee(queue, running, options):
    return guarantees.keep_guarantees(queue, running, options, NOTHING)


def ints(values):
    return np.array(values, dtype=np.int64)


def queue_of(rows, free):
    """Lay out rows of (wait, duration, amount) on a pool of one resource."""
    wait, duration, amount = (ints(column) for column in zip(*rows, strict=True))
    return Queue(wait, duration, amount[:, None], amount <= free)


def running_of(rows, free):
    """Lay out rows of (end, amount)."""
    end, amount = (ints(column) for column in zip(*rows, strict=True)) if rows else (ints([]), ints([]))
    return MachineRoom(end, amount.reshape(-1, 1), ints([free]), ints([10]))


def started(queue, running, options=SETTINGS):
    return sorted(plan(queue, running, options).start.tolist())


def test_weights_are_the_slope_of_the_squared_slowdown_times_age():
    queue = queue_of([(0, 100, 1), (300, 100, 1), (300, 2, 1)], 1)
    assert weights(queue.wait, queue.duration, -1.0) == pytest.approx([1 / 100, 4 / 100, 30.2 / 10])
    assert weights(queue.wait, queue.duration, 100.0) == pytest.approx([1 / 100, 4 / 100 * 10, 30.2 / 10 * 10])


class TestPromises:
    # 3 of 4 run until 50. The oldest wants all 4 and has 10 s left of its 100.
    running = ((50, 3),)
    old = (90, 20, 4)

    def test_no_job_delays_the_first_late_one(self):
        # It cannot be on time. It is held at 50. Jobs that end by then may start.
        for duration, expected in ((50, [1]), (51, [])):
            queue = queue_of([self.old, (0, duration, 1)], 1)
            assert started(queue, running_of(self.running, 1)) == expected

    def test_what_is_left_may_be_used_up(self):
        # With 80 s left the oldest is guaranteed 80. It may be delayed until then.
        for duration, expected in ((80, [1]), (81, [])):
            queue = queue_of([(20, 20, 4), (20, duration, 1)], 1)
            options = SETTINGS._replace(blocked=0)
            assert started(queue, running_of(self.running, 1), options) == expected

    def test_tolerance_puts_off_a_young_job_past_its_earliest_start(self):
        # Due in 10 s, startable in 50: with tolerance 1 at 50 + 10.
        queue = queue_of([self.old], 1)
        running = running_of(self.running, 1)
        assert guarantee(queue, running, SETTINGS._replace(tolerance=1.0)).start.tolist() == [60]
        assert guarantee(queue, running, SETTINGS).start.tolist() == [50]

    def test_one_late_job_alone_is_held_a_start(self):
        queue = queue_of([self.old, self.old, (50, 10, 4)], 1)
        running = running_of(self.running, 1)
        _, guaranteed, overdue = guarantee(queue, running, SETTINGS)
        assert guaranteed.tolist() == [50, -1, -1]
        assert overdue == 0

    def test_without_a_due_time_there_are_none(self):
        queue = queue_of([self.old, (0, 500, 1)], 1)
        running = running_of(self.running, 1)
        assert plan(queue, running, SETTINGS._replace(due=-1)).guarantees == 0
        assert plan(queue, running, SETTINGS).guarantees == 2


@st.composite
def situations(draw):
    """Draw a queue and what runs on a pool of two resources."""
    capacity = ints([8, 5])
    held = draw(st.lists(st.tuples(st.integers(1, 30), st.integers(0, 2), st.integers(0, 1)), max_size=4))
    end = ints([row[0] for row in held])
    amount = ints([row[1:] for row in held]).reshape(-1, 2)
    free = capacity - amount.sum(axis=0)
    rows = draw(
        st.lists(
            st.tuples(st.integers(0, 150), st.integers(1, 30), st.integers(1, 8), st.integers(0, 5)),
            min_size=1,
            max_size=9,
        )
    )
    rows.sort(key=lambda row: -row[0])
    wanted = ints([row[2:] for row in rows])
    fits = (wanted <= free).all(axis=1)
    queue = Queue(ints([row[0] for row in rows]), ints([row[1] for row in rows]), wanted, fits)
    return queue, MachineRoom(end, amount, free, capacity)


@QUICK
@given(situations(), st.integers(-1, 200), st.floats(0, 1), st.integers(0, 9))
def test_what_starts_fits_and_spoils_no_promise(situation, due, tolerance, guards):
    queue, running = situation
    options = SETTINGS._replace(due=due, tolerance=tolerance, guards=guards)
    found = plan(queue, running, options)
    begin = found.start
    assert len(set(begin.tolist())) == len(begin)
    assert (queue.amount[begin].sum(axis=0) <= running.free).all()
    guaranteed = guarantee(queue, running, options).start
    guaranteed = np.concatenate((guaranteed, np.full(len(queue.wait) - len(guaranteed), -1)))
    assert found.guarantees == (guaranteed >= 0).sum()
    used = np.zeros((200 + 2 * HORIZON, 2), dtype=np.int64)
    for end, amount in zip(running.end, running.amount, strict=True):
        used[:end] += amount
    for job, start in enumerate(np.where(np.isin(np.arange(len(guaranteed)), begin), 0, guaranteed).tolist()):
        if start >= 0:
            used[start : start + queue.duration[job]] += queue.amount[job]
    assert (used <= [8, 5]).all()
    assert set(np.flatnonzero((guaranteed == 0) & queue.fits)) <= set(begin.tolist())


@QUICK
@given(situations())
def test_the_search_is_never_worse_than_the_lists(situation):
    queue, running = situation
    listed = plan(queue, running, SETTINGS._replace(iterations=0))
    searched = plan(queue, running, SETTINGS._replace(iterations=50))
    assert listed.origin == planning.LISTED
    assert searched.objective <= listed.objective
    assert (searched.origin == planning.SEARCHED) == (searched.objective < listed.objective)
