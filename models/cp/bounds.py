"""What a schedule costs at least, from a linear program over intervals of time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy
from numpy.typing import NDArray

from ...base import IntArray
from ..scheduling.problem import Problem
from .cuts import Cut


def linear_bound(problem: Problem, cuts: Sequence[Cut], earliest: IntArray, edges: IntArray) -> int:
    """Return a cost that no schedule which meets all cuts goes below.

    Each job starts in an interval of time, or in parts in several; it costs what the begin of the interval costs, and
    of each interval it takes the least that a start there can take. A time-indexed relaxation (Dyer and Wolsey,
    Discrete Applied Mathematics 26, 1990) with intervals for times.

    Parameters
    ----------
    cuts
        Inequalities that count.
    earliest
        A time before which each job cannot start, shape (jobs,).
    edges
        Begins of the intervals, rising from 0; the last one has no end.
    """
    alone = int((problem.weight * np.maximum(earliest - problem.due, 0)).sum())
    jobs, intervals = problem.jobs, len(edges)
    begin = np.maximum(edges[None], earliest[:, None])
    last = np.append(edges[1:] - 1, np.iinfo(np.int64).max)
    allowed = last[None] >= earliest[:, None]
    job, at = np.nonzero(allowed)
    cost = (problem.weight[:, None] * np.maximum(begin - problem.due[:, None], 0))[job, at]
    taken = np.stack([_least_taken(problem, edges, begin, last, where)[job, at] for where in range(intervals - 1)])
    loads, room = _loads(problem, cuts, edges, job, taken)
    if not len(room):
        return alone
    once = scipy.sparse.coo_array((np.ones(len(job)), (job, np.arange(len(job)))), shape=(jobs, len(job))).tocsr()
    scale = max(1.0, float(cost.max(initial=0)))
    found = scipy.optimize.linprog(  # type: ignore[call-overload]  # sparse matrices are documented
        cost / scale, A_ub=loads, b_ub=room, A_eq=once, b_eq=np.ones(jobs), method="highs"
    )
    if found.status != 0:
        return alone
    # Weak duality: whatever multipliers the solver returns, what follows is a bound.
    price = -np.minimum(np.asarray(found.ineqlin.marginals), 0)
    least = np.full(jobs, np.inf)
    np.minimum.at(least, job, cost / scale + loads.T @ price)
    bound = (float(least.sum()) - float(price @ room)) * scale
    return max(alone, int(np.ceil(bound - 1e-6 - 1e-9 * abs(bound))))


def _loads(
    problem: Problem, cuts: Sequence[Cut], edges: IntArray, job: IntArray, taken: NDArray[np.float64]
) -> tuple[scipy.sparse.csr_array, NDArray[np.float64]]:
    """Return what a start takes of each cut and interval that can be too little, and how much there is."""
    rows: list[NDArray[np.float64]] = []
    room: list[float] = []
    for cut in cuts:
        levels = _mean_levels(problem, cut, edges)
        for where in np.flatnonzero(levels < cut.demand.sum()).tolist():
            rows.append(cut.demand[job] * taken[where])
            room.append(float(levels[where]))
    return scipy.sparse.coo_array(np.array(rows).reshape(-1, len(job))).tocsr(), np.array(room)


def time_edges(starts: IntArray, durations: IntArray, most: int) -> IntArray:
    """Return begins of intervals, so many at most, such that starts and ends of a schedule are spread over them."""
    times = np.sort(np.concatenate((starts, starts + durations)))
    chosen = times[np.linspace(0, len(times) - 1, most - 2).astype(np.int64)] if len(times) else times
    return np.unique(np.concatenate((np.array([0, 1]), chosen)))


def _least_taken(problem: Problem, edges: IntArray, begin: IntArray, last: IntArray, where: int) -> NDArray[np.float64]:
    """Return the part of an interval that each job runs at least, if it starts in each, shape (jobs, intervals)."""
    length = edges[where + 1] - edges[where]
    least = np.full(begin.shape, length)
    for start in (begin, np.broadcast_to(np.minimum(last, edges[-1]), begin.shape)):
        end = start + problem.duration[:, None]
        runs = np.minimum(end, edges[where + 1]) - np.maximum(start, edges[where])
        least = np.minimum(least, np.maximum(runs, 0))
    taken: NDArray[np.float64] = least / length
    return taken


def _mean_levels(problem: Problem, cut: Cut, edges: IntArray) -> NDArray[np.float64]:
    """Return the mean level of a cut in each interval but the last."""
    times = problem.classes.times.astype(np.float64)
    until = np.append(times[1:], np.inf)
    runs = np.minimum(until[None], edges[1:, None]) - np.maximum(times[None], edges[:-1, None])
    levels: NDArray[np.float64] = np.maximum(runs, 0) @ cut.level.astype(np.float64) / np.diff(edges)
    return levels
