"""Reservations with checkpoints: the best ones, beside every other one."""

import itertools
import math

import numpy as np
import pytest
from drawn import number_of_inputs
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hpcdispatch.base import InputError
from hpcdispatch.models.reservations import (
    ESDD,
    Checkpointing,
    Cost,
    discretize,
    evaluate,
    evaluate_checkpointed,
    longest_worthwhile,
    optimal_checkpointed_sequence,
    optimal_sequence,
)


def lived(reached, keeps, law, costs, price=None, kept=0.0):
    """The expected cost, run time by run time, reservation by reservation."""
    price, total = price or Cost(), 0.0
    for run_time, chance in zip(law.values.tolist(), law.probabilities.tolist(), strict=True):
        held, paid = kept, 0.0
        for end, keep in zip(reached, keeps, strict=True):
            begin = costs.restart if held else 0.0
            length = begin + end - held + (costs.write if keep else 0.0)
            used = begin + run_time - held if run_time <= end else length
            paid += price.alpha * length + price.beta * used + price.gamma
            if run_time <= end:
                break
            held = end if keep else held
        total += chance * paid
    return total


def every(law):
    """All reservations that end with the largest value, with every choice of checkpoints."""
    *others, last = law.values.tolist()
    for count in range(len(others) + 1):
        for chosen in itertools.combinations(others, count):
            for keeps in itertools.product((False, True), repeat=count):
                yield [*chosen, last], [*keeps, False]


def law_of(steps):
    """The law of steps between values, and of masses. The last mass is not 0."""
    masses = np.array([mass for _, mass in steps]) + (np.arange(1, len(steps) + 1) == len(steps))
    return ESDD(np.cumsum([step for step, _ in steps]) * 0.5, masses / masses.sum())


laws = st.lists(st.tuples(st.integers(1, 9), st.integers(0, 6)), min_size=1, max_size=5).map(law_of)
amounts = st.sampled_from([0.0, 0.25, 1.0, 3.0])
prices = st.sampled_from([None, Cost(), Cost(1, 1, 2), Cost(0, 1, 0.5), Cost(0.5, 0, 3), Cost(0, 0, 1)])


@settings(max_examples=number_of_inputs(60), deadline=None)
@given(laws, amounts, amounts, prices, st.sampled_from([0.0, 0.2]))
def test_no_other_reservations_are_better(law, write, restart, price, kept):
    costs = Checkpointing(min(write, law.end), min(restart, law.end))
    found = optimal_checkpointed_sequence(law, costs, cost=price, kept=kept)
    least = min(lived(*choice, law, costs, price, kept) for choice in every(law))
    assert found.expected_makespan == pytest.approx(least, rel=1e-9, abs=1e-12)
    assert lived(found.reached, found.keeps, law, costs, price, kept) == pytest.approx(least, rel=1e-9, abs=1e-12)


NORMAL = discretize(stats.norm(8, 2), 0, 20, 200)


@pytest.mark.parametrize("price", [None, Cost(1, 1, 2)])
def test_what_comes_of_them_is_what_is_lived(price):
    costs = Checkpointing(0.5, 0.25)
    found = optimal_checkpointed_sequence(NORMAL, costs, cost=price)
    assert found.keeps.any()
    assert found.expected_makespan == pytest.approx(lived(found.reached, found.keeps, NORMAL, costs, price), rel=1e-12)
    assert found.values[1] == pytest.approx(found.reached[1] - found.reached[0] + 0.25 + 0.5 * found.keeps[1])
    if price is None:
        assert found.expected_waste == pytest.approx(found.expected_makespan - NORMAL.mean)


def test_checkpoints_that_cost_too_much_are_not_written():
    plain = optimal_sequence(NORMAL)
    most = longest_worthwhile(NORMAL, 0.5)
    for write, kept in ((most * 0.99, True), (most * 1.02, False)):
        found = optimal_checkpointed_sequence(NORMAL, Checkpointing(write, 0.5))
        assert found.keeps.any() == kept
        assert (found.expected_makespan < plain.expected_makespan) == kept
    assert found.values.tolist() == plain.values.tolist()
    assert found.wasted == pytest.approx(plain.wasted)
    one = ESDD([5.0], [1.0])
    assert longest_worthwhile(one) == 0


def test_free_checkpoints_at_every_value_cost_what_the_run_takes():
    found = optimal_checkpointed_sequence(NORMAL, Checkpointing())
    assert found.expected_makespan == pytest.approx(NORMAL.mean)
    assert found.keeps[:-1].all()


def test_what_is_kept_already_is_not_done_again():
    law = NORMAL.condition(10.0)
    costs = Checkpointing(0.3, 0.1)
    new = optimal_checkpointed_sequence(law, costs)
    begun = optimal_checkpointed_sequence(law, costs, kept=10.0)
    assert begun.expected_makespan == pytest.approx(lived(begun.reached, begun.keeps, law, costs, kept=10.0))
    assert begun.expected_makespan < new.expected_makespan - 5
    assert begun.values[0] == pytest.approx(0.1 + begun.reached[0] - 10 + 0.3 * begun.keeps[0])


def test_evaluating_plain_reservations_agrees():
    plain = evaluate([9.0, 12.0, 20.0], NORMAL, cost=Cost(1, 0.5, 0.2))
    found = evaluate_checkpointed(plain.values, [False] * 3, NORMAL, Checkpointing(1, 1), cost=Cost(1, 0.5, 0.2))
    assert found.expected_makespan == pytest.approx(plain.expected_makespan, rel=1e-13)
    assert found.wasted == pytest.approx(plain.wasted)
    assert math.isclose(found.needed[1], plain.needed[1])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Checkpointing(-1), "checkpoint: must be a finite number >= 0, got -1"),
        (lambda: Checkpointing(0, -2), "restart: must be a finite number >= 0, got -2"),
        (
            lambda: optimal_checkpointed_sequence(NORMAL, Checkpointing(21)),
            "checkpoint: must be at most the law's bound",
        ),
        (
            lambda: optimal_checkpointed_sequence(NORMAL, Checkpointing(0, 21)),
            "restart: must be at most the law's bound",
        ),
        (lambda: optimal_checkpointed_sequence(NORMAL, Checkpointing(), kept=1.0), "kept: must be in .0, 0.1., below"),
        (
            lambda: optimal_checkpointed_sequence(discretize(stats.norm(8, 2), 0, 20, 20_001), Checkpointing()),
            "checkpoint: a law of 20,001 values takes about 400,040,001 steps, expected at most 20,000; take fewer",
        ),
        (lambda: evaluate_checkpointed([5.0], [False], NORMAL, Checkpointing()), "reached: the last must be >= 20"),
        (lambda: evaluate_checkpointed([20.0], [], NORMAL, Checkpointing()), "keeps: expected 1, one for each"),
    ],
)
def test_refuses(call, message):
    with pytest.raises(InputError, match=message):
        call()
