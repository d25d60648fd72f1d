"""Paired comparison of two dispatchers on the same samples, with an interval over the seeds."""

from typing import Any, Literal

import numpy as np
import pandas as pd
import scipy

from ..base import FloatArray, InputError
from ..simulation import mean_interval

#: Fewest unequal pairs for a test at the 5% level: 2 * 0.5**6 = 0.03.
LEAST_FOR_TEST = 6
#: Most pairs for the exact distribution of Wilcoxon's statistic.
_MOST_EXACT = 50
_RESAMPLES = 9999
#: Parts of a trace for an interval over its jobs, and the fewest jobs per part.
PARTS, LEAST_IN_PART = 20, 10
COLUMNS = (
    "n",
    "baseline_mean",
    "mean",
    "difference",
    "difference_low",
    "difference_high",
    "ratio",
    "ratio_low",
    "ratio_high",
    "lower",
    "higher",
    "p_sign",
    "p_wilcoxon",
)


def paired_differences(runs: pd.DataFrame, baseline: str, metric: str) -> pd.DataFrame:
    """Return the difference of each contender from the baseline on the samples of both.

    Parameters
    ----------
    runs
        One row per run: ``workload``, ``seed``, ``sample``, ``contender`` and the metric.
    baseline
        The contender to compare with.
    metric
        A column of `runs`.

    Returns
    -------
    DataFrame
        One row per workload and contender: ``n`` pairs; both means; the mean ``difference`` (contender minus baseline)
        and the ``ratio`` of the means. Both have a 95% percentile bootstrap interval over the pairs, ``..._low`` and
        ``..._high`` (NaN for one pair). ``lower`` and ``higher`` count the pairs below and above the baseline.
        ``p_sign`` and ``p_wilcoxon`` are of the two-sided tests, NaN below :data:`LEAST_FOR_TEST` unequal pairs.

    Raises
    ------
    InputError
        If there is no such contender.
    """
    known = list(dict.fromkeys(runs["contender"]))
    if baseline not in known:
        raise InputError(f"baseline: expected one of {', '.join(known)}; got {baseline!r}")
    keys = ["workload", "seed", "sample"]
    reference = runs.loc[runs["contender"] == baseline, [*keys, metric]]
    rows: list[dict[str, Any]] = []
    others = runs.loc[runs["contender"] != baseline, [*keys, "contender", metric]]
    both = others.merge(reference, on=keys, suffixes=("", "_baseline"))
    for (workload, contender), group in both.groupby(["workload", "contender"], sort=False):
        found = compare_pairs(group[metric].to_numpy(float), group[f"{metric}_baseline"].to_numpy(float))
        rows.append({"workload": workload, "contender": contender, "metric": metric, **found})
    return pd.DataFrame(rows, columns=["workload", "contender", "metric", *COLUMNS])


def compare_pairs(values: FloatArray, baseline: FloatArray) -> dict[str, float]:
    """Return the columns of :func:`paired_differences` for one series of pairs. Pairs with a NaN are left out."""
    whole = ~np.isnan(values) & ~np.isnan(baseline)
    values = values[whole]
    baseline = baseline[whole]
    differences = values - baseline
    if not len(values):
        return {**dict.fromkeys(COLUMNS, float("nan")), "n": 0, "lower": 0, "higher": 0}
    low, high = mean_interval(differences)
    ratio, ratio_low, ratio_high = ratio_of_means(values, baseline)
    return {
        "n": len(values),
        "baseline_mean": float(baseline.mean()),
        "mean": float(values.mean()),
        "difference": float(differences.mean()),
        "difference_low": low,
        "difference_high": high,
        "ratio": ratio,
        "ratio_low": ratio_low,
        "ratio_high": ratio_high,
        "lower": int((differences < 0).sum()),
        "higher": int((differences > 0).sum()),
        "p_sign": sign_test(differences),
        "p_wilcoxon": wilcoxon_test(differences),
    }


def ratio_of_means(values: FloatArray, baseline: FloatArray) -> tuple[float, float, float]:
    """Return the ratio of the means and its 95% percentile bootstrap interval. Pairs are resampled together.

    Undefined values are NaN.
    """
    if baseline.mean() == 0:
        return float("nan"), float("nan"), float("nan")
    ratio = float(values.mean() / baseline.mean())
    if len(values) < 2:
        return ratio, float("nan"), float("nan")
    drawn = np.random.default_rng(0).integers(0, len(values), size=(_RESAMPLES, len(values)))
    below = baseline[drawn].mean(axis=1)
    if (below == 0).any():
        return ratio, float("nan"), float("nan")
    low, high = np.quantile(values[drawn].mean(axis=1) / below, [0.025, 0.975])
    return ratio, float(low), float(high)


def by_parts(values: FloatArray, baseline: FloatArray) -> tuple[float, float, float, int]:
    """Return the ratio of the means of two series of the same jobs, its 95% interval, and the number of parts.

    The jobs, in their order, are cut into up to :data:`PARTS` parts of equal length. The reason is that waits of
    neighbours depend on each other. The parts are resampled as the pairs of :func:`ratio_of_means`. Undefined values
    are NaN.
    """
    length = max(len(values) // PARTS, LEAST_IN_PART)
    parts = len(values) // length
    if parts < 2:
        ratio = float(values.mean() / baseline.mean()) if len(values) and baseline.mean() else float("nan")
        return ratio, float("nan"), float("nan"), min(parts, 1)
    bounds = np.arange(parts) * len(values) // parts
    sums = [np.add.reduceat(each, bounds) for each in (values, baseline)]
    return *ratio_of_means(*sums), parts


def sign_test(differences: FloatArray) -> float:
    """Return the p-value of the exact two-sided sign test. Equal pairs do not count."""
    count = int((differences != 0).sum())
    if count < LEAST_FOR_TEST:
        return float("nan")
    return float(scipy.stats.binomtest(int((differences > 0).sum()), count).pvalue)


def wilcoxon_test(differences: FloatArray) -> float:
    """Return the p-value of Wilcoxon's two-sided signed-rank test. Equal pairs do not count.

    It is exact up to 50 pairs if all differences have distinct sizes. Otherwise it is the normal approximation.
    """
    differences = differences[differences != 0]
    if len(differences) < LEAST_FOR_TEST:
        return float("nan")
    exact = len(differences) <= _MOST_EXACT and len(np.unique(np.abs(differences))) == len(differences)
    method: Literal["exact", "approx"] = "exact" if exact else "approx"
    return float(scipy.stats.wilcoxon(differences, method=method).pvalue)
