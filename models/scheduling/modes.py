"""Lists of jobs with several modes: each mode is a row of the problem, and a list has one row per job.

A list of rows is decoded like a list of jobs, see :mod:`.list_schedules`. This module chooses the rows (Kolisch and
Drexl, IIE Transactions 29, 1997).
"""

import numpy as np

from ...base import FloatArray, IntArray
from ..compiled import compiled
from .pool_search import BEST, DUE, FIRST, LATEST, MODES, PoolSearch, earliest_steps, hold_steps, release_promise
from .problem import Problem
from .selection import by_falling_weight

#: Kinds of local-search moves: move a job, swap two jobs, or change a mode.
KINDS_OF_MOVES = 3


def mode_orders(problem: Problem, search: PoolSearch) -> list[IntArray]:
    """Return candidate lists, each with one row per job, shape (jobs,).

    There are five orders of the jobs, see :func:`falling_orders`. Each is combined with four choices of modes:

    * The first mode.
    * The mode of least work. Work is share of the machine times duration.
    * Per job in turn, the mode that ends first.
    * Per job in turn, the mode of least cost of its end plus its work. The work delays all later jobs.

    Parameters
    ----------
    problem
        Jobs with modes, on a pool.
    search
        Occupied amounts.
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
    """Return the rows as given, then by falling weight, see :func:`.by_falling_weight`."""
    falling = np.empty((4, len(rows)), dtype=np.int64)
    by_falling_weight(problem.weight[rows].astype(np.float64), problem.duration[rows], problem.share[rows], falling)
    return [rows, *rows[falling]]


@compiled
def choose_rows(search: PoolSearch, order: IntArray, price: FloatArray, work: FloatArray, rows: IntArray) -> None:
    """Fill `rows` with one mode per job of a list.

    Each job starts at its earliest fit. Its mode has the least ``weight * max(0, start - due) + price * work``. Ties go
    to less work, then to the first mode.

    Parameters
    ----------
    search
        Occupied amounts and modes.
    order
        One row per job, in turn.
    price
        Price of work at each turn, shape (jobs,).
    work
        Work of each row.
    rows
        Output, shape (jobs,).
    """
    count = search.counts[BEST, 0, 0]
    for row in range(len(search.profile)):
        for step in range(count):
            search.profile[row, step] = search.kept[BEST, 0, row, step]
    for turn in range(len(order)):
        first = search.jobs[order[turn], FIRST]
        best = -1
        least = np.inf
        where = 0
        until = 0
        release_promise(search.jobs, first, search.profile, count)
        for row in range(first, first + search.jobs[first, MODES]):
            step, last = earliest_steps(search.jobs, row, search.profile, count, 0)
            if step == count or search.profile[0, step] > search.jobs[row, LATEST]:
                continue
            late = max(search.profile[0, step] - search.jobs[row, DUE], 0)
            cost = search.weight[row] * late + price[turn] * work[row]
            if best < 0 or cost < least or (cost == least and work[row] < work[best]):
                best = row
                least = cost
                where = step
                until = last
        rows[turn] = best if best >= 0 else order[turn]
        if best >= 0:
            count = hold_steps(search.jobs, best, search.profile, count, where, until)
