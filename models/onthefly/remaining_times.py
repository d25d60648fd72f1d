"""Remaining run time of a job with a known law: its mean, quantiles and Gittins index.

J. C. Gittins: "Bandit processes and dynamic allocation indices", Journal of the Royal Statistical Society B 41, 1979.
For jobs: S. Aalto, U. Ayesta, R. Righter: "On the Gittins index in the M/G/1 queue", Queueing Systems 63, 2009.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...base import FloatArray, InputError

#: Quantile levels for a law without a list of values: dense, and far into the tail.
_LEVELS = np.concatenate((np.linspace(0, 0.99, 397), 1 - np.logspace(-2, -6, 41)[1:]))
#: Number of points for a law without quantiles.
_POINTS = 1001
#: Smaller probabilities count as zero.
_LEAST = 1e-12


class RemainingTimes:
    """Law of a run time X, with the law of its remainder after some seconds.

    Exact for a law on finitely many values. It has ``values`` and, unless they are equally likely, ``probabilities``.
    Any other law is sampled at several hundred quantiles, with X uniform between them.

    Parameters
    ----------
    law
        An object with ``values``. Or with ``cdf(x)``, ``support()`` and, for an unbounded support, ``ppf(q)``, such as
        a frozen distribution of scipy. Its mass below 0 is left out.

    Raises
    ------
    InputError
        If it is no such law.
    """

    __slots__ = ("_before", "_below", "_mean", "_served", "_times")

    def __init__(self, law: Any) -> None:
        times, cdf = law_on_values(law) if hasattr(law, "values") else _on_points(law)
        self._times = times
        #: P(X <= t) and P(X < t).
        self._below = cdf(times)
        self._before = cdf(np.nextafter(times, -np.inf))
        if not (np.isfinite(self._below).all() and (np.diff(self._below) >= -_LEAST).all()):
            raise InputError("law: cdf must rise from 0 to 1")
        lasting = (1 - self._below[:-1] + 1 - self._before[1:]) / 2
        #: E[min(X, t)].
        self._served = np.concatenate(([0.0], np.cumsum(np.diff(times) * lasting)))
        self._mean = _mean(law, float(self._served[-1]))

    def mean(self, done: float = 0) -> float | None:
        """Return E[X - done | X > done], seconds. ``None`` if X is never that long.

        Raises
        ------
        InputError
            If the law has no finite mean.
        """
        left, served = self._after(done)
        return None if left is None else (self._finite_mean() - served) / left

    def gittins(self, done: float = 0) -> float | None:
        """Return the reciprocal of the Gittins index after `done` seconds, or ``None``. The least comes first.

        It is a least value over d > 0, in seconds::

            E[min(X - done, d) | X > done] / P(X <= done + d | X > done)

        That is the time spent per job that ends, if jobs are given up at the best d. For a known run time it is the
        remaining time.

        Raises
        ------
        InputError
            If the law has no finite mean.
        """
        mean = self.mean(done)
        left, served = self._after(done)
        if mean is None or left is None:
            return None
        ended = self._below - (1 - left)
        later = (self._times >= done) & (ended > _LEAST)
        return min(mean, float(np.min((self._served[later] - served) / ended[later], initial=math.inf)))

    def quantile(self, level: float, done: float = 0) -> float | None:
        """Return the quantile `level` of the remaining time after `done` seconds. ``None`` if X is never longer.

        For an unbounded law it is at most the quantile of 1 - 1e-6.
        """
        left, _ = self._after(done)
        if left is None:
            return None
        wanted = 1 - left * (1 - level)
        place = min(int(np.searchsorted(self._below, wanted - _LEAST)), len(self._times) - 1)
        return max(0.0, self._within(place, wanted) - done)

    def _within(self, place: int, wanted: float) -> float:
        """Return where P(X <= t) reaches `wanted` in the cell that ends at `place`."""
        if place == 0 or wanted >= self._before[place]:
            return float(self._times[place])
        low = self._below[place - 1]
        high = self._before[place]
        share = (wanted - low) / (high - low) if high > low else 1.0
        return float(self._times[place - 1] + max(0.0, share) * (self._times[place] - self._times[place - 1]))

    def _after(self, done: float) -> tuple[float | None, float]:
        """Return P(X > done), ``None`` if negligible, and E[min(X, done)]. Before the start, P(X >= 0)."""
        if done >= self._times[-1]:
            return None, 0.0
        if done <= 0:
            return 1 - float(self._before[0]), 0.0
        place = int(np.searchsorted(self._times, done, side="right"))
        width = self._times[place] - self._times[place - 1]
        share = (done - self._times[place - 1]) / width
        below = self._below[place - 1] + share * (self._before[place] - self._below[place - 1])
        lasting = 1 - (self._below[place - 1] + below) / 2
        left = 1 - float(below)
        return (left if left > _LEAST else None), float(self._served[place - 1] + share * width * lasting)

    def _finite_mean(self) -> float:
        if not math.isfinite(self._mean):
            raise InputError(f"law: must have a finite mean, got {self._mean:g}")
        return self._mean


def law_on_values(law: Any) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
    """Return the values of a law, from 0 on, and its cumulative distribution function.

    Raises
    ------
    InputError
        If the values are not finite numbers >= 0, or not as many as their probabilities.
    """
    given = np.asarray(law.values, dtype=np.float64)
    alike = np.full(given.shape, 1 / max(1, given.size))
    shares = np.asarray(getattr(law, "probabilities", alike), dtype=np.float64)
    plain = given.ndim == 1 and given.size and shares.shape == given.shape
    if not plain or not (np.isfinite(given) & (given >= 0)).all():
        raise InputError(f"law: values must be finite numbers >= 0, each with its probability, got {law.values!r}")
    values, places = np.unique(given, return_inverse=True)
    below = np.concatenate(([0.0], np.cumsum(np.bincount(places, shares))))
    return (
        values if values[0] == 0 else np.concatenate(([0.0], values)),
        lambda points: np.asarray(below[np.searchsorted(values, points, side="right")]),
    )


def _on_points(law: Any) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
    """Return sample points of a law, from 0 on, and its cumulative distribution function."""
    if not (callable(getattr(law, "cdf", None)) and callable(getattr(law, "support", None))):
        raise InputError(f"law: expected an object with cdf(x) and support(), or with values, got {law!r}")
    low, high = (float(edge) for edge in law.support())
    ppf = getattr(law, "ppf", None)
    if ppf is not None:
        points = np.asarray(ppf(_LEVELS), dtype=np.float64)
    elif math.isfinite(low) and math.isfinite(high):
        points = np.linspace(low, high, _POINTS)
    else:
        raise InputError(f"law: must have ppf(q), or a support that has ends, got [{low:g}, {high:g}]")
    if not low <= high or not np.isfinite(points[1:]).all():
        raise InputError(f"law: its lower end must not be above its upper, got [{low:g}, {high:g}]")
    ends = [high] if math.isfinite(high) else []
    points = np.unique(np.concatenate(([0.0], points[points > 0], ends)))
    return points, lambda at: np.asarray(law.cdf(at), dtype=np.float64)


def _mean(law: Any, mean: float) -> float:
    """Return the mean of a law. `mean` is correct for a bounded support."""
    if hasattr(law, "values") or math.isfinite(law.support()[1]):
        return mean
    return float(law.mean()) if callable(getattr(law, "mean", None)) else math.inf
