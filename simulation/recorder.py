"""What is kept of a simulation while it runs, in columns."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..dispatchers import Placement
from ..workloads import Job, Workload

#: How a job left the system.
STATUSES = ("completed", "killed", "rejected")
#: How an attempt ended.
OUTCOMES = ("completed", "limit", "killed", "checkpointed")
COMPLETED, LIMIT, KILLED, CHECKPOINTED = range(4)


class Attempt(NamedTuple):
    """One stay of a job on the machine, half-open in time."""

    start: int
    end: int
    outcome: int
    useful: int
    shape: int
    units: int
    placement: Placement


class Recorder:
    """Columns of jobs, attempts and decisions, filled by the event manager."""

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self._primary = workload.machine.resources[workload.machine.primary]
        count = len(workload.jobs)
        self.start = np.full(count, -1, dtype=np.int64)
        self.end = np.full(count, -1, dtype=np.int64)
        self.queued = np.zeros(count, dtype=np.int64)
        self.run = np.zeros(count, dtype=np.int64)
        self.predicted = np.full(count, -1, dtype=np.int64)
        self.tries = np.zeros(count, dtype=np.int32)
        self.status = np.full(count, -1, dtype=np.int8)
        self.reason: dict[int, str] = {}
        self.numbers = {name: array("q") for name in ("order", "start", "end", "outcome", "useful", "shape", "units")}
        self.placements: list[NDArray[np.int32]] = []
        self.decisions = {name: array("q") for name in ("time", "queued", "running", "started", "stopped", "rejected")}
        self.reports: list[Mapping[str, Any] | None] = []
        self.decision_ns = array("q")
        self.prediction_ns = 0

    def job(self, order: int, status: str, end: int, reason: str = "") -> None:
        """Book how a job left the system."""
        self.status[order] = STATUSES.index(status)
        self.end[order] = end
        if reason:
            self.reason[order] = reason

    def attempts(self, order: int, attempts: list[Attempt], lost: bool) -> None:
        """Book the attempts of a job that has left; with `lost`, none of its work counts."""
        numbers = self.numbers
        for attempt in attempts:
            numbers["order"].append(order)
            numbers["start"].append(attempt.start)
            numbers["end"].append(attempt.end)
            numbers["outcome"].append(attempt.outcome)
            numbers["useful"].append(0 if lost else attempt.useful)
            numbers["shape"].append(attempt.shape)
            numbers["units"].append(attempt.units)
            self.placements.append(_compact(attempt.placement))

    def decision(self, counts: tuple[int, int, int, int, int, int], report: Mapping[str, Any] | None, ns: int) -> None:
        """Book a decision: time, queued, running, started, stopped, rejected; its report and its measured time."""
        for column, value in zip(self.decisions.values(), counts, strict=True):
            column.append(value)
        self.decision_ns.append(ns)
        if report is not None:
            self.reports += [None] * (len(self.decision_ns) - 1 - len(self.reports))
            self.reports.append(dict(report))

    def jobs_frame(self) -> pd.DataFrame:
        """Return one row a job, in the order of the trace."""
        jobs = self.workload.jobs
        attempts = self.attempts_frame()
        order = np.frombuffer(self.numbers["order"], dtype=np.int64)
        last = np.full(len(jobs), -1, dtype=np.int64)
        last[order] = np.arange(len(order))
        lost = np.zeros(len(jobs), dtype=np.int64)
        np.add.at(lost, order, (attempts["end"] - attempts["start"] - attempts["useful"]) * attempts["units"])
        frame = pd.DataFrame(_fields(jobs))
        frame["start"] = self.start
        frame["end"] = self.end
        frame["wait"] = self.queued
        frame["run"] = self.run
        frame["predicted"] = self.predicted
        frame["attempts"] = self.tries
        frame["units"] = [job.nodes * job.per_node.get(self._primary, 0) for job in jobs]
        frame["lost"] = lost
        frame["status"] = _coded(self.status, STATUSES)
        frame["reason"] = [self.reason.get(index, "") for index in range(len(jobs))]
        nothing = np.empty(0, dtype=np.int32)
        frame["placement"] = pd.Series([self.placements[row] if row >= 0 else nothing for row in last], dtype=object)
        return frame

    def attempts_frame(self) -> pd.DataFrame:
        """Return one row a stay on the machine, in the order in which the jobs left."""
        ids = np.array([job.id for job in self.workload.jobs], dtype=object)
        number = {name: np.frombuffer(column, dtype=np.int64) for name, column in self.numbers.items()}
        frame = pd.DataFrame({"id": ids[number["order"]]})
        for name in ("start", "end"):
            frame[name] = number[name]
        frame["outcome"] = _coded(number["outcome"], OUTCOMES)
        frame["useful"] = number["useful"]
        frame["shape"] = number["shape"]
        frame["units"] = number["units"]
        frame["nodes"] = np.fromiter(map(len, self.placements), dtype=np.int64, count=len(self.placements))
        frame["placement"] = pd.Series(self.placements, dtype=object)
        return frame

    def decisions_frame(self) -> pd.DataFrame:
        """Return one row a decision, with the columns of the dispatcher's reports after the engine's own."""
        frame = pd.DataFrame({name: np.frombuffer(column, dtype=np.int64) for name, column in self.decisions.items()})
        if self.reports:
            rows = [report or {} for report in self.reports]
            rows += [{}] * (len(frame) - len(rows))
            extra = pd.DataFrame.from_records(rows)
            frame = pd.concat([frame, extra], axis=1)
        return frame


def _coded(codes: NDArray[Any], names: tuple[str, ...]) -> Any:
    return pd.Categorical.from_codes(codes.astype(np.int64), dtype=pd.CategoricalDtype(list(names)))


_NODE_ZERO = np.zeros(1, dtype=np.int32)
_NODE_ZERO.flags.writeable = False


def _compact(placement: Placement) -> NDArray[np.int32]:
    """Return a placement in half the memory; that of every job of one slot on node 0 is one and the same."""
    return _NODE_ZERO if len(placement) == 1 and placement[0] == 0 else placement.astype(np.int32)


def _fields(jobs: tuple[Job, ...]) -> dict[str, Any]:
    numbers = ("submit", "runtime", "walltime", "nodes")
    texts = ("user", "group", "name", "queue", "kind")
    fields: dict[str, Any] = {"id": [job.id for job in jobs]}
    for name in numbers:
        fields[name] = np.fromiter((getattr(job, name) for job in jobs), dtype=np.int64, count=len(jobs))
    for name in texts:
        fields[name] = pd.Categorical([getattr(job, name) for job in jobs])
    return fields
