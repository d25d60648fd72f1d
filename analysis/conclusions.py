"""Conclusions from samples: the ratio of a metric to that of a baseline, its interval, and a verdict.

There are four kinds of samples, and each has its own interval:

``independent``
    Other samples of a generator. The logarithm of the ratio of the means has a jackknife over the samples and Student's
    distribution.
``resamples``
    Of a trace, see :func:`hpcdispatch.workloads.resample`. They show how the ratio varies with the sample. The interval
    is the quantiles of the paired ratio. With fewer than :data:`LEAST_FOR_QUANTILES` it is t times the standard
    deviation of its logarithm. It does not shrink as more of them are made.
``shifts``
    Copies of one trace with shifted submissions. They show only how chaotic a schedule is: a range, and no interval.
``trace``
    One trace. The interval comes from blocks of it. They are as long as its days depend on each other, and at least a
    week where it has six weeks.

A verdict is better, worse or not decided. Of several contenders each verdict is corrected by Holm's method.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
import scipy

from ..base import FloatArray, InputError, IntArray
from ..base.argument_types import names_wrong_types

Basis = Literal["independent", "resamples", "shifts", "trace"]
Verdict = Literal["better", "worse", "not decided"]
#: Level of the intervals and of the verdicts.
LEVEL = 0.95
#: From this many resamples on, quantiles are the interval.
LEAST_FOR_QUANTILES = 40
#: Fewest blocks of a trace for an interval.
LEAST_BLOCKS = 5
DAY = 86400
#: Days of a trace from which on its blocks have at least a week.
_LONG, _WEEK = 42, 7
#: Fewest independent samples for which a study shows that intervals cover the true ratio.
LEAST_TESTED = 3
#: Ratios for which a study shows that blocks of a trace cover the true one.
_NEAR = (0.8, 1.25)
#: Metrics for which the study shows it, and with how many samples at least: of independent samples, and of one trace.
_TESTED: Mapping[str, Mapping[str, int]] = {
    "independent": {"wait_mean": LEAST_TESTED, "wait_p95": LEAST_TESTED, "utilization": 10},
    "trace": {"wait_mean": 1},
}
#: Metrics of which more is better.
MORE_IS_BETTER = ("utilization", "occupancy", "efficiency")
#: Columns of :func:`conclusions`, beside ``workload``, ``contender`` and ``metric``.
COLUMNS = (
    "n",
    "baseline_mean",
    "mean",
    "difference",
    "ratio",
    "ratio_low",
    "ratio_high",
    "range_low",
    "range_high",
    "basis",
    "blocks",
    "corrected",
    "verdict",
    "reason",
    "tested",
    "lower",
    "higher",
)
_NAN = float("nan")
_ONE = "one part has all of it"


class Daily(NamedTuple):
    """A metric of jobs by the day of their submission, from the first submission of the trace on.

    Attributes
    ----------
    sums
        Sum of the metric over the jobs of each day, shape (days,).
    counts
        Number of these jobs, shape (days,).

    Examples
    --------
    >>> import numpy as np
    >>> from hpcdispatch.analysis import Daily, of_days
    >>> waits = Daily(sums=np.array([300.0, 100.0] * 14), counts=np.array([3.0, 2.0] * 14))
    >>> base = Daily(sums=np.array([400.0, 200.0] * 14), counts=np.array([3.0, 2.0] * 14))
    >>> round(of_days(waits, base).ratio, 3)
    0.667
    """

    sums: FloatArray
    counts: FloatArray

    @classmethod
    def of(cls, submit: IntArray | FloatArray, values: FloatArray, first: float | None = None) -> Daily:
        """Sum up the values of jobs by the day of their submission, seconds. Missing values do not count."""
        submit = np.asarray(submit, dtype=float)
        known = ~np.isnan(values)
        if not known.any():
            return cls(np.zeros(0), np.zeros(0))
        day = ((submit - (submit.min() if first is None else first)) // DAY).astype(np.int64)
        sums = np.bincount(day[known], weights=values[known], minlength=int(day.max()) + 1)
        counts = np.bincount(day[known], minlength=int(day.max()) + 1)
        return cls(sums.astype(float), counts.astype(float))


@dataclass(frozen=True, slots=True)
class Estimate:
    """A ratio to a baseline.

    Attributes
    ----------
    ratio
        Ratio of the means; NaN if the baseline's is 0.
    low, high
        Its interval; NaN if there is none.
    span
        Least and largest ratio over shifted copies, a range and no interval; NaN if there are none.
    n
        Number of samples, or of runs.
    blocks
        Number of blocks of the trace behind the interval; 0 if it comes from samples.
    basis
        Kind of the samples.
    corrected
        Number of contenders for which the interval is widened; 1: for none.
    reason
        Why there is no interval, for the user; empty if there is one.
    tested
        Whether a study shows that such intervals cover the truth in 95% of the cases. It does for three independent
        samples and more, and for blocks of a week or more where the ratio is between 0.8 and 1.25. Others must not be
        called intervals of 95%. It holds for means of waits; :func:`conclusions` says it for other metrics only as the
        study does.

    Examples
    --------
    >>> import numpy as np
    >>> from hpcdispatch.analysis import of_samples
    >>> estimate = of_samples(np.array([80.0, 90.0, 85.0]), np.array([100.0, 110.0, 100.0]))
    >>> round(estimate.ratio, 3), round(estimate.low, 3), round(estimate.high, 3)
    (0.823, 0.765, 0.885)
    """

    ratio: float
    low: float = _NAN
    high: float = _NAN
    span: tuple[float, float] = (_NAN, _NAN)
    n: int = 1
    blocks: int = 0
    basis: Basis = "trace"
    corrected: int = 1
    reason: str = ""
    tested: bool = False
    law: _Law | None = None

    def verdict(self, more: bool = False) -> Verdict:
        """Return whether the contender is better than the baseline, by the interval.

        Parameters
        ----------
        more
            Whether more of the metric is better.
        """
        if math.isnan(self.low) or self.low <= 1 <= self.high:
            return "not decided"
        return "better" if (self.low > 1) == more else "worse"


class _Law(NamedTuple):
    """How sure a ratio is: its logarithm with a spread to each side, in units of Student's distribution.

    A ratio of 0 has no logarithm; then `plain` says that the numbers are of the ratio itself.
    """

    centre: float
    below: float
    above: float
    freedom: float
    plain: bool = False

    def ends(self, level: float) -> tuple[float, float]:
        """Return the interval of a level."""
        t = float(scipy.special.stdtrit(self.freedom, (1 + level) / 2))
        low, high = self.centre - t * self.below, self.centre + t * self.above
        return (max(low, 0.0), high) if self.plain else (math.exp(min(low, 700)), math.exp(min(high, 700)))

    def doubt(self) -> float:
        """Return the level at which the interval ends at a ratio of 1, as the share outside of it."""
        distance = self.centre - (1 if self.plain else 0)
        side = self.below if distance > 0 else self.above
        if side == 0:
            return 1.0 if distance == 0 else 0.0
        return float(2 * scipy.special.stdtr(self.freedom, -abs(distance) / side))


@names_wrong_types
def of_samples(values: FloatArray, baseline: FloatArray, basis: Basis = "independent") -> Estimate:
    """Return the ratio of a metric to that of a baseline over the same samples. Pairs with a NaN are left out.

    Parameters
    ----------
    values, baseline
        The metric of each sample, shape (samples,).
    basis
        ``independent``, ``resamples`` or ``shifts``. Runs of a job, one after the other, are independent.

    Examples
    --------
    >>> import numpy as np
    >>> from hpcdispatch.analysis import of_samples
    >>> estimate = of_samples(np.array([80.0, 90.0, 85.0]), np.array([100.0, 110.0, 100.0]))
    >>> round(estimate.ratio, 3), estimate.n
    (0.823, 3)
    """
    whole = ~np.isnan(values) & ~np.isnan(baseline)
    values, baseline = values[whole], baseline[whole]
    count = len(values)
    if not count:
        return Estimate(_NAN, n=0, basis=basis, reason="no sample that both finished")
    if baseline.mean() <= 0:
        return Estimate(_NAN, n=count, basis=basis, reason="the baseline has none")
    ratio = float(values.mean() / baseline.mean())
    made = Estimate(ratio, n=count, basis=basis)
    if count == 1:
        return replace(made, reason="one sample")
    if basis == "shifts":
        each = values[baseline > 0] / baseline[baseline > 0]
        return replace(made, span=(float(each.min()), float(each.max())), reason="shifts of one trace")
    if (values == values[0]).all() and (baseline == baseline[0]).all():
        return replace(made, reason=f"the {count} samples do not differ")
    if (values == baseline).all():
        return replace(made, reason=f"equal on all {count} samples")
    if basis == "independent":
        law, _ = _jackknife(values, baseline)
        tested = count >= LEAST_TESTED
        return replace(made, reason=_ONE) if law is None else _settled(replace(made, tested=tested), law)
    if (baseline <= 0).any() or (values <= 0).any():
        return replace(made, reason=f"in {int(((baseline <= 0) | (values <= 0)).sum())} of {count} resamples it is 0")
    return _settled(made, _resampled(np.log(values / baseline)))


@names_wrong_types
def of_days(values: Daily, baseline: Daily) -> Estimate:
    """Return the ratio of the mean of a metric of jobs to that of a baseline on one trace, by blocks of its days.

    The ratio of the means is R = (A / a) / (B / b), of sums A and B over a and b jobs. A day with the sums A_d and B_d
    differs from it by e_d = A_d - R B_d. The blocks are as long as these e_d depend on each other, see
    :func:`block_length`. Leaving out one block after the other gives the jackknife of log R, with the influences v_k =
    (log R_k - mean)^2. Student's distribution has (sum v)^2 / (sum v^2) degrees of freedom: a trace in which one block
    decides tells little, however many blocks it has.

    Examples
    --------
    >>> import numpy as np
    >>> from hpcdispatch.analysis import Daily, of_days
    >>> waits = Daily(sums=np.array([300.0, 100.0] * 14), counts=np.array([3.0, 2.0] * 14))
    >>> base = Daily(sums=np.array([400.0, 200.0] * 14), counts=np.array([3.0, 2.0] * 14))
    >>> estimate = of_days(waits, base)
    >>> round(estimate.ratio, 3), estimate.blocks
    (0.667, 0)
    """
    days = max(len(values.sums), len(baseline.sums))
    mine, theirs = (_padded(each, days) for each in (values, baseline))
    if not mine.counts.sum() or not theirs.counts.sum():
        return Estimate(_NAN, n=1, reason="no job ran under both")
    if theirs.sums.sum() <= 0:
        return Estimate(_NAN, n=1, reason="the baseline has none")
    ratio = float(_ratio(*(float(each.sum()) for each in (*mine, *theirs))))
    made = Estimate(ratio, n=1)
    if np.array_equal(mine.sums, theirs.sums) and np.array_equal(mine.counts, theirs.counts):
        return replace(made, reason="equal schedules")
    rest = mine.sums - ratio * theirs.sums * mine.counts.sum() / theirs.counts.sum()
    length = block_length(rest)
    blocks = days // length
    if blocks < LEAST_BLOCKS:
        return replace(made, reason=f"{_days(days)} too short for an interval")
    begins = np.arange(blocks) * days // blocks
    sums = [np.add.reduceat(each, begins) for each in (*mine, *theirs)]
    law, weight = _jackknife(*(sums[place] for place in (0, 2, 1, 3)))
    if law is None:
        return replace(made, reason=_ONE)
    tested = days >= _LONG and _NEAR[0] <= ratio <= _NEAR[1]
    return _settled(
        replace(made, blocks=blocks, tested=tested), law._replace(freedom=max(1.0, min(blocks - 1, weight)))
    )


def block_length(series: FloatArray) -> int:
    """Return the number of days of a block, from how long a series of days depends on itself.

    It is twice the first lag from which on the autocorrelation is below 2 sqrt(log10(n) / n) for a few lags, after
    Politis and White, "Automatic block-length selection for the dependent bootstrap", 2004. It is at least a week for
    six weeks and more, and at least the third root of the days for fewer.
    """
    count = len(series)
    least = _WEEK if count >= _LONG else max(1, round(count ** (1 / 3)))
    centred = series - series.mean() if count else series
    power = float((centred**2).sum())
    if count < 3 or power == 0:
        return least
    size = 1 << (2 * count - 1).bit_length()
    spectrum = np.abs(np.fft.rfft(centred, size)) ** 2
    correlation = np.fft.irfft(spectrum, size)[:count] / power
    bound = 2 * math.sqrt(math.log10(count) / count)
    lags = max(5, math.ceil(math.sqrt(math.log10(count))))
    small = np.abs(correlation[1:]) < bound
    for lag in range(len(small)):
        if small[lag : lag + lags].all():
            return max(least, 2 * lag)
    return count


def corrected(estimates: Sequence[Estimate]) -> list[Estimate]:
    """Return estimates of several contenders with intervals widened by Holm's method.

    The surest of m is judged at 1 - 0.05 / m, the next at 1 - 0.05 / (m - 1), and so on. From the first that is not
    decided on, the level stays.
    """
    places = [place for place, each in enumerate(estimates) if each.law is not None]
    made = list(estimates)
    order = sorted(places, key=lambda place: _law(estimates[place]).doubt())
    divisor = len(order)
    stopped = False
    for rank, place in enumerate(order):
        divisor = divisor if stopped else len(order) - rank
        share = (1 - LEVEL) / divisor
        stopped = stopped or _law(estimates[place]).doubt() >= share
        low, high = _law(estimates[place]).ends(1 - share)
        own = estimates[place].ratio
        made[place] = replace(made[place], low=min(low, own), high=max(high, own), corrected=divisor)
    return made


@names_wrong_types
def conclusions(
    runs: pd.DataFrame,
    baseline: str,
    metric: str,
    days: Mapping[tuple[str, str, int], Mapping[str, Daily]] | None = None,
) -> pd.DataFrame:
    """Compare each contender with the baseline on the samples of both.

    Parameters
    ----------
    runs
        One row per run: ``workload``, ``seed``, ``sample``, ``contender`` and the metric; ``basis``, the kind of its
        sample, where it is not independent.
    baseline
        The contender to compare with.
    metric
        A column of `runs`.
    days
        The metrics of jobs by day, by workload, contender and seed. They give the interval of one trace.

    Returns
    -------
    DataFrame
        One row per workload and contender: ``n`` pairs; both means, their ``difference`` (contender minus baseline) and
        their ``ratio``. ``ratio_low, ratio_high`` is its interval, ``range_low, range_high`` the range over shifts.
        ``basis`` says what the interval rests on, ``blocks`` their number on one trace. ``corrected`` is the number of
        contenders that it is widened for, ``tested`` whether a study shows that it may be called one of 95%.
        ``verdict`` is better, worse or not decided; ``reason`` says why there is no
        interval. ``lower`` and ``higher`` count the pairs below and above the baseline.

    Raises
    ------
    InputError
        If there is no such contender.

    Examples
    --------
    >>> import pandas as pd
    >>> from hpcdispatch.analysis import conclusions
    >>> waits = {"easy": [100.0, 110.0, 100.0], "lxf": [80.0, 90.0, 85.0]}
    >>> rows = [
    ...     {"workload": "w", "seed": seed, "sample": seed, "contender": name, "wait_mean": wait, "wait_max": 9.0}
    ...     for name, seeds in waits.items()
    ...     for seed, wait in enumerate(seeds)
    ... ]
    >>> conclusions(pd.DataFrame(rows), "easy", "wait_mean")[["contender", "n", "verdict"]]
      contender  n verdict
    0       lxf  3  better
    """
    known = list(dict.fromkeys(runs["contender"]))
    if baseline not in known:
        raise InputError(f"baseline: expected one of {', '.join(known)}; got {baseline!r}")
    if metric not in runs:
        raise InputError(f"metric: expected a column of the runs, got {metric!r}")
    runs = runs if "basis" in runs else runs.assign(basis="independent")
    keys = ["workload", "seed", "sample"]
    reference = runs.loc[runs["contender"] == baseline, [*keys, metric]]
    others = runs.loc[runs["contender"] != baseline, [*keys, "contender", "basis", metric]]
    both = others.merge(reference, on=keys, suffixes=("", "_baseline"))
    rows: list[dict[str, Any]] = []
    for workload, part in both.groupby("workload", sort=False):
        groups = list(part.groupby("contender", sort=False))
        made = (_of_group(str(workload), str(name), group, baseline, metric, days or {}) for name, group in groups)
        estimates = [replace(each, tested=each.tested and _is_tested(each, metric)) for each in made]
        for (name, group), estimate in zip(groups, corrected(estimates), strict=True):
            values, theirs = (group[each].to_numpy(float) for each in (metric, f"{metric}_baseline"))
            whole = ~np.isnan(values) & ~np.isnan(theirs)
            values, theirs = values[whole], theirs[whole]
            mine, base = (float(each.mean()) if len(each) else _NAN for each in (values, theirs))
            rows.append(
                {
                    "workload": workload,
                    "contender": name,
                    "metric": metric,
                    "n": len(values),
                    "baseline_mean": base,
                    "mean": mine,
                    "difference": mine - base,
                    **_columns(estimate, metric),
                    "lower": int((values < theirs).sum()),
                    "higher": int((values > theirs).sum()),
                }
            )
    return pd.DataFrame(rows, columns=["workload", "contender", "metric", *COLUMNS])


def geometric_mean(estimates: Sequence[tuple[float, float, float]]) -> tuple[float, float, float]:
    """Return the geometric mean of ratios of independent tasks, and its interval.

    The distances from the logarithms of the ratios to the ends of their intervals add up as squares, each side apart
    (MOVER; Zou and Donner, "Construction of confidence limits about effect measures", 2008).

    Parameters
    ----------
    estimates
        Each ratio and the ends of its interval. The mean has no interval (NaN) if one of them has none.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios, lows, highs = np.log(np.asarray(estimates, dtype=float).reshape(-1, 3)).T
    count = len(ratios)
    if not count or not np.isfinite(ratios).all():
        return _NAN, _NAN, _NAN
    centre = float(ratios.mean())
    below, above = (float(np.sqrt(((ratios - each) ** 2).sum())) / count for each in (lows, highs))
    if not (math.isfinite(below) and math.isfinite(above)):
        return math.exp(centre), _NAN, _NAN
    return math.exp(centre), math.exp(centre - below), math.exp(centre + above)


@names_wrong_types
def spread(values: FloatArray, basis: Basis = "independent") -> tuple[float, float]:
    """Return an interval of a mean over samples; NaN for one sample or an unknown value.

    Independent samples: Student's distribution. Resamples: quantiles, or t times the standard deviation. Shifts: the
    least and the largest value, a range.

    Examples
    --------
    >>> import numpy as np
    >>> from hpcdispatch.analysis import spread
    >>> [round(float(end), 1) for end in spread(np.array([10.0, 12.0, 11.0]))]
    [8.5, 13.5]
    >>> spread(np.array([10.0, 12.0, 11.0]), "shifts")
    (10.0, 12.0)
    """
    if len(values) < 2 or np.isnan(values).any() or basis == "trace":
        return _NAN, _NAN
    if basis == "shifts":
        return float(values.min()), float(values.max())
    mean, deviation = float(values.mean()), float(values.std(ddof=1))
    if basis == "resamples" and len(values) >= LEAST_FOR_QUANTILES:
        low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]).tolist()
        return min(low, mean), max(high, mean)
    t = float(scipy.special.stdtrit(len(values) - 1, (1 + LEVEL) / 2))
    half = t * deviation / (math.sqrt(len(values)) if basis == "independent" else 1)
    return (max(mean - half, 0.0) if values.min() >= 0 else mean - half), mean + half


def _of_group(
    workload: str,
    contender: str,
    group: pd.DataFrame,
    baseline: str,
    metric: str,
    days: Mapping[tuple[str, str, int], Mapping[str, Daily]],
) -> Estimate:
    """Return the estimate of one contender on one workload."""
    kinds = set(group["basis"])
    basis: Basis = kinds.pop() if len(kinds) == 1 else "shifts"
    values, theirs = (group[each].to_numpy(float) for each in (metric, f"{metric}_baseline"))
    if basis in ("independent", "resamples"):
        return of_samples(values, theirs, basis)
    shifted = of_samples(values, theirs, "shifts")
    seeds = group["seed"].tolist()
    mine, base = (
        [days.get((workload, name, seed), {}).get(metric) for seed in seeds] for name in (contender, baseline)
    )
    pairs = [(one, other) for one, other in zip(mine, base, strict=True) if one is not None and other is not None]
    if not pairs:
        reason = "one sample" if basis == "trace" or len(group) == 1 else shifted.reason
        return replace(shifted, basis=basis, reason=shifted.reason and reason)
    made = of_days(*(_summed([pair[place] for pair in pairs]) for place in (0, 1)))
    return replace(made, ratio=shifted.ratio, span=shifted.span, n=shifted.n, basis=basis)


def _columns(estimate: Estimate, metric: str) -> dict[str, Any]:
    return {
        "ratio": estimate.ratio,
        "ratio_low": estimate.low,
        "ratio_high": estimate.high,
        "range_low": estimate.span[0],
        "range_high": estimate.span[1],
        "basis": estimate.basis,
        "blocks": estimate.blocks,
        "corrected": estimate.corrected,
        "verdict": estimate.verdict(metric in MORE_IS_BETTER),
        "reason": estimate.reason,
        "tested": estimate.tested,
    }


def _is_tested(estimate: Estimate, metric: str) -> bool:
    """Return whether the study shows that intervals of a metric hold, with so many samples."""
    least = _TESTED.get(estimate.basis, {}).get(metric)
    return least is not None and estimate.n >= least


def _law(estimate: Estimate) -> _Law:
    assert estimate.law is not None
    return estimate.law


def _settled(estimate: Estimate, law: _Law) -> Estimate:
    """Return an estimate with the interval of a law. The interval has the ratio of the means inside."""
    low, high = law.ends(LEVEL)
    return replace(estimate, low=min(low, estimate.ratio), high=max(high, estimate.ratio), law=law)


def _resampled(logarithms: FloatArray) -> _Law:
    """Return the law of the ratio over resamples: its own spread, not that of its mean."""
    count = len(logarithms)
    if count < LEAST_FOR_QUANTILES:
        deviation = float(logarithms.std(ddof=1))
        return _Law(float(logarithms.mean()), deviation, deviation, count - 1)
    low, centre, high = np.quantile(logarithms, [(1 - LEVEL) / 2, 0.5, (1 + LEVEL) / 2]).tolist()
    t = float(scipy.special.stdtrit(count - 1, (1 + LEVEL) / 2))
    return _Law(centre, (centre - low) / t, (high - centre) / t, count - 1)


def _jackknife(
    values: FloatArray, baseline: FloatArray, counts: FloatArray | None = None, others: FloatArray | None = None
) -> tuple[_Law | None, float]:
    """Return the law of the ratio of two sums by leaving out one part after the other, and how many parts decide it.

    Without the part that has all of the baseline there is no ratio, and no law.

    Parameters
    ----------
    values, baseline
        Sums of each part, shape (parts,).
    counts, others
        Numbers of jobs behind them; without them, parts count alike.
    """
    parts = len(values)
    ones = np.ones(parts)
    counts, others = (ones if each is None else each for each in (counts, others))
    left = [each.sum() - each for each in (values, counts, baseline, others)]
    if any((each <= 0).any() for each in left[1:]):
        return None, 0.0
    ratios = _ratio(*left)
    whole = float(_ratio(*(float(each.sum()) for each in (values, counts, baseline, others))))
    plain = bool((left[0] <= 0).any())  # a ratio of 0 has no logarithm
    each, centre = (ratios, whole) if plain else (np.log(ratios), math.log(whole))
    influence = (each.mean() - each) ** 2
    error = math.sqrt((parts - 1) / parts * float(influence.sum()))
    squares = float((influence**2).sum())
    weight = float(influence.sum()) ** 2 / squares if squares else float(parts)
    return _Law(centre, error, error, parts - 1, plain), weight


def _ratio(values: Any, counts: Any, baseline: Any, others: Any) -> Any:
    return (values * others) / (counts * baseline)


def _days(count: int) -> str:
    return "1 day is" if count == 1 else f"{count} days are"


def _padded(daily: Daily, days: int) -> Daily:
    return Daily(*(np.pad(each, (0, days - len(each))) for each in daily))


def _summed(several: Sequence[Daily]) -> Daily:
    """Return the sum of the days of shifted copies of one trace."""
    days = max(len(each.sums) for each in several)
    padded = [_padded(each, days) for each in several]
    return Daily(*(np.sum([each[place] for each in padded], axis=0) for place in (0, 1)))
