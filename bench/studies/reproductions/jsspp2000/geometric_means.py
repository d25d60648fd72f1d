"""Geometric means of turnarounds, their ratios, and intervals over the months of the logs (section 3.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .....base import FloatArray
from ....reports.number_formats import short
from ..claims import LEAST, Floats, by_side
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
        Of how many months of logs, or other samples, it is, which are drawn with replacement for the interval.
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
    """Return the logarithms of the turnarounds; one of 0 s counts as 1 s."""
    found: Floats = np.log(np.maximum(cases[strategy].to_numpy(dtype=np.float64), 1.0))
    return found


def gains(cases: pd.DataFrame, strategy: str, over: str = USER) -> Floats:
    """Return the logarithms of how many times shorter the turnaround is than another strategy's."""
    return logarithms(cases, over) - logarithms(cases, strategy)


def mean(values: FloatArray, cases: pd.DataFrame) -> Ratio:
    """Return the geometric mean of what `values` are the logarithms of."""
    months, place = np.unique(cases["month"].to_numpy(dtype=str), return_inverse=True)
    return _ratio(_sums(values, place, len(months)), None)


def contrast(
    values: FloatArray, cases: pd.DataFrame, others: FloatArray, other_cases: pd.DataFrame | None = None
) -> Ratio:
    """Return the geometric mean of some values over that of others; months are drawn for both together."""
    compared = cases if other_cases is None else other_cases
    months = np.unique(np.concatenate([each["month"].to_numpy(dtype=str) for each in (cases, compared)]))
    places = [np.searchsorted(months, each["month"].to_numpy(dtype=str)) for each in (cases, compared)]
    count = len(months)
    return _ratio(_sums(values, places[0], count), _sums(others, places[1], count))


def over_samples(values: FloatArray) -> Ratio:
    """Return the geometric mean over independent samples of what `values` are the logarithms of."""
    return _ratio((values, np.ones(len(values))), None) if len(values) else Ratio(np.nan, np.nan, np.nan, 0)


def resampled_means(sums: FloatArray, counts: FloatArray) -> Floats:
    """Return bootstrapped means of values that are drawn in groups.

    Parameters
    ----------
    sums, counts
        The sum of the values of each group, and how many they are, shape (groups,); ones for values drawn singly.

    Returns
    -------
    array
        Shape (2000,); the same groups are drawn for all that have as many.
    """
    drawn = np.random.default_rng(0).integers(0, len(sums), size=(_RESAMPLES, len(sums)))
    found: Floats = sums[drawn].sum(axis=1) / np.maximum(counts[drawn].sum(axis=1), 1.0)
    return found


def less(text: str, ratio: Ratio, factor: float, what: str, published: str = "") -> Claim:
    """Return the claim that a ratio is less than `factor`, judged by its interval."""
    holds = by_side(ratio.low, ratio.high, factor, ratio.months)
    return Claim(text, holds, f"{what} {ratio}" + (f"; the paper: {published}" if published else ""))


def more(text: str, ratio: Ratio, factor: float, what: str, published: str = "") -> Claim:
    """Return the claim that a ratio is at least `factor`, judged by its interval.

    Where it is `factor` in every resample, nothing told the two apart, and it is not decided.
    """
    claim = less(text, ratio, factor, what, published)
    undecided = claim.holds is None or ratio.low == ratio.high == factor
    return Claim(text, None if undecided else not claim.holds, claim.evidence)


def within(text: str, ratio: Ratio, limits: tuple[float, float], what: str, published: str) -> Claim:
    """Return the claim that a ratio lies between two numbers: so does its interval, or it lies outside of them."""
    low, high = limits
    holds = None
    if ratio.months >= LEAST and (ratio.high < low or ratio.low > high):
        holds = False
    elif ratio.months >= LEAST and low <= ratio.low and ratio.high <= high:
        holds = True
    return Claim(text, holds, f"{what} {ratio}; the paper: {published}")


def parts(cases: pd.DataFrame, by: str, count: int = 10) -> list[pd.DataFrame]:
    """Return the cases by rising values of a column, in parts of about the same number; equal values stay together."""
    values = cases[by].to_numpy(dtype=np.float64)
    edges = np.unique(np.quantile(values, np.arange(1, count) / count))
    part = np.searchsorted(edges, values, side="left")
    return [cases[part == number] for number in np.unique(part)]


def _sums(values: FloatArray, places: NDArray[np.intp], months: int) -> tuple[Floats, Floats]:
    """Return the sum of the values of each month, and how many there are."""
    counts = np.bincount(places, minlength=months).astype(np.float64)
    return np.bincount(places, values, months).astype(np.float64), counts


def _ratio(own: tuple[Floats, Floats], other: tuple[Floats, Floats] | None) -> Ratio:
    """Return a mean of logarithms, or the difference of two, as a ratio with its interval."""
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
