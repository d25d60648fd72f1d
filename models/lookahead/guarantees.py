"""What a plan is made from, and the starts that are guaranteed to the oldest jobs."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...base import BoolArray, IntArray
from ..compiled import compiled
from ..profiles.amounts import Steps, earliest, hold, latest, make_steps, release

#: A job ages on a scale of this part of the longest wait that is to be allowed.
AGE_SHARE = 0.5
#: Stands for no guarantee, seconds from now.
NO_GUARANTEE = np.iinfo(np.int64).max


#: No closures.
NO_TIMES, NO_AMOUNTS = np.zeros(0, dtype=np.int64), np.zeros((0, 1), dtype=np.int64)


class Queue(NamedTuple):
    """The waiting jobs, oldest first.

    Attributes
    ----------
    wait, duration
        Seconds waited so far, and predicted run time, at least 1; shape (jobs,).
    amount
        Amounts the whole job asks for, shape (jobs, resources).
    fits
        Whether the job can start now, shape (jobs,).
    """

    wait: IntArray
    duration: IntArray
    amount: IntArray
    fits: BoolArray


class Running(NamedTuple):
    """What holds the machine.

    Attributes
    ----------
    end
        Seconds from now, at least 1, shape (running,).
    amount
        Amounts, shape (running, resources).
    free
        What is free now, shape (resources,).
    capacity
        What there is, at least 1, shape (resources,).
    closes, opens, closed
        When more is closed beside that, from and until, seconds from now, shape (closures,), and how much of it, shape
        (closures, resources).
    """

    end: IntArray
    amount: IntArray
    free: IntArray
    capacity: IntArray
    closes: IntArray = NO_TIMES
    opens: IntArray = NO_TIMES
    closed: IntArray = NO_AMOUNTS


class Walltimes(NamedTuple):
    """What is known beside the predictions; all empty where only these count.

    Attributes
    ----------
    duration
        Walltimes of the waiting jobs, seconds, shape (jobs,).
    end
        When the running ones have to end, seconds from now, at least 1, shape (running,).
    guaranteed
        What was guaranteed to the waiting ones, seconds from now, :data:`.NO_GUARANTEE` for nothing, shape (jobs,) or
        (0,).
    """

    duration: IntArray
    end: IntArray
    guaranteed: IntArray


class Settings(NamedTuple):
    """How to plan.

    Attributes
    ----------
    due
        The wait after which a job is to have started, seconds; below 0 for no guarantees. Before :func:`settle` the
        least that it may be.
    tolerance
        Part of the time until then by which a young job may be put off past its earliest start.
    blocked, guards, iterations
        Blocked jobs in the plan; jobs with a guarantee; orders tried by the local search.
    age_scale
        Seconds of waiting that double the weight of a job; below 0 for no ageing.
    trust
        Predictions are trusted until the first job has waited so many times the wait after which it was due.
    """

    due: int
    tolerance: float
    blocked: int
    guards: int
    iterations: int
    age_scale: float
    trust: float = math.inf


class Guarantees(NamedTuple):
    """Starts held for the oldest jobs.

    Attributes
    ----------
    free
        What is free beside what runs and the guarantees.
    start
        Seconds from now, -1 for none, of the oldest jobs, shape (guards,).
    overdue
        The first job that cannot be on time nor start now, -1 if there is none.
    """

    free: Steps
    start: IntArray
    overdue: int


@compiled
def settle(chosen: Settings, patience: float, longest_wait: int) -> Settings:
    """Return how to plan now: due times and ageing by the longest wait under EASY so far, seconds.

    Jobs are due after `patience` times that, at least as late as `chosen` has it; never, if `patience` is infinite.
    """
    due, age = -1, -1.0
    if math.isfinite(patience):
        due = max(chosen.due, int(patience * longest_wait))
        age = AGE_SHARE * due
    return Settings(due, chosen.tolerance, chosen.blocked, chosen.guards, chosen.iterations, age, chosen.trust)


@compiled
def doubts(settings: Settings, wait: int) -> bool:
    """Return whether predictions are not trusted any more, given how long the first job has waited, seconds."""
    return settings.due >= 0 and wait > settings.trust * settings.due


@compiled
def told_apart(queue: Queue, running: Running, walltimes: Walltimes) -> Walltimes:
    """Return walltimes where they differ from what is predicted, else nothing: then a plan by predictions will do."""
    for job in range(len(walltimes.duration)):
        if queue.duration[job] != walltimes.duration[job]:
            return walltimes
    for index in range(len(walltimes.end)):
        if running.end[index] != walltimes.end[index]:
            return walltimes
    none = walltimes.duration[:0]
    return Walltimes(none, none, none)


@compiled
def keep_guarantees(queue: Queue, running: Running, settings: Settings, walltimes: Walltimes) -> Guarantees:
    """Hold a start for each of the oldest jobs, in order of age; first for those that were guaranteed one before.

    It is the last one that fits and is not past the job's time. That time is `due` seconds after it came; for a job not
    yet so old no earlier than its earliest start plus `tolerance` times what is missing; for a job that was guaranteed
    a start before, no later than that. The first job that cannot be on time is held at its earliest start; others that
    cannot are held nothing.

    If nothing has been started since that is in the way of a guarantee, and whatever runs ends no later than was known
    then, all of them can be kept: each start is still free beside what runs and the other ones.

    Parameters
    ----------
    queue, running, settings
        The jobs and how to plan.
    walltimes
        Walltimes, in place of the predictions, and what was guaranteed before; empty for predictions and no guarantees.
    """
    guards = min(settings.guards, len(queue.wait)) if settings.due >= 0 else 0
    durations, ends, kept = queue.duration, running.end, walltimes.guaranteed
    if len(walltimes.duration) > 0:
        durations, ends = walltimes.duration, walltimes.end
    steps, count = steps_beside(running, ends, guards)
    guaranteed = np.full(guards, -1, dtype=np.int64)
    late, overdue = False, -1
    for turn in range(2):
        for job in range(guards):
            stands = job < len(kept) and kept[job] < NO_GUARANTEE
            if stands != (turn == 0):
                continue
            amount, duration = queue.amount[job], durations[job]
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
    return Guarantees(Steps(steps.at[:count], steps.free[:count]), guaranteed, overdue)


@compiled
def steps_beside(running: Running, ends: IntArray, more: int) -> tuple[Steps, int]:
    """Return what is free beside what runs until these ends and what is closed, with room for more intervals."""
    closures = len(running.closes)
    steps = make_steps(len(ends) + 1 + 2 * (closures + more), len(running.free))
    count = release(running.free, ends, running.amount, steps)
    for index in range(closures):
        count = hold(steps, count, running.closes[index], running.opens[index], running.closed[index], 1)
    return steps, count


@compiled
def _due(queue: Queue, duration: int, settings: Settings, job: int, steps: Steps, count: int) -> int:
    """Return by when a job without a guarantee is to start, seconds from now."""
    left = settings.due - queue.wait[job]
    if left > 0 and settings.tolerance > 0:
        soonest = earliest(steps, count, queue.amount[job], duration, 0)
        if soonest >= 0:
            return int(max(left, soonest + int(settings.tolerance * left)))
    return int(left)
