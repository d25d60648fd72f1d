"""Which jobs start now: that they find places on the nodes, and that others than these do."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from ortools.sat.python import cp_model

from ...base import BoolArray, IntArray
from ..scheduling.node_classes import equal_rows
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
        for kind in problem.demand[equal_rows(problem.demand)[0]]:
            asking = np.flatnonzero((problem.demand >= kind).all(axis=1))
            room = slots_now(problem, kind, int(problem.slots[asking].sum()))
            if problem.slots[asking].sum() > room:
                literals = [variables.now(job) for job in asking.tolist()]
                variables.model.add(cp_model.LinearExpr.weighted_sum(literals, problem.slots[asking].tolist()) <= room)
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


def slots_now(problem: Problem, demand: IntArray, most: int) -> int:
    """Return how many slots of a demand fit on the nodes now, at most so many on each."""
    asked = np.flatnonzero(demand)
    if not len(asked):
        return most * len(problem.free_now)
    classes = problem.classes_now
    fits = (np.maximum(classes.capacity[:, asked], 0) // demand[asked]).min(axis=1)
    return int(np.minimum(fits, most) @ classes.count)


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
