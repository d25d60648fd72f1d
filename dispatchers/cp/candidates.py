"""Who may get a start time: what fits now, the most urgent of it, and of what does not fit the most urgent few."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...base import BoolArray, IntArray
from ...models import fitting as fitting_in
from ...workloads import Machine
from ..fitting import fitting as fitting_on
from ..fitting import needs
from ..moldable.job_modes import JobModes, modes_that_fit
from ..protocol import Placement, State, Waiting
from ..space import NodeSpace, PoolSpace, Space, place_all
from .cp_options import Filter, Formulation
from .site_objectives import Goal

#: Who starts now, and where if that is decided.
Chosen = list[tuple[Waiting, Placement | None]]


class Candidates(NamedTuple):
    """Who may get a start time.

    Attributes
    ----------
    fitting
        Who fits now, each by itself, in order of priority.
    blocked
        Who does not and is planned all the same, in order of priority.
    """

    fitting: list[Waiting]
    blocked: list[Waiting]


def most_urgent(state: State, goal: Goal, places: IntArray, count: int) -> list[Waiting]:
    """Return the first jobs by priority of those at `places` in the queue.

    Ties by demand times duration, then by submission.
    """
    if not len(places) or not count:
        return []
    queue = state.queue
    urgency = goal.priorities(queue, places, state.now)
    if count < len(places):
        chosen = urgency >= np.partition(urgency, len(places) - count)[len(places) - count]
        places, urgency = places[chosen], urgency[chosen]
    share = (queue.demand[places] / np.maximum(state.machine.capacity.sum(axis=0), 1)).sum(axis=1)
    order = np.lexsort((share * queue.nodes[places] * queue.predicted[places], -urgency))
    return [queue[place] for place in places[order[:count]].tolist()]


def candidates_of(
    state: State,
    space: PoolSpace | NodeSpace,
    goal: Goal,
    filtered: Filter,
    most: int,
    blocked: int,
    allowed: BoolArray | None = None,
) -> Candidates:
    """Return the first `most` jobs by priority of those that fit now, and the first `blocked` of the others.

    In this order: the first jobs by priority, of which then those that fit, would let what stands behind blocked jobs
    wait for them. With `allowed`, shape (jobs,), only jobs that may start now count as such that fit.
    """
    fits = fitting(state, space, filtered)
    if allowed is not None:
        fits &= allowed
    chosen = most_urgent(state, goal, np.flatnonzero(fits), most)
    return Candidates(chosen, most_urgent(state, goal, np.flatnonzero(~fits), blocked) if chosen else [])


def fitting(state: State, space: PoolSpace | NodeSpace, filtered: Filter) -> BoolArray:
    """Return which waiting jobs fit now, each by itself, shape (jobs,): on the nodes, or where all nodes are one."""
    need = needs(state.queue)
    if filtered == "nodes":
        return fitting_on(state, need, space)[0]
    return fitting_in(need, np.array(space.totals, dtype=np.int64))[0]


def all_together(space: Space, candidates: list[Waiting], formulation: Formulation) -> Chosen | None:
    """Return all candidates, if they can start together; that is the best there can be."""
    if len(candidates) == 1:
        return [(candidates[0], None)]
    for resource, free in enumerate(space.totals):
        if sum(entry.nodes * entry.demand[resource] for entry in candidates) > free:
            return None
    if formulation == "hcp" or isinstance(space, PoolSpace):
        return [(entry, None) for entry in candidates]
    placed = place_all(space, candidates)
    if placed is None:
        return None
    for entry, placement in zip(candidates, placed, strict=True):
        space.give(placement, entry.demand)
    return list(zip(candidates, placed, strict=True))


def moldable_candidates(
    state: State, space: PoolSpace | NodeSpace, modes: JobModes, goal: Goal, filtered: Filter, most: int
) -> Candidates:
    """Return the first `most` jobs by priority of those that fit now in some mode; nobody else."""
    each = modes.of_queue(state)
    if not each:
        return Candidates([], [])
    rows = [mode.waiting for job in each for mode in job]
    fits = modes_that_fit(state, space, rows, pooled=filtered == "pool")
    some = np.logical_or.reduceat(fits, np.cumsum([0, *map(len, each[:-1])]))
    return Candidates(most_urgent(state, goal, np.flatnonzero(some), most), [])


def all_fastest(space: Space, modes: JobModes, jobs: Sequence[Waiting], machine: Machine) -> Chosen | None:
    """Return all jobs in their fastest modes if the sums leave room for them together: the best there can be."""
    fastest = [modes.fastest(job, machine) for job in jobs]
    for resource, free in enumerate(space.totals):
        if sum(entry.nodes * entry.demand[resource] for entry in fastest) > free:
            return None
    return [(entry, None) for entry in fastest]
