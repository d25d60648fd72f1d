"""Successive halving, and when to change."""

import math

import pytest

from hpcdispatch.models.portfolio.goals import admitted, best_of, gains, rungs, survivors


def test_the_last_rung_is_the_whole_window():
    assert rungs(6, 900) == [(300, 2), (900, 1)]
    assert rungs(3, 900) == [(900, 1)]
    assert rungs(1, 900) == [(900, 1)]
    assert rungs(20, 900, factor=2) == [(56, 10), (112, 5), (225, 3), (450, 2), (900, 1)]
    assert rungs(9, 1) == [(1, 3), (1, 1)]


def test_those_that_keep_the_bound_come_first():
    assert survivors({0: 3.0, 1: 1.0, 2: 2.0, 3: 2.0}, [1], 3) == [2, 3, 0]
    assert admitted({0: 3.0, 1: 1.0}, [1]) == {0: 3.0}


def test_the_incumbent_stays_unless_another_one_is_better_by_more_than_the_hysteresis():
    costs = {0: math.log(1.04), 1: 0.0}
    assert best_of(costs, 0, 0.05) == 0
    assert best_of(costs, 0, 0.03) == 1
    assert best_of({1: 0.0, 2: -0.001}, 0, 0.05) == 2


def test_a_gain_needs_both_costs():
    assert gains({0: 2.0, 1: 0.5}, 0, 1) == pytest.approx(1.5)
    assert math.isnan(gains({1: 0.5}, 0, 1))
