"""What a scheduling model minimises."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from ortools.sat.python import cp_model

from ...base import IntArray
from ..scheduling.problem import Problem
from .variables import Variables


class Objective(Protocol):
    """A cost, as CP-SAT has it; that of a schedule is always recomputed from its start times."""

    def add_to(self, variables: Variables) -> None:
        """Let the model minimise it, less its constant."""
        ...

    def constant(self, problem: Problem) -> int:
        """Return what the cost has that no schedule changes."""
        ...

    def latest(self, problem: Problem, cost: int) -> IntArray:
        """Return when each job starts at the latest in a schedule that costs no more, shape (jobs,)."""
        ...


class WeightedLateness:
    """The sum of ``weight * max(0, start - due)``: :meth:`.Problem.cost` (CP 2019, sections 2.2 and 4)."""

    def add_to(self, variables: Variables) -> None:
        """Minimise the sum of ``weight * late``: a constant less where a job is late already."""
        rows = variables.problem.first_rows
        late = [variables.jobs[row].late for row in rows.tolist()]
        variables.model.minimize(cp_model.LinearExpr.weighted_sum(late, variables.problem.weight[rows].tolist()))

    def constant(self, problem: Problem) -> int:
        """Return the weight of what is late already."""
        return 0 if problem.has_modes else int((problem.weight * np.maximum(-problem.due, 0)).sum())

    def latest(self, problem: Problem, cost: int) -> IntArray:
        """Return ``max(due, 0) + cost / weight``: a job alone must not cost more."""
        due = problem.due_start if problem.has_modes else np.maximum(problem.due, 0)
        bound = due + cost // np.maximum(problem.weight, 1)
        return np.where(problem.weight > 0, bound, np.iinfo(np.int64).max)
