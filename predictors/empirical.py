"""A job's run time is drawn from those of the user's or application's past."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.checks import MOST_STEPS, check_choice, check_number, check_whole
from ..workloads import Job

#: Whose past counts.
By = Literal["user", "name", "user-name", "walltime"]
_Key = tuple[str, str, int]


class RunTimes:
    """The empirical distribution of run times that were observed, with what may come beyond them.

    The next of n + 1 run times in any order is the longest with a chance of 1/(n + 1), as likely as each of the others:
    with a bound, so much of the mass lies there.

    Parameters
    ----------
    samples
        Seconds, in the order in which they were observed; at least one.
    bound
        What the next one can be at most, such as the walltime; ``None`` for the longest of the samples, to which
        no mass is added then. A bound below that is taken as that.

    Attributes
    ----------
    samples
        The same, as a tuple.
    values
        The run times in order, and the bound where there is one, int64, each of the same chance.
    """

    __slots__ = ("samples", "values")

    def __init__(self, samples: Sequence[int], bound: int | None = None) -> None:
        self.samples = tuple(samples)
        more = () if bound is None else (max(bound, *self.samples),)
        self.values: NDArray[np.int64] = np.sort(np.array(self.samples + more, dtype=np.int64))

    def cdf(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return the probability that a run time is not above `x`, element by element."""
        return np.searchsorted(self.values, x, side="right") / len(self.values)

    def support(self) -> tuple[float, float]:
        """Return the least and the largest run time."""
        return float(self.values[0]), float(self.values[-1])

    def mean(self) -> float:
        """Return the expected run time."""
        return float(self.values.mean())


class Empirical:
    """The distribution of the last run times of the same user or application, learned as jobs end.

    As a single number it predicts their mean or a `quantile`, never above the walltime; before `least` run times are
    known, the walltime itself, and no distribution. The distribution of n run times has 1/(n + 1) of its mass at the
    walltime, for the next one may be longer than all of them.

    Parameters
    ----------
    by
        Whose past counts: that of jobs of the same ``"user"``, the same ``"name"`` (the application, whoever runs it),
        ``"user-name"`` both, or ``"walltime"`` both and the same walltime.
    last
        How many of the last run times are kept, at least 1.
    least
        How many there must be before anything is made of them, at least 1.
    quantile
        What is predicted of them, above 0 and up to 1; ``None`` for the mean. A job that outruns it gets the same of
        those that ran longer.

    Raises
    ------
    ValueError
        If an option is out of its range.
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
        """Return the mean or quantile, or the walltime where that is less or nothing better is known, seconds."""
        past = self._past.get(self._key(job), ())
        return float(job.walltime) if len(past) < self.least else self._one_number(past, job)

    def _one_number(self, times: Sequence[int], job: Job) -> float:
        found = np.mean(times) if self.quantile is None else np.quantile(times, self.quantile, method="higher")
        return min(float(found), float(job.walltime))

    def distribution(self, job: Job) -> RunTimes | None:
        """Return the law of the run times that are known, up to the walltime; ``None`` if these are too few."""
        key = self._key(job)
        past = self._past.get(key, ())
        if len(past) < self.least:
            return None
        laws = self._laws.setdefault(key, {})
        if job.walltime not in laws:
            laws[job.walltime] = RunTimes(tuple(past), job.walltime)
        return laws[job.walltime]

    def correct(self, job: Job, elapsed: int, misses: int) -> float:
        """Return the same of the run times above `elapsed`, or the walltime if there was none, seconds."""
        longer = [time for time in self._past.get(self._key(job), ()) if time > elapsed]
        return self._one_number(longer, job) if longer else float(max(elapsed, job.walltime))

    def observe(self, job: Job) -> None:
        """Remember the run time of a finished job."""
        key = self._key(job)
        self._past.setdefault(key, deque(maxlen=self.last)).append(job.runtime)
        self._laws.pop(key, None)

    def reset(self) -> None:
        """Forget all finished jobs."""
        self._past.clear()
        self._laws.clear()

    def _key(self, job: Job) -> _Key:
        user = "" if self.by == "name" else job.user
        name = "" if self.by == "user" else job.name
        return user, name, job.walltime if self.by == "walltime" else 0
