"""Records of a running simulation, in columns."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..base import IntArray
from ..dispatchers import Placement
from ..dispatchers.layouts import slots_on
from ..workloads import Machine, Workload
from ..workloads.dependencies import Link, workflows
from ..workloads.job import REACT, slot_units
from ..workloads.job_columns import JobColumns, text_categories
from .placements import as_column, compacting

#: Ways a job leaves the system.
STATUSES = ("completed", "killed", "rejected")
#: Ways an attempt ends.
OUTCOMES = ("completed", "limit", "killed", "checkpointed", "node-fail")
#: Fields of an attempt and of a decision, in their order.
STAY = ("order", "start", "end", "outcome", "useful", "shape", "units", "shape_walltime", "walltime")
DECISION = ("time", "queued", "running", "started", "stopped", "rejected")
COMPLETED, LIMIT, KILLED, CHECKPOINTED, NODE_FAIL = range(5)


_STATUS = {name: code for code, name in enumerate(STATUSES)}
#: Type codes of arrays by Python type.
_CODES = {int: "q", float: "d"}


class Attempt(NamedTuple):
    """One attempt of a job on the machine, half-open in time."""

    start: int
    end: int
    outcome: int
    useful: int
    shape: int
    units: int
    shape_walltime: int
    walltime: int
    placement: Placement


class Reports:
    """Reports of a dispatcher on its decisions, one column per key. Missing values are NaN."""

    def __init__(self) -> None:
        # Machine numbers while a column has only these and no gaps.
        self._columns: dict[Any, array[Any] | list[Any]] = {}

    def add(self, row: int, report: Mapping[Any, Any]) -> None:
        """Add the report of decision number `row`."""
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

    def extend(self, row: int, columns: Mapping[str, Sequence[Any]]) -> None:
        """Add the reports of decisions from number `row` on, as columns of one type each, always of the same keys."""
        for key, values in columns.items():
            self._columns.setdefault(key, array(code) if (code := _CODES.get(type(values[0]))) else [])
            self._filled(key, row).extend(values)

    def frame(self, rows: int) -> pd.DataFrame:
        """Return the columns in the order of their first use, for `rows` decisions."""
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

    def __init__(self, workload: Workload, machine: Machine | None = None) -> None:
        self.workload = workload
        #: The machine with all nodes. Reasons of rejections name its resources.
        self.machine = machine or workload.machine
        self.primary = workload.machine.resources[workload.machine.primary]
        # Arrays of machine integers: writing is faster than to numpy arrays, and the size is the same.
        self.predicted = array("q", [-1]) * len(workload.jobs)
        self.stays = array("q")
        self.failed: dict[int, tuple[str, int, str]] = {}
        #: Eligible times of jobs that became eligible after their submission.
        self.eligible: dict[int, int] = {}
        self.dropped_shapes = 0
        self.placements: list[NDArray[np.int32]] = []
        self._compact = compacting(workload.machine.nodes)
        self.decisions = array("q")
        self.reports = Reports()
        self.decision_ns = array("q")
        self.prediction_ns = 0

    def complete(self, order: int, attempts: Sequence[Attempt]) -> None:
        """Record the attempts of a job that its last attempt completed."""
        for *numbers, placement in attempts:
            self.stays.extend((order, *numbers))
            self.placements.append(self._compact(placement))

    def fail(self, order: int, status: str, end: int, reason: str, attempts: Sequence[Attempt] = ()) -> None:
        """Record the attempts of a killed or rejected job: none of its work counts."""
        self.complete(order, [attempt._replace(useful=0) for attempt in attempts])
        self.failed[order] = status, end, reason

    def decision(self, counts: tuple[int, int, int, int, int, int], report: Mapping[str, Any] | None, ns: int) -> None:
        """Record a decision: time, queued, running, started, stopped, rejected; its report and its measured time."""
        self.decisions.extend(counts)
        self.decision_ns.append(ns)
        if report is not None:
            self.reports.add(len(self.decision_ns) - 1, report)

    def move_to(self, nodes: IntArray, workload: Workload) -> None:
        """Renumber the nodes of all placements for another workload with the same jobs.

        Unequal slots, which are units here, get one node each.
        """
        compact = compacting(workload.machine.nodes)
        if len(nodes) < workload.machine.nodes:  # Else all nodes keep their numbers.
            self.placements = [compact(nodes[placement]) for placement in self.placements]
        slots = workload.columns.slots
        if any(slots.values):
            for row, order in enumerate(_columns(self.stays, STAY)["order"].tolist()):
                unequal = slots.values[slots.codes.item(order)]
                if unequal:
                    factors = slot_units("", unequal)[1]
                    self.placements[row] = compact(
                        np.array(slots_on(self.placements[row].tolist(), factors), dtype=np.int64)
                    )
        self.workload = workload

    def jobs_frame(self) -> pd.DataFrame:
        """Return one row per job, in the order of the trace."""
        jobs = self.workload.columns
        frame = self.workload.frame_columns()
        stays = _columns(self.stays, STAY)
        eligible = frame["submit"].copy()
        eligible[list(self.eligible)] = list(self.eligible.values())
        lives = _lives(stays, eligible, self.failed)
        last = lives.pop("last")
        links = self.workload.links
        frame["submit"] = _submissions(frame["submit"], lives["end"], links)
        for name in ("start", "end", "wait", "run"):
            frame[name] = lives.pop(name)
        frame["eligible"] = eligible
        frame["predicted"] = np.frombuffer(self.predicted, dtype=np.int64)
        frame["attempts"] = lives.pop("attempts")
        frame["units"] = jobs.amounts(self.primary)
        nodes = np.fromiter(map(len, self.placements), dtype=np.int64, count=len(self.placements))
        frame["shape"] = _of_last(stays["shape"], last, -1)
        frame["run_nodes"] = _of_last(nodes, last, 0)
        frame["run_walltime"] = _of_last(stays["shape_walltime"], last, 0)
        frame["sequential_work"] = sequential_work(jobs, self.primary)
        frame["lost"] = lives.pop("lost")
        frame["deadline"] = jobs.deadline.numbers(lambda deadline: -1 if deadline is None else deadline)
        own = {place: [link for link in each if link.condition != REACT] for place, each in links.items()}
        depends = {place: each for place, each in own.items() if each}
        if depends:
            frame["workflow"] = workflows(depends, len(jobs))
        frame["status"] = _coded(lives["status"], STATUSES)
        frame["reason"] = [self.failed[index][2] if index in self.failed else "" for index in range(len(jobs))]
        frame["placement"] = as_column([*self.placements, np.empty(0, dtype=np.int32)])[last]
        return pd.DataFrame(frame, copy=False)

    def attempts_frame(self, ids: pd.Series[str]) -> pd.DataFrame:
        """Return one row per attempt, in the order in which the jobs left. `ids` are those of all jobs."""
        number = _columns(self.stays, STAY)
        order = number["order"]
        columns: dict[str, Any] = {"id": ids.take(order).array if len(order) else np.empty(0, dtype=object)}
        columns |= {name: number[name] for name in ("start", "end")}
        columns["outcome"] = _coded(number["outcome"], OUTCOMES)
        columns |= {name: number[name] for name in ("useful", "shape", "units", "walltime")}
        columns["nodes"] = np.fromiter(map(len, self.placements), dtype=np.int64, count=len(self.placements))
        columns["placement"] = as_column(self.placements)
        return pd.DataFrame(columns, copy=False)

    def decisions_frame(self) -> pd.DataFrame:
        """Return one row per decision. The columns of the dispatcher's reports follow those of the engine."""
        table = np.frombuffer(self.decisions, dtype=np.int64).reshape(-1, len(DECISION))
        frame = pd.DataFrame(table, columns=list(DECISION), copy=False)
        reports = self.reports.frame(len(frame))
        return frame if reports.empty else pd.concat([frame, reports], axis=1)


def _typed(column: array[Any] | list[Any]) -> Any:
    """Return a column with the type that pandas infers for records."""
    if isinstance(column, array):
        return np.array(column)
    return pd.DataFrame.from_records([(value,) for value in column], columns=["value"])["value"].array


def _coded(codes: NDArray[np.int64], names: tuple[str, ...]) -> Any:
    return pd.Categorical.from_codes(codes, dtype=text_categories(names))


def _columns(rows: array[int], names: tuple[str, ...]) -> dict[str, NDArray[np.int64]]:
    """Return the columns of a table written row by row, without a copy."""
    table = np.frombuffer(rows, dtype=np.int64).reshape(-1, len(names))
    return {name: table[:, index] for index, name in enumerate(names)}


def _submissions(submit: IntArray, end: IntArray, links: Mapping[int, Sequence[Link]]) -> IntArray:
    """Return the submissions of all jobs, with those that followed the end of other jobs, the last of them.

    A job that was rejected before was submitted at its rejection.
    """
    submissions = submit.copy()
    for place, listed in links.items():
        ends = [end[link.parent] + link.delay for link in listed if link.condition == REACT and end[link.parent] >= 0]
        if ends:
            at = max(submit[place], *ends)
            submissions[place] = min(at, end[place]) if end[place] >= 0 else at
    return submissions


def _lives(
    stays: dict[str, IntArray], eligible: IntArray, failed: Mapping[int, tuple[str, int, str]]
) -> dict[str, IntArray]:
    """Return the result of every job. The wait is all time before it left that it was not on the machine.

    Parameters
    ----------
    stays
        Columns of the attempts, in order for each job.
    eligible
        First entry of every job into the queue, seconds, shape (jobs,).
    failed
        Status, end and reason of killed or rejected jobs, by their place in the trace.
    """
    order, start, end, useful = (stays[name] for name in ("order", "start", "end", "useful"))
    count, held = len(eligible), end - start
    last = np.full(count, -1, dtype=np.int64)
    last[order] = np.arange(len(order))
    first = np.full(count, -1, dtype=np.int64)
    gone = np.full(count, -1, dtype=np.int64)
    first[order[::-1]] = start[::-1]
    gone[order] = end
    run = _sums(order, useful, count)
    status = np.where(last >= 0, _STATUS["completed"], -1)
    for job, (how, left, _) in failed.items():
        status[job], gone[job] = _STATUS[how], left
        run[job] = held[last[job]] if last[job] >= 0 else 0
    wait = np.where(status >= 0, gone - eligible - _sums(order, held, count), 0)
    attempts = np.bincount(order, minlength=count)
    lost = _sums(order, (held - useful) * stays["units"], count)
    return {
        "start": first,
        "end": gone,
        "wait": wait,
        "run": run,
        "attempts": attempts,
        "lost": lost,
        "status": status,
        "last": last,
    }


def sequential_work(jobs: JobColumns, primary: str) -> IntArray:
    """Return the least work of every job over its request and its shapes, in units times seconds.

    This is its sequential work if it may run on one unit, and its speedup never exceeds its units.
    """
    work = jobs.amounts(primary) * jobs.runtime
    for row in np.flatnonzero(jobs.shapes.numbers(len)).tolist():
        job = jobs[row]
        units = [shape.nodes * (shape.per_node or job.per_node).get(primary, 0) for shape in job.shapes]
        least = min(unit * shape.runtime for unit, shape in zip(units, job.shapes, strict=True))
        work[row] = min(work[row], least)
    return work


def _of_last(values: IntArray, last: IntArray, otherwise: int) -> IntArray:
    """Return the values of the last attempt of every job, and `otherwise` for a job without one."""
    last_values: IntArray = np.append(values, otherwise)[last]
    return last_values


def _sums(order: IntArray, amounts: IntArray, count: int) -> IntArray:
    """Return the sum of the amounts of every job."""
    sums = np.zeros(count, dtype=np.int64)
    np.add.at(sums, order, amounts)
    return sums
