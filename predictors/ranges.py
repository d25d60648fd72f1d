"""Predict a range of run times, as an analysis of a workflow may give.

A. Gainaru, H. Sun, G. Aupy, Y. Huo, B. A. Landman, P. Raghavan: "On-the-fly scheduling vs. reservation-based scheduling
for unpredictable workflows", International Journal of High Performance Computing Applications, 2019, section 5.1.
"""

from collections.abc import Sequence
from itertools import pairwise
from zlib import crc32

import numpy as np
from numpy.typing import ArrayLike

from ..base import LONGEST, FloatArray, check_number, check_whole
from ..base.checks import MOST_STEPS
from ..workloads import Job
from .walltime_oracle import Oracle


class QuantileLaw:
    """A run-time distribution from some quantiles, linear between them.

    Parameters
    ----------
    times, shares
        Quantiles, seconds, and their rising probabilities from 0 to 1. Each of shape (quantiles,).

    Examples
    --------
    >>> import numpy as np
    >>> from hpcdispatch.predictors import QuantileLaw
    >>> law = QuantileLaw(np.array([0.0, 600.0, 3600.0]), np.array([0.0, 0.5, 1.0]))
    >>> float(law.cdf(600)), float(law.cdf(2100))
    (0.5, 0.75)
    """

    __slots__ = ("shares", "times")

    def __init__(self, times: FloatArray, shares: FloatArray) -> None:
        self.times, self.shares = times, shares

    def cdf(self, x: ArrayLike) -> FloatArray:
        """Return the probability of a run time of at most `x`, element by element."""
        return np.interp(np.asarray(x, dtype=np.float64), self.times, self.shares)

    def support(self) -> tuple[float, float]:
        """Return the shortest and the longest run time."""
        there = np.flatnonzero(np.diff(self.shares))
        return float(self.times[there[0]]), float(self.times[there[-1] + 1])

    def mean(self) -> float:
        """Return the expected run time."""
        return float(np.diff(self.shares) @ (self.times[:-1] + self.times[1:])) / 2

    def quantile(self, share: float, above: float = 0.0) -> float:
        """Return the quantile `share` of the run times longer than `above`, seconds."""
        past = float(self.cdf(above))
        return float(np.interp(past + share * (1 - past), self.shares, self.times))


class RunTimeRanges(QuantileLaw):
    """A distribution of run times over adjoining ranges, uniform within each.

    Parameters
    ----------
    edges
        Lower end of the first range and upper ends of all, seconds, rising.
    shares
        Probability of each range, not below 0, with a sum of 1. Optional for a single range.

    Raises
    ------
    ValueError
        If the lower end of a range is not below its upper end, or the probabilities are invalid.

    Examples
    --------
    >>> from hpcdispatch.predictors import RunTimeRanges
    >>> law = RunTimeRanges([0, 600, 3600], [0.75, 0.25])
    >>> float(law.cdf(600)), law.mean()
    (0.75, 750.0)
    """

    __slots__ = ()

    def __init__(self, edges: Sequence[float], shares: Sequence[float] = (1.0,)) -> None:
        for edge in edges:
            check_number("an end of a range", edge, least=0, most=LONGEST)
        for low, high in pairwise(edges):
            if not low < high:
                raise ValueError(f"range: its lower end must be below its upper end, got {low:g} to {high:g} s")
        if not 1 <= len(shares) == len(edges) - 1 or min(shares) < 0 or abs(sum(shares) - 1) > 1e-9:
            wanted = f"{max(1, len(edges) - 1)} numbers >= 0 with a sum of 1, one for each range"
            raise ValueError(f"shares must be {wanted}, got {tuple(shares)}")
        super().__init__(np.array(edges, dtype=np.float64), np.concatenate(([0.0], np.cumsum(shares))))


class Ranges(Oracle):
    """The range of a run time, right for a share of the jobs, to compute bounds.

    All ranges have the same length. This oracle reads the run time. It reveals only what an analysis of the input may.
    The other ranges share the remaining probability. A wrongly predicted job gets any other range. Which jobs are wrong
    depends only on `seed` and their ids. A run time outside all ranges gets the nearest.

    Parameters
    ----------
    count
        Number of ranges, at least 1. With 1, all jobs get the same.
    accuracy
        Share of jobs with the right range, from 0 to 1.
    shortest, longest
        Ends of all ranges, seconds, the first below the other.
    seed
        Seed of the errors.

    Raises
    ------
    ValueError
        If an option is out of its range.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.predictors import Ranges
    >>> job = hd.Job("a", submit=0, runtime=5000, walltime=7200)
    >>> law = Ranges(count=4, accuracy=1.0, longest=40000).distribution(job)
    >>> float(law.cdf(10000)), law.mean()
    (1.0, 5000.0)
    """

    def __init__(
        self, *, count: int = 4, accuracy: float = 0.8, shortest: float = 0, longest: float = 54_000, seed: int = 0
    ) -> None:
        self.count = check_whole("count", count, 1, MOST_STEPS, "a law has so many parts")
        check_number("accuracy", accuracy, least=0, most=1)
        check_number("shortest", shortest, least=0)
        check_number("longest", longest, most=LONGEST)
        if not shortest < longest:
            raise ValueError(
                f"shortest must be below longest, as the lower end of ranges, got {shortest} and {longest}"
            )
        self.accuracy = accuracy if count > 1 else 1.0
        self.seed = check_whole("seed", seed, 0)
        self._edges = np.linspace(shortest, longest, self.count + 1)
        self._laws = [self._law(place) for place in range(self.count)]

    def predict(self, job: Job, now: int) -> float:
        """Return the mean of the law, seconds."""
        return self.distribution(job).mean()

    def distribution(self, job: Job) -> RunTimeRanges:
        """Return the predicted range with its probability, and the others."""
        place = int(np.clip(np.searchsorted(self._edges, job.runtime) - 1, 0, self.count - 1))
        rng = np.random.default_rng((self.seed, crc32(job.id.encode())))
        if self.count > 1 and rng.random() >= self.accuracy:
            place = (place + int(rng.integers(1, self.count))) % self.count
        return self._laws[place]

    def _law(self, place: int) -> RunTimeRanges:
        shares = np.full(self.count, (1 - self.accuracy) / max(1, self.count - 1))
        shares[place] = self.accuracy
        return RunTimeRanges(self._edges.tolist(), shares.tolist())
