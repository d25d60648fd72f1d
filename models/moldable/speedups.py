"""Speedup models S(n) of a job on n processors, with S(1) = 1."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from ...base import FloatArray, check_number, check_whole
from ...base.argument_types import names_wrong_types


@names_wrong_types
def downey(n: ArrayLike, A: ArrayLike, sigma: ArrayLike) -> FloatArray:  # noqa: N803 - the name in the paper
    """Return Downey's speedup of a job of average parallelism `A`.

    Parameters
    ----------
    n
        Processors, at least 1. Fractions are allowed.
    A
        Average parallelism, at least 1. It bounds the speedup.
    sigma
        Coefficient of variance in parallelism, at least 0. At 0 the speedup is min(n, A).

    Returns
    -------
    FloatArray
        Speedups, of the shape of the broadcast arguments.

    Raises
    ------
    ValueError
        If `A` is below 1, `sigma` below 0, or some `n` below 1.

    References
    ----------
    Downey: "A model for speedup of parallel programs", UC Berkeley CSD-97-933, 1997. Here as in Cirne and Berman,
    "Adaptive selection of partition size for supercomputer requests", JSSPP 2000, section 3.2. Its last branch is A.
    """
    sizes = _least("n", n, 1)
    most = _least("A", A, 1)
    spread = _least("sigma", sigma, 0)
    # For sigma <= 1, both denominators are at least n up to 2A - 1. Beyond it the second would fall below n.
    beyond = np.maximum(spread * (most - 0.5) + sizes * (1 - spread / 2), sizes)
    even = most * sizes / np.where(sizes <= most, most + spread * (sizes - 1) / 2, beyond)
    uneven = sizes * most * (spread + 1) / (spread * (sizes + most - 1) + most)
    uneven = np.where(sizes <= most + most * spread - spread, uneven, most)
    return np.where(spread <= 1, even, uneven)


@dataclass(frozen=True, slots=True)
class DowneyLaw:
    """Downey's speedups with uniform random `A` and `sigma`, as in section 3.2.

    Attributes
    ----------
    A, sigma
        Smallest and largest value.

    Raises
    ------
    ValueError
        If a range is empty, or holds values that :func:`downey` rejects.
    """

    A: tuple[float, float] = (2.0, 200.0)
    sigma: tuple[float, float] = (0.0, 2.0)

    def __post_init__(self) -> None:
        for name, bound in (("A", 1), ("sigma", 0)):
            low, high = getattr(self, name)
            check_number(f"{name}: the least", low, least=bound)
            check_number(f"{name}: the largest", high, least=low)

    def draw(self, rng: np.random.Generator) -> tuple[Callable[[ArrayLike], FloatArray], int]:
        """Return a random speedup function, and the most processors that the job can use."""
        most = rng.uniform(*self.A)
        spread = rng.uniform(*self.sigma)
        return partial(downey, A=most, sigma=spread), n_limit(most, spread)


@names_wrong_types
def n_limit(A: float, sigma: float, processors: int | None = None) -> int:  # noqa: N803
    """Return the most processors that a job of Downey's model can use.

    Parameters
    ----------
    A, sigma
        As for :func:`downey`.
    processors
        Processors of the machine. ``None`` for no limit.

    Returns
    -------
    int
        First number with speedup `A`, at most the machine's processors (section 3.3).
    """
    check_number("A", A, least=1)
    check_number("sigma", sigma, least=0)
    reached = 2 * A - 1 if 0 < sigma <= 1 else A + A * sigma - sigma
    most = math.ceil(reached * (1 - 1e-12))  # avoids an extra processor by rounding
    return most if processors is None else min(most, check_whole("processors", processors, 1))


@names_wrong_types
def amdahl(n: ArrayLike, serial: ArrayLike) -> FloatArray:
    """Return the speedup of a job with a serial share from 0 to 1.

    References
    ----------
    Amdahl: "Validity of the single processor approach to achieving large scale computing capabilities", AFIPS 1967.
    """
    if (_least("serial", serial, 0) > 1).any():
        raise ValueError(f"serial must be numbers <= 1, got {serial!r}")
    return gunther(n, serial, 0.0)


@names_wrong_types
def gunther(n: ArrayLike, contention: ArrayLike, coherency: ArrayLike) -> FloatArray:
    """Return the speedup of the universal scalability law. It falls beyond some size if `coherency` is above 0.

    Parameters
    ----------
    n
        Processors, at least 1.
    contention
        Share of the work that only one processor at a time can do, at least 0.
    coherency
        Cost of an exchange between two processors, in sequential run times, at least 0.

    Returns
    -------
    FloatArray
        Speedups, of the shape of the broadcast arguments.

    References
    ----------
    Gunther: "Guerrilla Capacity Planning", 2007, chapter 4: n / (1 + contention (n - 1) + coherency n (n - 1)).
    """
    sizes = _least("n", n, 1)
    shared = _least("contention", contention, 0)
    exchanged = _least("coherency", coherency, 0)
    return sizes / (1 + shared * (sizes - 1) + exchanged * sizes * (sizes - 1))


@names_wrong_types
def interpolated(n: ArrayLike, points: Mapping[int, float]) -> FloatArray:
    """Return run times between measured points, linear in the logarithms of size and time.

    Parameters
    ----------
    n
        Processors, from the smallest measured size to the largest.
    points
        Run time in seconds by size, any sizes.

    Raises
    ------
    ValueError
        If a point is not a size >= 1 with a time above 0, or `n` is outside the measured sizes.
    """
    sizes = _least("points", sorted(points), 1)
    times = _least("points", [points[size] for size in sorted(points)], 0)
    asked = _least("n", n, 1)
    if not len(sizes) or not times.all():
        raise ValueError(f"points must be one at least, with times > 0, got {dict(points)!r}")
    if ((asked < sizes[0]) | (asked > sizes[-1])).any():
        raise ValueError(f"n must be from {sizes[0]:g} to {sizes[-1]:g}, the sizes measured, got {n!r}")
    return np.exp(np.interp(np.log(asked), np.log(sizes), np.log(times)))


@names_wrong_types
def execution_time(n: ArrayLike, sequential: float, A: float, sigma: float) -> FloatArray:  # noqa: N803
    """Return t_e(n) = L / S(n) in seconds. `sequential` is L, the seconds on one processor.

    Cirne and Berman, section 3.2. The other arguments are those of :func:`downey`.
    """
    check_number("sequential", sequential, least=0)
    return sequential / downey(n, A, sigma)


def _least(name: str, values: ArrayLike, least: float) -> FloatArray:
    """Return numbers as an array. ``ValueError`` if one is below `least` or not finite."""
    numbers = np.asarray(values, dtype=np.float64)
    if not (np.isfinite(numbers) & (numbers >= least)).all():
        raise ValueError(f"{name} must be numbers >= {least:g}, got {values!r}")
    return numbers
