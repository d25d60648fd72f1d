"""Classes of complexity: exact curves, least squares against numpy's, left-out errors, ties."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcdispatch.models.complexity import COMPLEXITIES, CONSTANT, fit_complexity, growth

GROWING = [name for name in COMPLEXITIES if name != CONSTANT]


def drawn(complexity, correlation, seed, runs=400, noise=10.0):
    """Return sizes and times that grow as a class, with noise."""
    rng = np.random.default_rng(seed)
    sizes = np.exp(rng.uniform(np.log(10), np.log(2000), runs))
    g = growth(complexity, sizes)
    share = correlation / math.sqrt(1 - correlation**2)
    grown = noise * share * (g - g.mean()) / g.std() if correlation else 0.0
    return sizes, 40 * noise + grown + noise * rng.standard_normal(runs)


def test_growth_has_the_value_of_its_formula():
    values = {name: float(growth(name, 7)) for name in COMPLEXITIES}
    log = math.log(8)
    assert values == pytest.approx(
        {"1": 1, "log n": log, "n": 7, "n log n": 7 * log, "n^2": 49, "n^2 log n": 49 * log, "n^3": 343}
    )
    assert [float(growth(name, 0)) for name in COMPLEXITIES] == [1, 0, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("complexity", GROWING)
@pytest.mark.parametrize("unit", [1.0, 1e9])
def test_a_curve_without_noise_is_found_and_nothing_ties(complexity, unit):
    sizes = np.linspace(3, 500, 40) * unit
    slope = 100.0 / float(growth(complexity, sizes[-1]))
    found = fit_complexity(sizes, 5 + slope * growth(complexity, sizes))
    assert found.best.complexity == complexity
    assert found.tied == (complexity,)
    assert found.best.slope == pytest.approx(slope, rel=1e-9)
    assert found.best.intercept == pytest.approx(5, rel=1e-6)
    assert found.best.mse < 1e-15
    assert found.correlation == pytest.approx(1)
    assert found.spearman == pytest.approx(1)
    assert found.best.times(sizes)[-1] == pytest.approx(105)


@pytest.mark.parametrize("complexity", GROWING)
def test_fits_are_those_of_numpy(complexity):
    sizes, times = drawn("n", 0.7, 3)
    one = fit_complexity(sizes, times).of(complexity)
    g = growth(complexity, sizes)
    slope, intercept = np.polyfit(g / g.max(), times, 1)
    assert (one.intercept, one.slope) == pytest.approx((intercept, slope / g.max()))
    assert one.mse == pytest.approx(np.mean((times - one.times(sizes)) ** 2))
    assert one.correlation == pytest.approx(np.corrcoef(g, times)[0, 1])


@pytest.mark.parametrize("complexity", COMPLEXITIES)
def test_left_out_errors_are_those_of_refits(complexity):
    sizes, times = drawn("n^2", 0.6, 5, runs=12)
    errors = []
    for out in range(len(sizes)):
        kept = np.arange(len(sizes)) != out
        refit = fit_complexity(sizes[kept], times[kept]).of(complexity)
        errors.append(float(refit.times(sizes[out])) - times[out])
    assert fit_complexity(sizes, times).of(complexity).left_out_mse == pytest.approx(np.mean(np.square(errors)))


def test_noise_is_a_constant_and_not_a_cube():
    """The smallest MSE would be that of another class each time."""
    fits = [fit_complexity(*drawn(CONSTANT, 0, seed)) for seed in range(100)]
    assert sum(fit.best.complexity == CONSTANT for fit in fits) >= 95
    assert all(fit.smallest.complexity != CONSTANT for fit in fits)


@pytest.mark.parametrize(("complexity", "correlation"), [("log n", 0.6), ("n log n", 0.8), ("n^2", 0.8), ("n^3", 0.6)])
def test_the_class_behind_noise_is_mostly_kept(complexity, correlation):
    fits = [fit_complexity(*drawn(complexity, correlation, seed)) for seed in range(60)]
    assert sum(complexity in fit.tied for fit in fits) >= 50
    order = list(COMPLEXITIES)
    assert all(order.index(fit.best.complexity) == min(map(order.index, fit.tied)) for fit in fits)


def test_a_falling_time_is_no_complexity():
    found = fit_complexity([10, 20, 30, 40], [9, 7, 5, 3])
    assert found.best.complexity == CONSTANT
    assert found.tied == (CONSTANT,)
    assert (found.correlation, found.spearman) == pytest.approx((-1, -1))


def test_times_that_do_not_vary():
    found = fit_complexity([1, 2, 3], [5, 5, 5])
    assert found.best.complexity == CONSTANT
    assert found.best.mse == found.best.left_out_mse == 0
    assert math.isnan(found.correlation)
    assert math.isnan(found.spearman)


def test_a_size_far_from_all_others_does_not_vouch_for_itself():
    """Its left-out error would be 0 / 0 in a cube. All the others are the same there."""
    sizes = np.r_[np.arange(1.0, 30), 1e9]
    times = np.r_[np.full(29, 10.0) + np.arange(29) % 3, 5000.0]
    cube = fit_complexity(sizes, times).of("n^3")
    assert cube.left_out_mse > 4900.0**2 / 30


#: What a size may be.
SIZES = st.just(0.0) | st.floats(1e-30, 1e30)


@given(
    st.lists(st.tuples(SIZES, st.floats(0, 1e30)), min_size=3, max_size=20).filter(
        lambda runs: len({size for size, _ in runs}) >= 3
    )
)
def test_any_runs_have_a_best_class_and_finite_errors(runs):
    sizes, times = zip(*runs, strict=True)
    found = fit_complexity(sizes, times)
    assert found.best.tied
    assert found.best.complexity == CONSTANT or found.best.slope > 0
    for one in found.classes:
        assert np.isfinite([one.intercept, one.slope, one.mse, one.left_out_mse]).all()
        assert math.isnan(one.correlation) or -1 <= one.correlation <= 1


@pytest.mark.parametrize(
    ("sizes", "times", "message"),
    [
        ([1, 2, 3], [1, 2], r"expected one row of each of the same length, got \(3,\) and \(2,\)"),
        ([1, 1e-99, 3], [1, 2, 3], r"sizes\[1\]: expected 0 or at least 1e-30, got 1e-99"),
        ([1, -2, 3], [1, 2, 3], r"sizes\[1\]: expected a number in \[0, 1e\+30\], got -2"),
        ([1, 2, 3], [1, 2, math.nan], r"times\[2\]: expected a number in \[0, 1e\+30\], got nan"),
        ([1, 2, 2], [1, 2, 3], "sizes: expected at least 3 different ones, got 2"),
        ([], [], "sizes: expected at least 3 different ones, got 0"),
    ],
)
def test_bad_runs_are_refused(sizes, times, message):
    with pytest.raises(ValueError, match=message):
        fit_complexity(sizes, times)
