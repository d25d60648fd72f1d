"""Which jobs start now: that they find places on the nodes, and that others than these do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from ortools.sat.python import cp_model

from ...base import BoolArray, IntArray
from ..scheduling.node_classes import equal_rows
from ..scheduling.placement import slots_of_each
from ..scheduling.problem import Problem
from .allocation import LARGEST_NOW, Allocation, check
from .constraints import Family
from .packing_models import packing_now
from .variables import Variables


@dataclass(frozen=True, eq=False)
class OthersStart(Family):
    """Not exactly these jobs start now: ``some start[j] > 0 for j that does, or start[j] == 0 for j that does not``.

    Attributes
    ----------
    now
        Whether each starts now, shape (jobs,).
    """

    now: BoolArray

    def add_to(self, variables: Variables) -> None:
        """Add a clause."""
        literals = [variables.now(job) for job in range(len(self.now))]
        variables.model.add_bool_or(
            ~literal if starts else literal for literal, starts in zip(literals, self.now.tolist(), strict=True)
        )

    def holds(self, problem: Problem, starts: IntArray) -> bool:
        """Compare."""
        return bool(((starts == 0) != self.now).any())


@dataclass(frozen=True, eq=False)
class PlacesNow(Family):
    """The jobs that start now find places on the nodes: ``sum(slots[j] : start[j] == 0, demand[j] >= d) <= room(d)``.

    For every demand d that a job has, with the slots of d that fit on the nodes. That is necessary; for what is not
    sufficient see `refuse`.

    Attributes
    ----------
    refused
        Jobs that cannot all start now.
    known
        What is known of the places of those that start now, by who does.
    """

    refused: list[tuple[int, ...]] = field(default_factory=list)
    known: dict[bytes, Allocation] = field(default_factory=dict, repr=False)

    def add_to(self, variables: Variables) -> None:
        """Add an inequality for each demand of which more slots are asked for than there are."""
        problem = variables.problem
        if not len(problem.free_now):
            return
        asked = slots_asked(problem)
        for slots, room in zip(asked.slots.T, asked.room.tolist(), strict=True):
            asking = np.flatnonzero(slots)
            if slots.sum() > room:
                literals = [variables.now(job) for job in asking.tolist()]
                variables.model.add(cp_model.LinearExpr.weighted_sum(literals, slots[asking].tolist()) <= room)
        for core in self.refused:
            self._forbid(variables, core)

    def refuse(self, variables: Variables, core: tuple[int, ...]) -> None:
        """Add jobs that cannot all start now."""
        self.refused.append(core)
        self._forbid(variables, core)

    def holds(self, problem: Problem, starts: IntArray) -> bool:
        """Return whether places are found, within a limit."""
        return bool(self.place(problem, starts).possible)

    def place(self, problem: Problem, starts: IntArray) -> Allocation:
        """Place the jobs that start now on the nodes, once for the same jobs; see :func:`place_now`."""
        now = (starts == 0).tobytes()
        if now not in self.known:
            self.known[now] = place_now(problem, starts)
        return self.known[now]

    @staticmethod
    def _forbid(variables: Variables, core: tuple[int, ...]) -> None:
        variables.model.add_bool_or(~variables.now(job) for job in core)


class SlotsAsked(NamedTuple):
    """The demands of jobs, each with who asks for as much.

    Attributes
    ----------
    slots
        The slots of each job that asks for at least a demand, else 0, shape (jobs, demands).
    room
        How many slots of the demand fit on the nodes now, shape (demands,), at most as many on a node as are asked for.
    """

    slots: IntArray
    room: IntArray


def slots_asked(problem: Problem) -> SlotsAsked:
    """Return how many slots of each demand are asked for, and fit now."""
    kinds = problem.demand[equal_rows(problem.demand)[0]] if len(problem.free_now) else problem.demand[:0]
    asking = (problem.demand[:, None] >= kinds[None]).all(axis=2)
    slots, classes = problem.slots[:, None] * asking, problem.classes_now
    return SlotsAsked(slots, slots_of_each(classes.capacity, classes.count, kinds, slots.sum(axis=0)))


def place_now(problem: Problem, starts: IntArray, limit: float = 0.005) -> Allocation:
    """Place the jobs that start now on the nodes, or say which few of them cannot be; numbers are those of the problem.

    Greedily, then exactly within a limit of deterministic time.
    """
    counts = np.zeros((problem.jobs, len(problem.free_now)), dtype=np.int64)
    jobs = np.flatnonzero(starts == 0)
    if not len(jobs) or not len(problem.free_now):
        return Allocation(True, counts)
    packing = packing_now(problem.classes_now, problem.slots[jobs], problem.demand[jobs])
    found = packing.greedy(30)
    if found is not None:
        counts[jobs] = found
        return Allocation(True, counts)
    exact = check(packing, limit, LARGEST_NOW)
    if exact.counts is None:
        return Allocation(exact.possible, None, tuple(jobs[list(exact.core)].tolist()), exact.time)
    counts[jobs] = exact.counts
    return Allocation(True, counts, (), exact.time)
