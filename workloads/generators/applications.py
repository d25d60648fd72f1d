"""Stochastic applications with laws of their run times and processors. Jobs are sampled from them.

Laws of A. Gainaru, G. Pallez (Aupy), H. Sun, P. Raghavan: "Speculative scheduling for stochastic HPC applications",
ICPP 2019, section 5.2.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, Literal

import numpy as np
import scipy

from ...base import IntArray
from ..job_columns import Coded, JobColumns

RunTimeLaw = Literal["truncnorm", "beta", "exponential", "pareto"]
ProcessorLaw = Literal["full", "half", "truncnorm", "beta"]

HOUR = 3600
BETA, TAIL = (2.0, 2.0), 2.1


@dataclass(frozen=True, slots=True)
class Hours:
    """Bounds and parameters of a law of run times, hours. ``None`` if the law has no such parameter."""

    low: float
    high: float
    mean: float | None = None
    deviation: float | None = None


@dataclass(frozen=True, slots=True)
class Application:
    """Jobs of one law.

    Attributes
    ----------
    name
        Its name, and its user's.
    queue
        The queue of its jobs.
    law
        The distribution of its run times, a frozen scipy distribution of finite support, seconds. ``None`` if they are
        known in advance.
    """

    name: str
    queue: str
    law: Any

    @property
    def walltime(self) -> int:
        """The walltime of a classical user: the upper bound, whole seconds."""
        return ceil(round(float(self.law.support()[1]), 6))  # 1.1 h are 3960.0000000000005 s

    @property
    def mean(self) -> float:
        """Expected run time, seconds."""
        return float(self.law.mean())

    def draw(self, rng: np.random.Generator, count: int, *, over: float = 1) -> IntArray:
        """Draw `count` run times divided by `over`, whole seconds from 1 to the upper bound."""
        drawn = np.rint(self.law.ppf(rng.random(count)) / over)
        return np.asarray(np.clip(drawn, 1, self.walltime), dtype=np.int64)


def jobs_of(
    applications: Sequence[Application],
    kinds: IntArray,
    submit: IntArray,
    runtime: IntArray,
    nodes: IntArray,
    name: Coded | None = None,
) -> JobColumns:
    """Return jobs, each of the application of its kind and named after it, on `nodes` slots of one core.

    With a law the walltime is its upper bound. Without one it is the run time.
    """
    walltime = np.array([0 if application.law is None else application.walltime for application in applications])[kinds]
    codes = kinds.astype(np.int32)
    user = Coded.of(np.array([application.name for application in applications])[kinds])
    return JobColumns.made(
        np.arange(1, len(kinds) + 1),
        submit=submit,
        runtime=runtime,
        walltime=np.where(walltime > 0, walltime, runtime),
        nodes=nodes,
        user=user,
        name=user if name is None else name,
        queue=Coded.of(np.array([application.queue for application in applications])[kinds]),
        law=Coded(codes, [application.law for application in applications]),
    )


def frozen_law(name: str, hours: Hours) -> Any:
    """Return the frozen scipy distribution in seconds with support from `hours.low` to `hours.high`.

    ``truncnorm`` and ``exponential`` are truncated to it. ``beta`` is Beta(2, 2) stretched over it. ``pareto`` has the
    exponent 2.1.
    """
    low = float(hours.low * HOUR)
    high = float(hours.high * HOUR)
    mean = float((hours.mean or 0) * HOUR)
    deviation = float((hours.deviation or 0) * HOUR)
    if name == "truncnorm":
        return scipy.stats.truncnorm((low - mean) / deviation, (high - mean) / deviation, loc=mean, scale=deviation)
    if name == "exponential":
        return scipy.stats.truncexpon((high - low) / mean, loc=low, scale=mean)
    if name == "pareto":
        return scipy.stats.truncpareto(TAIL, high / low, loc=0.0, scale=low)
    return scipy.stats.beta(*BETA, loc=low, scale=high - low)


def allocation(rng: np.random.Generator, law: ProcessorLaw, machine: int, count: int) -> IntArray:
    """Draw the processors of `count` jobs, whole numbers from 1 to `machine`."""
    if law == "full" or machine == 1:
        return np.full(count, machine, dtype=np.int64)
    if law == "half":
        return np.full(count, machine // 2, dtype=np.int64)
    if law == "beta":
        drawn = 1 + (machine - 1) * rng.beta(*BETA, count)
    else:
        middle, spread = 0.5 * machine, 0.3 * machine
        normal = scipy.stats.truncnorm((1 - middle) / spread, (machine - middle) / spread, loc=middle, scale=spread)
        drawn = normal.ppf(rng.random(count))
    return np.clip(np.rint(drawn), 1, machine).astype(np.int64)


def uniform_times(rng: np.random.Generator, count: int, span: float) -> IntArray:
    """Draw `count` rising times uniform over [0, `span`) seconds: a Poisson process with a given count."""
    return np.sort(np.floor(rng.random(count) * span)).astype(np.int64)
