"""What a schedule must meet, one class per family of constraints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ...base import BoolArray, IntArray
from ..scheduling.binding import binding
from ..scheduling.list_schedules import Schedule
from ..scheduling.problem import Problem
from .variables import Variables


class Constraint(Protocol):
    """A family of constraints: what CP-SAT is given, and a check of schedules that does not trust it."""

    def add_to(self, variables: Variables) -> None:
        """Add it to the model of these variables."""
        ...

    def holds(self, schedule: Schedule) -> bool:
        """Return whether a schedule meets it. A schedule that does not is never used."""
        ...


@dataclass(frozen=True)
class PoolCapacity:
    """At every time t, for every resource: the need of the jobs that run, and what is held, is within the capacity.

    ``sum(need[j] : start[j] <= t < start[j] + duration[j]) + held(t) <= capacity``, a cumulative for each resource.

    Attributes
    ----------
    problem
        Jobs and one node.
    every_resource
        Whether a resource that no job asks for is constrained as well, as version 0 of the paper has it.
    """

    problem: Problem
    every_resource: bool = False

    def add_to(self, variables: Variables) -> None:
        """Add a cumulative for each resource that can be short, with what is held as fixed intervals."""
        problem = self.problem
        free, scarce = problem.profile[1], self._constrained()
        if not self.every_resource:
            scarce[:] = False
            scarce[binding(problem.need, free)] = True
        for resource in np.flatnonzero(scarce).tolist():
            need = problem.need[:, resource]
            self.add_cumulative(variables, need, np.minimum(free[:, resource], need.sum()))

    def add_cumulative(self, variables: Variables, demand: IntArray, level: IntArray) -> None:
        """Let jobs together demand no more than a level at any time.

        Fixed intervals lower it, one for each stretch of time in which it is the same: where there is enough for all
        jobs no interval is needed, whatever is held.

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
        begins = self.problem.profile[0][changes].tolist()
        ends = [*begins[1:], max(variables.horizon, begins[-1] + 1)]
        for begin, end, here in zip(begins, ends, level[changes].tolist(), strict=True):
            if here < most:
                intervals.append(variables.span(begin, end))
                demands.append(most - here)
        variables.model.add_cumulative(intervals, demands, most)

    def holds(self, schedule: Schedule) -> bool:
        """Add up what runs whenever a job starts or something begins to hold."""
        problem, starts, (times, free) = self.problem, schedule.starts, self.problem.profile
        at = np.unique(np.concatenate((starts[starts >= 0], problem.held_from)))
        runs = (starts >= 0) & (starts <= at[:, None]) & (at[:, None] < starts + problem.duration)
        room = free[np.searchsorted(times, at, side="right") - 1] - runs @ problem.need
        return bool((room[:, self._constrained()] >= 0).all())

    def _constrained(self) -> BoolArray:
        """Return which resources are constrained, shape (resources,)."""
        constrained: BoolArray = (self.problem.need != 0).any(axis=0)
        return constrained | self.every_resource


@dataclass(frozen=True, eq=False)
class OthersStart:
    """Not exactly these jobs start now: ``some start[j] > 0 for j that does, or start[j] == 0 for j that does not``.

    Attributes
    ----------
    now
        Whether each starts now, shape (jobs,).
    settled
        Jobs that do as in `now` in every schedule worth having, shape (jobs,).
    """

    now: BoolArray
    settled: BoolArray

    def add_to(self, variables: Variables) -> None:
        """Add a clause, and fix the settled jobs."""
        literals = [variables.now(job) for job in range(len(self.now))]
        variables.model.add_bool_or(
            ~literal if starts else literal for literal, starts in zip(literals, self.now.tolist(), strict=True)
        )
        for job in np.flatnonzero(self.settled).tolist():
            variables.model.add(literals[job] == int(self.now[job]))

    def holds(self, schedule: Schedule) -> bool:
        """Compare."""
        return bool(((schedule.starts == 0) != self.now).any())
