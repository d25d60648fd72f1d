"""Predict a job's run time from past run times of its user or application."""

from collections import deque
from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base import check_choice, check_number, check_whole
from ..base.checks import MOST_STEPS
from ..workloads import Job

#: Which past jobs count.
By = Literal["user", "name", "user-name", "walltime"]
_Key = tuple[str, str, int]


class RunTimes:
    """Empirical distribution of observed run times, with room for longer ones.

    Of n + 1 run times in random order, the next is the longest with probability 1/(n + 1). If there is a bound, it gets
    this mass.

    Parameters
    ----------
    samples
        Seconds, in order of observation. At least one.
    bound
        Upper bound of the next run time, such as the walltime, at least the longest sample. ``None`` for the longest
        sample, without extra mass.

    Attributes
    ----------
    samples
        The samples as a tuple.
    values
        Sorted run times, and the bound if there is one, int64, equally likely.

    Examples
    --------
    >>> from hpcdispatch.predictors import RunTimes
    >>> law = RunTimes([100, 300, 200], bound=3600)
    >>> law.values.tolist(), float(law.cdf(250))
    ([100, 200, 300, 3600], 0.5)
    """

    __slots__ = ("samples", "values")

    def __init__(self, samples: Sequence[int], bound: int | None = None) -> None:
        self.samples = tuple(samples)
        more = () if bound is None else (max(bound, *self.samples),)
        self.values: NDArray[np.int64] = np.sort(np.array(self.samples + more, dtype=np.int64))

    def cdf(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return the probability of a run time of at most `x`, element by element."""
        return np.searchsorted(self.values, x, side="right") / len(self.values)

    def support(self) -> tuple[float, float]:
        """Return the shortest and the longest run time."""
        return float(self.values[0]), float(self.values[-1])

    def mean(self) -> float:
        """Return the expected run time."""
        return float(self.values.mean())


class Empirical:
    """The distribution of the last run times of the same user or application, learned as jobs end.

    The prediction is their mean or a `quantile`, never above the walltime. With fewer than `least` run times it is the
    walltime, without a distribution. The distribution of n run times has 1/(n + 1) of its mass at the walltime,
    because the next one may be the longest.

    Parameters
    ----------
    by
        Which past jobs count: those of the same ``"user"``, or of the same ``"name"`` (application of any user).
        ``"user-name"``: both are the same. ``"walltime"``: so is the walltime.
    last
        Number of stored last run times, at least 1.
    least
        Number of run times needed before they are used, at least 1.
    quantile
        Quantile to predict, above 0 and up to 1. ``None`` for the mean. After an overrun only the longer run times
        count.

    Raises
    ------
    ValueError
        If an option is out of its range.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.predictors import Empirical
    >>> learned = Empirical(by="user", last=50, least=5)
    >>> round(hd.simulate("example", "easy", learned).summary()["wait_mean"])
    9995
    >>> law = learned.distribution(hd.example().jobs[-1])
    >>> round(float(law.cdf(3600)), 2)
    0.67
    """

    uses: ClassVar[tuple[str, ...]] = ()

    def __init__(self, *, by: By = "walltime", last: int = 100, least: int = 10, quantile: float | None = None) -> None:
        check_choice("by", by, By)
        self.by = by
        self.last = check_whole("last", last, 1, MOST_STEPS, "so many run times are kept and sorted")
        self.least = check_whole("least", least, 1, self.last)
        check_number("quantile", quantile, above=0, most=1, none=True)
        self.quantile = quantile
        self._past: dict[_Key, deque[int]] = {}
        self._laws: dict[_Key, dict[int, RunTimes]] = {}

    def predict(self, job: Job, now: int) -> float:
        """Return the mean or quantile, at most the walltime, seconds. The walltime if too little is known."""
        past = self._past.get(self._key(job), ())
        return float(job.walltime) if len(past) < self.least else self._one_number(past, job)

    def _one_number(self, times: Sequence[int], job: Job) -> float:
        prediction = np.mean(times) if self.quantile is None else np.quantile(times, self.quantile, method="higher")
        return min(float(prediction), float(job.walltime))

    def distribution(self, job: Job) -> RunTimes | None:
        """Return the distribution of known run times up to the walltime. ``None`` if they are too few."""
        key = self._key(job)
        past = self._past.get(key, ())
        if len(past) < self.least:
            return None
        laws = self._laws.setdefault(key, {})
        if job.walltime not in laws:
            laws[job.walltime] = RunTimes(tuple(past), job.walltime)
        return laws[job.walltime]

    def correct(self, job: Job, elapsed: int, misses: int) -> float:
        """Return the mean or quantile of the run times above `elapsed`, seconds. The walltime if there are none."""
        longer = [time for time in self._past.get(self._key(job), ()) if time > elapsed]
        return self._one_number(longer, job) if longer else float(max(elapsed, job.walltime))

    def observe(self, job: Job) -> None:
        """Store the run time of an ended job."""
        key = self._key(job)
        self._past.setdefault(key, deque(maxlen=self.last)).append(job.runtime)
        self._laws.pop(key, None)

    def reset(self) -> None:
        """Drop all ended jobs."""
        self._past.clear()
        self._laws.clear()

    def _key(self, job: Job) -> _Key:
        user = "" if self.by == "name" else job.user
        name = "" if self.by == "user" else job.name
        return user, name, job.walltime if self.by == "walltime" else 0
