"""The event manager of simulations in which only FCFS or EASY has a say: compiled, from the columns of the workload.

Events, decisions and records are those of :class:`.DispatchEvents`, of which tests hold it to every byte.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import perf_counter_ns
from typing import Any

import numpy as np

from ...base import IntArray
from ...dispatchers import Dispatcher
from ...dispatchers.backfilling.compiled_traces import CompiledTrace, in_compiled_code
from ...predictors import Oracle, Predictor, Walltime
from ...workloads import Machine
from ...workloads.fitting_requests import room_for, why_it_cannot_run
from ...workloads.job_columns import JobColumns
from ..accasim_compat import EventManager
from ..overrun import Overrun
from ..placements import on_node_zero
from ..recorder import COMPLETED, DECISION, LIMIT, STAY, Recorder

#: Jobs from which on loading the compiled code takes less time than it saves.
WORTH = 10_000
#: Those who predict the same of a job at any time, by what they do.
_PREDICTED: Mapping[type, Callable[[JobColumns], IntArray]] = {
    Walltime: lambda jobs: jobs.walltime,
    Oracle: lambda jobs: np.maximum(jobs.runtime, 1),
}


class CompiledEvents(EventManager):  # type: ignore[misc]
    """The event manager behind AccaSim's main loop, each step of which is many instants here.

    Parameters
    ----------
    recorder
        Of the workload.
    trace
        The jobs that fit the machine.
    places
        Their places in the workload, shape (jobs,).
    work
        How long they are on the machine, seconds, shape (jobs,).
    progress
        As for :func:`.simulate`.
    """

    def __init__(
        self, recorder: Recorder, trace: CompiledTrace, places: IntArray, work: IntArray,
        progress: Callable[[int], None] | None,
    ) -> None:  # fmt: skip
        self.current_time = 0
        self.events: dict[str, Any] = {}
        self.loaded: tuple[Any, ...] = ()
        self._recorder = recorder
        self._trace = trace
        self._places = places
        self._work = work
        self._units = recorder.workload.columns.amounts(recorder.primary)
        self._progress = progress
        self._finished = 0
        self._ended = False

    def load_events(self, es: Any) -> None:
        """Take no jobs: all are there."""

    def has_events(self) -> bool:
        """Return whether anything is still to come or to run."""
        return not self._ended

    def next_events(self) -> list[Any]:
        """Return no queue, so that AccaSim's loop asks for no decision."""
        return []

    def release_ended_events(self, event_dict: dict[str, Any]) -> None:
        """Go through many instants, and book what happened."""
        begin = perf_counter_ns()
        decisions, ended = self._trace.go_on()
        taken = perf_counter_ns() - begin
        self._ended = not len(decisions) and not len(ended)
        self._book_decisions(decisions, taken)
        self._book_stays(ended)
        self._finished += len(ended)
        if self._progress is not None:
            self._progress(self._finished)

    def _book_decisions(self, decisions: IntArray, taken: int) -> None:
        """Book decisions, each with the same part of the time that they took."""
        rows = np.zeros((len(decisions), len(DECISION)), dtype=np.int64)
        rows[:, :4] = decisions
        self._recorder.decisions.frombytes(rows.tobytes())
        times = np.full(len(decisions), taken // max(len(decisions), 1), dtype=np.int64)
        self._recorder.decision_ns.frombytes(times.tobytes())

    def _book_stays(self, ended: IntArray) -> None:
        """Book jobs that ended: all that ran as long as they were to are completed."""
        recorder, order = self._recorder, self._places[ended]
        jobs = recorder.workload.columns
        start, held, walltime = self._trace.started(ended), self._work[ended], jobs.walltime[order]
        killed = held < jobs.runtime[order]
        outcome, useful = np.where(killed, LIMIT, COMPLETED), np.where(killed, 0, held)
        shape, units = np.full(len(order), -1), self._units[order]
        stays = np.column_stack((order, start, start + held, outcome, useful, shape, units, walltime, walltime))
        assert stays.shape[1] == len(STAY)
        recorder.stays.frombytes(stays.tobytes())
        for row in np.flatnonzero(killed).tolist():
            reason = f"reached its requested time of {walltime[row]} s"
            recorder.failed[int(order[row])] = "killed", int(start[row] + held[row]), reason
        if recorder.workload.machine.nodes == 1:
            recorder.placements.extend(map(on_node_zero, jobs.nodes[order].tolist()))
        else:
            recorder.placements.extend(self._trace.placements(ended))


def compiled_events(
    recorder: Recorder, dispatcher: Dispatcher, predictor: Predictor, overrun: Overrun,
    progress: Callable[[int], None] | None,
) -> CompiledEvents | None:  # fmt: skip
    """Return the event manager of a simulation of which compiled code can do all; ``None`` for others.

    That is of many rigid jobs under EASY or FCFS, which see requested times or actual ones, where what is free is one
    number: a pool of one resource, or nodes of which all jobs ask for the same amounts a slot.
    """
    workload, predicted = recorder.workload, _PREDICTED.get(type(predictor))
    jobs, machine = workload.columns, workload.machine
    if len(jobs) < WORTH or predicted is None or overrun.mode == "resubmit" or any(map(len, jobs.shapes.values)):
        return None
    fits = jobs.nodes <= jobs.per_node.numbers(lambda amounts: room_for(machine, amounts))
    room = _room(machine, jobs, fits) if in_compiled_code(dispatcher, machine.nodes) else None
    if room is None:
        return None
    for order in np.flatnonzero(~fits).tolist():
        job = jobs[order]
        recorder.fail(order, "rejected", job.submit, why_it_cannot_run(job, machine))
    lengths, work = predicted(jobs), jobs.runtime
    if overrun.mode == "kill":
        lengths, work = np.minimum(lengths, jobs.walltime), np.minimum(work, jobs.walltime)
    np.frombuffer(recorder.predicted, dtype=np.int64)[fits] = lengths[fits]
    amount = jobs.amounts(recorder.primary) if machine.nodes == 1 else jobs.nodes
    columns = jobs.submit[fits], work[fits], lengths[fits], amount[fits]
    return CompiledEvents(
        recorder, CompiledTrace(dispatcher, columns, room), np.flatnonzero(fits), columns[1], progress
    )


def _room(machine: Machine, jobs: JobColumns, fits: Any) -> IntArray | None:
    """Return the units of a pool or the slots of nodes, if these tell all there is to know."""
    if machine.nodes == 1:
        return machine.capacity[0] if machine.capacity.size == 1 else None
    codes = np.unique(jobs.per_node.codes[fits])
    demands = {machine.demand(jobs.per_node.values[code]) for code in codes.tolist()}
    if len(demands) != 1:
        return None
    wanted = np.array(demands.pop())
    room: IntArray = (machine.capacity[:, wanted > 0] // wanted[wanted > 0]).min(axis=1)
    return room
