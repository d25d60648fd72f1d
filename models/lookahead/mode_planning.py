"""Look-ahead plan of jobs with several modes: each job gets one mode, and its end counts."""

from typing import NamedTuple

import numpy as np

from ...base import BoolArray, FloatArray, IntArray
from ..compiled import compiled
from ..scheduling.modes import choose_rows
from ..scheduling.node_groups import no_instant
from ..scheduling.pool_search import BEST, REMODED, PoolSearch, limit_promised, open_search, search_orders
from ..scheduling.selection import by_falling_weight, copy_range, stable_order
from .guarantees import Queue, Running, Settings, Walltimes, keep_guarantees
from .planning import candidates, guaranteed_starts, moves, shares, weights

#: Every `_EVERY`-th move of the local search changes a mode.
_EVERY = 3


class Modes(NamedTuple):
    """Modes of the waiting jobs, those of a job adjacent.

    Attributes
    ----------
    first
        First row of each job, and number of rows. Shape (jobs + 1,).
    duration, need, fits
        As in :class:`.Queue`, by row.
    """

    first: IntArray
    duration: IntArray
    need: IntArray
    fits: BoolArray


class ModePlan(NamedTuple):
    """Result of a plan.

    Attributes
    ----------
    start
        Rows to start now: guaranteed ones first, then by weight.
    candidates, guarantees
        Number of planned jobs, and of jobs with a guaranteed start.
    objective
        Sum of weight times end, seconds from now.
    searched
        Whether the local search improved on every list.
    overdue
        Position of the oldest overdue job that cannot start now in its first mode. -1 if none.
    """

    start: IntArray
    candidates: int
    guarantees: int
    objective: float
    searched: bool
    overdue: int


@compiled
def plan_modes(wait: IntArray, modes: Modes, running: Running, settings: Settings) -> ModePlan:
    """Plan the queue. Return the jobs that start now, and their modes.

    As :func:`.plan` does. Guarantees are for the first modes. A job with a guaranteed start may use another mode only
    if it ends no later. The weight is that of the fastest mode.

    Parameters
    ----------
    wait
        Seconds waited so far, oldest first, shape (jobs,).
    """
    fastest, fits = _by_job(modes)
    first = modes.first[:-1]
    weight = weights(wait, fastest, settings.age_scale)
    none = modes.first[:0]
    queue = Queue(wait, modes.duration[first], modes.need[first], modes.fits[first])
    guarantees = keep_guarantees(queue, running, settings, Walltimes(none, none, none))
    jobs = candidates(fits, weight, guarantees.start, settings.blocked)
    rows, mode_of = _rows_of(jobs, modes.first)
    duration = modes.duration[rows]
    need = modes.need[rows]
    guaranteed = guaranteed_starts(jobs, guarantees.start)[mode_of]
    weight = weight[jobs][mode_of]
    search = open_search(
        weight, -duration, duration, need, guaranteed, guarantees.free, mode_of, none, no_instant(), none, none
    )
    limit_promised(search)
    orders = _orders(mode_of, weight, duration, shares(need, running.capacity), search)
    changes = moves(len(jobs), settings.iterations)
    for move in range(0, len(changes), _EVERY):
        changes[move, 2] = REMODED
    _, listed = search_orders(search, orders, changes)
    cost = search.cost[0]
    starting = search.order[BEST][search.starts[BEST] == 0]
    begin = np.empty(len(starting), dtype=np.int64)
    count = 0
    order = stable_order(starting)
    for turn in range(2):
        for row in starting[order]:
            if modes.fits[rows[row]] and (guaranteed[row] == 0) == (turn == 0):
                begin[count] = rows[row]
                count += 1
    return ModePlan(begin[:count], len(jobs), (guarantees.start >= 0).sum(), cost, cost < listed, guarantees.overdue)


@compiled
def _by_job(modes: Modes) -> tuple[IntArray, BoolArray]:
    """Return the shortest duration of each job, and whether it fits now in some mode."""
    count = len(modes.first) - 1
    fastest = np.empty(count, dtype=np.int64)
    fits = np.zeros(count, dtype=np.bool_)
    for job in range(count):
        begin = modes.first[job]
        end = modes.first[job + 1]
        fastest[job] = modes.duration[begin:end].min()
        fits[job] = modes.fits[begin:end].any()
    return fastest, fits


@compiled
def _rows_of(jobs: IntArray, first: IntArray) -> tuple[IntArray, IntArray]:
    """Return the rows of some jobs, and the job of each row."""
    many = 0
    for job in jobs:
        many += first[job + 1] - first[job]
    rows = np.empty(many, dtype=np.int64)
    mode_of = np.empty(many, dtype=np.int64)
    many = 0
    for place in range(len(jobs)):
        for row in range(first[jobs[place]], first[jobs[place] + 1]):
            rows[many], mode_of[many] = row, place
            many += 1
    return rows, mode_of


@compiled
def _orders(
    mode_of: IntArray, weight: FloatArray, duration: IntArray, share: FloatArray, search: PoolSearch
) -> IntArray:
    """Return candidate lists of one row per job, first modes first. See :func:`.mode_orders`."""
    own = np.empty(mode_of[-1] + 1 if len(mode_of) else 0, dtype=np.int64)
    for row in range(len(mode_of) - 1, -1, -1):
        own[mode_of[row]] = row
    work = share * duration
    free = np.zeros(len(own))
    least = own.copy()
    for row in range(len(mode_of)):
        if work[row] < work[least[mode_of[row]]]:
            least[mode_of[row]] = row
    orders = np.empty((20, len(own)), dtype=np.int64)
    falling = np.empty((4, len(own)), dtype=np.int64)
    for turn in range(2):
        given = least if turn else own
        by_falling_weight(weight[given], duration[given], share[given], falling)
        for place in range(5):
            copy_range(given[falling[place]] if place < 4 else given, orders[5 * turn + place], 0, len(own))
    for place in range(5):
        order = orders[place].copy()
        choose_rows(search, order, free, work, orders[10 + place])
        choose_rows(search, order, weight[order].sum() - np.cumsum(weight[order]), work, orders[15 + place])
    return orders
