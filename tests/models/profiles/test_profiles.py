"""The compiled profile of a pool against a naive model that counts every second."""

import numpy as np
import pytest
from drawn import number_of_inputs
from every_second import COMMANDS, play
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcdispatch.models.profiles.amount import NEVER, add, earliest, forget, free_until, open_amount, peak, steps_of


class Pool:
    """The compiled profile with the methods of `play`."""

    def __init__(self, capacity, rule):
        self.amount = open_amount(int(capacity[0, 0]), 0, 400)

    def earliest(self, nodes, demand, duration, after, before=None):
        last = NEVER if before is None else before
        start = earliest(self.amount, nodes * demand[0], duration, after, last, NEVER)
        return None if start < 0 else (start, np.zeros(nodes, dtype=np.int64))

    def free_until(self, nodes, demand, start):
        until = free_until(self.amount, nodes * demand[0], start)
        return None if until <= start else (None if until == NEVER else until,)

    def take(self, start, end, placement, demand):
        add(self.amount, start, end, -len(placement) * demand[0])

    def give(self, start, end, placement, demand, now):
        add(self.amount, max(now, start), end, len(placement) * demand[0])

    def advance(self, now):
        forget(self.amount, now)

    def total(self, time):
        return (max(peak(self.amount, time, time + 1), 0),)


@given(st.integers(1, 9), COMMANDS)
@settings(max_examples=number_of_inputs(150))
def test_pool_agrees_with_every_second(cores, commands):
    for said, expected in play([[cores]], commands, Pool):
        assert said == expected


def taken():
    """Return 4 free, but 1 in [10, 20) and 3 in [20, 30)."""
    pool = Pool(np.array([[4]]), "first-fit")
    add(pool.amount, 10, 20, -3)
    add(pool.amount, 20, 30, -1)
    return pool


@pytest.mark.parametrize(
    ("nodes", "duration", "after", "before", "start"),
    [
        (1, 100, 0, None, 0),
        (2, 10, 0, None, 0),  # half-open: ends at 10, when three are taken
        (2, 11, 0, None, 20),
        (3, 10, 5, None, 20),
        (4, 11, 0, None, 30),
        (4, 10, 0, None, 0),
        (5, 1, 0, None, None),
        (2, 11, 0, 20, None),  # not before 20
        (2, 11, 0, 21, 20),
        (2, 0, 15, None, 20),
        (1, 5, 50, None, 50),
    ],
)
def test_earliest(nodes, duration, after, before, start):
    found = taken().earliest(nodes, (1,), duration, after, before)
    assert (None if found is None else found[0]) == start


def test_equal_steps_are_joined():
    pool = taken()
    add(pool.amount, 10, 20, 3)
    add(pool.amount, 20, 30, 1)
    assert steps_of(pool.amount) == ([0], [4])


def test_an_empty_interval_changes_nothing():
    pool = taken()
    add(pool.amount, 12, 12, -2)
    assert steps_of(pool.amount)[0] == [0, 10, 20, 30]


def test_forget_removes_the_past():
    pool = taken()
    forget(pool.amount, 15)
    assert steps_of(pool.amount)[0] == [15, 20, 30]
