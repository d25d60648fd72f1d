"""Intervals of the studies' tables: they hold for few samples, and do not shrink to nothing."""

import numpy as np
import pytest

from hpcdispatch.bench.studies.intervals import mean_interval, ratio_of_means


@pytest.mark.nightly
@pytest.mark.parametrize("count", [3, 5, 20])
def test_the_mean_is_in_its_interval_in_95_of_100_cases(count):
    rng = np.random.default_rng(count)
    inside = [low <= 10 <= high for low, high in (mean_interval(rng.normal(10, 2, count)) for _ in range(2000))]
    assert np.mean(inside) == pytest.approx(0.95, abs=0.015)


@pytest.mark.parametrize("count", [3, 5, 20])
def test_the_ratio_of_means_is_in_its_interval(count):
    rng = np.random.default_rng(count)
    held = 0
    for _ in range(500):
        load = rng.lognormal(0, 0.3, count)
        _, low, high = ratio_of_means(8 * load * rng.lognormal(0, 0.2, count), 10 * load * rng.lognormal(0, 0.2, count))
        held += low <= 0.8 <= high
    assert held / 500 == pytest.approx(0.95, abs=0.035)


def test_what_is_never_negative_has_no_mean_below_0():
    low, high = mean_interval(np.array([0.0, 0.0, 9.0]))
    assert low == 0
    assert high > 9
    assert mean_interval(np.array([-3.0, 0.0, 9.0]))[0] < -3


def test_nothing_left_to_chance_is_its_own_interval():
    once = np.array([4.0, 5.0, 7.0])
    assert ratio_of_means(once, once) == (1, 1, 1)
    assert ratio_of_means(np.full(3, 2.0), np.full(3, 4.0)) == (0.5, 0.5, 0.5)


@pytest.mark.parametrize(
    ("values", "baseline"), [([1.0], [2.0]), ([1.0, np.nan], [1.0, 2.0]), ([1.0, 2.0], [0.0, 0.0]), ([], [])]
)
def test_one_sample_gaps_and_a_baseline_of_0_have_no_interval(values, baseline):
    assert np.isnan(ratio_of_means(np.array(values), np.array(baseline))[1:]).all()
    if len(values) == 1:
        assert np.isnan(mean_interval(np.array(values))).all()
