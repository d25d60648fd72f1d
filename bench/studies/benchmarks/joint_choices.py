"""Size and first walltime of a job with a stochastic run time: chosen together, each alone, or neither."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

from ....base import FloatArray, IntArray
from ....models import AvailabilityProfile
from ....models.moldable import DowneyLaw, Request, choose, choose_with_law
from ....models.reservations import ESDD
from ...reports.tables import Table
from ..intervals import mean_interval

#: Standard deviations of the logarithm of the run time.
SPREADS = (0.1, 0.5, 1.0)
#: Ways to choose; the last is compared with the others.
NEITHER = "neither: own size, longest time"
SIZE = "size alone"
TIME = "time alone"
JOINT = "size and time together"
#: Sizes that a job may request, and values of a law. Values are equally probable, the last that of 99.9%.
_CHOICES = 7
_STEPS = 20
_LAST = 0.999
#: Run times on the own size have this median, seconds.
_MEDIAN = 10_000.0
#: Sampled run times per job.
DRAWS = 4


@dataclass(frozen=True)
class Lottery:
    """A moldable job of an unknown run time.

    Attributes
    ----------
    own, sizes
        Its user's size; all that it may ask for, shape (sizes,).
    factors
        Run time on each size over that on its own, shape (sizes,).
    law
        Of the run time on its own size.
    """

    own: int
    sizes: IntArray
    factors: FloatArray
    law: ESDD

    def laws(self, lasted: float, *, every: bool) -> list[tuple[int, ESDD]]:
        """Return the law on every size or on its own, given a least run time on its own."""
        known = self.law.condition(lasted) if lasted else self.law
        return [
            (size, ESDD(known.values * factor, known.probabilities))
            for size, factor in zip(self.sizes.tolist(), self.factors.tolist(), strict=True)
            if every or size == self.own
        ]

    def factor(self, size: int) -> float:
        """Return the run time on a size over that on its own."""
        return float(self.factors[np.searchsorted(self.sizes, size)])


#: Map a job, the list, the time, and its least run time on its own size to its request.
Way = Callable[[Lottery, AvailabilityProfile, int, float], Request]


def _longest(*, every: bool) -> Way:
    """Return the way that requests the longest time of the law, on the best or the own size."""

    def asks(job: Lottery, profile: AvailabilityProfile, now: int, lasted: float) -> Request:
        requests = [Request(size, int(np.ceil(law.end))) for size, law in job.laws(lasted, every=every)]
        choice = choose(profile, requests, now)
        assert choice is not None
        return choice.request

    return asks


def _by_law(*, every: bool) -> Way:
    """Return the way that chooses a first walltime by the law, with the best or the own size."""

    def asks(job: Lottery, profile: AvailabilityProfile, now: int, lasted: float) -> Request:
        choice = choose_with_law(profile, job.laws(lasted, every=every), now)
        assert choice is not None
        return choice.request

    return asks


WAYS: dict[str, Way] = {
    NEITHER: _longest(every=False),
    SIZE: _longest(every=True),
    TIME: _by_law(every=False),
    JOINT: _by_law(every=True),
}


def drawn(processors: int, spread: float, rng: np.random.Generator) -> Lottery:
    """Return a job of Downey's speedup with a lognormal run time. Its sizes are equally spaced and include its own."""
    curve, most = DowneyLaw().draw(rng)
    own = int(2 ** rng.integers(0, 8))
    least = int(rng.integers(1, own, endpoint=True))
    largest = int(max(own, min(processors, most)))
    sizes = np.unique(np.r_[np.rint(np.linspace(least, largest, _CHOICES)), own]).astype(np.int64)
    factors: FloatArray = float(curve(np.array(own))) / curve(sizes)
    levels = np.r_[np.arange(1, _STEPS) / _STEPS, _LAST]
    values = np.asarray(scipy.stats.lognorm.ppf(levels, spread, scale=_MEDIAN), dtype=np.float64)
    return Lottery(own, sizes, factors, ESDD(values, np.full(_STEPS, 1 / _STEPS)))


def turnaround(job: Lottery, profile: AvailabilityProfile, ran: float, way: Way) -> tuple[int, Request]:
    """Return the end and the first request of a job that arrives at 0. It takes `ran` seconds on its own size.

    If it exceeds a request it is killed and requests anew, in the same way. It uses the list at that time. No other job
    arrives.
    """
    request = first = way(job, profile, 0, 0.0)
    now = 0
    while True:
        start = profile.earliest_start(request.processors, request.walltime, now)
        assert start is not None
        factor = job.factor(request.processors)
        if ran * factor <= request.walltime:
            return int(np.ceil(start + ran * factor)), first
        now = start + request.walltime
        request = way(job, profile, now, request.walltime / factor)


def joint(jobs: int, fill: Callable[[np.random.Generator], AvailabilityProfile]) -> Table:
    """Return turnarounds by way and spread of the run times, and joint choice over the others.

    Parameters
    ----------
    jobs
        Drawn of each spread, each with a list of its own and :data:`DRAWS` run times.
    fill
        What draws a list.
    """
    rows = []
    for spread in SPREADS:
        outcomes = np.array(
            [_job(spread, fill, np.random.default_rng((round(100 * spread), job))) for job in range(jobs)]
        )
        for way, name in enumerate(WAYS):
            gains = (outcomes[:, -1, 0] - outcomes[:, way, 0]) if name != JOINT else None
            cells = "" if gains is None else _ratio(gains)
            short = f"{100 * outcomes[:, way, 1].mean():.0f}%"
            other = f"{100 * outcomes[:, way, 2].mean():.0f}%"
            rows.append((f"{spread:g}", name, f"{np.exp(outcomes[:, way, 0].mean()):,.0f}", cells, short, other))
    note = (
        f"{jobs:,} jobs of Downey's model a row, {DRAWS} run times each, lognormal with a median of {_MEDIAN:,.0f} s "
        "on the own size; lists of 30 random reservations, on which nobody else comes. Geometric means; intervals "
        "over the jobs."
    )
    columns = (
        "spread of ln(run time)",
        "chosen",
        "turnaround, s",
        "together over it",
        "first request may fall short",
        "other size",
    )
    return Table("Size and first walltime", columns, rows, note=note)


def _job(
    spread: float, fill: Callable[[np.random.Generator], AvailabilityProfile], rng: np.random.Generator
) -> FloatArray:
    """Return the mean logarithm of the turnaround by way.

    Also return if the first request may be too short or has another size. Shape (ways, 3).
    """
    profile = fill(rng)
    job = drawn(profile.processors, spread, rng)
    ran = np.minimum(scipy.stats.lognorm.rvs(spread, scale=_MEDIAN, size=DRAWS, random_state=rng), job.law.end)
    means = []
    for way in WAYS.values():
        ends, firsts = zip(*(turnaround(job, profile, seconds, way) for seconds in ran.tolist()), strict=True)
        longest = int(np.ceil(job.law.end * job.factor(firsts[0].processors)))
        falls = firsts[0].walltime < longest
        means.append([float(np.log(ends).mean()), float(falls), float(firsts[0].processors != job.own)])
    return np.array(means)


def _ratio(logs: FloatArray) -> str:
    low, high = np.exp(mean_interval(logs))
    return f"{np.exp(logs.mean()):.2f} [{low:.2f}, {high:.2f}]"
