"""Lists of jobs that can run in several modes, of which each takes one: a row of the problem for each mode.

Where the rows are fixed, a list of rows is decoded as one of jobs (serial schedule generation, see
:mod:`.list_schedules`); here is what chooses the rows of a list (for several modes: Kolisch and Drexl, IIE Transactions
29, 1997).
"""

from __future__ import annotations

import numpy as np

from ...base import FloatArray, IntArray
from ..compiled import compiled
from .pool_search import BEST, DUE, FIRST, LATEST, MODES, PoolSearch, earliest_steps, hold_steps, release_promise
from .problem import Problem
from .selection import by_falling_weight

#: What a move of the local search does: a job goes elsewhere, two change places, or a job gets another mode.
KINDS_OF_MOVES = 3


def mode_orders(problem: Problem, search: PoolSearch) -> list[IntArray]:
    """Return lists worth trying, each a row of every job, shape (jobs,).

    Five orders of the jobs, see :func:`falling_orders`. The modes are the first ones, those of least work, and those
    that come out if each job in its turn takes the mode in which it ends first, or the one for which its end and its
    work together cost least, where the work delays all jobs that come after it.

    Parameters
    ----------
    problem
        Jobs with modes, on a pool.
    search
        What is held.
    """
    work = problem.share * problem.duration
    orders = falling_orders(problem, problem.first_rows)
    least = np.lexsort((work, problem.mode_of))[problem.first_rows]
    chosen = np.empty((2 * len(orders), len(least)), dtype=np.int64)
    for place, order in enumerate(orders):
        behind = np.cumsum(problem.weight[order][::-1])[::-1] - problem.weight[order]
        for turn, price in enumerate((np.zeros(len(order)), behind.astype(np.float64))):
            choose_rows(search, order, price, work, chosen[2 * place + turn])
    return [*orders, *falling_orders(problem, least), *chosen]


def falling_orders(problem: Problem, rows: IntArray) -> list[IntArray]:
    """Return rows of the jobs as they come, then by falling weight, see :func:`.by_falling_weight`."""
    falling = np.empty((4, len(rows)), dtype=np.int64)
    by_falling_weight(problem.weight[rows].astype(np.float64), problem.duration[rows], problem.share[rows], falling)
    return [rows, *rows[falling]]


@compiled
def choose_rows(search: PoolSearch, order: IntArray, price: FloatArray, work: FloatArray, rows: IntArray) -> None:
    """Fill `rows` with a mode of each job of a list.

    Each job starts as early as it fits, in the mode for which ``weight * max(0, start - due) + price * work`` is least,
    ties to less work, then to the first.

    Parameters
    ----------
    search
        What is held, and the modes.
    order
        A row of each job, in turn.
    price
        Of the work at each turn, shape (jobs,).
    work
        Of each row.
    rows
        To be filled, shape (jobs,).
    """
    count = search.counts[BEST, 0, 0]
    for row in range(len(search.profile)):
        for step in range(count):
            search.profile[row, step] = search.kept[BEST, 0, row, step]
    for turn in range(len(order)):
        first = search.jobs[order[turn], FIRST]
        best, least, where, until = -1, np.inf, 0, 0
        release_promise(search.jobs, first, search.profile, count)
        for row in range(first, first + search.jobs[first, MODES]):
            step, last = earliest_steps(search.jobs, row, search.profile, count, 0)
            if step == count or search.profile[0, step] > search.jobs[row, LATEST]:
                continue
            late = max(search.profile[0, step] - search.jobs[row, DUE], 0)
            cost = search.weight[row] * late + price[turn] * work[row]
            if best < 0 or cost < least or (cost == least and work[row] < work[best]):
                best, least, where, until = row, cost, step, last
        rows[turn] = best if best >= 0 else order[turn]
        if best >= 0:
            count = hold_steps(search.jobs, best, search.profile, count, where, until)
