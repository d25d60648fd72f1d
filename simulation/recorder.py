"""What is kept of a simulation while it runs, in columns."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..dispatchers import Placement
from ..workloads import Workload
from .placements import as_column, compacting

#: How a job left the system.
STATUSES = ("completed", "killed", "rejected")
#: How an attempt ended.
OUTCOMES = ("completed", "limit", "killed", "checkpointed")
#: What is kept of a stay on the machine and of a decision, in this order.
STAY = ("order", "start", "end", "outcome", "useful", "shape", "units")
DECISION = ("time", "queued", "running", "started", "stopped", "rejected")
COMPLETED, LIMIT, KILLED, CHECKPOINTED = range(4)


_STATUS = {name: code for code, name in enumerate(STATUSES)}
#: Python's numbers, as arrays know them.
_CODES = {int: "q", float: "d"}


class Attempt(NamedTuple):
    """One stay of a job on the machine, half-open in time."""

    start: int
    end: int
    outcome: int
    useful: int
    shape: int
    units: int
    placement: Placement


class Reports:
    """What a dispatcher reports of its decisions, a column a key; what a report leaves out is NaN."""

    def __init__(self) -> None:
        # Machine numbers as long as a column has nothing else, and no gaps.
        self._columns: dict[Any, array[Any] | list[Any]] = {}

    def add(self, row: int, report: Mapping[Any, Any]) -> None:
        """Book the report of decision number `row`."""
        columns = self._columns
        for key, value in report.items():
            code = _CODES.get(type(value))
            if key not in columns:
                columns[key] = array(code) if code else []
            column = self._filled(key, row)
            if isinstance(column, array) and column.typecode != code:
                column = columns[key] = list(column)
            try:
                column.append(value)
            except OverflowError:
                columns[key] = [*column, value]

    def frame(self, rows: int) -> pd.DataFrame:
        """Return the columns in the order in which their keys first came up, of so many decisions."""
        return pd.DataFrame({key: _typed(self._filled(key, rows)) for key in self._columns}, index=range(rows))

    def _filled(self, key: Any, rows: int) -> array[Any] | list[Any]:
        column = self._columns[key]
        if len(column) < rows:
            if isinstance(column, array):
                column = self._columns[key] = list(column)
            column.extend(repeat(np.nan, rows - len(column)))
        return column


class Recorder:
    """Columns of jobs, attempts and decisions, filled by the event manager."""

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self._primary = workload.machine.resources[workload.machine.primary]
        count = len(workload.jobs)
        # Arrays of machine integers: a number is written faster than into a numpy array, and takes no more room.
        self.start = array("q", [-1]) * count
        self.end = array("q", [-1]) * count
        self.queued = array("q", [0]) * count
        self.run = array("q", [0]) * count
        self.predicted = array("q", [-1]) * count
        self.tries = array("q", [0]) * count
        self.status = array("q", [-1]) * count
        self.reason: dict[int, str] = {}
        self.stays = array("q")
        self.placements: list[NDArray[np.int32]] = []
        self._compact = compacting(workload.machine.nodes)
        self.decisions = array("q")
        self.reports = Reports()
        self.decision_ns = array("q")
        self.prediction_ns = 0

    def finish(self, order: int, status: str, end: int, reason: str = "", attempts: Sequence[Attempt] = ()) -> int:
        """Book how a job left the system and its attempts; return the seconds of its work that count.

        Of a job that was not completed none of the work counts; returned are those of its last attempt.
        """
        self.status[order] = _STATUS[status]
        self.end[order] = end
        if reason:
            self.reason[order] = reason
        lost = status != "completed"
        for start, left, outcome, useful, shape, units, placement in attempts:
            self.stays.extend((order, start, left, outcome, 0 if lost else useful, shape, units))
            self.placements.append(self._compact(placement))
        self.tries[order] = len(attempts)
        ran = 0
        if len(attempts) == 1 or (attempts and lost):
            ran = attempts[-1].end - attempts[-1].start
        elif attempts:
            ran = sum(attempt.useful for attempt in attempts)
        self.run[order] = ran
        return ran

    def decision(self, counts: tuple[int, int, int, int, int, int], report: Mapping[str, Any] | None, ns: int) -> None:
        """Book a decision: time, queued, running, started, stopped, rejected; its report and its measured time."""
        self.decisions.extend(counts)
        self.decision_ns.append(ns)
        if report is not None:
            self.reports.add(len(self.decision_ns) - 1, report)

    def jobs_frame(self, attempts: pd.DataFrame) -> pd.DataFrame:
        """Return one row a job, in the order of the trace."""
        jobs = self.workload.columns
        order = _columns(self.stays, STAY)["order"]
        last = np.full(len(jobs), -1, dtype=np.int64)
        last[order] = np.arange(len(order))
        lost = np.zeros(len(jobs), dtype=np.int64)
        np.add.at(lost, order, (attempts["end"] - attempts["start"] - attempts["useful"]) * attempts["units"])
        frame = self.workload.frame()
        columns = {"start": self.start, "end": self.end, "wait": self.queued, "run": self.run}
        for name, column in {**columns, "predicted": self.predicted, "attempts": self.tries}.items():
            frame[name] = np.array(column, dtype=np.int64)
        frame["units"] = jobs.amounts(self._primary)
        frame["lost"] = lost
        frame["deadline"] = jobs.deadline.numbers(lambda deadline: -1 if deadline is None else deadline)
        frame["status"] = _coded(np.array(self.status, dtype=np.int64), STATUSES)
        frame["reason"] = [self.reason.get(index, "") for index in range(len(jobs))]
        nothing = np.empty(0, dtype=np.int32)
        frame["placement"] = as_column(self.placements[row] if row >= 0 else nothing for row in last.tolist())
        return frame

    def attempts_frame(self) -> pd.DataFrame:
        """Return one row a stay on the machine, in the order in which the jobs left."""
        ids = np.array(self.workload.columns.texts(), dtype=object)
        number = _columns(self.stays, STAY)
        frame = pd.DataFrame({"id": ids[number["order"]]})
        for name in ("start", "end"):
            frame[name] = number[name]
        frame["outcome"] = _coded(number["outcome"], OUTCOMES)
        frame["useful"] = number["useful"]
        frame["shape"] = number["shape"]
        frame["units"] = number["units"]
        frame["nodes"] = np.fromiter(map(len, self.placements), dtype=np.int64, count=len(self.placements))
        frame["placement"] = as_column(self.placements)
        return frame

    def decisions_frame(self) -> pd.DataFrame:
        """Return one row a decision, with the columns of the dispatcher's reports after the engine's own."""
        columns: dict[str, Any] = _columns(self.decisions, DECISION)
        reports = self.reports.frame(len(columns["time"]))
        return (
            pd.DataFrame(columns, copy=False) if reports.empty else pd.concat([pd.DataFrame(columns), reports], axis=1)
        )


def _typed(column: array[Any] | list[Any]) -> Any:
    """Return a column with the type that pandas finds for records."""
    if isinstance(column, array):
        return np.array(column)
    return pd.DataFrame.from_records([(value,) for value in column], columns=["value"])["value"].array


def _coded(codes: NDArray[np.int64], names: tuple[str, ...]) -> Any:
    return pd.Categorical.from_codes(codes, dtype=pd.CategoricalDtype(list(names)))


def _columns(rows: array[int], names: tuple[str, ...]) -> dict[str, NDArray[np.int64]]:
    """Return the columns of a table that was written row by row."""
    table = np.frombuffer(rows, dtype=np.int64).reshape(-1, len(names))
    return {name: table[:, index].copy() for index, name in enumerate(names)}
