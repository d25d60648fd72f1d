"""Intervals of the studies' tables, from independent samples, as the product makes them."""

import math

import numpy as np
import scipy

from ...analysis.conclusions import LEVEL, of_samples
from ...base import FloatArray


def mean_interval(values: FloatArray, level: float = LEVEL) -> tuple[float, float]:
    """Return the interval of the mean of independent samples by Student's distribution; NaN with fewer than two.

    The interval of a mean of numbers that are not negative does not go below 0.
    """
    if len(values) < 2 or np.isnan(values).any():
        return math.nan, math.nan
    reach = float(scipy.stats.t.ppf((1 + level) / 2, len(values) - 1) * scipy.stats.sem(values))
    low, high = float(values.mean()) - reach, float(values.mean()) + reach
    return (max(low, 0.0) if values.min() >= 0 else low), high


def ratio_of_means(values: FloatArray, baseline: FloatArray) -> tuple[float, float, float]:
    """Return the ratio of the means of paired, independent samples, and its interval.

    It is that of :func:`hpcdispatch.analysis.of_samples`. Samples that are all alike, or equal to their pairs, leave
    nothing to chance: the ratio is its own interval. Undefined values are NaN.
    """
    if np.isnan(values).any() or np.isnan(baseline).any():
        return math.nan, math.nan, math.nan
    estimate = of_samples(values, baseline)
    fixed = len(values) > 1 and all((each == each[0]).all() for each in (values, baseline))
    if estimate.n > 1 and (fixed or (values == baseline).all()):
        return estimate.ratio, estimate.ratio, estimate.ratio
    return estimate.ratio, estimate.low, estimate.high
