"""Online regression of the logarithm of the run time, with a distribution."""

import math
from statistics import NormalDist
from typing import ClassVar

import numpy as np
import scipy.special
from numpy.typing import ArrayLike, NDArray

from ..base import check_number, check_whole
from ..workloads import Job

_NORMAL = NormalDist()
#: Diagonal of the regression's matrix: initial value, and approximate bound of an entry without any information.
_UNKNOWN, _MOST = 10.0, 1e4
_LEAST_DEVIATION = 0.05
#: Least relative growth of a corrected prediction. It limits the corrections of a job to a few hundred.
_LEAST_MORE = 0.01


class LogNormal:
    """A log-normal run time, with all mass above a bound at the bound.

    Parameters
    ----------
    mean, deviation
        Of the logarithm of seconds. The deviation is above 0.
    bound
        Longest run time, such as the walltime, seconds.

    Examples
    --------
    >>> from math import log
    >>> from hpcdispatch.predictors import LogNormal
    >>> law = LogNormal(mean=log(600), deviation=1.0, bound=3600)
    >>> round(float(law.cdf(600)), 3), float(law.cdf(3600))
    (0.5, 1.0)
    """

    __slots__ = ("bound", "deviation", "mean")

    def __init__(self, mean: float, deviation: float, bound: float) -> None:
        self.mean = mean
        self.deviation = deviation
        self.bound = bound

    def cdf(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return the probability of a run time of at most `x`, element by element."""
        times = np.asarray(x, dtype=np.float64)
        below = scipy.special.ndtr((np.log(np.maximum(times, 1e-9)) - self.mean) / self.deviation)
        return np.where(times >= self.bound, 1.0, np.where(times <= 0, 0.0, below))

    def support(self) -> tuple[float, float]:
        """Return the shortest and the longest run time."""
        return 0.0, self.bound

    def quantile(self, share: float, above: float = 0.0) -> float:
        """Return the quantile `share` of the run times longer than `above`, seconds.

        Parameters
        ----------
        share
            Above 0 and below 1.
        above
            Seconds that are known to be exceeded.
        """
        past = _NORMAL.cdf((math.log(above) - self.mean) / self.deviation) if above > 0 else 0.0
        chance = past + share * (1 - past)
        if chance >= 1.0:
            return self.bound
        return min(self.bound, math.exp(min(700.0, self.mean + self.deviation * _NORMAL.inv_cdf(chance))))


class Regression:
    """A regression of the run time on walltime, size, hour and the user's recent errors.

    It learns as jobs end. The logarithm of the run time is linear in these features:

    * Logarithms of the walltime and of the cores (node slots, if no cores are requested).
    * Sine and cosine of the hour of submission.
    * Mean log(run time / walltime) of the user, and of the user's jobs of the same name. A new job counts a third.

    It is fitted by recursive least squares with forgetting (L. Ljung, System Identification, 2nd edition, 1999, section
    11.2). A constant feature brings no information, and forgetting goes on. An example is the size, if all jobs have
    one core. Its matrix entry would grow without bound. So each job confirms one weight in turn, with a little
    certainty. The residual is normal, with a variance that is forgotten alike. A prediction is the residual's
    `quantile`, never above the walltime. A job that overruns it gets the same quantile of the longer run times.

    Parameters
    ----------
    quantile
        Above 0 and below 1.
    memory
        Number of jobs after which a third of the information still counts, at least 10.
    least
        Number of ended jobs before predictions are used, at least 1. Until then the walltime is predicted.

    Raises
    ------
    ValueError
        If an option is out of its range.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.predictors import Regression
    >>> round(hd.simulate("example", "easy", Regression()).summary()["wait_mean"])
    7461
    """

    uses: ClassVar[tuple[str, ...]] = ("scipy",)

    def __init__(self, *, quantile: float = 0.5, memory: int = 1000, least: int = 20) -> None:
        check_number("quantile", quantile, above=0, below=1)
        self.quantile = quantile
        self.memory = check_whole("memory", memory, 10)
        self.least = check_whole("least", least, 1)
        self.reset()

    def reset(self) -> None:
        """Drop all ended jobs."""
        size = len(self._features(1, 1.0, 0, 0.0, 0.0))
        self._weights = [0.0] * size
        self._weights[1] = 1.0  # At first, the prediction is the walltime.
        self._matrix = [[_UNKNOWN * (row == column) for column in range(size)] for row in range(size)]
        self._variance = 1.0
        self._ended = 0
        self._errors: dict[tuple[str, ...], float] = {}

    def predict(self, job: Job, now: int) -> float:
        """Return the quantile, at most the walltime, seconds."""
        law = self.distribution(job)
        return float(job.walltime) if law is None else max(1.0, law.quantile(self.quantile))

    def distribution(self, job: Job) -> LogNormal | None:
        """Return the distribution of the run time up to the walltime. ``None`` if too few jobs have ended."""
        if self._ended < self.least:
            return None
        mean = _dot(self._weights, self._of(job))
        return LogNormal(mean, max(_LEAST_DEVIATION, math.sqrt(self._variance)), float(job.walltime))

    def correct(self, job: Job, elapsed: int, misses: int) -> float:
        """Return the quantile of the run times above `elapsed`, seconds. Past the walltime, `elapsed`."""
        law = self.distribution(job)
        if law is None or elapsed >= job.walltime:
            return float(max(elapsed, job.walltime))
        least = min(math.ceil(elapsed * (1 + _LEAST_MORE)), job.walltime)
        return float(max(least, math.ceil(law.quantile(self.quantile, elapsed))))

    def observe(self, job: Job) -> None:
        """Learn from the run time of an ended job."""
        features = self._of(job)
        target = math.log(max(1, job.runtime))
        keep = 1 - 1 / self.memory
        moved = [_dot(row, features) for row in self._matrix]
        scale = keep + _dot(features, moved)
        error = target - _dot(self._weights, features)
        self._weights = [weight + error * move / scale for weight, move in zip(self._weights, moved, strict=True)]
        self._matrix = [
            [(entry - mine * other / scale) / keep for entry, other in zip(row, moved, strict=True)]
            for row, mine in zip(self._matrix, moved, strict=True)
        ]
        self._anchor(self._ended % len(self._matrix))
        self._ended += 1
        share = max(1 / self.memory, 1 / self._ended)
        self._variance += share * (error * error * keep / scale - self._variance)
        ratio = target - math.log(job.walltime)
        for key in ((job.user,), (job.user, job.name)):
            known = self._errors.get(key, ratio)
            self._errors[key] = known + (ratio - known) / 3

    def _anchor(self, place: int) -> None:
        """Confirm one weight with a little certainty, to compensate for forgetting.

        This is an observation of this weight alone, without error, so no weight changes. It comes once per as many jobs
        as there are weights. So entries without information stay near the bound.
        """
        column = [row[place] for row in self._matrix]
        scale = self.memory * _MOST / len(column) + column[place]
        self._matrix = [
            [entry - mine * other / scale for entry, other in zip(row, column, strict=True)]
            for row, mine in zip(self._matrix, column, strict=True)
        ]

    def _of(self, job: Job) -> list[float]:
        user = self._errors.get((job.user,), 0.0)
        cores = job.nodes * float(job.per_node.get("core", 0) or 1)
        return self._features(job.walltime, cores, job.submit, user, self._errors.get((job.user, job.name), user))

    @staticmethod
    def _features(walltime: int, cores: float, submit: int, user: float, name: float) -> list[float]:
        hour = 2 * math.pi * (submit % 86400) / 86400
        return [1.0, math.log(walltime), math.log(cores), math.sin(hour), math.cos(hour), user, name]


def _dot(first: list[float], second: list[float]) -> float:
    return sum(one * other for one, other in zip(first, second, strict=True))
