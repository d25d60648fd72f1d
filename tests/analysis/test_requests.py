import numpy as np
import pytest
import scipy

from hpcdispatch.analysis import Planning, Strategy, advise, fare, strategies
from hpcdispatch.analysis.requests import MOST_VALUES, law_of, optimum
from hpcdispatch.base import InputError
from hpcdispatch.models.reservations import (
    ESDD,
    Checkpointing,
    Cost,
    evaluate,
    expected_makespan,
    from_samples,
    optimal_sequence,
)
from hpcdispatch.workloads.formats.run_times import RunHistory

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
    # Made from runs of 10 only. For 20 they grow: 10, 15, 22.5.
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


def brute_force(run_times):
    """Return the least expected time of requests among the run times. Each next request is tried."""
    values, counts = np.unique(run_times, return_counts=True)
    beyond = np.append(np.cumsum(counts[::-1])[::-1], 0) / len(run_times)
    costs = np.zeros(len(values) + 1)
    for index in range(len(values) - 1, -1, -1):
        costs[index] = (beyond[index] * values[index:] + costs[index + 1 :]).min()
    return costs[0]


def bimodal(count, rng):
    return np.where(rng.random(count) < 0.9, rng.normal(600, 50, count), rng.normal(36000, 900, count))


LAWS = {
    "lognormal": lambda count, rng: rng.lognormal(7, 1, count),
    "weibull": lambda count, rng: 500 * rng.weibull(0.6, count),
    "pareto of infinite mean": lambda count, rng: 60 * (1 + rng.pareto(0.9, count)),
    "normal": lambda count, rng: rng.normal(1000, 100, count),
    "bimodal": bimodal,
}
_BY_DAY = ("weibull", "bimodal")


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("samples", [6, pytest.param(60, marks=pytest.mark.nightly)])
def test_the_expected_time_is_the_least_on_the_runs(law, samples):
    rng = np.random.default_rng(3)
    for _ in range(samples):
        runs = np.maximum(LAWS[law](rng.integers(1, 200), rng).round(int(rng.integers(0, 3))), 1)
        assert optimum(runs, Planning()).expected_makespan == pytest.approx(brute_force(runs), rel=1e-9)


@pytest.mark.parametrize(
    ("law", "killed"),
    [
        pytest.param(law, killed, marks=[pytest.mark.nightly] if killed == 0.05 or law not in _BY_DAY else [])
        for law in LAWS
        for killed in (0.05, 0.1)
    ],
)
def test_runs_that_were_killed_at_a_limit_leave_requests_near_the_best(law, killed):
    rng = np.random.default_rng(7)
    population = LAWS[law](200_000, rng)
    runs = LAWS[law](2000, rng)
    longest, cut = np.quantile(population, [0.999, 1 - killed if law != "bimodal" else 0.95])
    true = from_samples(np.clip(population, 1, longest))
    history = RunHistory(np.clip(runs, 1, cut), runs > cut)
    found = optimum(history, Planning(limit=float(longest)))
    best = optimal_sequence(true).expected_makespan
    assert expected_makespan(found.values.tolist(), true) <= 1.02 * best
    # As if they had ended then, which is what makes the difference.
    naive = [*optimum(history.times, Planning()).values.tolist(), float(longest)]
    assert expected_makespan(sorted(set(naive)), true) > expected_makespan(found.values.tolist(), true)


def test_what_no_run_tells_has_few_requests():
    """Short runs say little about the long ones that were killed."""
    rng = np.random.default_rng(8)
    runs = bimodal(2000, rng)
    history = RunHistory(np.minimum(runs, 660), runs > 660)
    assert len(optimum(history, Planning(limit=40_000.0)).values) <= 8
    advice = advise(history, Planning(limit=40_000.0))
    assert advice.tail == pytest.approx((runs > 660).mean())


@pytest.mark.parametrize("requests", [1, 2, 3])
def test_a_number_of_requests_is_kept_to(requests):
    advice = advise(RUNS, Planning(requests=requests))
    assert len(advice.sequence.values) == requests
    assert advice.sequence.expected_makespan >= advise(RUNS).sequence.expected_makespan


def test_bins_cost_what_is_said():
    runs = np.array([600.0] * 99 + [864_000])
    advice = advise(runs, Planning(bins=200))
    exact = optimum(runs, Planning()).expected_makespan
    assert advice.loss == pytest.approx(
        evaluate(advice.sequence.values, from_samples(runs)).expected_makespan / exact - 1
    )
    assert advise(runs).loss is None


def test_few_runs_say_how_sure_they_are():
    runs = RUNS[:12]
    (first, last), (low, high) = advise(runs).sure
    assert runs.min() <= first < last <= runs.max()
    assert low < advise(runs).sequence.expected_makespan < high
    assert advise(RUNS).sure is None


def test_a_smoothed_law_has_the_shares_of_the_runs_at_the_runs():
    runs = np.sort(RUNS[:10])
    law = law_of(runs, Planning(smoothed=True))
    shares = [law.probabilities[law.values <= time * (1 + 1e-9)].sum() for time in runs]
    assert shares == pytest.approx(np.arange(1, 11) / 10, abs=1e-3)
    middle = law.probabilities[law.values <= (runs[4] + runs[5]) / 2].sum()
    assert middle == pytest.approx(0.55, abs=2e-3)
    assert len(advise(runs, Planning(smoothed=True)).sequence.values) >= 1


@pytest.mark.parametrize("planning", [Planning(backfill_rate=0.5), Planning(bins=50, backfill_rate=0.1)])
def test_many_values_are_thinned_beside_backfilling(planning):
    runs = np.random.default_rng(4).pareto(1.05, 20_000) + 1
    law = law_of(runs, planning)
    assert len(law.values) <= MOST_VALUES
    assert law.end == runs.max()
    assert len(law_of(runs, Planning()).values) == len(runs)


def test_killed_runs_are_fitted_as_longer():
    runs = np.random.default_rng(5).lognormal(7, 1, 3000)
    cut = np.quantile(runs, 0.8)
    fits = advise(RunHistory(np.minimum(runs, cut), runs > cut)).fits
    best = next(fit for fit in fits if fit.name == "lognorm")
    assert best.p_value is None
    assert best.distribution.median() == pytest.approx(np.median(runs), rel=0.05)
    assert best.ks < scipy.stats.kstest(np.minimum(runs, cut), best.distribution.cdf).statistic


@pytest.mark.parametrize(
    "options",
    [{"requests": 2, "backfill_rate": 0.1}, {"fitted": True, "smoothed": True}],
)
def test_plannings_that_exclude_each_other(options):
    with pytest.raises(InputError, match=r"requests: their number holds|fit, smooth: expected one"):
        Planning(**options)


@pytest.mark.parametrize("cost", [Cost(1, 0, 0), Cost(0.3, 1, 50), Cost(0, 1, 0), Cost(0, 0, 1)])
@pytest.mark.parametrize("checkpointing", [None, Checkpointing(20, 10)])
def test_costs_of_runs_are_those_of_the_model(cost, checkpointing):
    """The mean cost over the runs is the expected cost of the requests made from them."""
    runs = np.ceil(np.random.default_rng(3).lognormal(6, 1, 60))
    advice = advise(runs, Planning(cost=cost, checkpointing=checkpointing))
    assert advice.rows[0].seen.time == pytest.approx(advice.sequence.expected_makespan, rel=1e-9)
    unseen = [row.unseen.time for row in advice.rows]
    assert unseen[advice.recommended] == min(unseen)
    assert advice.advised.values[-1] >= runs.max() or advice.advised.reached[-1] >= runs.max()
