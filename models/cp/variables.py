"""The variables of a scheduling model: small named parts around those of CP-SAT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from ortools.sat.python import cp_model

from ...base import IntArray
from ..scheduling.problem import Problem

#: What a site's own parts are given of CP-SAT.
CpModel: TypeAlias = cp_model.CpModel
IntVar: TypeAlias = cp_model.IntVar
IntervalVar: TypeAlias = cp_model.IntervalVar
#: A linear expression of CP-SAT, or a number.
LinearExprT: TypeAlias = cp_model.LinearExpr | int | float


@dataclass(frozen=True, slots=True)
class JobVariables:
    """The variables of one job, or of one of its modes.

    Attributes
    ----------
    start
        Seconds from now; of all modes of a job the same.
    interval
        From its start for its duration; optional for a mode.
    late
        Seconds past its due date; the start itself where that is a constant less. Of all modes of a job the same.
    present
        Whether a mode is taken; ``None`` for a job that has one mode.
    """

    start: cp_model.IntVar
    interval: cp_model.IntervalVar
    late: cp_model.IntVar
    present: cp_model.IntVar | None = None


class Variables:
    """The jobs of a problem as variables of a model, and what several families of constraints share.

    Parameters
    ----------
    problem
        Jobs and a machine of one node.
    horizon
        No job ends later, seconds from now.
    latest
        When each job starts at the latest, shape (jobs,); below zero where it never can.
    labels
        What the names of the variables call each job; by default its number.
    first_later
        No job that does not start now starts before, seconds from now.

    Attributes
    ----------
    model
        CP-SAT's model.
    jobs
        One entry per job, or per mode of one.
    on
        Whether a job has slots on a node, by job and node, where the nodes are in the model.
    """

    def __init__(
        self, problem: Problem, horizon: int, latest: IntArray, labels: Sequence[str] = (), first_later: int = 1
    ) -> None:
        self.problem = problem
        self.horizon = horizon
        self.labels = labels or [str(row) for row in range(problem.jobs)]
        self.first_later = first_later
        self.model = cp_model.CpModel()
        self.on: dict[tuple[int, int], cp_model.IntVar] = {}
        self._spans: dict[tuple[int, int], cp_model.IntervalVar] = {}
        self._now: dict[int, cp_model.IntVar] = {}
        columns = (problem.earliest, latest, problem.duration, problem.due)
        rows = list(zip(self.labels, *(column.tolist() for column in columns), strict=True))
        if problem.has_modes:
            jobs = np.split(np.arange(len(rows)), problem.first_rows[1:])
            self.jobs = [mode for job in jobs for mode in self._modes([rows[row] for row in job.tolist()])]
        else:
            self.jobs = [self._job(*row) for row in rows]

    def _job(self, label: str, least: int, most: int, duration: int, due: int) -> JobVariables:
        start = self.model.new_int_var(least, max(most, least), f"start[{label}]")
        late = start
        if due > 0:
            late = self.model.new_int_var(0, max(most - due, least - due, 0), f"late[{label}]")
            self.model.add(late >= start - due)
        if most < least:
            self.contradict()  # It cannot end by the horizon.
        return JobVariables(start, self.model.new_fixed_size_interval_var(start, duration, f"run[{label}]"), late)

    def _modes(self, rows: list[tuple[str, int, int, int, int]]) -> list[JobVariables]:
        """Return optional intervals with one start, of which exactly one is present; its end counts."""
        label, least, most = rows[0][0], min(row[1] for row in rows), max(row[2] for row in rows)
        if most < least:
            self.contradict()
        start = self.model.new_int_var(least, max(most, least), f"start[{label}]")
        present = [self.model.new_bool_var(f"mode[{label},{number}]") for number in range(len(rows))]
        self.model.add_exactly_one(present)
        modes, end = [], max(latest + duration for _, _, latest, duration, _ in rows)
        late = self.model.new_int_var(0, max(end - min(row[4] for row in rows), 0), f"late[{label}]")
        for number, ((_, _, latest, duration, due), literal) in enumerate(zip(rows, present, strict=True)):
            interval = self.model.new_optional_fixed_size_interval_var(
                start, duration, literal, f"run[{label},{number}]"
            )
            self.model.add(start <= latest).only_enforce_if(literal)
            self.model.add(late >= start + duration - due).only_enforce_if(literal)
            modes.append(JobVariables(start, interval, late, literal))
        return modes

    def contradict(self) -> None:
        """Add what nothing meets: there is no schedule."""
        self.model.add_bool_or(())

    def span(self, begin: int, end: int) -> cp_model.IntervalVar:
        """Return the fixed interval between two times; there is one of each."""
        if (begin, end) not in self._spans:
            name = f"busy[{begin},{end}]"
            self._spans[begin, end] = self.model.new_fixed_size_interval_var(begin, max(end - begin, 0), name)
        return self._spans[begin, end]

    def now(self, job: int) -> cp_model.IntVar:
        """Return a literal that says whether a job starts now; if not, it starts at `first_later` or after."""
        if job not in self._now:
            literal = self._now[job] = self.model.new_bool_var(f"now[{self.labels[job]}]")
            start = self.jobs[job].start
            self.model.add(start == 0).only_enforce_if(literal)
            self.model.add(start >= self.first_later).only_enforce_if(~literal)
        return self._now[job]

    def suggest(self, starts: IntArray) -> None:
        """Give the solver start times as its hint, complete, instead of the last ones."""
        self.model.clear_hints()  # type: ignore[no-untyped-call]
        for job, start, due in zip(self.jobs, starts.tolist(), self.problem.due_start.tolist(), strict=True):
            if job.present is not None:
                self.model.add_hint(job.present, start >= 0)
                if start < 0:
                    continue
            self.model.add_hint(job.start, start)
            if job.late is not job.start:
                self.model.add_hint(job.late, max(start - due, 0))
        for number, literal in self._now.items():
            self.model.add_hint(literal, bool(starts[number] == 0))

    def starts(self, solver: cp_model.CpSolver) -> IntArray:
        """Return the start times that a solver found, shape (jobs,); -1 of modes that are not taken."""
        return np.array([
            solver.value(job.start) if job.present is None or solver.value(job.present) else -1 for job in self.jobs
        ], dtype=np.int64)  # fmt: skip
