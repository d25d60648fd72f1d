"""Named variables of a scheduling model, around CP-SAT's own."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from ortools.sat.python import cp_model

from ...base import IntArray
from ..scheduling.problem import Problem

#: CP-SAT types for the parts of a site.
CpModel: TypeAlias = cp_model.CpModel
IntVar: TypeAlias = cp_model.IntVar
IntervalVar: TypeAlias = cp_model.IntervalVar
#: A CP-SAT linear expression, or a number.
LinearExprT: TypeAlias = cp_model.LinearExpr | int | float


@dataclass(frozen=True, slots=True)
class JobVariables:
    """Variables of one job, or of one of its modes.

    Attributes
    ----------
    start
        Seconds from now. Shared by all modes of a job.
    interval
        From its start for its duration. Optional for a mode.
    late
        Seconds past the due date. For a job that is due already, the start itself. Shared by all modes of a job.
    present
        Whether the mode is chosen. ``None`` for a job with one mode.
    """

    start: cp_model.IntVar
    interval: cp_model.IntervalVar
    late: cp_model.IntVar
    present: cp_model.IntVar | None = None


class Variables:
    """Variables of all jobs, and parts that several constraint families share.

    Parameters
    ----------
    problem
        Jobs and a machine of one node.
    horizon
        Latest end of any job, seconds from now.
    latest
        Latest start of each job, shape (jobs,). Negative if it can never start.
    labels
        Name of each job in the names of variables. By default its number.
    first_later
        Earliest start of a job that does not start now, seconds from now.

    Attributes
    ----------
    model
        CP-SAT's model.
    jobs
        One entry per job, or per mode of a job.
    on
        Whether a job has slots on a node, by job and node. Empty without nodes.
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
            self.contradict()  # The job cannot end by the horizon.
        return JobVariables(start, self.model.new_fixed_size_interval_var(start, duration, f"run[{label}]"), late)

    def _modes(self, rows: list[tuple[str, int, int, int, int]]) -> list[JobVariables]:
        """Return optional intervals with one start, exactly one of them present. Lateness counts from the end."""
        label = rows[0][0]
        least = min(row[1] for row in rows)
        most = max(row[2] for row in rows)
        if most < least:
            self.contradict()
        start = self.model.new_int_var(least, max(most, least), f"start[{label}]")
        present = [self.model.new_bool_var(f"mode[{label},{number}]") for number in range(len(rows))]
        self.model.add_exactly_one(present)
        modes = []
        end = max(latest + duration for _, _, latest, duration, _ in rows)
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
        """Make the model infeasible."""
        self.model.add_bool_or(())

    def span(self, begin: int, end: int) -> cp_model.IntervalVar:
        """Return the fixed interval between two times, one object per pair."""
        if (begin, end) not in self._spans:
            name = f"busy[{begin},{end}]"
            self._spans[begin, end] = self.model.new_fixed_size_interval_var(begin, max(end - begin, 0), name)
        return self._spans[begin, end]

    def now(self, job: int) -> cp_model.IntVar:
        """Return the literal that a job starts now. Otherwise it starts at `first_later` or after."""
        if job not in self._now:
            literal = self._now[job] = self.model.new_bool_var(f"now[{self.labels[job]}]")
            start = self.jobs[job].start
            self.model.add(start == 0).only_enforce_if(literal)
            self.model.add(start >= self.first_later).only_enforce_if(~literal)
        return self._now[job]

    def suggest(self, starts: IntArray) -> None:
        """Replace the hint of the solver by complete start times."""
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
        """Return the start times in a solver's solution. Shape (jobs,). -1 for modes not chosen."""
        return np.array(
            [solver.value(job.start) if job.present is None or solver.value(job.present) else -1 for job in self.jobs],
            dtype=np.int64,
        )
