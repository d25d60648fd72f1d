"""From the samples of a metric to a number with an interval, and from inequalities to what they say of a claim."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ....analysis import ratio_of_means
from ....simulation import mean_interval
from ...reports.number_formats import short
from .outcome import Claim, Precondition, Row

Floats = NDArray[np.float64]

#: With fewer samples nothing is decided.
LEAST = 3


def row(
    subject: str,
    metric: str,
    values: Sequence[float],
    published: float | None = None,
    digits: int = 0,
    timed: bool = False,
) -> Row:
    """Return the mean of a value of each sample, with its interval."""
    measured, (low, high) = float(np.mean(values)), mean_interval(np.asarray(values, dtype=float))
    found = (None if math.isnan(number) else number for number in (measured, low, high))
    mean, least, most = found
    return Row(subject, metric, mean, published, least, most, digits, timed)


def less(
    text: str,
    named: tuple[str, Sequence[float]],
    other: tuple[str, Sequence[float]],
    published: str = "",
    *,
    factor: float = 1.0,
    timed: bool = False,
) -> Claim:
    """Return the claim that one thing is less than `factor` times another.

    The ratio is that of the means over the samples, which are independent draws (seeds of a generator, disjoint months
    of a trace). It holds if its bootstrap interval, from pairs drawn together, is below `factor`; it does not if the
    interval is above; and in between, or with fewer than :data:`LEAST` samples, it is not decided.

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
    holds = by_side(low, high, factor, len(named[1]))
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
    """Return the claim that one thing is not less than `factor` times another, judged as :func:`less`.

    Strictly, it is more than that. Where both are the same in every sample, nothing told them apart, and it is not
    decided.
    """
    ratio, low, high = _ratio(named[1], other[1])
    below = None if np.array_equal(named[1], other[1]) else by_side(low, high, factor, len(named[1]))
    holds = None if below is None else not below and (low > factor or not strictly)
    return Claim(text, holds, _evidence(named, other, ratio, low, high, published))


def within(text: str, name: str, values: Sequence[float], low: float, high: float, published: str) -> Claim:
    """Return the claim that a percentage lies between two others; all samples must agree."""
    inside = [low <= value <= high for value in values]
    holds = None if len(values) < LEAST or len(set(inside)) > 1 else inside[0]
    many = dict.fromkeys(f"{value:.1f}" for value in (min(values), max(values)))
    return Claim(text, holds, f"{name} {'-'.join(many)}%; the paper: {published}")


def given(claims: Iterable[Claim], preconditions: Iterable[Precondition]) -> tuple[Claim, ...]:
    """Return the claims as they stand under preconditions.

    Where one of the jobs is not met, a claim cannot be tested here. Where one of the system under test is not met, the
    system is not what the paper describes, and a claim about it does not hold.
    """
    missing = [each for each in preconditions if not each.met]
    failing = [f"{each.text} ({each.evidence})" for each in missing if each.of_system]
    unmet = [f"{each.text} ({each.evidence})" for each in missing if not each.of_system]
    found = []
    for claim in claims:
        if unmet:
            found.append(replace(claim, holds=None, unmet="; ".join(filter(None, (claim.unmet, *unmet)))))
        elif failing and not claim.unmet:
            found.append(replace(claim, holds=False, evidence="; not so: ".join([claim.evidence, *failing])))
        else:
            found.append(claim)
    return tuple(found)


def by_construction(claim: Claim) -> Claim:
    """Return a claim as one that follows from the definitions: shown, not counted."""
    return replace(claim, kind="construction")


def calibrated(claim: Claim) -> Claim:
    """Return a claim as one that the set-up was fitted to: shown, not counted."""
    return replace(claim, kind="calibrated")


def by_side(low: float, high: float, limit: float, samples: int) -> bool | None:
    """Return whether an interval lies below a limit, ``None`` if it lies on both sides or there is none."""
    if samples < LEAST or math.isnan(low) or low < limit <= high:
        return None
    return high < limit


def _ratio(named: Sequence[float], other: Sequence[float]) -> tuple[float, float, float]:
    """Return the ratio of the means with its interval; NaN where there is no ratio."""
    first, second = np.asarray(named, dtype=float), np.asarray(other, dtype=float)
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
