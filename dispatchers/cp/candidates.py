"""Choose candidate jobs: the most urgent jobs that fit now, and a few urgent ones that do not."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ...base import BoolArray, IntArray
from ...models import fitting as fitting_in
from ..fitting import amounts_of
from ..fitting import fitting as fitting_on
from ..moldable.job_modes import JobModes, modes_that_fit
from ..protocol import Placement, State, Waiting
from ..space import Space
from .cp_options import Filter
from .site_objectives import Goal

#: Jobs that start now, with their placement if it is decided.
Chosen = list[tuple[Waiting, Placement | None]]


class CandidateJobs(NamedTuple):
    """Jobs that may get a start time.

    Attributes
    ----------
    fitting
        Jobs that each fit now, by priority.
    blocked
        Planned jobs that do not fit now, by priority.
    """

    fitting: list[Waiting]
    blocked: list[Waiting]


def most_urgent(state: State, goal: Goal, places: IntArray, count: int) -> list[Waiting]:
    """Return the first `count` jobs by priority of those at `places` in the queue.

    Ties go by demand times duration, then by submission.
    """
    if not len(places) or not count:
        return []
    queue = state.queue
    urgency = goal.priorities(queue, places, state.now)
    if count < len(places):
        chosen = urgency >= np.partition(urgency, len(places) - count)[len(places) - count]
        places = places[chosen]
        urgency = urgency[chosen]
    share = (queue.demand[places] / np.maximum(state.machine.capacity.sum(axis=0), 1)).sum(axis=1)
    order = np.lexsort((share * queue.nodes[places] * queue.predicted[places], -urgency))
    return [queue[place] for place in places[order[:count]].tolist()]


def candidates_of(
    state: State, space: Space, goal: Goal, filtered: Filter, most: int, blocked: int, allowed: BoolArray | None = None
) -> CandidateJobs:
    """Return the first `most` jobs by priority that fit now, and the first `blocked` of the others.

    Filtering comes first. Otherwise, jobs behind urgent blocked ones would have to wait for these. If `allowed` is
    given, shape (jobs,), only allowed jobs count as fitting.
    """
    fits = fitting(state, space, filtered)
    if allowed is not None:
        fits &= allowed
    chosen = most_urgent(state, goal, np.flatnonzero(fits), most)
    return CandidateJobs(chosen, most_urgent(state, goal, np.flatnonzero(~fits), blocked) if chosen else [])


def fitting(state: State, space: Space, filtered: Filter) -> BoolArray:
    """Return which waiting jobs each fit now, shape (jobs,): on the nodes, or on the pool of all nodes."""
    need = amounts_of(state.queue)
    if filtered == "nodes":
        return fitting_on(state, need, space)[0]
    return fitting_in(need, np.array(space.totals, dtype=np.int64))[0]


def moldable_candidates(
    state: State,
    space: Space,
    modes: JobModes,
    goal: Goal,
    filtered: Filter,
    most: int,
    allows: Callable[[Sequence[Waiting]], BoolArray] | None = None,
) -> CandidateJobs:
    """Return the first `most` jobs by priority that fit now in some mode, and no blocked jobs.

    If `allows` is given, only modes that it allows fit.
    """
    each = modes.of_queue(state)
    if not each:
        return CandidateJobs([], [])
    rows = [mode.waiting for job in each for mode in job]
    fits = modes_that_fit(state, space, rows, pooled=filtered == "pool")
    if allows is not None:
        fits &= allows(rows)
    some = np.logical_or.reduceat(fits, np.cumsum([0, *map(len, each[:-1])]))
    return CandidateJobs(most_urgent(state, goal, np.flatnonzero(some), most), [])
