"""The two other ways to decide who gives way that the eviction paper compares: greedy and backtracking."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...base import IntArray
from ..compiled import compiled
from .evictable import (
    Action,
    Clock,
    Eviction,
    RunningJob,
    checked,
    decided,
    exact,
    infeasible,
    integers,
    number,
    quickest,
)
from .loss_table import LOW_BITS, LOW_MASK, ByteArray

#: What a job may do in a search, in the order in which it is tried: 0 stays.
_CHOICES: tuple[Action | None, ...] = (None, "kill", "system", "application")


def greedy(jobs: Sequence[RunningJob], nodes_needed: int, deadline: float, step: float = 1) -> Eviction:
    """Checkpoint the dearest jobs while there is time, then kill the cheapest; section IV.C.1 of the paper.

    In falling order of loss each job gets its quickest checkpoint, until the nodes are free or the next checkpoint
    would be late. Then the jobs that are left are killed from the end, until the nodes are free.

    Parameters and errors are those of :func:`hpcdispatch.models.eviction.plan`.
    """
    nodes_needed, clock, limit = _arguments(jobs, nodes_needed, deadline, step)
    total = sum(job.nodes for job in jobs)
    if nodes_needed > total:
        return infeasible(deadline, nodes_needed, total)
    actions: dict[str, Action] = {}
    order = sorted(jobs, key=lambda job: -exact(job.loss))
    freed, used = 0, 0
    for job in order:
        save = quickest(job, clock)
        if freed >= nodes_needed or save is None or used + save[1] > limit:
            break
        actions[job.id] = save[0]
        freed, used = freed + job.nodes, used + save[1]
    for job in reversed(order):
        if freed >= nodes_needed:
            break
        if job.id not in actions:
            actions[job.id] = "kill"
            freed += job.nodes
    return decided(jobs, actions, clock, deadline)


def backtracking(jobs: Sequence[RunningJob], nodes_needed: int, deadline: float, step: float = 1) -> Eviction:
    """Try every choice of every job, but for what cannot be better than the best so far; section IV.C.2.

    The result is that of :func:`hpcdispatch.models.eviction.plan`, in loss and total time of checkpoints; the time it
    takes grows exponentially with the jobs. Parameters and errors are the same.
    """
    return search(jobs, nodes_needed, deadline, step).eviction


class Search(NamedTuple):
    """What a search found.

    Attributes
    ----------
    eviction
        The best decision.
    visited
        How many partial decisions were looked at.
    complete
        Whether that was all there is.
    """

    eviction: Eviction
    visited: int
    complete: bool


def search(
    jobs: Sequence[RunningJob],
    nodes_needed: int,
    deadline: float,
    step: float = 1,
    *,
    by_nodes: bool = True,
    limit: int = 1 << 62,
) -> Search:
    """Search as :func:`backtracking` does, and count.

    Parameters
    ----------
    jobs, nodes_needed, deadline, step
        As there.
    by_nodes
        Whether to abandon also what can no longer free the nodes. The paper's search abandons by loss alone.
    limit
        How many partial decisions are looked at, at most.

    Raises
    ------
    ValueError
        As there, or if the losses have no common unit of which they are fewer than 2**123 in sum.
    """
    nodes_needed, clock, steps = _arguments(jobs, nodes_needed, deadline, step)
    total = sum(job.nodes for job in jobs)
    if nodes_needed > total:
        return Search(infeasible(deadline, nodes_needed, total), 0, True)
    losses, _ = integers([job.loss for job in jobs], "search", 2 * LOW_BITS - 1)
    needed = [[0 if action is None else clock.needed(job, action) for action in _CHOICES] for job in jobs]
    time = [[steps + 1 if taken is None else min(taken, steps + 1) for taken in row] for row in needed]
    rows = [(job.nodes, loss >> LOW_BITS, loss & LOW_MASK) for job, loss in zip(jobs, losses, strict=True)]
    best, visited, complete = _search(
        np.array(rows, dtype=np.int64).reshape(-1, 3),
        np.array(time, dtype=np.int64).reshape(-1, len(_CHOICES)),
        nodes_needed,
        steps,
        by_nodes,
        limit,
    )
    actions = {job.id: action for job, choice in zip(jobs, best.tolist(), strict=True) if (action := _CHOICES[choice])}
    return Search(decided(jobs, actions, clock, deadline), visited, complete)


def _arguments(jobs: Sequence[RunningJob], nodes_needed: int, deadline: float, step: float) -> tuple[int, Clock, int]:
    """Return the nodes, the clock and the deadline in steps, or raise."""
    clock = Clock(step)
    deadline = number("plan", "deadline", deadline)
    return checked(jobs, nodes_needed), clock, clock.down(deadline)


@compiled
def _search(
    rows: IntArray, time: IntArray, needed: int, steps: int, by_nodes: bool, limit: int
) -> tuple[ByteArray, int, bool]:
    """Return the best choices, depth first, how many partial ones there were, and whether none was left out.

    A row has the nodes of a job and the halves of its loss. It begins with the choice to kill all, which frees the
    nodes in any time.
    """
    jobs = len(rows)
    left = np.append(np.cumsum(rows[::-1, 0])[::-1], 0)
    best, choice = np.full(jobs, 1, dtype=np.uint8), np.full(jobs + 1, -1, dtype=np.int64)
    freed, costs = np.zeros(jobs + 1, dtype=np.int64), np.zeros((jobs + 1, 3), dtype=np.int64)
    bound = np.array([1 << 62, 0, 0])
    job, visited = 0, 0
    while job >= 0 and visited < limit:
        enough = freed[job] >= needed
        if enough and _less(costs, job, bound):
            bound[:] = costs[job]
            best[:job], best[job:] = choice[:job], 0
        if enough or job == jobs or choice[job] + 1 == time.shape[1]:
            job -= 1
            continue
        choice[job] += 1
        visited += 1
        made = choice[job]
        freed[job + 1] = freed[job] + (rows[job, 0] if made else 0)
        low = costs[job, 1] + (rows[job, 2] if made == 1 else 0)
        costs[job + 1, 0] = costs[job, 0] + (rows[job, 1] if made == 1 else 0) + (low >> LOW_BITS)
        costs[job + 1, 1] = low & LOW_MASK
        costs[job + 1, 2] = costs[job, 2] + time[job, made]
        short = by_nodes and freed[job + 1] + left[job + 1] < needed
        if costs[job + 1, 2] <= steps and not short and _less(costs, job + 1, bound):
            job += 1
            choice[job] = -1
    return best, visited, job < 0


@compiled
def _less(costs: IntArray, job: int, bound: IntArray) -> bool:
    """Return whether the loss, in halves, and then the time of a partial decision are below the best."""
    for place in range(2):
        if costs[job, place] != bound[place]:
            return bool(costs[job, place] < bound[place])
    return bool(costs[job, 2] < bound[2])
