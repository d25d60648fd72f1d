"""Backtracking over evicted jobs, one of the approaches in the eviction paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hpcdispatch.base import IntArray
from hpcdispatch.models.compiled import compiled
from hpcdispatch.models.eviction.evictable import (
    Action,
    Clock,
    Eviction,
    RunningJob,
    checked,
    cost,
    decided,
    infeasible,
    integers,
    number,
)
from hpcdispatch.models.eviction.loss_table import LOW_BITS, LOW_MASK, ByteArray

#: The choices of a job in a search, in the order of trials. A job with 0 stays.
CHOICES: tuple[Action | None, ...] = (None, "kill", "system", "application", "end")


def backtracking(jobs: Sequence[RunningJob], nodes_needed: int, deadline: float, step: float = 1) -> Eviction:
    """Try every choice of every job, without those that cannot beat the best so far (section IV.C.2).

    The result is that of :func:`hpcdispatch.models.eviction.plan`, in loss and total time of checkpoints. Its own time
    grows exponentially with the jobs. Parameters and errors are the same.
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
        As there. Also if the losses have no common unit in which their sum is below 2**123.
    """
    clock = Clock(step)
    core = SearchCore.of(jobs, nodes_needed, deadline, clock, by_nodes=by_nodes, limit=limit)
    if core.nodes > (total := sum(job.nodes for job in jobs)):
        return Search(infeasible(deadline, core.nodes, total), 0, True)
    best, visited, complete = core.run()
    return Search(decided(jobs, named_actions(jobs, best), clock, deadline), visited, complete)


def named_actions(jobs: Sequence[RunningJob], choices: ByteArray) -> dict[str, Action]:
    """Return what a choice of each job stands for, by id."""
    named = zip(jobs, choices.tolist(), strict=True)
    return {job.id: action for job, choice in named if (action := CHOICES[choice])}


class SearchCore(NamedTuple):
    """What is searched, as arrays: the compiled part of :func:`search` alone.

    Attributes
    ----------
    freed
        Nodes of each job, shape (jobs,).
    high, low
        Losses by job and choice, in halves, shape (jobs, 5). The choices are: stays, killed, system checkpoint,
        application checkpoint, own end.
    time
        Steps of the same; more than `steps` for what cannot be.
    nodes, steps, by_nodes, limit
        As the arguments of :func:`search`, the deadline in steps.
    """

    freed: IntArray
    high: IntArray
    low: IntArray
    time: IntArray
    nodes: int
    steps: int
    by_nodes: bool
    limit: int

    @classmethod
    def of(
        cls,
        jobs: Sequence[RunningJob],
        nodes_needed: int,
        deadline: float,
        clock: Clock,
        *,
        by_nodes: bool = True,
        limit: int = 1 << 62,
    ) -> SearchCore:
        """Return the arrays of some jobs; arguments and errors are those of :func:`search`."""
        steps = clock.down(number("plan", "deadline", deadline))
        exact_costs = [0 if action is None else cost(job, action) for job in jobs for action in CHOICES]
        losses, _ = integers(exact_costs, "search", 2 * LOW_BITS - 1)
        taken = [0 if action is None else clock.in_time(job, action, steps) for job in jobs for action in CHOICES]
        time = [steps + 1 if each is None else each for each in taken]
        halves = [[loss >> LOW_BITS for loss in losses], [loss & LOW_MASK for loss in losses], time]
        high, low, each_time = np.array(halves, dtype=np.int64).reshape(3, -1, len(CHOICES))
        freed = np.array([job.nodes for job in jobs], dtype=np.int64)
        return cls(freed, high, low, each_time, checked(jobs, nodes_needed), steps, by_nodes, limit)

    def run(self) -> tuple[ByteArray, int, bool]:
        """Return the best choice of each job, the number of partial decisions, and whether these were all."""
        best, visited, complete = _search(*self)
        return best, int(visited), bool(complete)


@compiled
def _search(
    nodes: IntArray, high: IntArray, low: IntArray, time: IntArray, needed: int, steps: int, by_nodes: bool, limit: int
) -> tuple[ByteArray, int, bool]:
    """Return the best choices by depth-first search, the number of partial ones, and whether none was left out.

    It begins with the choice to kill all. This frees the nodes in any time.
    """
    jobs = len(nodes)
    left = np.append(np.cumsum(nodes[::-1])[::-1], 0)
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
        freed[job + 1] = freed[job] + (nodes[job] if made else 0)
        lower = costs[job, 1] + low[job, made]
        costs[job + 1, 0] = costs[job, 0] + high[job, made] + (lower >> LOW_BITS)
        costs[job + 1, 1] = lower & LOW_MASK
        costs[job + 1, 2] = costs[job, 2] + time[job, made]
        short = by_nodes and freed[job + 1] + left[job + 1] < needed
        if costs[job + 1, 2] <= steps and not short and _less(costs, job + 1, bound):
            job += 1
            choice[job] = -1
    return best, visited, job < 0


@compiled
def _less(costs: IntArray, job: int, bound: IntArray) -> bool:
    """Return whether a partial decision is below the best: by loss in halves, then by time."""
    for place in range(2):
        if costs[job, place] != bound[place]:
            return bool(costs[job, place] < bound[place])
    return bool(costs[job, 2] < bound[2])
