"""The two other ways to decide who gives way that the eviction paper compares: greedy and backtracking."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...base import IntArray
from ..compiled import compiled
from .loss_table import LOW_BITS, LOW_MASK, ByteArray
from .running_jobs import (
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
    too_many,
)

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
        return infeasible(deadline, too_many(nodes_needed, total))
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
        return Search(infeasible(deadline, too_many(nodes_needed, total)), 0, True)
    losses, _ = integers([job.loss for job in jobs])
    if sum(losses) >= 1 << (2 * LOW_BITS - 1):
        raise ValueError("search: losses must have a common unit of which they are fewer than 2**123 in sum")
    time = np.full((len(jobs), len(_CHOICES)), steps + 1, dtype=np.int64)
    for place, job in enumerate(jobs):
        for choice, action in enumerate(_CHOICES):
            needed = 0 if action is None else clock.needed(job, action)
            time[place, choice] = steps + 1 if needed is None else min(needed, steps + 1)
    nodes = np.array([job.nodes for job in jobs], dtype=np.int64)
    high = np.array([loss >> LOW_BITS for loss in losses], dtype=np.int64)
    low = np.array([loss & LOW_MASK for loss in losses], dtype=np.int64)
    best, visited, complete = _search(nodes, high, low, time, nodes_needed, steps, by_nodes, limit)
    actions = {job.id: action for job, choice in zip(jobs, best.tolist(), strict=True) if (action := _CHOICES[choice])}
    return Search(decided(jobs, actions, clock, deadline), visited, complete)


def _arguments(jobs: Sequence[RunningJob], nodes_needed: int, deadline: float, step: float) -> tuple[int, Clock, int]:
    """Return the nodes, the clock and the deadline in steps, or raise."""
    clock = Clock(step)
    deadline = number("plan", "deadline", deadline)
    return checked(jobs, nodes_needed), clock, clock.down(deadline)


@compiled
def _search(
    nodes: IntArray, high: IntArray, low: IntArray, time: IntArray, needed: int, steps: int, by_nodes: bool, limit: int
) -> tuple[ByteArray, int, bool]:
    """Return the best choices, depth first, how many partial ones there were, and whether none was left out.

    It begins with the choice to kill all, which frees the nodes in any time.
    """
    jobs = len(nodes)
    left = np.zeros(jobs + 1, dtype=np.int64)
    for job in range(jobs - 1, -1, -1):
        left[job] = left[job + 1] + nodes[job]
    best, choice = np.full(jobs, 1, dtype=np.uint8), np.full(jobs + 1, -1, dtype=np.int64)
    freed, used = np.zeros(jobs + 1, dtype=np.int64), np.zeros(jobs + 1, dtype=np.int64)
    loss_high, loss_low = np.zeros(jobs + 1, dtype=np.int64), np.zeros(jobs + 1, dtype=np.int64)
    best_high, best_low, best_used = np.int64(1) << 62, np.int64(0), np.int64(0)
    job, visited = 0, 0
    while job >= 0 and visited < limit:
        if freed[job] >= needed:
            better = loss_high[job] < best_high or (loss_high[job] == best_high and loss_low[job] < best_low)
            same = loss_high[job] == best_high and loss_low[job] == best_low
            if better or (same and used[job] < best_used):
                best_high, best_low, best_used = loss_high[job], loss_low[job], used[job]
                for before in range(jobs):
                    best[before] = choice[before] if before < job else 0
            job -= 1
            continue
        if job == jobs:
            job -= 1
            continue
        choice[job] += 1
        made = choice[job]
        if made == time.shape[1]:
            choice[job] = -1
            job -= 1
            continue
        visited += 1
        killed = made == 1
        used[job + 1] = used[job] + time[job, made]
        freed[job + 1] = freed[job] + (nodes[job] if made else 0)
        sum_low = loss_low[job] + (low[job] if killed else 0)
        loss_high[job + 1] = loss_high[job] + (high[job] if killed else 0) + (sum_low >> LOW_BITS)
        loss_low[job + 1] = sum_low & LOW_MASK
        late = used[job + 1] > steps
        short = by_nodes and freed[job + 1] + left[job + 1] < needed
        worse = loss_high[job + 1] > best_high or (
            loss_high[job + 1] == best_high
            and (loss_low[job + 1] > best_low or (loss_low[job + 1] == best_low and used[job + 1] >= best_used))
        )
        if not (late or short or worse):
            job += 1
            choice[job] = -1
    return best, visited, job < 0
