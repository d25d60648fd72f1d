"""What a schedule must meet, one class a family of constraints.

A family has three faces: what list schedules and the local search know of it, what CP-SAT knows, and a check of start
times that trusts neither. A new one for all plans is a class here (or anywhere) with the three, and an entry in
:data:`FOR_ALL`. What makes a model, whoever solves it, is in its own list: :data:`.pooled.ON_THE_POOL`,
:class:`.direct.DirectModel`, :class:`.master.Master`; nobody else asks those.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Protocol

import numpy as np

from ...base import BoolArray, IntArray
from ..scheduling.binding import binding
from ..scheduling.problem import Problem
from .cuts import Cut
from .symmetry import comparable
from .variables import Variables


class Constraint(Protocol):
    """A family of constraints."""

    def narrow(self, problem: Problem) -> Problem:
        """Return the problem that list schedules and the local search solve: later starts, more that is held."""
        ...

    def add_to(self, variables: Variables) -> None:
        """Add it to the model of these variables."""
        ...

    def holds(self, problem: Problem, starts: IntArray) -> bool:
        """Return whether start times, shape (jobs,), meet it. What does not is never used, whoever made it."""
        ...


#: What every plan of the CP dispatchers keeps beside, whoever makes it. With any, no decision is taken without a plan,
#: and nobody plans who does not know them.
FOR_ALL: tuple[Constraint, ...] = ()


def narrowed(problem: Problem, families: Sequence[Constraint]) -> Problem:
    """Return the problem that list schedules and the local search solve under all of the families."""
    for family in families:
        problem = family.narrow(problem)
    return problem


class Family:
    """A family that leaves list schedules alone, and that no start times break."""

    def narrow(self, problem: Problem) -> Problem:
        """Return the problem as it is."""
        return problem

    def holds(self, problem: Problem, starts: IntArray) -> bool:
        """Return that they do."""
        return True


@dataclass(frozen=True)
class Narrowed:
    """Another family, for a problem that it has narrowed already."""

    family: Constraint

    def narrow(self, problem: Problem) -> Problem:
        """Return the problem as it is."""
        return problem

    def add_to(self, variables: Variables) -> None:
        """Add the family."""
        self.family.add_to(variables)

    def holds(self, problem: Problem, starts: IntArray) -> bool:
        """Ask the family."""
        return self.family.holds(problem, starts)


@dataclass(frozen=True)
class PoolCapacity(Family):
    """At every time t, for every resource: the need of the jobs that run, and what is held, is within the capacity.

    ``sum(need[j] : start[j] <= t < start[j] + duration[j]) + held(t) <= capacity``, a cumulative for each resource.

    Attributes
    ----------
    every_resource
        Whether a resource that no job asks for is constrained as well, as version 0 of the paper has it.
    quotas_only
        Whether only what whole jobs take is constrained; the rest lies on nodes.
    """

    every_resource: bool = False
    quotas_only: bool = False

    def add_to(self, variables: Variables) -> None:
        """Add a cumulative for each resource that can be short, with what is held as fixed intervals."""
        problem = variables.problem
        free, asked = problem.profile[1][:, 0], self._asked(problem)
        if not self.every_resource and not self.quotas_only:
            asked[:] = False
            asked[binding(problem.need, free)] = True
        for resource in np.flatnonzero(asked).tolist():
            need = problem.need[:, resource]
            add_cumulative(variables, need, np.minimum(free[:, resource], need.sum()))

    def holds(self, problem: Problem, starts: IntArray) -> bool:
        """Add up what runs whenever a job starts or something begins to hold."""
        times, free = problem.profile
        at = np.unique(np.concatenate((starts, problem.held_from)))
        runs = (starts <= at[:, None]) & (at[:, None] < starts + problem.duration)
        room = free[np.searchsorted(times, at, side="right") - 1, 0] - runs @ problem.need
        return bool((room[:, self._asked(problem)] >= 0).all())

    def _asked(self, problem: Problem) -> BoolArray:
        """Return which resources are constrained, shape (resources,)."""
        need = problem.whole if self.quotas_only else problem.need
        asked: BoolArray = (need != 0).any(axis=0)
        return asked | self.every_resource


class LikeInOrder(Family):
    """Jobs that differ in nothing start in a fixed order: ``start[j] <= start[k]`` for j before k in a chain."""

    def add_to(self, variables: Variables) -> None:
        """Add an inequality for each two that follow each other."""
        for chain in comparable(variables.problem):
            for before, after in pairwise(chain):
                variables.model.add(variables.jobs[before].start <= variables.jobs[after].start)


@dataclass(frozen=True)
class NotBefore(Family):
    """No job starts before a time of its own: ``start[j] >= earliest[j]``.

    Attributes
    ----------
    earliest
        Seconds from now, shape (jobs,).
    """

    earliest: IntArray

    def narrow(self, problem: Problem) -> Problem:
        """Let jobs start then at the earliest."""
        return replace(problem, earliest=np.maximum(problem.earliest, self.earliest))

    def holds(self, problem: Problem, starts: IntArray) -> bool:
        """Compare."""
        return bool((starts >= self.earliest).all())

    def add_to(self, variables: Variables) -> None:
        """Add an inequality for each job that may not start now."""
        for job, time in zip(variables.jobs, self.earliest.tolist(), strict=True):
            if time:
                variables.model.add(job.start >= time)


class CutCapacity(Family):
    """At every time t, for every cut: ``sum(demand[j] : start[j] <= t < start[j] + duration[j]) <= level(t)``.

    The resources of the pool are the first cuts; more can be added as they are found. A cumulative for each.
    """

    def __init__(self) -> None:
        self._seen: set[bytes] = set()

    def add_to(self, variables: Variables) -> None:
        """Add a cut for each resource of the pool that a job asks for."""
        problem = variables.problem
        free = np.maximum(problem.profile[1][:, 0], 0)
        for resource, need in enumerate(problem.need.T):
            if need.any():
                self.add(variables, Cut(need, np.minimum(free[:, resource], need.sum())))

    def add(self, variables: Variables, cut: Cut) -> bool:
        """Add a cut, its level lowered by fixed intervals; return whether it is new."""
        if cut.key in self._seen:
            return False
        self._seen.add(cut.key)
        add_cumulative(variables, cut.demand, cut.level)
        return True


def add_cumulative(variables: Variables, demand: IntArray, level: IntArray) -> None:
    """Let jobs together demand no more than a level at any time.

    Fixed intervals lower it, one for each stretch of time in which it is the same: where there is enough for all jobs
    no interval is needed, whatever is held.

    Parameters
    ----------
    variables
        Of the model.
    demand
        Of each job, shape (jobs,).
    level
        From each time of the problem's profile on, shape (steps,); below zero there is no schedule.
    """
    jobs, most = np.flatnonzero(demand), max(int(level.max()), 0)
    intervals = [variables.jobs[job].interval for job in jobs.tolist()]
    demands = demand[jobs].tolist()
    changes = np.flatnonzero(np.diff(level, prepend=level[0] - 1))
    begins = variables.problem.profile[0][changes].tolist()
    ends = [*begins[1:], max(variables.horizon, begins[-1] + 1)]
    for begin, end, here in zip(begins, ends, level[changes].tolist(), strict=True):
        if here < most:
            intervals.append(variables.span(begin, end))
            demands.append(most - here)
    variables.model.add_cumulative(intervals, demands, most)
