"""Objective of a scheduling model."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from ortools.sat.python import cp_model

from ...base import IntArray
from ..scheduling.list_schedules import Schedule
from ..scheduling.problem import Problem
from .variables import LinearExprT, Variables


class PlanObjective(Protocol):
    """A cost to minimise, as a CP-SAT expression and as a function of a schedule."""

    def expression(self, variables: Variables) -> LinearExprT:
        """Return the integer expression that the model minimises. May add variables."""
        ...

    def cost(self, schedule: Schedule) -> float:
        """Return the cost of a schedule, computed from its start times."""
        ...


@dataclass(frozen=True)
class WeightedLateness:
    """The sum of ``weight * max(0, start - due)``: :meth:`.Problem.cost` (CP 2019, sections 2.2 and 4)."""

    problem: Problem

    def expression(self, variables: Variables) -> LinearExprT:
        """Return the sum of ``weight * late``, without the constant part of jobs that are late already."""
        rows = self.problem.first_rows
        late = [variables.jobs[row].late for row in rows.tolist()]
        return cp_model.LinearExpr.weighted_sum(late, self.problem.weight[rows].tolist())

    def cost(self, schedule: Schedule) -> float:
        """Return the cost of a schedule."""
        return schedule.cost

    @property
    def constant(self) -> int:
        """Weighted lateness of jobs that are late already. The expression leaves it out."""
        problem = self.problem
        return 0 if problem.has_modes else int((problem.weight * np.maximum(-problem.due, 0)).sum())

    def latest(self, cost: int) -> IntArray:
        """Return the latest start of each job in a schedule of at most this cost. Shape (jobs,).

        ``max(due, 0) + cost / weight``: one job alone must not cost more.
        """
        problem = self.problem
        due = problem.due_start if problem.has_modes else np.maximum(problem.due, 0)
        bound = due + cost // np.maximum(problem.weight, 1)
        return np.where(problem.weight > 0, bound, np.iinfo(np.int64).max)
