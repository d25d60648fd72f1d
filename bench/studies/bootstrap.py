"""Percentile bootstrap intervals of the studies' tables, over independent samples."""

import numpy as np
import scipy

from ...base import FloatArray

_RESAMPLES = 9999


def mean_interval(values: FloatArray, confidence: float = 0.95) -> tuple[float, float]:
    """Return a percentile bootstrap interval of the mean. The same values give the same interval."""
    if len(values) < 2 or np.isnan(values).any():
        return float("nan"), float("nan")
    found = scipy.stats.bootstrap(
        (values,),
        np.mean,
        n_resamples=999,
        batch=max(1, 10_000_000 // len(values)),
        confidence_level=confidence,
        method="percentile",
        rng=np.random.default_rng(0),
    )
    return float(found.confidence_interval.low), float(found.confidence_interval.high)


def ratio_of_means(values: FloatArray, baseline: FloatArray) -> tuple[float, float, float]:
    """Return the ratio of the means and its 95% percentile bootstrap interval. Pairs are resampled together.

    Undefined values are NaN.
    """
    if not len(values) or baseline.mean() == 0:
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
