"""The availability list against the paper's list and against free processors per second."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcdispatch.models import AvailabilityProfile

#: Cirne and Berman, section 2.
LISTED = [(0, 10, 15), (10, 50, 80), (50, 210, 0), (210, None, 128)]
HORIZON = 40


def test_the_list_of_the_paper():
    profile = AvailabilityProfile.from_steps(LISTED)
    assert profile.steps() == LISTED
    assert profile.processors == 128
    starts = [profile.earliest_start(*asked) for asked in ((15, 50, 0), (16, 40, 0), (16, 41, 0), (129, 1, 0))]
    assert starts == [0, 10, 210, None]


def test_what_is_given_back_is_as_before():
    profile = AvailabilityProfile.from_steps(LISTED)
    profile.reserve(80, 40, 10)
    assert profile.steps() == [(0, 10, 15), (10, 210, 0), (210, None, 128)]
    assert [profile.free(time) for time in (0, 10, 209, 210)] == [15, 0, 0, 128]
    profile.release(80, 40, 10)
    assert profile.steps() == LISTED


def test_alike_slots_are_one():
    assert AvailabilityProfile.from_steps([(0, 5, 8), (5, 9, 8), (9, None, 8)]).steps() == [(0, None, 8)]


def test_it_grows():
    profile = AvailabilityProfile(1000)
    for place in range(500):
        profile.reserve(1, 10, 20 * place)
    assert len(profile.steps()) == 1000
    assert profile.earliest_start(1000, 11, 0) == 9990


JOBS = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 12), st.integers(0, 20)), max_size=12)


@given(JOBS, st.integers(1, 9), st.integers(1, 12), st.integers(0, 25))
def test_earliest_starts_are_those_of_a_count_by_seconds(jobs, processors, duration, after):
    profile = AvailabilityProfile(8)
    free = np.full(400, 8)

    def first(amount, seconds, since):
        return next((t for t in range(since, 300) if (free[t : t + seconds] >= amount).all()), None)

    for amount, seconds, since in jobs:
        start = profile.earliest_start(amount, seconds, since)
        assert start == first(amount, seconds, since)
        if start is not None:
            profile.reserve(amount, seconds, start)
            free[start : start + seconds] -= amount
    assert profile.earliest_start(processors, duration, after) == first(processors, duration, after)
    assert [profile.free(time) for time in range(HORIZON)] == free[:HORIZON].tolist()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: AvailabilityProfile(0), "processors must be a whole number >= 1"),
        (lambda: AvailabilityProfile.from_steps([]), "expected one at least"),
        (lambda: AvailabilityProfile.from_steps([(0, 9, 1)]), "no end"),
        (lambda: AvailabilityProfile.from_steps([(0, 9, 1), (10, None, 1)]), r"steps\[0\]: end: expected the begin"),
        (lambda: AvailabilityProfile.from_steps([(0, None, -1)]), r"steps\[0\]: free must be"),
        (lambda: AvailabilityProfile.from_steps([(0, None, 9)], 8), r"steps\[0\]: free: expected at most 8"),
        (lambda: AvailabilityProfile(4).earliest_start(0, 1), "processors must be"),
        (lambda: AvailabilityProfile(4).earliest_start(1, 0), "duration must be"),
        (lambda: AvailabilityProfile(4).reserve(5, 1, 0), "5 processors are not free for 1 s from 0 on"),
        (lambda: AvailabilityProfile(4, 10).reserve(1, 1, 5), "not free for 1 s from 5 on"),
        (lambda: AvailabilityProfile(4).release(1, 1, 0), "1 processors were not taken all the 1 s"),
        (lambda: AvailabilityProfile(4, 10).release(1, 1, 5), "from 10 on, when the list begins, got 5"),
    ],
)
def test_what_makes_no_sense_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
