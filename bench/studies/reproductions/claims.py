"""Numbers with intervals from samples of a metric, and claims from inequalities."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...reports.number_formats import short
from ..intervals import mean_interval, ratio_of_means
from .outcome import Claim, ComparedFigure, Precondition

Floats = NDArray[np.float64]

#: With fewer samples nothing is decided.
LEAST = 3
#: A ratio this close to its limit decides nothing, however narrow its interval is.
NEARLY = 0.01


def row(
    subject: str,
    metric: str,
    values: Sequence[float],
    published: float | None = None,
    digits: int = 0,
    timed: bool = False,
) -> ComparedFigure:
    """Return the mean of a value over the samples, with its interval."""
    measured = float(np.mean(values))
    (low, high) = mean_interval(np.asarray(values, dtype=float))
    numbers = (None if math.isnan(number) else number for number in (measured, low, high))
    mean, least, most = numbers
    return ComparedFigure(subject, metric, mean, published, least, most, digits, timed)


def less(
    text: str,
    named: tuple[str, Sequence[float]],
    other: tuple[str, Sequence[float]],
    published: str = "",
    *,
    factor: float = 1.0,
    timed: bool = False,
) -> Claim:
    """Return the claim that one thing is below `factor` times another.

    The ratio is that of the means over the samples. Samples are independent: seeds of a generator, or disjoint months
    of a trace. The interval samples both things together. The claim holds if the interval is below `factor`.
    It fails if the interval is above. It is undecided in between, with fewer than :data:`LEAST` samples, and if the
    ratio is within :data:`NEARLY` of `factor`. Equal values in every sample are not below each other.

    Parameters
    ----------
    text
        The claim.
    named, other
        Name and a value of each sample.
    published
        What the paper says of it.
    factor
        The limit of the ratio.
    timed
        Whether the values are measured times.
    """
    ratio, low, high = _ratio(named[1], other[1])
    undecided = nearly(ratio, factor) and not np.array_equal(named[1], other[1])
    holds = None if undecided else by_side(low, high, factor, len(named[1]))
    return Claim(text, holds, _evidence(named, other, ratio, low, high, published), timed)


def more(
    text: str,
    named: tuple[str, Sequence[float]],
    other: tuple[str, Sequence[float]],
    published: str = "",
    *,
    factor: float = 1.0,
    strictly: bool = False,
) -> Claim:
    """Return the claim that one thing is at least `factor` times another. It is judged as in :func:`less`.

    Strictly, it is more than that. Values that are equal in every sample fail this. Otherwise nothing tells them apart,
    and the claim is undecided.
    """
    ratio, low, high = _ratio(named[1], other[1])
    alike = np.array_equal(named[1], other[1])
    undecided = not strictly if alike else nearly(ratio, factor)
    below = None if undecided else by_side(low, high, factor, len(named[1]))
    holds = None if below is None else not below and (low > factor or not strictly)
    return Claim(text, holds, _evidence(named, other, ratio, low, high, published))


def within(text: str, name: str, values: Sequence[float], low: float, high: float, published: str) -> Claim:
    """Return the claim that a percentage lies between two others. All samples must agree."""
    inside = [low <= value <= high for value in values]
    holds = None if len(values) < LEAST or len(set(inside)) > 1 else inside[0]
    many = dict.fromkeys(f"{value:.1f}" for value in (min(values), max(values)))
    return Claim(text, holds, f"{name} {'-'.join(many)}%; the paper: {published}")


def given(claims: Iterable[Claim], preconditions: Iterable[Precondition]) -> tuple[Claim, ...]:
    """Return the claims as they stand under preconditions.

    An unmet precondition on the jobs makes a claim untestable here. An unmet precondition on the system means that it
    differs from the paper's. A claim about it then fails. Either way the claim keeps what its inequality says.
    """
    missing = [each for each in preconditions if not each.met]
    failing = [f"{each.text} ({each.evidence})" for each in missing if each.of_system]
    unmet = [f"{each.text} ({each.evidence})" for each in missing if not each.of_system]
    judged_claims = []
    for claim in claims:
        aside = replace(claim, overruled=True, inequality=claim.measured)
        if unmet:
            judged_claims.append(replace(aside, holds=None, unmet="; ".join(filter(None, (claim.unmet, *unmet)))))
        elif failing and not claim.unmet:
            judged_claims.append(replace(aside, holds=False, evidence="; not so: ".join([claim.evidence, *failing])))
        else:
            judged_claims.append(claim)
    return tuple(judged_claims)


def by_construction(claim: Claim) -> Claim:
    """Mark a claim as one that follows from the definitions. It counts only if it fails."""
    return replace(claim, kind="construction")


def calibrated(claim: Claim) -> Claim:
    """Mark a claim as one that the set-up was fitted to. It counts only if it fails."""
    return replace(claim, kind="calibrated")


def elsewhere(claims: Iterable[Claim], setting: str) -> Iterator[Claim]:
    """Mark claims as simulated in a setting that is not the paper's. They have totals of their own."""
    return (replace(claim, setting=setting) for claim in claims)


def nearly(ratio: float, limit: float) -> bool:
    """Return whether a ratio is within :data:`NEARLY` of its limit. It then decides nothing."""
    return abs(ratio / limit - 1) < NEARLY


def by_side(low: float, high: float, limit: float, samples: int) -> bool | None:
    """Return whether an interval lies below a limit. ``None`` if it lies on both sides or there is no interval."""
    if samples < LEAST or math.isnan(low) or low < limit <= high:
        return None
    return high < limit


def _ratio(named: Sequence[float], other: Sequence[float]) -> tuple[float, float, float]:
    """Return the ratio of the means with its interval; NaN where there is no ratio."""
    first = np.asarray(named, dtype=float)
    second = np.asarray(other, dtype=float)
    if not (first.any() or second.any()):
        return 1.0, 1.0, 1.0
    return ratio_of_means(first, second)


def _evidence(
    named: tuple[str, Sequence[float]],
    other: tuple[str, Sequence[float]],
    ratio: float,
    low: float,
    high: float,
    published: str,
) -> str:
    means = "; ".join(f"{name} {short(float(np.mean(values)))}" for name, values in (named, other))
    change = "; no ratio" if math.isnan(ratio) else f": {100 * (ratio - 1):+.1f}%"
    change += "" if math.isnan(low) else f" [{100 * (low - 1):+.1f}, {100 * (high - 1):+.1f}]"
    return means + change + (f"; the paper: {published}" if published else "")
