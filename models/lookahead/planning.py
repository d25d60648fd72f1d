"""Age-weighted look-ahead: start all jobs if they fit, else plan those that fit and urgent others.

The plan lies between guaranteed starts of the oldest jobs.
"""

from typing import NamedTuple

import numpy as np

from ...base import BoolArray, FloatArray, IntArray
from ..compiled import compiled
from ..profiles.amounts import AmountSteps, copy_steps, earliest, hold, make_steps
from ..scheduling.node_groups import no_instant
from ..scheduling.pool_search import counted_best, open_search, search_orders
from ..scheduling.selection import by_falling_weight, copy_range, first_by, stable_order
from .guarantees import Guarantees, MachineRoom, PlanSettings, Queue, Walltimes, keep_guarantees, steps_beside

#: Least run time in a bounded slowdown, seconds.
BOUND = 10.0
#: Largest number of planned jobs that fit now.
MOST_FITTING = 100
#: Seed of the local search's random numbers.
SEED = 88172645463325252
#: Origin of the starts: no job fits, all fit together, best list, local search. `TO_PLAN` if a plan must decide.
NONE_FITS, ALL_FIT, LISTED, SEARCHED = range(4)
TO_PLAN = 4


class LookaheadPlan(NamedTuple):
    """Result of a plan.

    Attributes
    ----------
    start
        Jobs to start now, as positions in the queue: guaranteed ones first, then by weight.
    candidates, requested, guarantees
        Number of planned jobs, their amounts, and number of jobs with a guaranteed start.
    objective
        Sum of weight times start, seconds from now.
    origin
        One of the codes above: `SEARCHED` if the local search improved on every list.
    overdue
        Position of the oldest overdue job that cannot start now. -1 if none.
    """

    start: IntArray
    candidates: int
    requested: int
    guarantees: int
    objective: float
    origin: int
    overdue: int


@compiled
def without_plan(amount: IntArray, fits: BoolArray, together: bool) -> LookaheadPlan:
    """Return all jobs if they fit together, or none if none fits alone. Otherwise the origin is `TO_PLAN`.

    Parameters
    ----------
    amount, fits
        Amounts of the waiting jobs, and which fit now. Shapes (jobs, resources) and (jobs,).
    together
        Whether all fit together.
    """
    if not fits.any():
        return LookaheadPlan(np.zeros(0, dtype=np.int64), 0, 0, 0, np.nan, NONE_FITS, -1)
    if together:
        return LookaheadPlan(np.arange(len(fits)), len(fits), amount.sum(), 0, 0.0, ALL_FIT, -1)
    return LookaheadPlan(np.zeros(0, dtype=np.int64), 0, 0, 0, np.nan, TO_PLAN, -1)


@compiled
def first_to_start(fits: BoolArray, guaranteed: IntArray) -> int:
    """Return the job that must start on an idle machine, where nothing else will happen.

    It is the one with the first guaranteed start, else the first that fits. `guaranteed` belongs to the first jobs, -1
    for none.
    """
    first = -1
    for job in range(len(guaranteed)):
        if guaranteed[job] >= 0 and (first < 0 or guaranteed[job] < guaranteed[first]):
            first = job
    return first if first >= 0 else int(fits.argmax())


@compiled
def plan(
    queue: Queue, running: MachineRoom, settings: PlanSettings, walltimes: Walltimes
) -> tuple[LookaheadPlan, IntArray]:
    """Plan the queue. Return the jobs that start now.

    First the oldest jobs get guaranteed starts, see :func:`.keep_guarantees`. Candidates are jobs that fit now and the
    most urgent others. Five lists and a local search find their best order. In that order each job starts at its
    earliest fit. A job with a guarantee first gives up its reserved time, and starts no later than guaranteed.

    If `walltimes` is given, guarantees use walltimes, and predictions are capped at walltimes. Of the jobs that the
    plan starts now, only some do. Each must fit for its whole walltime beside three things: running jobs, earlier
    starts, and guarantees of others. So all guaranteed starts stay free, for any run times up to the walltimes. If a
    planned job does not fit, others that fit start instead, oldest first.

    Parameters
    ----------
    queue, running, settings
        Jobs and settings.
    walltimes
        Walltimes and earlier guarantees. Empty to plan by predictions alone.

    Returns
    -------
    The plan, and the guaranteed starts, seconds from now, -1 for none. Shape (guards,).
    """
    by_walltimes = len(walltimes.duration) > 0
    guarantees = keep_guarantees(queue, running, settings, walltimes)
    free = guarantees.free
    durations = queue.duration
    if by_walltimes:
        durations = np.empty(len(queue.duration), dtype=np.int64)
        for job in range(len(durations)):
            durations[job] = min(queue.duration[job], walltimes.duration[job])
        free = _beside(durations, queue.amount, running, walltimes.end, guarantees.start)
    weight = weights(queue.wait, durations, settings.age_scale)
    jobs = candidates(queue.fits, weight, guarantees.start, settings.blocked)
    count = len(jobs)
    resources = queue.amount.shape[1]
    guaranteed = np.full(count, -1, dtype=np.int64)
    due = np.zeros(count, dtype=np.int64)
    duration = np.empty(count, dtype=np.int64)
    amount = np.empty((count, resources), np.int64)
    planned = np.empty(count)
    units = 0
    for index in range(count):
        job = jobs[index]
        duration[index] = durations[job]
        planned[index] = weight[job]
        if job < len(guarantees.start):
            guaranteed[index] = guarantees.start[job]
        for resource in range(resources):
            amount[index, resource] = queue.amount[job, resource]
            units += amount[index, resource]
    none = guaranteed[:0]
    search = open_search(planned, due, duration, amount, guaranteed, free, none, none, no_instant(), none, none)
    orders = np.empty((5, count), dtype=np.int64)
    by_falling_weight(planned, duration, shares(amount, running.capacity), orders)
    copy_range(stable_order(jobs), orders[4], 0, count)
    _, listed = search_orders(search, orders, moves(count, settings.iterations))
    cost = search.cost[0]
    best = counted_best(search)
    starts = np.empty(count, dtype=np.int64)
    for index in range(count):
        starts[best.order[index]] = best.starts[index]
    in_turn(planned, duration, amount, guaranteed, starts)
    begin = np.empty(len(queue.wait), dtype=np.int64)
    some = 0
    held = 0
    for turn in range(2):
        for index in range(count):
            if starts[index] == 0 and queue.fits[jobs[index]] and (guaranteed[index] == 0) == (turn == 0):
                begin[some] = jobs[index]
                some += 1
    for start in guarantees.start:
        held += start >= 0
    if by_walltimes:
        some = _that_keep_guarantees(begin, some, queue, walltimes.duration, guarantees)
    origin = SEARCHED if cost < listed else LISTED
    planned_now = LookaheadPlan(begin[:some].copy(), count, units, held, cost, origin, guarantees.overdue)
    return planned_now, guarantees.start


@compiled
def _beside(
    durations: IntArray, amount: IntArray, running: MachineRoom, until: IntArray, start: IntArray
) -> AmountSteps:
    """Return the free amounts beside running jobs and guarantees, by predictions up to walltimes."""
    ends = np.empty(len(until), dtype=np.int64)
    for index in range(len(ends)):
        ends[index] = min(running.end[index], until[index])
    steps, count = steps_beside(running, ends, len(start))
    for job in range(len(start)):
        if start[job] >= 0:
            count = hold(steps, count, start[job], start[job] + durations[job], amount[job], 1)
    return AmountSteps(steps.at[:count], steps.free[:count])


@compiled
def _that_keep_guarantees(begin: IntArray, some: int, queue: Queue, walltimes: IntArray, guarantees: Guarantees) -> int:
    """Keep those of the first `some` jobs that delay no guaranteed start. If one does, try all others that fit.

    Returns
    -------
    Number of jobs in `begin`, in order.
    """
    wanted = np.empty(len(queue.wait), dtype=np.int64)
    size = some
    copy_range(begin, wanted, 0, some)
    for turn in range(2):
        count, kept = len(guarantees.free.at), 0
        steps = make_steps(count + 6 * size, queue.amount.shape[1])
        copy_steps(guarantees.free, count, steps)
        for index in range(size):
            job = wanted[index]
            amount = queue.amount[job]
            duration = walltimes[job]
            own = guarantees.start[job] if job < len(guarantees.start) else -1
            if own >= 0:
                count = hold(steps, count, own, own + duration, amount, -1)
            if earliest(steps, count, amount, duration, 0) == 0:
                own = 0
                begin[kept] = job
                kept += 1
            if own >= 0:
                count = hold(steps, count, own, own + duration, amount, 1)
        if turn == 1 or kept == some:
            return kept
        # Jobs that keep the guarantees first, then all that fit and were not planned to start now.
        planned = np.zeros(len(queue.wait), dtype=np.bool_)
        for index in range(some):
            planned[wanted[index]] = True
        size = kept
        copy_range(begin, wanted, 0, kept)
        for job in range(len(queue.wait)):
            if queue.fits[job] and not planned[job]:
                wanted[size] = job
                size += 1
    return 0


@compiled
def weights(waits: IntArray, durations: IntArray, age_scale: float) -> FloatArray:
    """Return the cost per second of delay of each job. Shape (jobs,).

    For wait t and duration d, let b = max(1, (t + d) / max(d, 10)). The cost is b / max(d, 10) * (1 + (t / scale)**2).
    That is the slope of b**2 / 2, times a factor that grows with age.
    """
    weight = np.empty(len(waits))
    for job in range(len(weight)):
        wait = float(waits[job])
        duration = float(durations[job])
        bounded = max(duration, BOUND)
        weight[job] = max(1.0, (wait + duration) / bounded) / bounded
        if age_scale > 0:
            weight[job] *= 1.0 + (wait / age_scale) * (wait / age_scale)
    return weight


@compiled
def guaranteed_starts(jobs: IntArray, start: IntArray) -> IntArray:
    """Return the guaranteed start of each of the jobs, -1 for none."""
    guaranteed = np.full(len(jobs), -1, dtype=np.int64)
    for index in range(len(jobs)):
        if jobs[index] < len(start):
            guaranteed[index] = start[jobs[index]]
    return guaranteed


@compiled
def shares(amount: IntArray, capacity: IntArray) -> FloatArray:
    """Return each job's share of the machine, mean over the resources."""
    share = np.zeros(len(amount))
    for job in range(len(amount)):
        for resource in range(len(capacity)):
            share[job] += amount[job, resource] / capacity[resource]
        share[job] /= len(capacity)
    return share


@compiled
def candidates(fits: BoolArray, weight: FloatArray, guaranteed: IntArray, blocked: int) -> IntArray:
    """Return the jobs to plan, by weight.

    They are the jobs that fit now, those guaranteed a start now, and the first `blocked` that do not fit. `guaranteed`
    belongs to the first jobs. Only these can have guarantees.
    """
    key = -weight
    fitting = first_by(key, fits, MOST_FITTING)
    others = first_by(key, ~fits, blocked)
    jobs = np.empty(len(fitting) + len(others) + len(guaranteed), dtype=np.int64)
    copy_range(fitting, jobs, 0, len(fitting))
    count = len(fitting)
    for job in others:
        count = _insert(jobs, count, job, key)
    for job in range(len(guaranteed)):
        if guaranteed[job] == 0 and fits[job]:
            count = _insert(jobs, count, job, key)
    return jobs[:count]


@compiled
def _insert(jobs: IntArray, count: int, job: int, key: FloatArray) -> int:
    """Insert a job by least key, ties by position, unless present. Return the number of jobs."""
    at = count
    while at > 0 and (key[jobs[at - 1]] > key[job] or (key[jobs[at - 1]] == key[job] and jobs[at - 1] > job)):
        at -= 1
    if at > 0 and jobs[at - 1] == job:
        return count
    for place in range(count, at, -1):
        jobs[place] = jobs[place - 1]
    jobs[at] = job
    return count + 1


@compiled
def moves(jobs: int, iterations: int) -> IntArray:
    """Return the random changes of the local search, see :func:`.search`. They are fixed (xorshift, Marsaglia 2003)."""
    drawn = np.empty((iterations, 3), dtype=np.int64)
    random = np.uint64(SEED)
    many = np.uint64(max(jobs, 1))
    for move in range(iterations):
        random ^= random << np.uint64(13)
        random ^= random >> np.uint64(7)
        random ^= random << np.uint64(17)
        drawn[move, 0] = int(random % many)
        drawn[move, 1] = int((random >> np.uint64(20)) % many)
        drawn[move, 2] = 1 - int((random >> np.uint64(45)) % np.uint64(2))
    return drawn


@compiled
def in_turn(weight: FloatArray, duration: IntArray, amount: IntArray, guaranteed: IntArray, starts: IntArray) -> None:
    """Among equal jobs, let the first start first, if the other keeps its guarantee."""
    for job in range(len(starts)):
        for other in range(job + 1, len(starts)):
            later = starts[job] > starts[other] >= 0 and weight[job] == weight[other]
            if not later or duration[job] != duration[other]:
                continue
            kept = guaranteed[other] < 0 or starts[job] <= guaranteed[other]
            if kept and (amount[job] == amount[other]).all():
                starts[job], starts[other] = starts[other], starts[job]
