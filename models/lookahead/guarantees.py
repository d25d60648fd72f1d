"""Inputs of a plan, and guaranteed starts of the oldest jobs."""

import math
from typing import NamedTuple

import numpy as np

from ...base import BoolArray, IntArray
from ..compiled import compiled
from ..profiles.amounts import AmountSteps, earliest, hold, latest, make_steps, release

#: Time scale of ageing, as a share of the longest allowed wait.
AGE_SHARE = 0.5
#: Value for no guarantee, seconds from now.
NO_GUARANTEE = np.iinfo(np.int64).max


#: No closures.
NO_TIMES = np.zeros(0, dtype=np.int64)
NO_AMOUNTS = np.zeros((0, 1), dtype=np.int64)


class Queue(NamedTuple):
    """Waiting jobs, oldest first.

    Attributes
    ----------
    wait, duration
        Seconds waited so far, and predicted run time, at least 1. Shape (jobs,).
    amount
        Amounts of the whole job, shape (jobs, resources).
    fits
        Whether the job can start now, shape (jobs,).
    """

    wait: IntArray
    duration: IntArray
    amount: IntArray
    fits: BoolArray


class MachineRoom(NamedTuple):
    """Running jobs, amounts of the machine, and closures.

    Attributes
    ----------
    end
        Seconds from now, at least 1, shape (running,).
    amount
        Amounts, shape (running, resources).
    free
        Free amounts now, shape (resources,).
    capacity
        Capacity, at least 1, shape (resources,).
    closes, opens
        Begin and end of further closures, seconds from now. Shape (closures,).
    closed
        Their amounts, shape (closures, resources).
    """

    end: IntArray
    amount: IntArray
    free: IntArray
    capacity: IntArray
    closes: IntArray = NO_TIMES
    opens: IntArray = NO_TIMES
    closed: IntArray = NO_AMOUNTS


class Walltimes(NamedTuple):
    """Walltimes and earlier guarantees. All empty if only predictions count.

    Attributes
    ----------
    duration
        Walltimes of the waiting jobs, seconds, shape (jobs,).
    end
        Ends of the running jobs' walltimes, seconds from now, at least 1. Shape (running,).
    guaranteed
        Earlier guaranteed starts of waiting jobs, seconds from now, :data:`.NO_GUARANTEE` for none. Shape (jobs,) or
        (0,).
    """

    duration: IntArray
    end: IntArray
    guaranteed: IntArray


class PlanSettings(NamedTuple):
    """Settings of a plan.

    Attributes
    ----------
    due
        Longest wait before a job must start, seconds. Negative for no guarantees. Before :func:`settle`, its lower
        bound.
    tolerance
        How far a young job may be delayed past its earliest start, as a share of its time left.
    blocked, guards, iterations
        Number of blocked jobs in the plan, of jobs with a guarantee, and of orders in the local search.
    age_scale
        Seconds of waiting that double the weight of a job. Negative for no ageing.
    trust
        Predictions are trusted until the first job has waited this multiple of `due`.
    """

    due: int
    tolerance: float
    blocked: int
    guards: int
    iterations: int
    age_scale: float
    trust: float = math.inf


class Guarantees(NamedTuple):
    """Guaranteed starts of the oldest jobs.

    Attributes
    ----------
    free
        Free amounts beside running jobs and guarantees.
    start
        Starts of the oldest jobs, seconds from now, -1 for none. Shape (guards,).
    overdue
        First job that can neither be on time nor start now. -1 if none.
    """

    free: AmountSteps
    start: IntArray
    overdue: int


@compiled
def settle(chosen: PlanSettings, patience: float, longest_wait: int) -> PlanSettings:
    """Return the current settings: due times and ageing by the longest wait under EASY so far, seconds.

    Jobs are due after `patience` times that wait, at least after ``chosen.due``. Never, if `patience` is infinite.
    """
    due, age = -1, -1.0
    if math.isfinite(patience):
        due = max(chosen.due, int(patience * longest_wait))
        age = AGE_SHARE * due
    return PlanSettings(due, chosen.tolerance, chosen.blocked, chosen.guards, chosen.iterations, age, chosen.trust)


@compiled
def doubts(settings: PlanSettings, wait: int) -> bool:
    """Return whether predictions are no longer trusted, after the first job has waited `wait` seconds."""
    return settings.due >= 0 and wait > settings.trust * settings.due


@compiled
def told_apart(queue: Queue, running: MachineRoom, walltimes: Walltimes) -> Walltimes:
    """Return walltimes if they differ from predictions, else empty ones: then a plan by predictions suffices."""
    for job in range(len(walltimes.duration)):
        if queue.duration[job] != walltimes.duration[job]:
            return walltimes
    for index in range(len(walltimes.end)):
        if running.end[index] != walltimes.end[index]:
            return walltimes
    none = walltimes.duration[:0]
    return Walltimes(none, none, none)


@compiled
def keep_guarantees(queue: Queue, running: MachineRoom, settings: PlanSettings, walltimes: Walltimes) -> Guarantees:
    """Guarantee a start to each of the oldest jobs, by age. Jobs with an earlier guarantee come first.

    It is the last start that fits and meets the job's due time. The due time depends on the job:

    * With an earlier guarantee: that start.
    * Otherwise, `due` seconds after its arrival.
    * If it is younger than `due`: not before its earliest start plus `tolerance` times the time left.

    The first job that cannot be on time gets its earliest start. Others that cannot get none.

    All earlier guarantees can be kept under two conditions. Nothing has started since that conflicts with one. And no
    running job ends later than known then. Each guaranteed start is then still free beside running jobs and the other
    guarantees.

    Parameters
    ----------
    queue, running, settings
        Jobs and settings.
    walltimes
        Walltimes, used instead of predictions, and earlier guarantees. Empty for predictions and no guarantees.
    """
    guards = min(settings.guards, len(queue.wait)) if settings.due >= 0 else 0
    durations = queue.duration
    ends = running.end
    kept = walltimes.guaranteed
    if len(walltimes.duration) > 0:
        durations = walltimes.duration
        ends = walltimes.end
    steps, count = steps_beside(running, ends, guards)
    guaranteed = np.full(guards, -1, dtype=np.int64)
    late, overdue = False, -1
    for turn in range(2):
        for job in range(guards):
            stands = job < len(kept) and kept[job] < NO_GUARANTEE
            if stands != (turn == 0):
                continue
            amount = queue.amount[job]
            duration = durations[job]
            by = kept[job] if stands else _due(queue, duration, settings, job, steps, count)
            start = latest(steps, count, amount, duration, 0, by)
            if start < 0 and not late:
                late = True
                start = earliest(steps, count, amount, duration, 0)
                if start > 0 or not queue.fits[job]:
                    overdue = job
            if start >= 0:
                guaranteed[job] = start
                count = hold(steps, count, start, start + duration, amount, 1)
    return Guarantees(AmountSteps(steps.at[:count], steps.free[:count]), guaranteed, overdue)


@compiled
def steps_beside(running: MachineRoom, ends: IntArray, more: int) -> tuple[AmountSteps, int]:
    """Return the free amounts beside running jobs and closures, with room for `more` intervals.

    `ends` are the ends of the running jobs.
    """
    closures = len(running.closes)
    steps = make_steps(len(ends) + 1 + 2 * (closures + more), len(running.free))
    count = release(running.free, ends, running.amount, steps)
    for index in range(closures):
        count = hold(steps, count, running.closes[index], running.opens[index], running.closed[index], 1)
    return steps, count


@compiled
def _due(queue: Queue, duration: int, settings: PlanSettings, job: int, steps: AmountSteps, count: int) -> int:
    """Return the due time of a job without a guarantee, seconds from now."""
    left = settings.due - queue.wait[job]
    if left > 0 and settings.tolerance > 0:
        soonest = earliest(steps, count, queue.amount[job], duration, 0)
        if soonest >= 0:
            return int(max(left, soonest + int(settings.tolerance * left)))
    return int(left)
