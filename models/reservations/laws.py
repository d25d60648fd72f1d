"""Run-time laws on finitely many values, from a distribution or from observed run times.

Gainaru et al., "Speculative scheduling for stochastic HPC applications", ICPP 2019, sections 4.1 and 4.2. Times may
have any unit. All results have the same unit.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Protocol

import numpy as np

from ...base import FloatArray, InputError, IntArray
from ...base.argument_types import names_wrong_types

#: Relative difference below which two times are equal.
ROUNDING = 1e-12
#: Least mass of a distribution within the bounds.
_LEAST_MASS = 1e-12
#: Least jump of a distribution function at the lower bound that counts as an atom.
_LEAST_ATOM = 1e-9


class Distribution(Protocol):
    """A law of run times, such as a frozen distribution of scipy.

    If it has ``sf(x)``, the complement of ``cdf(x)``, that is used in the upper half for precision.
    """

    @property
    def cdf(self) -> Callable[..., Any]:
        """Probability of at most x, for one time or an array of times."""


@dataclass(frozen=True, slots=True, eq=False)
class ESDD:
    """A run time X on finitely many values. The functions of this module make equally spaced ones.

    Attributes
    ----------
    values
        Possible values of X, rising, above 0, shape (n,).
    probabilities
        Probability of each value, shape (n,). They sum to 1.
    start
        Lower bound of X, v_0 of the paper, from 0 to the first value.

    Raises
    ------
    InputError
        If one of these does not hold.
    """

    values: FloatArray
    probabilities: FloatArray
    start: float = 0.0

    def __post_init__(self) -> None:
        values = rising_times("values", self.values)
        probabilities = numbers("probabilities", self.probabilities)
        if probabilities.shape != values.shape:
            raise InputError(f"probabilities: expected {len(values)}, one for each value, got {len(probabilities)}")
        total = math.fsum(probabilities)
        if abs(total - 1) > 1e-9:
            raise InputError(f"probabilities: must sum to 1, got {total!r}")
        probabilities = probabilities / total
        start = number("start", self.start)
        if start > values[0]:
            raise InputError(f"start: must be in [0, {values[0]:g}], up to the first value, got {start:g}")
        for array in (values, probabilities):
            array.flags.writeable = False
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "probabilities", probabilities)
        object.__setattr__(self, "start", start)

    @property
    def end(self) -> float:
        """Largest value, b of the paper."""
        return float(self.values[-1])

    @property
    def mean(self) -> float:
        """Expected run time."""
        return math.fsum(self.values * self.probabilities)

    def condition(self, above: float) -> ESDD:
        """Return the law of X given X > `above`, as after a failed reservation of this length.

        Raises
        ------
        InputError
            If X is never longer.
        """
        above = number("above", above)
        left = self.values > above * (1 + ROUNDING)
        mass = math.fsum(self.probabilities[left])
        if not mass > 0:
            longest = self.values[self.probabilities > 0][-1]
            raise InputError(f"above: must be in [0, {longest:g}), below the longest run time, got {above:g}")
        return ESDD(self.values[left], self.probabilities[left] / mass, max(self.start, above))


@names_wrong_types
def discretize(distribution: Distribution, a: float, b: float, n: int) -> ESDD:
    """Return a distribution, restricted to [a, b], on the values v_i = a + i (b - a)/n.

    Section 4.2: f_i = F(v_i) - F(v_(i-1)) for i = 1..n, divided by the mass of [a, b]. So run times are rounded up. An
    atom at `a` keeps its value v_0 = a, before the n others. If a = 0, v_1 takes it, because no reservation has length
    0. If b = a, that is the only value.

    Parameters
    ----------
    distribution
        Frozen distribution of scipy, continuous or discrete, or any object with ``cdf(x)``.
    a, b
        Shortest and longest run time, 0 <= a <= b, b > 0, both finite.
    n
        Number of steps, at least 1.

    Raises
    ------
    InputError
        If an argument is out of its range, or [a, b] holds less than 1e-12 of the mass.
    """
    a = number("a", a)
    b = number("b", b)
    n = _count("n", n)
    if b <= 0 or a > b:
        raise InputError(f"b: must be > 0 and >= a = {a:g}, got {b:g}")
    if a == b:
        around = _masses(distribution, np.array([a * (1 - _LEAST_ATOM), a * (1 + _LEAST_ATOM)]))
        if not around[0] > 0:
            raise InputError(f"distribution: has no mass at {a:g}, the only value of [{a:g}, {b:g}]")
        return ESDD(np.array([b]), np.ones(1), a)
    values = a + np.arange(1, n + 1) * (b - a) / n
    values[-1] = b
    mass = _masses(distribution, np.concatenate(([np.nextafter(a, -np.inf), a], values)))
    total = math.fsum(mass)
    if not total >= _LEAST_MASS:
        raise InputError(f"distribution: must have mass in [{a:g}, {b:g}], got {total:g} of it there")
    mass /= total
    if a > 0 and mass[0] > _LEAST_ATOM:
        return ESDD(np.concatenate(([a], values)), mass, a)
    mass[1] += mass[0]
    return ESDD(values, mass[1:], a)


@names_wrong_types
def from_samples(run_times: Sequence[float], n: int | None = None) -> ESDD:
    """Return the law of observed run times, exactly or each rounded up to one of `n` values.

    The values are equally spaced from the shortest run time to the longest, or above 0 if the shortest is 0. Equal run
    times have one value.

    Raises
    ------
    InputError
        If there is no run time, one is not a finite number >= 0, or n < 1. Also if none is > 0, or without `n`, if one
        is not > 0.
    """
    times = checked_run_times(run_times)
    if n is None:
        distinct, counts = np.unique(times, return_counts=True)
        return ESDD(distinct, counts / len(times), float(distinct[0]))
    n = _count("n", n)
    return _rounded_up(times, np.full(len(times), 1 / len(times)), n)


@names_wrong_types
def binned(law: ESDD, n: int) -> ESDD:
    """Return a law on `n` equally spaced values, as in :func:`from_samples`, each rounded up."""
    return _rounded_up(law.values, law.probabilities, _count("n", n))


def _rounded_up(times: FloatArray, probabilities: FloatArray, n: int) -> ESDD:
    shortest = float(times.min())
    longest = float(times.max())
    if shortest == longest:
        values = np.array([longest])
    elif shortest > 0 and n > 1:
        values = np.linspace(shortest, longest, n)
    else:
        values = np.arange(1, n + 1) * longest / n
    values[-1] = longest
    ranks = np.searchsorted(values * (1 + ROUNDING), times)
    return ESDD(values, np.bincount(ranks, probabilities, len(values)).astype(np.float64), shortest)


@names_wrong_types
def thinned(law: ESDD, n: int) -> ESDD:
    """Return a law on at most `n` of its values.

    Each is rounded up, by a share of at most (longest/shortest)^(1/n) - 1.
    """
    if len(law.values) <= n:
        return law
    cell, last = log_cells(law.values, n)
    masses = np.bincount(cell, law.probabilities).astype(np.float64)
    return ESDD(law.values[last], masses[cell[last]], law.start)


def log_cells(values: FloatArray, n: int) -> tuple[IntArray, IntArray]:
    """Return the logarithmic cell, of `n` equally wide ones, of each value. Values rise from above 0.

    Returns
    -------
    tuple of two ndarrays of int
        Cell of each value, shape (values,), and index of the largest value of each non-empty cell.
    """
    logs = np.log(values)
    cell = np.minimum(((logs - logs[0]) / (logs[-1] - logs[0]) * n).astype(np.int64), n - 1)
    return cell, np.append(np.flatnonzero(np.diff(cell)), len(cell) - 1)


def checked_run_times(run_times: Sequence[float]) -> FloatArray:
    """Return run times as an array. Reject values that are not finite numbers >= 0, and all zeros."""
    times = numbers("run_times", run_times)
    if not times.max() > 0:
        raise InputError("run_times: at least one must be > 0, got 0 only")
    return times


def numbers(name: str, given: Any) -> FloatArray:
    """Return a copy of a sequence as an array. Reject empty ones, and values that are not finite numbers >= 0."""
    try:
        array = np.asarray(given)
    except ValueError:
        array = np.empty((0, 0))
    if array.ndim != 1:
        raise InputError(f"{name}: expected a sequence of numbers, got {given!r}")
    if not array.size:
        raise InputError(f"{name}: expected at least one, got none")
    if array.dtype.kind in "iuf":
        values = array.astype(np.float64)
        wrong = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
        if not wrong.size:
            return values
    items = np.asarray(given, dtype=object).tolist()
    return np.array([number(f"{name}[{index}]", value) for index, value in enumerate(items)])


def number(name: str, given: Any, below: float = math.inf) -> float:
    """Return a number. Reject values outside [0, `below`)."""
    is_number = isinstance(given, Real) and not isinstance(given, bool | np.bool_)
    if not (is_number and 0 <= float(given) < below):
        expected = "a finite number >= 0" if below == math.inf else f"a number in [0, {below:g})"
        raise InputError(f"{name}: must be {expected}, got {float(given) if is_number else given!r}")
    return float(given)


def rising_times(name: str, given: Any) -> FloatArray:
    """Return times as an array. Reject times that are not > 0 and rising."""
    times = numbers(name, given)
    if not times[0] > 0:
        raise InputError(f"{name}[0]: must be > 0, got {times[0]:g}")
    for index in np.flatnonzero(np.diff(times) <= 0).tolist():
        before, value = times[index : index + 2].tolist()
        raise InputError(f"{name}[{index + 1}]: must be > {before}, the one before, got {value}")
    return times


def _count(name: str, given: Any) -> int:
    try:
        count = operator.index(given)
    except TypeError:
        count = 0
    if count < 1 or isinstance(given, bool):
        raise InputError(f"{name}: must be an integer >= 1, got {given!r}")
    return count


def _masses(distribution: Distribution, points: FloatArray) -> FloatArray:
    """Return the mass of each (points[i], points[i + 1]]."""
    if not callable(getattr(distribution, "cdf", None)):
        raise InputError(f"distribution: expected an object with cdf(x), got {distribution!r}")
    below = _at(distribution.cdf, points)
    survival = getattr(distribution, "sf", None)
    above = _at(survival, points) if survival is not None else 1 - below
    mass = np.where(below[1:] < 0.5, np.diff(below), -np.diff(above))
    wrong = np.flatnonzero(~(mass >= -_LEAST_ATOM))
    if wrong.size:
        at = points[wrong[0] + 1]
        value = below[wrong[0] + 1]
        raise InputError(f"distribution: cdf must rise from 0 to 1, got {value:g} at {at:g}")
    return np.maximum(mass, 0.0)


def _at(function: Callable[..., Any], points: FloatArray) -> FloatArray:
    """Return the values of a function at points, one by one if it accepts no array."""
    try:
        values = np.asarray(function(points), dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty(0)
    if values.shape != points.shape:
        values = np.array([float(function(float(point))) for point in points])
    return values
