"""Geometric means of turnarounds and their ratios. Intervals are over the months of the logs (section 3.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .....base import FloatArray
from ....reports.number_formats import short
from ..claims import LEAST, Floats, by_side, nearly
from ..outcome import Claim
from .drawn_cases import USER

_RESAMPLES, _LEVEL = 2000, 0.95


@dataclass(frozen=True, slots=True)
class Ratio:
    """A geometric mean, or a ratio of two, with its interval.

    Attributes
    ----------
    value, low, high
        Itself and the ends, NaN where there are none.
    months
        Number of months of logs, or of other samples. The interval samples them with replacement.
    """

    value: float
    low: float
    high: float
    months: int

    def __str__(self) -> str:
        """Render with the interval, if there is one."""
        ends = "" if np.isnan(self.low) else f" [{short(self.low)}, {short(self.high)}]"
        return f"{short(self.value)}{ends}"


def logarithms(cases: pd.DataFrame, strategy: str) -> Floats:
    """Return the logarithms of the turnarounds. A turnaround of 0 s counts as 1 s."""
    values: Floats = np.log(np.maximum(cases[strategy].to_numpy(dtype=np.float64), 1.0))
    return values


def gains(cases: pd.DataFrame, strategy: str, over: str = USER) -> Floats:
    """Return log ratios: another strategy's turnaround over this one's."""
    return logarithms(cases, over) - logarithms(cases, strategy)


def mean(values: FloatArray, cases: pd.DataFrame) -> Ratio:
    """Return the geometric mean. `values` are logarithms."""
    months, place = np.unique(cases["month"].to_numpy(dtype=str), return_inverse=True)
    return _ratio(_sums(values, place, len(months)), None)


def contrast(
    values: FloatArray, cases: pd.DataFrame, others: FloatArray, other_cases: pd.DataFrame | None = None
) -> Ratio:
    """Return one geometric mean over another. Months are sampled for both together."""
    compared = cases if other_cases is None else other_cases
    months = np.unique(np.concatenate([each["month"].to_numpy(dtype=str) for each in (cases, compared)]))
    places = [np.searchsorted(months, each["month"].to_numpy(dtype=str)) for each in (cases, compared)]
    count = len(months)
    return _ratio(_sums(values, places[0], count), _sums(others, places[1], count))


def over_samples(values: FloatArray) -> Ratio:
    """Return the geometric mean over independent samples. `values` are logarithms."""
    return _ratio((values, np.ones(len(values))), None) if len(values) else Ratio(np.nan, np.nan, np.nan, 0)


def resampled_means(sums: FloatArray, counts: FloatArray) -> Floats:
    """Return bootstrapped means of values that are sampled in groups.

    Parameters
    ----------
    sums, counts
        The sum and the count of each group's values, shape (groups,). Counts are ones for values sampled singly.

    Returns
    -------
    array
        Shape (2000,). Equal numbers of groups give the same samples.
    """
    drawn = np.random.default_rng(0).integers(0, len(sums), size=(_RESAMPLES, len(sums)))
    means: Floats = sums[drawn].sum(axis=1) / np.maximum(counts[drawn].sum(axis=1), 1.0)
    return means


def less(text: str, ratio: Ratio, factor: float, what: str, published: str = "") -> Claim:
    """Return the claim that a ratio is below `factor`. Its interval decides, unless it is nearly `factor`."""
    alike = ratio.low == ratio.high == factor
    undecided = nearly(ratio.value, factor) and not alike
    holds = None if undecided else by_side(ratio.low, ratio.high, factor, ratio.months)
    return Claim(text, holds, f"{what} {ratio}" + (f"; the paper: {published}" if published else ""))


def more(text: str, ratio: Ratio, factor: float, what: str, published: str = "") -> Claim:
    """Return the claim that a ratio is at least `factor`. Its interval decides.

    If it equals `factor` in every resample, nothing tells the two apart. The claim is then undecided.
    """
    claim = less(text, ratio, factor, what, published)
    undecided = claim.holds is None or ratio.low == ratio.high == factor
    return Claim(text, None if undecided else not claim.holds, claim.evidence)


def within(text: str, ratio: Ratio, limits: tuple[float, float], what: str, published: str) -> Claim:
    """Return the claim that a ratio lies between two numbers. An interval inside confirms it; outside, it fails."""
    low, high = limits
    holds = None
    if ratio.months >= LEAST and (ratio.high < low or ratio.low > high):
        holds = False
    elif ratio.months >= LEAST and low <= ratio.low and ratio.high <= high:
        holds = True
    return Claim(text, holds, f"{what} {ratio}; the paper: {published}")


def parts(cases: pd.DataFrame, by: str, count: int = 10) -> list[pd.DataFrame]:
    """Split the cases by rising values of a column, into parts of similar size. Equal values share a part."""
    values = cases[by].to_numpy(dtype=np.float64)
    edges = np.unique(np.quantile(values, np.arange(1, count) / count))
    part = np.searchsorted(edges, values, side="left")
    return [cases[part == number] for number in np.unique(part)]


def _sums(values: FloatArray, places: NDArray[np.intp], months: int) -> tuple[Floats, Floats]:
    """Return the sum and the count of each month's values."""
    counts = np.bincount(places, minlength=months).astype(np.float64)
    return np.bincount(places, values, months).astype(np.float64), counts


def _ratio(own: tuple[Floats, Floats], other: tuple[Floats, Floats] | None) -> Ratio:
    """Return a ratio with its interval, from a mean of logarithms or the difference of two."""
    both = [own] if other is None else [own, other]
    months = min(int((counts > 0).sum()) for _, counts in both)
    value = _difference([sums.sum() / max(counts.sum(), 1.0) for sums, counts in both])
    if months < LEAST:
        return Ratio(float(value), np.nan, np.nan, months)
    each = [resampled_means(sums, counts) for sums, counts in both]
    low, high = np.quantile(_difference(each), [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
    return Ratio(float(value), float(low), float(high), months)


def _difference(logarithm: Sequence[Floats]) -> Floats:
    return np.exp(logarithm[0] - logarithm[1] if len(logarithm) > 1 else logarithm[0])
