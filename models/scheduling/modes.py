"""Lists of jobs with several modes: each mode is a row of the problem, and a list has one row per job.

A list of rows is decoded like a list of jobs, see :mod:`.list_schedules`. This module chooses the rows (Kolisch and
Drexl, IIE Transactions 29, 1997).
"""

import numpy as np

from ...base import FloatArray, IntArray
from ..compiled import borrowing
from .pool_search import PoolSearch, best_in, earliest_steps, hold_steps, release_promise
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


@borrowing
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
    best, jobs, need, profile = best_in(search), search.jobs, search.need, search.profile
    count = best.steps[0]
    for row in range(len(profile)):
        for step in range(count):
            profile[row, step] = best.profiles[0, row, step]
    for turn in range(len(order)):
        first = jobs[order[turn]].first
        chosen = -1
        least = np.inf
        where = 0
        until = 0
        release_promise(jobs, need, first, profile, count)
        for row in range(first, first + jobs[first].modes):
            step, last = earliest_steps(jobs, need, row, profile, count, 0)
            if step == count or profile[0, step] > jobs[row].latest:
                continue
            late = max(profile[0, step] - jobs[row].due, 0)
            cost = search.weight[row] * late + price[turn] * work[row]
            if chosen < 0 or cost < least or (cost == least and work[row] < work[chosen]):
                chosen = row
                least = cost
                where = step
                until = last
        rows[turn] = chosen if chosen >= 0 else order[turn]
        if chosen >= 0:
            count = hold_steps(jobs, need, chosen, profile, count, where, until)
