"""What is made of a user's own runs."""

import numpy as np
import pytest

from hpcdispatch.base import InputError
from hpcdispatch.models.moldable import amdahl, downey, fit

SIZES = np.array([1, 2, 4, 8, 16, 32, 64])


def test_exact_runs_give_the_curve_back():
    runs = [(size, 3600 / float(downey(size, 40, 0.5))) for size in SIZES.tolist()]
    found = fit(runs)
    asked = [3, 12, 48]
    assert found.predict(asked).time == pytest.approx(3600 / downey(asked, 40, 0.5), rel=0.05)
    assert found.best.left_out_error == min(model.left_out_error for model in found.models) < 0.1
    assert sum(model.share for model in found.models) == pytest.approx(1)


@pytest.mark.nightly
def test_drawn_users_are_predicted_within_their_noise():
    rng = np.random.default_rng(3)
    errors, covered = [], []
    for _ in range(25):
        A = rng.uniform(2, 200)
        sigma = rng.uniform(0, 2)
        tried = rng.choice(SIZES, size=rng.integers(3, 6), replace=False)
        noise = np.exp(rng.normal(0, 0.1, len(tried)))
        found = fit(list(zip(tried, 1e4 / downey(tried, A, sigma) * noise, strict=True)))
        others = np.setdiff1d(SIZES[2 * tried.max() >= SIZES], tried)
        times = 1e4 / downey(others, A, sigma)
        predicted = found.predict(others)
        errors += np.abs(predicted.time / times - 1).tolist()
        covered += ((predicted.low <= times) & (times <= predicted.high)).tolist()
    assert np.median(errors) < 0.1
    assert 0.8 < np.mean(covered) < 1


def test_more_runs_narrow_the_interval():
    few = fit([(1, 100.0), (16, 10.0)]).predict([4], of="mean")
    many = fit([(1, 100.0), (16, 10.0), (4, 30.0), (4, 30.0), (8, 17.0), (2, 56.0)]).predict([4], of="mean")
    assert many.low < 30 < many.high
    assert many.high / many.low < few.high / few.low


def test_a_noise_that_is_known_is_counted_on():
    runs = [(1, 100.0), (16, 10.0), (4, 30.0)]
    unknown, small, large = (fit(runs, noise).predict([8]) for noise in (None, 0.1, 0.4))
    widths = [float(np.log(told.high / told.low)[0]) for told in (small, unknown, large)]
    assert widths == sorted(widths)
    # No other error is below the run's own. A fraction of 0.4 takes more than 0.1.
    assert widths[0] > 2 * 1.645 * 0.1
    assert widths[2] > 2 * 1.645 * 0.4
    with pytest.raises(ValueError, match="noise must be a number > 0, got 0"):
        fit(runs, 0)


def test_the_next_run_is_where_least_is_known():
    found = fit([(1, 100.0), (2, 51.0), (4, 27.0)])
    assert found.measure_next([1, 2, 4, 8]) == 8


def test_nothing_is_said_far_beyond_what_was_measured():
    found = fit([(1, 100.0), (8, 20.0)])
    with pytest.raises(InputError, match=r"size 17: expected at most 2 times the largest size measured, 8"):
        found.predict([17])
    assert found.predict([17], extrapolate=True).time < found.predict([8]).time


def test_a_falling_speedup_is_seen():
    runs = [(1, 100.0), (4, 30.0), (16, 20.0), (64, 45.0), (128, 85.0)]
    found = fit(runs)
    assert found.best.name == "gunther"
    assert found.predict([128]).time > found.predict([16]).time


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        ([], "expected runs on two sizes or more, got 0 on 0"),
        ([(4, 10.0), (4, 11.0)], "expected runs on two sizes or more, got 2 on 1"),
        ([(0, 10.0)], r"run 1: processors: expected a number >= 1, got 0"),
        ([(1, 10.0), (2, 0.0)], r"run 2: time: expected seconds > 0, got 0.0"),
        ([(1, 10.0), (2, 15.0), (4, 30.0)], "the times rise with every size"),
    ],
)
def test_runs_that_give_no_speedup_are_named(runs, message):
    with pytest.raises(InputError, match=message):
        fit(runs)


def test_amdahl_is_told_by_its_share():
    found = fit([(size, 1000 / float(amdahl(size, 0.1))) for size in SIZES.tolist()])
    share = {model.name: model.parameters for model in found.models}["amdahl"]["serial"]
    assert share == pytest.approx(0.1, rel=0.2)


def test_the_law_of_a_run_to_come_has_the_quantiles_of_the_prediction():
    found = fit([(1, 3600), (4, 1010), (16, 330)])
    [law] = found.laws([8])
    predicted = found.predict([8], level=0.9)
    assert len(law.values) == 20
    assert law.values[9] == pytest.approx(predicted.time[0])
    assert law.values[[0, 18]] == pytest.approx([predicted.low[0], predicted.high[0]])
    with pytest.raises(InputError, match="size 64: expected at most 2 times the largest size measured, 16"):
        found.laws([64])
