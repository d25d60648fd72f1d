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
        self._now: dict[int, cp_model.IntVar] = {}
        columns = (problem.earliest, latest, problem.duration, problem.due)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        self.jobs = [self._job(*row) for row in rows]

    def _job(self, least: int, most: int, duration: int, due: int) -> JobVariables:
        start = self.model.new_int_var(least, max(most, least), "")
        late = start
        if due > 0:
            late = self.model.new_int_var(0, max(most - due, least - due, 0), "")
            self.model.add(late >= start - due)
        if most < least:
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

    def now(self, job: int) -> cp_model.IntVar:
        """Return a literal that says whether a job starts now; if not, it starts when the next ones may.

        Nothing is lost by that: what is moved up as far as it goes starts now or then.
        """
        if job not in self._now:
            literal = self._now[job] = self.model.new_bool_var("")
            start = self.jobs[job].start
            self.model.add(start == 0).only_enforce_if(literal)
            self.model.add(start >= self.problem.first_later).only_enforce_if(~literal)
        return self._now[job]

    def literal(self, holds: cp_model.BoundedLinearExpression | bool) -> cp_model.IntVar:
        """Return a literal that makes a constraint hold."""
        literal = self.model.new_bool_var("")
        self.model.add(holds).only_enforce_if(literal)
        return literal

    def suggest(self, starts: IntArray) -> None:
        """Give the solver start times as its hint, complete, instead of the last ones."""
        self.model.clear_hints()  # type: ignore[no-untyped-call]
        for job, start, due in zip(self.jobs, starts.tolist(), self.problem.due.tolist(), strict=True):
            self.model.add_hint(job.start, start)
            if job.late is not job.start:
                self.model.add_hint(job.late, max(start - due, 0))
        for number, literal in self._now.items():
            self.model.add_hint(literal, bool(starts[number] == 0))

    def starts(self, solver: cp_model.CpSolver) -> IntArray:
        """Return the start times that a solver found, shape (jobs,)."""
        return np.array([solver.value(job.start) for job in self.jobs], dtype=np.int64)
