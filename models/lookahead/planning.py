"""Age-weighted look-ahead: plan the jobs that fit now and the most urgent others between promises to the oldest."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...base import BoolArray, FloatArray, IntArray
from ..compiled import compiled
from ..scheduling.node_groups import no_instant
from ..scheduling.pool_search import BEST, open_search, search_orders
from ..scheduling.selection import by_falling_weight, first_by, stable_order
from .promises import Promises, Queue, Running, Settings, promise

#: Run time below which a slowdown counts a job as that long, seconds.
BOUND = 10.0
#: Jobs that fit now and are planned, at most.
MOST_FITTING = 100
#: Where the draws of the local search begin.
SEED = 88172645463325252


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
def plan(queue: Queue, running: Running, settings: Settings) -> Plan:
    """Plan the queue and say who starts now.

    The oldest jobs are promised a start first, see :func:`.promise`. Then the candidates, those that fit now and the
    most urgent others, are put in the best order that five lists and a local search find. In that order each starts as
    early as it fits until its end; one with a promise gives it back for that and starts no later than promised.
    """
    return plan_between(queue, running, settings, promise(queue, running, settings))


@compiled
def plan_between(queue: Queue, running: Running, settings: Settings, promises: Promises) -> Plan:
    """Plan the queue beside what is promised."""
    weight = weights(queue, settings.age_scale)
    jobs = candidates(queue.fits, weight, promises.start, settings.blocked)
    promised, duration, need = promised_starts(jobs, promises.start), queue.duration[jobs], queue.need[jobs]
    weight, due = weight[jobs], np.zeros(len(jobs), dtype=np.int64)
    none = promised[:0]
    search = open_search(weight, due, duration, need, promised, promises.free, none, none, no_instant(), none, none)
    orders = np.empty((5, len(jobs)), dtype=np.int64)
    by_falling_weight(weight, duration, shares(need, running.capacity), orders)
    orders[4] = stable_order(jobs.astype(np.float64))
    _, listed = search_orders(search, orders, moves(len(jobs), settings.iterations))
    cost, starts = search.cost[0], np.empty(len(jobs), dtype=np.int64)
    starts[search.order[BEST]] = search.starts[BEST]
    in_turn(weight, duration, need, promised, starts)
    now = (starts == 0) & queue.fits[jobs]
    begin = np.concatenate((jobs[now & (promised == 0)], jobs[now & (promised != 0)]))
    held = (promises.start >= 0).sum()
    return Plan(begin, len(jobs), need.sum(), held, cost, cost < listed, promises.overdue)


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
def promised_starts(jobs: IntArray, start: IntArray) -> IntArray:
    """Return what is promised to each of the jobs, -1 for nothing."""
    promised = np.full(len(jobs), -1, dtype=np.int64)
    for index in range(len(jobs)):
        if jobs[index] < len(start):
            promised[index] = start[jobs[index]]
    return promised


@compiled
def shares(need: IntArray, capacity: IntArray) -> FloatArray:
    """Return which part of the machine each job asks for, the mean over the resources."""
    share = np.zeros(len(need))
    for job in range(len(need)):
        for resource in range(len(capacity)):
            share[job] += need[job, resource] / capacity[resource]
        share[job] /= len(capacity)
    return share


@compiled
def candidates(fits: BoolArray, weight: FloatArray, promised: IntArray, blocked: int) -> IntArray:
    """Return who is planned, by weight: those that fit now or are promised that, and the first few that do not fit.

    Only the first jobs can be promised anything, `promised` is theirs.
    """
    key = -weight
    fitting, others = first_by(key, fits, MOST_FITTING), first_by(key, ~fits, blocked)
    jobs = np.empty(len(fitting) + len(others) + len(promised), dtype=np.int64)
    jobs[: len(fitting)] = fitting
    count = len(fitting)
    for job in others:
        count = _insert(jobs, count, job, key)
    for job in range(len(promised)):
        if promised[job] == 0 and fits[job]:
            count = _insert(jobs, count, job, key)
    return jobs[:count]


@compiled
def _insert(jobs: IntArray, count: int, job: int, key: FloatArray) -> int:
    """Put a job among others by least key, ties by place, unless it is there; return how many they are."""
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
    """Draw the changes of the local search, see :func:`.search`: always the same (xorshift, Marsaglia 2003)."""
    drawn = np.empty((iterations, 3), dtype=np.int64)
    random, many = np.uint64(SEED), np.uint64(max(jobs, 1))
    for move in range(iterations):
        random ^= random << np.uint64(13)
        random ^= random >> np.uint64(7)
        random ^= random << np.uint64(17)
        drawn[move, 0] = int(random % many)
        drawn[move, 1] = int((random >> np.uint64(20)) % many)
        drawn[move, 2] = 1 - int((random >> np.uint64(45)) % np.uint64(2))
    return drawn


@compiled
def in_turn(weight: FloatArray, duration: IntArray, need: IntArray, promised: IntArray, starts: IntArray) -> None:
    """Of jobs that differ in nothing, let the first start first, where the other keeps its promise."""
    for job in range(len(starts)):
        for other in range(job + 1, len(starts)):
            later = starts[job] > starts[other] >= 0 and weight[job] == weight[other]
            if not later or duration[job] != duration[other]:
                continue
            kept = promised[other] < 0 or starts[job] <= promised[other]
            if kept and (need[job] == need[other]).all():
                starts[job], starts[other] = starts[other], starts[job]
