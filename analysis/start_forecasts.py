"""When waiting jobs will start: the scheduler run forward, with run times and arrivals drawn from the past."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from ..base import FloatArray
from ..dispatchers import Dispatcher
from ..simulation import simulate
from ..workloads import Job, MachineState, Workload

#: How likely it is that a job starts within its interval.
SHARE = 0.8
#: By how much the ends of an interval are moved, as shares of the time until they come: what the model itself misses.
#: Chosen on recorded replays of other sites than the one that ``docs/how-to/live-slurm.md`` judges them on.
EARLIER, LATER = 0.65, 1.1
#: The predictor that learns how long jobs run, if nobody asks for another one.
LEARNED = "empirical:by=user,least=5"


class Learns(Protocol):
    """A predictor, which may have ``distribution(job)`` too."""

    def observe(self, job: Job) -> None:
        """Learn from a job that has ended."""
        ...


@dataclass(frozen=True, slots=True)
class StartForecast:
    """When a job will start, seconds on the clock of the workload.

    Attributes
    ----------
    id
        Which one.
    low, median, high
        The ends and the middle of the interval.
    """

    id: str
    low: float
    median: float
    high: float


class RunTimeDraws:
    """Run times drawn from what a predictor has learned, else from the shares of their requests that others ran.

    A job reaches its request as often as others did, whatever is learned of longer requests. Where one may be longer
    than all that are known, it is not known how long: it ends anywhere before the request, as likely within each
    doubling.

    Parameters
    ----------
    state
        What ended before.
    predictor
        What learns; its ``distribution`` is drawn from.
    rng
        Draws.
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
        """Return a run time above `elapsed` and up to the request, seconds."""
        distribution = getattr(self._learned, "distribution", None)
        law = None if distribution is None else distribution(replace(job, runtime=0))
        last = max(job.walltime, elapsed + 1)
        if law is not None:
            return self._inverse(law, elapsed, last)
        longer = self._shares[self._shares * job.walltime > elapsed]
        if not len(longer):
            return self._beyond(elapsed, last) if self._rng.random() >= self._whole else last
        return max(elapsed + 1, int(self._rng.choice(longer) * job.walltime))

    def _inverse(self, law: Any, low: int, high: int) -> int:
        """Return the least second above `low` that a drawn share of the run times longer than it do not exceed."""
        past, below, within = (float(law.cdf(time)) if time else 0.0 for time in (low, high - 1, high))
        if self._rng.random() * (1 - past) < self._whole:
            return high
        chance = past + self._rng.random() * (within - past)
        if past < below and chance <= below:
            return _least(law, chance, low, high)
        return self._beyond(_least(law, below, low, high) if past < below else low, high)

    def _beyond(self, longest: int, last: int) -> int:
        """Return a run time above the longest that is known."""
        first = max(longest, 1)
        return min(max(longest + 1, int(np.ceil(first * (last / first) ** self._rng.random()))), last)


def _least(law: Any, chance: float, low: int, high: int) -> int:
    """Return the least second above `low`, and `high` at most, up to which a law has a chance."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if law.cdf(middle) >= chance else (middle, high)
    return high


def forecast_starts(
    workload: Workload, state: MachineState, dispatcher: str | Dispatcher, predictor: Learns, *, draws: int = 25,
    seed: int = 0, arrivals: bool = True, share: float = SHARE,
) -> dict[str, StartForecast]:  # fmt: skip
    """Return when each waiting job will start, by id.

    Each draw is a simulation from the state: running and waiting jobs run for as long as drawn, and, from the past,
    others come as often as they did; the dispatcher goes by the requests. The interval of the draws is widened by
    :data:`EARLIER` and :data:`LATER`. Jobs that start in fewer than half of the draws are left out.

    Parameters
    ----------
    workload
        The jobs that run or wait; their run times are not looked at.
    state
        What runs, and what has ended before.
    dispatcher
        The scheduler.
    predictor
        Learns run times, and has learned nothing yet; such as :data:`LEARNED`.
    draws, seed
        How many simulations, and of which random numbers.
    arrivals
        Whether others come.
    share
        How likely a start is to lie in the interval.
    """
    rng = np.random.default_rng(seed)
    run_times = RunTimeDraws(state, predictor, rng)
    running = {since.id for since in state.running}
    waiting = [job.id for job in workload.jobs if job.id not in running]
    starts = [_drawn(workload, state, dispatcher, run_times, rng if arrivals else None, waiting) for _ in range(draws)]
    ends = (1 - share) / 2, 0.5, (1 + share) / 2
    drawn = np.array(starts).reshape(draws, len(waiting))
    known = np.flatnonzero(np.isnan(drawn).sum(axis=0) * 2 <= draws)
    # Another start is as likely to lie between any two of the drawn ones.
    found = np.nanquantile(drawn[:, known], ends, axis=0, method="weibull") if len(known) else np.empty((3, 0))
    after = np.maximum(found - state.at, 0) * np.array([[EARLIER], [1.0], [LATER]])
    begin = {job.id: job.begin - state.at for job in workload.jobs}
    after = np.maximum(after, [begin[waiting[place]] for place in known.tolist()])
    return {
        waiting[place]: StartForecast(waiting[place], *map(float, state.at + after[:, column]))
        for column, place in enumerate(known.tolist())
    }  # fmt: skip


def _drawn(
    workload: Workload, state: MachineState, dispatcher: str | Dispatcher, run_times: RunTimeDraws,
    rng: np.random.Generator | None, waiting: Sequence[str],
) -> FloatArray:  # fmt: skip
    """Return the starts in one draw, nan of a job that never does."""
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
    """Return jobs that come after the state, any of the past as they were, up to as often: nobody knows how often."""
    past = [*(each.job for each in state.ended), *workload.jobs]
    first = min((job.submit for job in past), default=state.at)
    count = rng.poisson(len(past) * rng.random()) if first < state.at else 0
    submits: list[int] = sorted(rng.integers(state.at, 2 * state.at - first, count).tolist()) if count else []
    chosen = rng.integers(0, len(past), count)
    known = len(state.ended)
    return [
        replace(
            past[row], id=f"to come {number}", submit=submit, array="", depends=(), begin=0, hold=False, reservation="",
            runtime=min(past[row].runtime, past[row].walltime) if row < known else run_times.draw(past[row]),
        )
        for number, (row, submit) in enumerate(zip(chosen.tolist(), submits, strict=True))
    ]  # fmt: skip
