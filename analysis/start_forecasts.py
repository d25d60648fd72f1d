"""Forecast the starts of waiting jobs.

The scheduler runs forward, with run times and arrivals sampled from the past.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from ..base import FloatArray
from ..base.contracts import PredictorContract
from ..dispatchers import Dispatcher
from ..simulation import simulate
from ..workloads import Job, MachineState, Workload

#: Probability that a job starts within its interval.
SHARE = 0.8
#: Factors on the ends of an interval, on the time until they come. They cover the error of the model itself.
#: They were chosen on replays of other sites than the one that ``docs/how-to/live-slurm.md`` reports.
EARLIER, LATER = 0.65, 1.1
#: The default predictor that learns run times.
LEARNED = "empirical:by=user,least=5"


class Learns(Protocol):
    """A predictor. It may have ``distribution(job)``, too."""

    def observe(self, job: Job) -> None:
        """Learn from a job that has ended."""
        ...


@dataclass(frozen=True, slots=True)
class StartForecast:
    """When a job will start, seconds on the clock of the workload.

    Attributes
    ----------
    id
        Of the job.
    low, median, high
        The ends and the middle of the interval.
    """

    id: str
    low: float
    median: float
    high: float


class RunTimeDraws:
    """Samples of run times from a predictor's distribution.

    A job reaches its walltime as often as other jobs did. What the predictor learned from longer walltimes does not
    change that. A job may be longer than all known run times. Then it ends anywhere before its walltime, with equal
    probability per doubling.

    Parameters
    ----------
    state
        Jobs that have ended before.
    predictor
        Learns run times; its ``distribution`` is sampled.
    rng
        Random numbers.
    """

    def __init__(self, state: MachineState, predictor: Learns, rng: np.random.Generator) -> None:
        self._learned = predictor
        self._rng = rng
        for ended in sorted(state.ended, key=lambda each: each.end):
            self._learned.observe(ended.job)
        shares = [min(1.0, ended.job.runtime / ended.job.walltime) for ended in state.ended]
        self._shares = np.sort(np.array(shares, dtype=np.float64))
        self._whole = float(np.mean(self._shares >= 1.0)) if shares else 1.0

    def draw(self, job: Job, elapsed: int = 0) -> int:
        """Return a run time above `elapsed` and up to the walltime, seconds."""
        distribution = PredictorContract(self._learned).distribution
        law = None if distribution is None else distribution(replace(job, runtime=0))
        last = max(job.walltime, elapsed + 1)
        if law is not None:
            return self._inverse(law, elapsed, last)
        longer = self._shares[self._shares * job.walltime > elapsed]
        if not len(longer):
            return self._beyond(elapsed, last) if self._rng.random() >= self._whole else last
        return max(elapsed + 1, int(self._rng.choice(longer) * job.walltime))

    def _inverse(self, law: Any, low: int, high: int) -> int:
        """Return a sample of the law between `low` and `high`: the least second at a random quantile."""
        past, below, within = (float(law.cdf(time)) if time else 0.0 for time in (low, high - 1, high))
        if self._rng.random() * (1 - past) < self._whole:
            return high
        chance = past + self._rng.random() * (within - past)
        if past < below and chance <= below:
            return _least(law, chance, low, high)
        return self._beyond(_least(law, below, low, high) if past < below else low, high)

    def _beyond(self, longest: int, last: int) -> int:
        """Return a run time above the longest known one."""
        first = max(longest, 1)
        return min(max(longest + 1, int(np.ceil(first * (last / first) ** self._rng.random()))), last)


def _least(law: Any, chance: float, low: int, high: int) -> int:
    """Return the least second above `low`, at most `high`, at which the law reaches a probability."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if law.cdf(middle) >= chance else (middle, high)
    return high


def forecast_starts(
    workload: Workload,
    state: MachineState,
    dispatcher: str | Dispatcher,
    predictor: Learns,
    *,
    draws: int = 25,
    seed: int = 0,
    arrivals: bool = True,
    share: float = SHARE,
) -> dict[str, StartForecast]:
    """Return when each waiting job will start, by id.

    Each sample is a simulation from the state. Running and waiting jobs have sampled run times. Jobs of the past arrive
    again, as often as they did. The dispatcher plans with walltimes. :data:`EARLIER` and :data:`LATER` widen the
    interval of the samples. Jobs that start in fewer than half of the samples are left out.

    Parameters
    ----------
    workload
        The running and waiting jobs; their run times are ignored.
    state
        The running jobs, and those that have ended before.
    dispatcher
        The scheduler.
    predictor
        Learns run times. It is untrained, such as :data:`LEARNED`.
    draws, seed
        Number of simulations, and the seed of the random numbers.
    arrivals
        Whether new jobs arrive.
    share
        Probability that a start lies in the interval.
    """
    rng = np.random.default_rng(seed)
    run_times = RunTimeDraws(state, predictor, rng)
    running = {since.id for since in state.running}
    waiting = [job.id for job in workload.jobs if job.id not in running]
    starts = [_drawn(workload, state, dispatcher, run_times, rng if arrivals else None, waiting) for _ in range(draws)]
    ends = (1 - share) / 2, 0.5, (1 + share) / 2
    drawn = np.array(starts).reshape(draws, len(waiting))
    known = np.flatnonzero(np.isnan(drawn).sum(axis=0) * 2 <= draws)
    # Another start is as likely to lie between any two sampled ones.
    quantiles = np.nanquantile(drawn[:, known], ends, axis=0, method="weibull") if len(known) else np.empty((3, 0))
    after = np.maximum(quantiles - state.at, 0) * np.array([[EARLIER], [1.0], [LATER]])
    begin = {job.id: job.begin - state.at for job in workload.jobs}
    after = np.maximum(after, [begin[waiting[place]] for place in known.tolist()])
    return {
        waiting[place]: StartForecast(waiting[place], *map(float, state.at + after[:, column]))
        for column, place in enumerate(known.tolist())
    }


def _drawn(
    workload: Workload,
    state: MachineState,
    dispatcher: str | Dispatcher,
    run_times: RunTimeDraws,
    rng: np.random.Generator | None,
    waiting: Sequence[str],
) -> FloatArray:
    """Return the starts in one sample; nan if a job never starts."""
    began = {since.id: since.start for since in state.running}
    jobs = []
    for job in workload.jobs:
        elapsed = state.at - began[job.id] if job.id in began else 0
        jobs.append(replace(job, runtime=run_times.draw(job, elapsed), walltime=max(job.walltime, elapsed + 1)))
    if rng is not None:
        jobs += _to_come(workload, state, run_times, rng)
    drawn = Workload(tuple(jobs), workload.machine, workload.provenance)
    result = simulate(drawn, dispatcher, state=state)
    starts = result.jobs.set_index("id")["start"].reindex(list(waiting)).to_numpy(dtype=np.float64)
    return np.where(starts < 0, np.nan, starts)


def _to_come(workload: Workload, state: MachineState, run_times: RunTimeDraws, rng: np.random.Generator) -> list[Job]:
    """Return new jobs after the state: random jobs of the past, at most about as many. Their true rate is unknown."""
    past = [*(each.job for each in state.ended), *workload.jobs]
    first = min((job.submit for job in past), default=state.at)
    count = rng.poisson(len(past) * rng.random()) if first < state.at else 0
    submits: list[int] = sorted(rng.integers(state.at, 2 * state.at - first, count).tolist()) if count else []
    chosen = rng.integers(0, len(past), count)
    known = len(state.ended)
    return [
        replace(
            past[row],
            id=f"to come {number}",
            submit=submit,
            array="",
            depends=(),
            begin=0,
            hold=False,
            reservation="",
            together="",
            runtime=min(past[row].runtime, past[row].walltime) if row < known else run_times.draw(past[row]),
        )
        for number, (row, submit) in enumerate(zip(chosen.tolist(), submits, strict=True))
    ]
