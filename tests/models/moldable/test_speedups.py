"""Speedups against their definitions, their limits and published values."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hpcdispatch.models.moldable import amdahl, downey, execution_time, gunther, interpolated, n_limit

PARALLELISM = st.floats(1, 200)
SPREAD = st.one_of(st.sampled_from([0.0, 1.0, 2.0]), st.floats(0.01, 2))


@given(PARALLELISM, SPREAD)
def test_one_processor_is_no_speedup_and_more_never_hurt(A, sigma):
    speedups = downey(np.arange(1, 700), A, sigma)
    assert speedups[0] == pytest.approx(1, abs=1e-12)
    assert (speedups <= np.minimum(np.arange(1, 700), A) + 1e-9).all()
    assert (np.diff(speedups) >= -1e-9).all()


@given(PARALLELISM, SPREAD)
@example(1.0, 1.9701507537688443)
def test_the_branches_meet(A, sigma):
    edges = [A, max(1, 2 * A - 1)] if sigma <= 1 else [max(1, A + A * sigma - sigma)]  # Rounding may bring it below 1.
    for edge in edges:
        below, at = downey([max(1, edge * (1 - 1e-14)), edge], A, sigma)
        assert below == pytest.approx(at, rel=1e-12)
    assert downey(edges[-1], A, sigma) == pytest.approx(A, rel=1e-12)


@given(PARALLELISM)
def test_both_families_agree_where_sigma_is_one(A):
    sizes = np.arange(1, 500)
    assert downey(sizes, A, 1.0) == pytest.approx(downey(sizes, A, np.nextafter(1.0, 2.0)), rel=1e-9)


def test_values_that_follow_by_hand():
    # sigma = 0: min(n, A). sigma = 2, A = 60, n = 10: 10 * 60 * 3 / (2 * 69 + 60) = 1800 / 198.
    assert downey([1, 30, 60, 90], 60, 0).tolist() == [1, 30, 60, 60]
    assert downey(10, 60, 2) == pytest.approx(1800 / 198)
    # sigma = 0.5, A = 60: at n = A 3600 / (60 + 0.5 * 59 / 2), at n = 90 5400 / (0.5 * 59.5 + 90 * 0.75).
    assert downey([60, 90], 60, 0.5) == pytest.approx([3600 / 74.75, 5400 / 97.25])
    assert execution_time([1, 10], 1800, 60, 2) == pytest.approx([1800, 198])


@given(PARALLELISM, SPREAD)
def test_the_limit_is_the_first_size_without_gain(A, sigma):
    limit = n_limit(A, sigma)
    assert downey(limit, A, sigma) == pytest.approx(A, rel=1e-12)
    assert limit == 1 or downey(limit - 1, A, sigma) < A
    assert n_limit(A, sigma, 3) == min(3, limit)


def test_amdahl_and_gunther():
    assert amdahl([1, 4, 1e12], 0.1) == pytest.approx([1, 4 / 1.3, 10])
    best = np.argmax(gunther(np.arange(1, 200), 0.02, 0.0005)) + 1
    assert best == round(np.sqrt((1 - 0.02) / 0.0005))


def test_arguments_are_broadcast():
    assert downey(np.arange(1, 5), np.array([[2.0], [8.0]]), 0.5).shape == (2, 4)


def test_between_measured_points_logarithms_are_linear():
    points = {4: 100.0, 16: 25.0, 64: 25.0}
    assert interpolated([4, 8, 16, 32], points) == pytest.approx([100, 50, 25, 25])
    with pytest.raises(ValueError, match=r"from 4 to 64, the sizes measured, got 65"):
        interpolated(65, points)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: downey(4, 0.5, 1), "A must be numbers >= 1, got 0.5"),
        (lambda: downey(4, 2, -1), "sigma must be numbers >= 0, got -1"),
        (lambda: downey(0, 2, 1), "n must be numbers >= 1, got 0"),
        (lambda: n_limit(0.5, 1), "A must be a number >= 1, got 0.5"),
        (lambda: amdahl(4, 1.5), "serial must be numbers <= 1, got 1.5"),
        (lambda: interpolated(1, {}), "points must be one at least"),
    ],
)
def test_numbers_out_of_range_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
