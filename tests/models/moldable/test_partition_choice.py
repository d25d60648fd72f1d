"""Which request SA chooses, against every request tried."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcdispatch.base import InputError
from hpcdispatch.models import AvailabilityProfile
from hpcdispatch.models.moldable import Choice, Request, choose, choose_with_law, front, options
from hpcdispatch.models.reservations import ESDD

LISTED = AvailabilityProfile.from_steps([(0, 10, 15), (10, 50, 80), (50, 210, 0), (210, None, 128)])
REQUESTS = st.lists(st.builds(Request, st.integers(1, 140), st.integers(1, 300)), max_size=7, unique=True)


def test_the_least_turnaround_is_chosen():
    requests = [Request(15, 60), Request(16, 40), Request(128, 10)]
    assert choose(LISTED, requests, 0) == Choice(Request(16, 40), 10, 50)
    assert [choice.turnaround for choice in options(LISTED, requests, 0)] == [270, 50, 220]


def test_ties_go_to_fewer_processors_and_then_to_the_first():
    assert choose(AvailabilityProfile(8), [Request(8, 10), Request(2, 10), Request(4, 10)], 5).request.processors == 2
    assert choose(LISTED, [Request(129, 1)], 0) is None
    assert choose(LISTED, [], 0) is None


@given(REQUESTS, st.integers(0, 250), st.floats(0, 100))
def test_no_request_would_have_been_cheaper(requests, now, weight):
    chosen = choose(LISTED, requests, now, weight)
    costs = [choice.turnaround + weight * choice.request.processor_hours for choice in options(LISTED, requests, now)]
    assert (chosen is None) == (not costs)
    if chosen is not None:
        assert chosen.turnaround + weight * chosen.request.processor_hours == min(costs)


@given(REQUESTS)
def test_the_front_is_what_no_other_request_beats(requests):
    found = options(LISTED, requests, 0)
    best = front(found)
    for choice in found:
        beaten = any(
            other.turnaround <= choice.turnaround and other.request.processor_hours <= choice.request.processor_hours
            for other in best
        )
        assert beaten
    assert [choice.turnaround for choice in best] == sorted({choice.turnaround for choice in best})


def test_a_longer_first_request_pays_where_a_second_one_would_wait():
    law = ESDD(np.array([10.0, 100.0]), np.array([0.5, 0.5]))
    # It is free for 20 s now, and for 100 s only after 1,000 s. Request 10 s first. Half of the jobs end by then.
    gap = AvailabilityProfile.from_steps([(0, 20, 4), (20, 1000, 0), (1000, None, 4)])
    found = choose_with_law(gap, [(4, law)], 0)
    assert found == Choice(Request(4, 10), 0, pytest.approx(0.5 * 10 + 0.5 * (10 + 1000 + 100)))
    # Nothing to wait for: request all of it at once.
    assert choose_with_law(AvailabilityProfile(4), [(4, law)], 0) == Choice(Request(4, 100), 0, pytest.approx(55))


@given(st.lists(st.integers(1, 300), min_size=1, max_size=5, unique=True), st.integers(0, 60))
def test_the_expected_turnaround_is_the_least_of_all_sequences(times, now):
    values = np.array(sorted(times), dtype=float)
    law = ESDD(values, np.full(len(values), 1 / len(values)))
    waits = [LISTED.earliest_start(64, int(value), now) - now for value in values]

    def expected(sequence):
        total = 0.0
        for ran, share in zip(values, law.probabilities, strict=True):
            for place in sequence:
                total += share * (waits[place] + min(ran, values[place]))
                if values[place] >= ran:
                    break
        return total

    last = len(values) - 1
    sequences = [[place for place in range(last) if mask >> place & 1] + [last] for mask in range(2**last)]
    found = choose_with_law(LISTED, [(64, law)], now)
    assert found.turnaround == pytest.approx(min(map(expected, sequences)))


def test_the_size_with_the_better_law_is_chosen():
    slow, fast = (ESDD(np.array([time]), np.array([1.0])) for time in (400.0, 30.0))
    assert choose_with_law(LISTED, [(15, slow), (80, fast)], 0).request == Request(80, 30)
    assert choose_with_law(LISTED, [(400, fast)], 0) is None


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Request(0, 1), ValueError, "request: processors must be a whole number >= 1, got 0"),
        (lambda: Request(1, 0), ValueError, "request: walltime must be a whole number >= 1, got 0"),
        (lambda: choose(LISTED, [Request(1, 2)] * 2, 0), InputError, "1 processors for 2 s stand there twice"),
        (lambda: choose(LISTED, [Request(1, 2)], 0, -1.0), ValueError, "weight must be a number >= 0"),
    ],
)
def test_what_makes_no_sense_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()
