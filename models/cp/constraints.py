"""Constraints on a schedule, one class per family."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ...base import BoolArray, IntArray
from ..scheduling.binding import binding
from ..scheduling.list_schedules import Schedule
from ..scheduling.problem import Problem
from .variables import Variables


class Constraint(Protocol):
    """A family of constraints, with an independent check of schedules."""

    def add_to(self, variables: Variables) -> None:
        """Add the constraint to the model of these variables."""
        ...

    def holds(self, schedule: Schedule) -> bool:
        """Return whether a schedule meets the constraint. Other schedules are never used."""
        ...


@dataclass(frozen=True)
class PoolCapacity:
    """Limit running jobs and occupied amounts to the capacity of a pool.

    At every time t, with one cumulative constraint per resource:

    ``sum(need[j] : start[j] <= t < start[j] + duration[j]) + held(t) <= capacity``

    Attributes
    ----------
    problem
        Jobs and one node.
    every_resource
        Whether to constrain resources that no job demands. Version 0 of the paper does.
    """

    problem: Problem
    every_resource: bool = False

    def add_to(self, variables: Variables) -> None:
        """Add a cumulative constraint per scarce resource, with occupied amounts as fixed intervals."""
        problem = self.problem
        free = problem.profile[1]
        scarce = self._constrained()
        if not self.every_resource:
            scarce[:] = False
            scarce[binding(problem.need, free)] = True
        for resource in np.flatnonzero(scarce).tolist():
            need = problem.need[:, resource]
            self.add_cumulative(variables, need, np.minimum(free[:, resource], need.sum()))

    def add_cumulative(self, variables: Variables, demand: IntArray, level: IntArray) -> None:
        """Limit the total demand of jobs to a level at any time.

        Fixed intervals lower the capacity, one per period of equal level. A period with enough for all jobs needs none.

        Parameters
        ----------
        variables
            Variables of the model.
        demand
            Demand of each job, shape (jobs,).
        level
            Level from each time of the problem's profile on, shape (steps,). No schedule exists if it is negative.
        """
        jobs = np.flatnonzero(demand)
        most = max(int(level.max()), 0)
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
        """Check the use whenever a job starts or an occupied interval begins."""
        problem = self.problem
        starts = schedule.starts
        (times, free) = self.problem.profile
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
    """Require that another set of jobs starts now.

    ``start[j] > 0`` for some job in `now`, or ``start[j] == 0`` for some other job.

    Attributes
    ----------
    now
        Whether each job starts now, shape (jobs,).
    settled
        Jobs that behave as in `now` in every better schedule. Shape (jobs,).
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
        """Return whether the set of jobs that start now differs."""
        return bool(((schedule.starts == 0) != self.now).any())
