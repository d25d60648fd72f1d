import numpy as np
import pytest

from hpcdispatch.analysis import Planning, Strategy, advise, fare, strategies
from hpcdispatch.base import InputError
from hpcdispatch.models.reservations import ESDD, evaluate

RUNS = np.round(np.random.default_rng(1).lognormal(9, 0.8, 61))


def names(advice):
    return [row.strategy.name for row in advice.rows]


def by_name(advice):
    return {row.strategy.name: row for row in advice.rows}


@pytest.mark.parametrize("rate", [0.0, 0.4])
def test_a_fixed_sequence_fares_as_the_model_says_of_the_same_runs(rate):
    advice = advise(RUNS, Planning(backfill_rate=rate))
    values, counts = np.unique(RUNS, return_counts=True)
    law = ESDD(values, counts / len(RUNS))
    for name in ("optimal sequence", "maximum", "mean"):
        row = by_name(advice)[name]
        found = evaluate(row.strategy.requests(RUNS), law, rate)
        assert row.seen.time == pytest.approx(found.expected_makespan, rel=1e-12)
        assert row.seen.waste == pytest.approx(found.expected_waste, rel=1e-12)
        assert row.seen.requests == pytest.approx(found.needed.sum(), rel=1e-12)


@pytest.mark.parametrize("rate", [0.0, 0.4])
def test_the_optimum_is_the_best_where_the_values_are_the_runs(rate):
    runs = np.random.default_rng(2).integers(1, 40, 200).astype(float)
    runs[:2] = 1, 40
    advice = advise(runs, Planning(bins=40, backfill_rate=rate))
    rows = by_name(advice)
    best = rows["optimal sequence"].seen.time
    assert best == pytest.approx(advice.sequence.expected_makespan, rel=1e-12)
    assert best <= min(row.seen.time for name, row in rows.items() if name in ("maximum", "mean")) * (1 + 1e-12)


def test_requests_after_failures():
    runs = np.array([4.0, 4, 4, 4, 16])  # mean 6.4
    _, most, mean, last = strategies(runs, advise(runs).sequence)
    assert list(most.requests(runs)) == [16]
    assert list(mean.requests(runs)) == [6.4, 12.8, 16]
    assert list(last.requests(runs[:4])) == [4, 6, 9, 13.5, 16]


def test_last_10_knows_only_the_runs_before():
    runs = np.array([9.0] + [1.0] * 10 + [2.0])
    fared = by_name(advise(runs))["last 10"].seen
    # Run 11 requests 9 for 1. Run 12 requests 1, fails, 1.5, fails, 2.25 for 2.
    assert fared.requests == pytest.approx((1 + 3) / 2)
    assert fared.time == pytest.approx((9 + 4.75) / 2)
    assert fared.waste == pytest.approx((8 + 2.75) / 2)


def test_unseen_runs_are_judged_by_what_the_first_half_says():
    runs = np.array([10.0] * 10 + [10.0] * 5 + [20.0] * 5)
    rows = by_name(advise(runs))
    # Made from runs of 10 only; for 20 they grow: 10, 15, 22.5.
    for name in ("optimal sequence", "maximum", "mean"):
        assert rows[name].unseen.requests == pytest.approx((1 + 3) / 2)
        assert rows[name].unseen.time == pytest.approx((10 + 47.5) / 2)
    assert rows["last 10"].unseen.time == pytest.approx((10 * 5 + 47.5 + 20 * 4) / 10)
    assert advise(runs[:19]).rows[0].unseen is None


def test_the_limit_is_the_last_request():
    advice = advise(RUNS, Planning(limit=1e6))
    assert advice.sequence.values[-1] == 1e6
    assert advice.sequence.needed[-1] == 0
    assert by_name(advice)["maximum"].first == 1e6
    with pytest.raises(InputError, match=r"limit: expected at least the longest run time, .*, got 5$"):
        advise(RUNS, Planning(limit=5))


def test_a_fitted_law_is_that_of_the_best_family():
    advice = advise(RUNS, Planning(fitted=True, limit=2 * RUNS.max()))
    assert advice.sequence.needed[-1] > 0  # no run was that long, and the family has mass there
    assert advice.fits[0].aic == min(one.aic for one in advice.fits)
    assert advice.sequence.values.tolist() != advise(RUNS, Planning(limit=2 * RUNS.max())).sequence.values.tolist()


@pytest.mark.parametrize("runs", [[7.0], [7.0] * 25])
@pytest.mark.parametrize("fitted", [False, True])
def test_equal_runs(runs, fitted):
    advice = advise(np.array(runs), Planning(fitted=fitted))
    assert advice.sequence.values.tolist() == [7]
    assert advice.fits == ()
    assert by_name(advice)["optimal sequence"].seen.waste == 0


def test_no_run_is_no_mean():
    assert fare(Strategy("one", "", lambda recent: [1.0]), RUNS[:3], 3) is None
