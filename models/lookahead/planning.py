"""Age-weighted look-ahead: plan the jobs that fit now and the most urgent others between promises to the oldest."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...base import BoolArray, FloatArray, IntArray
from ..compiled import compiled
from ..scheduling.step_profile import Steps, earliest, hold, latest, make_steps
from .orders import Candidates, best_order

#: Run time below which a slowdown counts a job as that long, seconds.
BOUND = 10.0
#: A job ages on a scale of this part of the longest wait that is to be allowed.
AGE_SHARE = 0.5
#: Jobs that fit now and are planned, at most.
MOST_FITTING = 100


class Queue(NamedTuple):
    """The waiting jobs, oldest first.

    Attributes
    ----------
    wait, duration
        Seconds waited so far, and predicted run time, at least 1; shape (jobs,).
    need
        Amounts the whole job asks for, shape (jobs, resources).
    share
        Part of the machine that is, above 0, shape (jobs,).
    fits
        Whether the job can start now, shape (jobs,).
    """

    wait: IntArray
    duration: IntArray
    need: IntArray
    share: FloatArray
    fits: BoolArray


class Running(NamedTuple):
    """What holds the machine.

    Attributes
    ----------
    end
        Seconds from now, at least 1, shape (running,).
    need
        Amounts, shape (running, resources).
    free
        What is free now, shape (resources,).
    """

    end: IntArray
    need: IntArray
    free: IntArray


class Settings(NamedTuple):
    """How to plan.

    Attributes
    ----------
    due
        The wait after which a job is to have started, seconds; below 0 for no promises.
    tolerance
        Part of the time until then by which a young job may be put off past its earliest start.
    blocked, guards, iterations
        Blocked jobs in the plan; jobs with a promise; orders tried by the local search.
    age_scale
        Seconds of waiting that double the weight of a job; below 0 for no ageing.
    """

    due: int
    tolerance: float
    blocked: int
    guards: int
    iterations: int
    age_scale: float


class Plan(NamedTuple):
    """What a plan says.

    Attributes
    ----------
    start
        Jobs to be started now: those promised it, then by weight; their places in the queue.
    candidates, requested, promises
        How many jobs were planned, the amounts they ask for, and how many jobs were promised a start.
    objective
        The sum of weight times start, seconds from now.
    searched
        Whether the local search found better than every list.
    overdue
        The oldest job past its time that cannot start now: its place in the queue; -1 if there is none.
    """

    start: IntArray
    candidates: int
    requested: int
    promises: int
    objective: float
    searched: bool
    overdue: int


@compiled
def weights(queue: Queue, age_scale: float) -> FloatArray:
    """Return what a second's delay of each job costs, shape (jobs,).

    With wait t, duration d and b = max(1, (t + d) / max(d, 10)) it is b / max(d, 10) * (1 + (t / scale)**2): the
    slope of b**2 / 2, times a factor that grows with age.
    """
    weight = np.empty(len(queue.wait))
    for job in range(len(weight)):
        wait, duration = float(queue.wait[job]), float(queue.duration[job])
        bounded = max(duration, BOUND)
        weight[job] = max(1.0, (wait + duration) / bounded) / bounded
        if age_scale > 0:
            weight[job] *= 1.0 + (wait / age_scale) * (wait / age_scale)
    return weight


@compiled
def plan(queue: Queue, running: Running, settings: Settings) -> Plan:
    """Plan the queue and say who starts now.

    The oldest jobs are promised a start first, see :func:`promise`. Then the candidates, those that fit now and the
    most urgent others, are put in the best order that five lists and a local search find. In that order each starts as
    early as it fits until its end; one with a promise gives it back for that and starts no later than promised.
    """
    steps, count, promised, overdue = promise(queue, running, settings)
    jobs, weight = _choose(queue, promised, settings)
    promises = 0
    for start in promised:
        promises += start >= 0
    data = Candidates(jobs, queue.duration[jobs], queue.need[jobs], queue.share[jobs], weight, promised[jobs])
    starts, cost, searched = best_order(data, steps, count, settings.iterations)
    begin = np.empty(len(jobs), dtype=np.int64)
    found = 0
    for due in (True, False):
        for place in range(len(jobs)):
            if starts[place] == 0 and queue.fits[jobs[place]] and (data.promised[place] == 0) == due:
                begin[found] = jobs[place]
                found += 1
    return Plan(begin[:found], len(jobs), data.need.sum(), promises, cost, searched, overdue)


@compiled
def promise(queue: Queue, running: Running, settings: Settings) -> tuple[Steps, int, IntArray, int]:
    """Hold a start for each of the oldest jobs, in order of age.

    It is the last one that fits and is not past the job's time. That time is `due` seconds after it came; for a job not
    yet so old no earlier than its earliest start plus `tolerance` times what is missing. The first job that cannot be
    on time is held at its earliest start; others that cannot are held nothing.

    Returns
    -------
    steps, count
        What is free beside what runs and the promises.
    promised
        Seconds from now, -1 for none, shape (jobs,).
    overdue
        The first job that cannot be on time nor start now, -1 if there is none.
    """
    jobs = len(queue.wait)
    guards = min(settings.guards, jobs) if settings.due >= 0 else 0
    steps = make_steps(len(running.end) + 1 + 2 * guards, len(running.free))
    count = _free_steps(running, steps)
    promised = np.full(jobs, -1, dtype=np.int64)
    late, overdue = False, -1
    for job in range(guards):
        need, duration = queue.need[job], queue.duration[job]
        left = settings.due - queue.wait[job]
        by = left
        if left > 0 and settings.tolerance > 0:
            alone = earliest(steps, count, need, duration, 0)
            by = max(by, alone + int(settings.tolerance * left)) if alone >= 0 else by
        start = latest(steps, count, need, duration, 0, by)
        if start < 0 and not late:
            late = True
            start = earliest(steps, count, need, duration, 0)
            if start > 0 or not queue.fits[job]:
                overdue = job
        if start >= 0:
            promised[job] = start
            count = hold(steps, count, start, start + duration, need, 1)
    return steps, count, promised, overdue


@compiled
def _free_steps(running: Running, steps: Steps) -> int:
    """Set what is free as the running jobs end; return how many steps."""
    steps.at[0] = 0
    steps.free[0] = running.free
    last = 0
    for index in np.argsort(running.end, kind="mergesort"):
        end = running.end[index]
        if steps.at[last] != end:
            steps.at[last + 1] = end
            steps.free[last + 1] = steps.free[last]
            last += 1
        steps.free[last] += running.need[index]
    return last + 1


@compiled
def _choose(queue: Queue, promised: IntArray, settings: Settings) -> tuple[IntArray, FloatArray]:
    """Return the candidates and their weights: by weight, those that fit now, and the first few that do not."""
    weight = weights(queue, settings.age_scale)
    jobs = np.empty(len(weight), dtype=np.int64)
    count, fitting, blocked = 0, 0, 0
    for job in np.argsort(-weight, kind="mergesort"):
        if queue.fits[job]:
            chosen = fitting < MOST_FITTING or promised[job] == 0
            fitting += chosen
        else:
            chosen = blocked < settings.blocked
            blocked += chosen
        if chosen:
            jobs[count] = job
            count += 1
    return jobs[:count], weight[jobs[:count]]
