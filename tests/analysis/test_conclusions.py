"""Intervals and verdicts of ratios, by the kind of the samples."""

import math

import numpy as np
import pandas as pd
import pytest
import scipy

from hpcdispatch.analysis import Daily, conclusions, of_days, of_samples, spread
from hpcdispatch.analysis.conclusions import LEAST_FOR_QUANTILES, block_length, corrected, geometric_mean
from hpcdispatch.base import InputError

NAN = float("nan")


def samples(count, ratio=0.9, noise=0.1, seed=1):
    rng = np.random.default_rng(seed)
    baseline = rng.lognormal(8, 0.3, count)
    return baseline * ratio * rng.lognormal(0, noise, count), baseline


def days(count, ratio=0.9, seed=1, persistence=0.0):
    """Return two days' series of ten jobs a day; a persistent one wanders."""
    rng = np.random.default_rng(seed)
    level = np.zeros(count)
    for day in range(1, count):
        level[day] = persistence * level[day - 1] + rng.normal()
    baseline = np.exp(6 + 0.5 * level)
    counts = np.full(count, 10.0)
    return Daily(10 * baseline * ratio * rng.lognormal(0, 0.2, count), counts), Daily(10 * baseline, counts)


def test_independent_samples_get_an_interval_of_their_mean():
    few, many = (of_samples(*samples(count)) for count in (10, 1000))
    assert (few.verdict(), many.verdict()) == ("better", "better")
    assert few.low < 0.9 < few.high
    assert (few.high - few.low) / (many.high - many.low) == pytest.approx(10, rel=0.6)


def test_independent_intervals_cover_the_true_ratio():
    inside = sum(
        (found := of_samples(*samples(10, 0.8, 0.2, seed))).low <= 0.8 * math.exp(0.02) <= found.high
        for seed in range(300)
    )
    assert 0.9 <= inside / 300 <= 0.99


def test_intervals_of_resamples_do_not_shrink():
    few, some, many = (of_samples(*samples(count), "resamples") for count in (20, 400, 4000))
    wide = [math.log(each.high / each.low) for each in (few, some, many)]
    assert wide[1] == pytest.approx(wide[2], rel=0.15)
    assert wide[0] == pytest.approx(wide[2], rel=0.5)


def test_few_resamples_take_the_standard_deviation_and_many_the_quantiles():
    values, baseline = samples(LEAST_FOR_QUANTILES - 1)
    logs = np.log(values / baseline)
    half = scipy.stats.t.ppf(0.975, len(logs) - 1) * logs.std(ddof=1)
    found = of_samples(values, baseline, "resamples")
    assert (found.low, found.high) == pytest.approx((math.exp(logs.mean() - half), math.exp(logs.mean() + half)))
    values, baseline = samples(200)
    found = of_samples(values, baseline, "resamples")
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(values / baseline, [0.025, 0.975])), rel=1e-3)


def test_shifts_give_a_range_and_never_an_interval():
    found = of_samples(*samples(30), "shifts")
    assert math.isnan(found.low)
    assert found.verdict() == "not decided"
    assert found.span[0] < found.ratio < found.span[1]


@pytest.mark.parametrize(
    ("count", "ratio", "tested"), [(84, 0.9, True), (84, 1.5, False), (84, 0.6, False), (20, 0.9, False)]
)
def test_only_blocks_like_those_of_the_study_give_95_percent(count, ratio, tested):
    found = of_days(*days(count, ratio))
    assert not math.isnan(found.low)
    assert found.tested == tested


def test_blocks_are_as_long_as_days_depend_on_each_other():
    rng = np.random.default_rng(3)
    assert block_length(rng.normal(size=30)) == 3
    assert block_length(rng.normal(size=300)) == 7
    wandering = np.convolve(rng.normal(size=340), np.ones(20))[20:320]
    assert block_length(wandering) > 14
    assert block_length(np.zeros(50)) == 7
    assert block_length(np.zeros(0)) == 1


def test_blocks_of_a_trace_cover_the_ratio():
    inside = wrong = 0
    for seed in range(200):
        found = of_days(*days(84, 0.8, seed, persistence=0.7))
        inside += found.low <= 0.8 * math.exp(0.02) <= found.high
        wrong += found.verdict() == "worse"
    assert inside / 200 >= 0.88
    assert wrong == 0


def test_one_block_that_decides_tells_little():
    mine, theirs = days(84)
    sums = theirs.sums.copy()
    sums[40] *= 1000
    own = sums * 0.8
    own[40] = sums[40] * 1.4
    found = of_days(Daily(own, mine.counts), Daily(sums, theirs.counts))
    assert found.verdict() == "not decided"
    assert found.high / found.low > 3


@pytest.mark.parametrize(
    ("values", "baseline", "reason"),
    [
        ([3.0], [2.0], "one sample"),
        ([], [], "no sample that both finished"),
        ([NAN, 3.0], [2.0, NAN], "no sample that both finished"),
        ([1.0, 2.0], [0.0, 0.0], "the baseline has none"),
        ([5.0, 5.0], [4.0, 4.0], "the 2 samples do not differ"),
        ([5.0, 6.0, 7.0], [5.0, 6.0, 7.0], "equal on all 3 samples"),
        ([1.0, 2.0, 3.0], [0.0, 0.0, 3.0], "one part has all of it"),
    ],
)
def test_samples_that_tell_nothing_say_why(values, baseline, reason):
    found = of_samples(np.array(values), np.array(baseline))
    assert (found.reason, found.verdict()) == (reason, "not decided")
    assert math.isnan(found.low)


def test_a_metric_of_zero_has_an_interval_where_it_can():
    assert of_samples(np.zeros(4), np.arange(1.0, 5)).verdict() == "better"
    some = of_samples(np.array([0.0, 1, 0, 0]), np.arange(4.0, 8))
    assert (some.low, some.verdict()) == (0, "better")
    assert "of 4 resamples it is 0" in of_samples(np.array([0.0, 1, 1, 1]), np.arange(4.0, 8), "resamples").reason


@pytest.mark.parametrize(
    ("submit", "waits", "baseline", "reason"),
    [
        ([5], [10], [20], "1 day is too short for an interval"),
        ([5] * 50, range(50), range(1, 51), "1 day is too short for an interval"),
        (range(0, 10**6, 10**4), [3] * 100, [3] * 100, "equal schedules"),
        (range(0, 10**6, 10**4), [3] * 100, [0] * 100, "the baseline has none"),
        ([], [], [], "no job ran under both"),
    ],
)
def test_traces_that_tell_nothing_say_why(submit, waits, baseline, reason):
    submit = np.array(list(submit), dtype=float)
    found = of_days(*(Daily.of(submit, np.array(list(each), dtype=float)) for each in (waits, baseline)))
    assert (found.reason, found.verdict()) == (reason, "not decided")


def test_several_contenders_are_corrected():
    sure, unsure, not_at_all = (of_samples(*samples(10, ratio, seed=5)) for ratio in (0.6, 0.95, 1.0))
    found = corrected([unsure, sure, not_at_all])
    assert [each.corrected for each in found] == [2, 3, 2]
    assert found[0].high > unsure.high
    assert [each.verdict() for each in (unsure, *found)] == ["better", "not decided", "better", "not decided"]
    assert corrected([unsure])[0].low == unsure.low
    assert corrected([sure, not_at_all])[1].corrected == 1  # the last one, after all others are decided


def test_holm_is_that_of_sorted_levels():
    estimates = [of_samples(*samples(10, ratio, 0.15, seed)) for seed, ratio in enumerate((0.5, 0.85, 0.9, 1.0), 5)]
    doubts = [each.law.doubt() for each in estimates]
    order = np.argsort(doubts)
    decided = set()
    for rank, place in enumerate(order):
        if doubts[place] >= 0.05 / (len(order) - rank):
            break
        decided.add(int(place))
    assert {place for place, each in enumerate(corrected(estimates)) if each.verdict() != "not decided"} == decided


def test_few_false_verdicts_among_many_equals():
    false = 0
    for seed in range(200):
        found = corrected([of_samples(*samples(10, math.exp(-0.005), 0.1, 10 * seed + each)) for each in range(5)])
        false += any(each.verdict() != "not decided" for each in found)
    assert false / 200 < 0.09


def test_conclusions_are_of_the_same_samples():
    rows = [
        ("w", seed, f"sample {seed}", name, wait)
        for name, waits in (("base", [10, 20, 30]), ("new", [5, 20, 33]))
        for seed, wait in enumerate(waits)
    ]
    rows += [("w", 3, "sample 3", "base", 1000), ("w", 4, "one", "base", 7), ("w", 4, "another", "new", 7)]
    runs = pd.DataFrame(rows, columns=["workload", "seed", "sample", "contender", "wait_mean"])
    (found,) = conclusions(runs, "base", "wait_mean").to_dict("records")
    assert (found["contender"], found["n"], found["lower"], found["higher"]) == ("new", 3, 1, 1)
    assert found["difference"] == pytest.approx(-2 / 3)
    assert found["ratio"] == pytest.approx(58 / 60)
    assert found["ratio_low"] < found["ratio"] < found["ratio_high"]
    assert found["verdict"] == "not decided"
    assert not [name for name in found if name.startswith("p_")]
    with pytest.raises(InputError, match="baseline: expected one of base, new; got 'old'"):
        conclusions(runs, "old", "wait_mean")


def test_one_trace_is_judged_by_its_days():
    mine, theirs = days(60, 0.7)
    known = {("w", "new", 0): {"wait_mean": mine}, ("w", "base", 0): {"wait_mean": theirs}}
    rows = [("w", 0, "x", name, float(each.sums.mean())) for name, each in (("new", mine), ("base", theirs))]
    runs = pd.DataFrame(rows, columns=["workload", "seed", "sample", "contender", "wait_mean"]).assign(basis="trace")
    (found,) = conclusions(runs, "base", "wait_mean", known).to_dict("records")
    assert (found["blocks"], found["verdict"]) == (8, "better")
    (alone,) = conclusions(runs, "base", "wait_mean").to_dict("records")
    assert (alone["verdict"], alone["reason"]) == ("not decided", "one sample")


def test_more_can_be_better():
    values, baseline = samples(10, 1.5)
    assert of_samples(values, baseline).verdict(more=True) == "better"
    assert of_samples(values, baseline).verdict() == "worse"


def test_the_spread_of_a_mean_is_of_its_samples():
    values = np.random.default_rng(1).exponential(size=200)
    assert spread(values, "shifts") == (values.min(), values.max())
    assert spread(values, "resamples") == pytest.approx(tuple(np.quantile(values, [0.025, 0.975])))
    low, high = spread(values)
    assert high - low == pytest.approx(2 * 1.972 * values.std(ddof=1) / math.sqrt(200), rel=1e-3)
    assert all(map(math.isnan, spread(np.array([3.0]))))


def test_the_mean_of_tasks_has_an_interval_from_theirs():
    rng = np.random.default_rng(0)
    true = np.array([0.7, 1.1, 1.4])
    covers = []
    for _ in range(500):
        samples = np.exp(np.log(true)[:, None] + rng.normal(0, [[0.1], [0.3], [0.2]], (3, 10)))
        tasks = [of_samples(each, np.ones(10) + rng.normal(0, 1e-9, 10)) for each in samples]
        _, low, high = geometric_mean([(each.ratio, each.low, each.high) for each in tasks])
        covers.append(low <= np.exp(np.log(true * np.exp([0.005, 0.045, 0.02])).mean()) <= high)
    assert 0.93 <= np.mean(covers) <= 0.99


@pytest.mark.parametrize(
    ("tasks", "expected"),
    [
        ([(0.5, 0.4, 0.6)], (0.5, 0.4, 0.6)),
        ([(0.5, 0.4, 0.6), (2.0, math.nan, math.nan)], (1.0, math.nan, math.nan)),
        ([(0.0, 0.0, 0.1)], (math.nan,) * 3),
        ([], (math.nan,) * 3),
    ],
)
def test_a_task_without_an_interval_leaves_the_mean_without(tasks, expected):
    assert geometric_mean(tasks) == pytest.approx(expected, nan_ok=True)


def test_two_samples_are_too_few_for_a_tested_interval():
    assert [of_samples(*samples(count)).tested for count in (2, 3, 10)] == [False, True, True]
