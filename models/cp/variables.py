"""The variables of a scheduling model: small named parts around those of CP-SAT."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from ortools.sat.python import cp_model

from ...base import IntArray
from ..scheduling.problem import Problem


@dataclass(frozen=True, slots=True)
class JobVariables:
    """What the model knows of one job.

    Attributes
    ----------
    start
        Seconds from now.
    interval
        From its start for its duration.
    late
        Seconds past its due date; the start itself where that is a constant less.
    """

    start: cp_model.IntVar
    interval: cp_model.IntervalVar
    late: cp_model.IntVar


@dataclass(frozen=True, slots=True)
class SlotVariables:
    """A slot that a job may have on a node: the `level`-th there.

    Attributes
    ----------
    job, node, level
        Which slot; levels from 0.
    present
        Whether the job has more than `level` slots on the node.
    interval
        From the job's start for its duration, if present.
    """

    job: int
    node: int
    level: int
    present: cp_model.IntVar
    interval: cp_model.IntervalVar


class Variables:
    """The jobs of a problem as variables of a model, and what else several families of constraints share.

    Parameters
    ----------
    problem
        Jobs and a machine of one node.
    horizon
        No job ends later, seconds from now.
    latest
        When each job starts at the latest, shape (jobs,); below zero where it never can.

    Attributes
    ----------
    model
        CP-SAT's model.
    jobs
        One entry a job.
    """

    def __init__(self, problem: Problem, horizon: int, latest: IntArray) -> None:
        self.problem = problem
        self.horizon = horizon
        self.model = cp_model.CpModel()
        self._spans: dict[tuple[int, int], cp_model.IntervalVar] = {}
        rows = zip(latest.tolist(), problem.duration.tolist(), problem.due.tolist(), strict=True)
        self.jobs = [self._job(most, duration, due) for most, duration, due in rows]

    def _job(self, most: int, duration: int, due: int) -> JobVariables:
        start = self.model.new_int_var(0, max(most, 0), "")
        late = start
        if due > 0:
            late = self.model.new_int_var(0, max(most - due, 0), "")
            self.model.add(late >= start - due)
        if most < 0:
            self.contradict()  # It cannot end by the horizon.
        return JobVariables(start, self.model.new_fixed_size_interval_var(start, duration, ""), late)

    def contradict(self) -> None:
        """Add what nothing meets: there is no schedule."""
        self.model.add_bool_or(())

    def span(self, begin: int, end: int) -> cp_model.IntervalVar:
        """Return the fixed interval between two times; there is one of each."""
        if (begin, end) not in self._spans:
            self._spans[begin, end] = self.model.new_fixed_size_interval_var(begin, max(end - begin, 0), "")
        return self._spans[begin, end]

    def literal(self, holds: cp_model.BoundedLinearExpression | bool) -> cp_model.IntVar:
        """Return a literal that makes a constraint hold."""
        literal = self.model.new_bool_var("")
        self.model.add(holds).only_enforce_if(literal)
        return literal

    def suggest(self, starts: IntArray) -> None:
        """Give the solver start times as its hint, complete."""
        for job, start, due in zip(self.jobs, starts.tolist(), self.problem.due.tolist(), strict=True):
            self.model.add_hint(job.start, start)
            if job.late is not job.start:
                self.model.add_hint(job.late, max(start - due, 0))

    def starts(self, solver: cp_model.CpSolver) -> IntArray:
        """Return the start times that a solver found, shape (jobs,)."""
        return np.array([solver.value(job.start) for job in self.jobs], dtype=np.int64)
