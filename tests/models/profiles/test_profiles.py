"""The availability profile against a naive model that counts every second."""

import numpy as np
import pytest
from drawn import number_of_inputs
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcdispatch.models import AmountProfile, NodeProfile

HORIZON = 60


class Seconds:
    """Free amounts in every second up to the horizon, and after it."""

    def __init__(self, free):
        self.free = np.repeat(np.asarray(free)[None], HORIZON + 1, axis=0)

    def add(self, start, end, placement, demand, sign):
        for node in placement:
            self.free[start:end, node] += sign * np.array(demand)

    def earliest(self, nodes, demand, duration, after, before=None):
        for start in range(after, HORIZON + 1):
            if before is not None and start >= before:
                return None
            least = self.free[start : max(start + duration, start + 1)].min(axis=0)
            if slots(least, demand) >= nodes:
                return start
        return None

    def longest(self, nodes, demand, start):
        lasting = [
            end for end in range(start + 1, HORIZON + 2) if slots(self.free[start:end].min(axis=0), demand) >= nodes
        ]
        return not lasting, None if not lasting or lasting[-1] > HORIZON else lasting[-1]


def slots(free, demand):
    return sum(max(0, min(row[r] // amount for r, amount in enumerate(demand) if amount)) for row in free)


# Takes that fit, and others (of overrun jobs). Gives of taken amounts (a job that ends early gives the rest), advances
# of the clock, and questions.
COMMANDS = st.lists(
    st.tuples(
        st.sampled_from(["take", "take", "take", "force", "give", "advance", "ask"]),
        st.integers(0, 8),
        st.integers(0, 12),
        st.integers(0, 10),
        st.integers(0, 10),
    ),
    max_size=25,
)


def play(capacity, commands, make, rule="first-fit"):
    """Yield the answers of a profile and the naive model after each command."""
    capacity = np.array(capacity)
    profile = make(capacity, rule)
    naive = Seconds(capacity)
    now, held = 0, []
    for command, first, duration, delay, pick in commands:
        demand = tuple(1 + (first + r) % 2 if r == 0 else (first * r) % 3 for r in range(capacity.shape[1]))
        wanted = 1 + pick % 4
        after = now + delay
        if command == "advance":
            now += duration % 4
            profile.advance(now)
        elif command == "give" and held:
            start, end, placement, demand = held.pop(pick % len(held))
            cut = max(now, start)
            profile.give(cut, end, placement, demand)
            naive.add(cut, end, placement, demand, 1)
        elif command == "force":
            placement = np.sort(np.array([(first + k) % len(capacity) for k in range(wanted)]))
            profile.take(after, after + duration, placement, demand)
            naive.add(after, after + duration, placement, demand, -1)
            held.append((after, after + duration, placement, demand))
        else:
            before = after + pick if first % 2 else None
            found = profile.earliest(wanted, demand, duration, after, before)
            expected = naive.earliest(wanted, demand, duration, after, before)
            yield (None if found is None else found[0]), expected
            longest = profile.free_until(wanted, demand, after)
            yield (longest is None, longest and longest[0]), naive.longest(wanted, demand, after)
            if found is not None and command == "take" and found[0] + duration <= HORIZON:
                start, placement = found
                assert len(placement) == wanted
                profile.take(start, start + duration, placement, demand)
                naive.add(start, start + duration, placement, demand, -1)
                held.append((start, start + duration, placement, demand))
    for time in range(now, HORIZON):
        index = max(i for i, at in enumerate(profile.times) if at <= time)
        yield np.ravel(profile.at(index)).tolist(), np.ravel(naive.free[time]).tolist()


def pool_of(capacity, _rule):
    return AmountProfile(int(capacity[0, 0]))


def nodes_of(capacity, rule):
    return NodeProfile(capacity, capacity, rule=rule)


@given(st.integers(1, 9), COMMANDS)
@settings(max_examples=number_of_inputs(150))
def test_pool_agrees_with_every_second(cores, commands):
    for said, expected in play([[cores]], commands, pool_of):
        assert said == expected


@given(
    st.integers(1, 3).flatmap(
        lambda count: st.lists(st.lists(st.integers(0, 4), min_size=count, max_size=count), min_size=1, max_size=3)
    ),
    COMMANDS,
    st.sampled_from(["first-fit", "best-fit"]),
)
@settings(max_examples=number_of_inputs(150))
def test_nodes_agree_with_every_second(capacity, commands, rule):
    for said, expected in play(capacity, commands, nodes_of, rule):
        assert said == expected


@given(st.integers(1, 9), COMMANDS)
@settings(max_examples=number_of_inputs(60))
def test_both_profiles_agree_on_one_node(cores, commands):
    answers = [[said for said, _ in play([[cores]], commands, make)] for make in (pool_of, nodes_of)]
    assert answers[0] == answers[1]


@pytest.mark.parametrize("make", [pool_of, nodes_of])
class TestByHand:
    def profile(self, make):
        """Return 4 free, but 1 in [10, 20) and 3 in [20, 30)."""
        profile = make(np.array([[4]]), "first-fit")
        profile.take(10, 20, np.array([0, 0, 0]), (1,))
        profile.take(20, 30, np.array([0]), (1,))
        return profile

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
    def test_earliest(self, make, nodes, duration, after, before, start):
        found = self.profile(make).earliest(nodes, (1,), duration, after, before)
        assert (None if found is None else found[0]) == start

    def test_take_takes_what_is_not_there(self, make):
        profile = self.profile(make)
        profile.take(5, 15, np.array([0]), (1,))
        profile.take(5, 15, np.array([0]), (1,))
        assert np.ravel(profile.at(profile.times.index(10))).tolist() == [-1]
        profile.give(5, 15, np.array([0, 0]), (1,))
        assert profile.times == [0, 10, 20, 30]

    def test_equal_steps_are_joined(self, make):
        profile = self.profile(make)
        profile.give(10, 20, np.array([0, 0, 0]), (1,))
        profile.give(20, 30, np.array([0]), (1,))
        assert profile.times == [0]
        assert np.ravel(profile.at(0)).tolist() == [4]

    def test_an_empty_interval_changes_nothing(self, make):
        profile = self.profile(make)
        profile.take(12, 12, np.array([0, 0]), (1,))
        profile.give(12, 12, np.array([0]), (1,))
        assert profile.times == [0, 10, 20, 30]

    def test_advance_forgets_the_past(self, make):
        profile = self.profile(make)
        profile.advance(15)
        assert profile.times == [15, 20, 30]
        assert profile.earliest(1, (1,), 1, 15)[0] == 15


def test_a_job_takes_the_nodes_that_stay_free():
    profile = NodeProfile(np.full((3, 1), 1), np.full((3, 1), 1))
    profile.take(0, 10, np.array([0]), (1,))
    profile.take(10, 20, np.array([1]), (1,))
    # Two nodes are free at any time. Only node 2 is free all the time up to 20. From 10 on 0 and 2 are.
    start, placement = profile.earliest(2, (1,), 15, 0)
    assert (start, placement.tolist()) == (10, [0, 2])


def test_the_free_amounts_given_are_copied():
    free = np.full((2, 1), 2)
    NodeProfile(free, free).take(0, 5, np.array([0, 1]), (1,))
    assert free.tolist() == [[2], [2]]


def test_a_node_below_zero_takes_nothing_from_the_others():
    # Guards against a sum of missing slots on node 0 and fitting slots on node 1.
    profile = NodeProfile(np.full((2, 1), 2), np.full((2, 1), 2))
    profile.take(0, 10, np.array([0, 0, 0, 0]), (1,))
    start, placement = profile.earliest(2, (1,), 5, 0)
    assert (start, placement.tolist()) == (0, [1, 1])
    assert profile.earliest(1, (1,), 20, 0)[1].tolist() == [1]
