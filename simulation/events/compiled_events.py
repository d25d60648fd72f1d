"""The event manager of simulations that run whole in compiled code: lists, EASY and look-ahead.

Events, decisions and records are those of :class:`.DispatchEvents`. Tests compare every byte.
"""

from collections.abc import Callable, Mapping
from functools import partial
from time import perf_counter_ns
from typing import Any

import numpy as np

from ...base import IntArray, count_slots
from ...dispatchers import Dispatcher
from ...dispatchers.backfilling.compiled_traces import CompiledTrace, Entry, entry_of
from ...dispatchers.backfilling.easy import EASY
from ...dispatchers.compiled_steps import CompiledSteps
from ...dispatchers.protocol import DispatcherContract
from ...predictors import Oracle, Predictor, Walltime
from ...workloads import Machine, Workload
from ...workloads.fitting_requests import Refusals, room_for
from ...workloads.job_columns import JobColumns
from ...workloads.machine_rules import Reservation
from ..accasim_compat import EventManager
from ..eligibility import has_rules
from ..overrun import Overrun
from ..placements import on_node_zero
from ..recorder import COMPLETED, DECISION, LIMIT, STAY, Recorder

#: From this number of jobs on, compiled code saves more time than it takes to load.
WORTH = 10_000
#: Most closed times in a list.
_MOST_WINDOWS = 1_000_000

#: Predictors with one fixed prediction for each job, as functions of the jobs.
_PREDICTED: Mapping[type, Callable[[JobColumns], IntArray]] = {
    Walltime: lambda jobs: jobs.walltime,
    Oracle: lambda jobs: np.maximum(jobs.runtime, 1),
}
#: Makes the steps of the jobs. The last argument says whether walltimes bound run times.
Maker = Callable[[Predictor, JobColumns, Machine, bool], CompiledSteps | None]
#: Makers for further dispatchers: each function returns that for a dispatcher, or ``None``. Studies add to them.
MAKERS: list[Callable[[Dispatcher], Maker | None]] = []


class CompiledEvents(EventManager):  # type: ignore[misc]
    """The compiled event manager behind AccaSim's main loop. Each step of the loop is many instants here.

    Parameters
    ----------
    recorder
        Of the workload.
    steps
        The jobs that fit the machine.
    places
        Their places in the workload, shape (jobs,).
    progress
        As for :func:`.simulate`.
    """

    def __init__(
        self, recorder: Recorder, steps: CompiledSteps, places: IntArray, progress: Callable[[int], None] | None
    ) -> None:
        self.current_time = 0
        self.events: dict[str, Any] = {}
        self.loaded: tuple[Any, ...] = ()
        self.lost = 0
        self._recorder = recorder
        self._steps = steps
        self._places = places
        self._units = recorder.workload.columns.amounts(recorder.primary)
        self._progress = progress
        self._finished = 0
        self._ended = False

    def load_events(self, es: Any) -> None:
        """Ignore the jobs: all are loaded already."""

    def has_events(self) -> bool:
        """Return whether any events or running jobs are left."""
        return not self._ended

    def next_events(self) -> list[Any]:
        """Return an empty queue, so that AccaSim's loop requests no decision."""
        return []

    def release_ended_events(self, event_dict: dict[str, Any]) -> None:
        """Run many instants, and record the events."""
        begin = perf_counter_ns()
        decisions, ended = self._steps.go_on()
        taken = perf_counter_ns() - begin
        self._ended = not len(decisions) and not len(ended)
        if len(decisions):
            self._recorder.reports.extend(len(self._recorder.decision_ns), self._steps.reports())
            self._book_decisions(decisions, taken)
        self._book_stays(ended)
        self._finished += len(ended)
        if self._progress is not None:
            self._progress(self._finished)
        if self._ended:
            del self._steps  # Frees its columns for the tables.

    def _book_decisions(self, decisions: IntArray, taken: int) -> None:
        """Record decisions. Each gets the same part of the measured time."""
        rows = np.zeros((len(decisions), len(DECISION)), dtype=np.int64)
        rows[:, :4] = decisions
        self._recorder.decisions.frombytes(rows.tobytes())
        times = np.full(len(decisions), taken // len(decisions), dtype=np.int64)
        self._recorder.decision_ns.frombytes(times.tobytes())

    def _book_stays(self, ended: IntArray) -> None:
        """Record jobs that left and all their attempts. Jobs that ran for their whole run time are completed."""
        recorder = self._recorder
        jobs = self._recorder.workload.columns
        place, start, held, limits = self._steps.attempts(ended)
        last = np.append(place[1:] != place[:-1], True) if len(place) else np.zeros(0, dtype=bool)
        order = self._places[ended][place]
        eligible = self._steps.eligible(ended)
        if eligible is not None:
            late = eligible > jobs.submit[order]
            recorder.eligible.update(zip(order[late].tolist(), eligible[late].tolist(), strict=True))
        completed = last & (held >= jobs.runtime[order])
        outcome = np.where(completed, COMPLETED, LIMIT)
        useful = np.where(completed, held, 0)
        shape = np.full(len(order), -1)
        units = self._units[order]
        walltime = jobs.walltime[order]
        stays = np.column_stack((order, start, start + held, outcome, useful, shape, units, walltime, limits))
        assert stays.shape[1] == len(STAY)
        recorder.stays.frombytes(stays.tobytes())
        for row in np.flatnonzero(last & ~completed).tolist():
            reason = f"reached its walltime of {walltime[row]} s"
            recorder.failed[int(order[row])] = "killed", int(start[row] + held[row]), reason
        placed = self._steps.placements(ended)
        recorder.placements.extend(map(on_node_zero, jobs.nodes[order].tolist()) if placed is None else placed)


def compiled_events(
    recorder: Recorder,
    dispatcher: Dispatcher,
    predictor: Predictor,
    overrun: Overrun,
    progress: Callable[[int], None] | None,
    same_instant: str = "batch",
) -> CompiledEvents | None:
    """Return the event manager of a simulation that compiled code can run whole. ``None`` for others.

    The jobs are rigid and many. They run under a list order or EASY, on a pool or on nodes where all slots have the
    same amounts, or under look-ahead on a pool. Predictions are walltimes or actual run times. With a decision after
    each event (``same_instant="sequence"``), there are no priorities, dependencies and closures, and no look-ahead.
    """
    in_sequence = same_instant == "sequence"
    if same_instant not in ("batch", "sequence"):
        return None
    workload = recorder.workload
    jobs = workload.columns
    machine = workload.machine
    closed = _closed(workload, dispatcher, predictor) if machine.rules else None
    if (machine.rules and closed is None) or any(jobs.soft_walltime.values):
        return None
    if in_sequence and (machine.rules or has_rules(jobs, True) or any(jobs.priority.values)):
        return None
    made = _maker(dispatcher, len(jobs), machine, in_sequence)
    if made is None or overrun.mode == "resubmit" or any(map(len, jobs.shapes.values)):
        return None
    fits = jobs.nodes <= jobs.per_node.numbers(lambda amounts: room_for(machine, amounts))
    successors = None
    if has_rules(jobs, True):
        successors = _successors(workload, overrun.mode == "kill") if fits.all() else None
        if successors is None or not isinstance(made, partial) or made.func is not _plain:
            return None
        made = partial(made, successors=successors)
    if closed is not None:
        if not isinstance(made, partial) or made.func is not _plain:
            return None
        made = partial(made, closed=closed)
    rows = np.flatnonzero(fits)
    if any(jobs.priority.values):  # The places in the queue follow this order.
        if successors is not None or DispatcherContract(dispatcher).steps_on_pool is not None:
            return None
        rows = rows[np.lexsort((-jobs.priority.numbers(int)[rows], jobs.submit[rows]))]
    steps = made(predictor, jobs.take(rows), machine, overrun.mode == "kill")
    if steps is None:
        return None
    refusals = Refusals(recorder.machine)
    misfits = np.flatnonzero(~fits)
    for order, job in zip(misfits.tolist(), jobs.take(misfits), strict=True):
        recorder.fail(order, "rejected", job.submit, refusals.reason(job))
    np.frombuffer(recorder.predicted, dtype=np.int64)[rows] = steps.lengths
    return CompiledEvents(recorder, steps, rows, progress)


def _closed(workload: Workload, dispatcher: Dispatcher, predictor: Predictor) -> IntArray | None:
    """Return the times at which a machine is closed under EASY. ``None`` for other rules.

    The machine has one reservation of all nodes without users. Between two of its windows there is time for each job.
    """
    rules = workload.machine.rules
    jobs = workload.columns
    if len(rules.closing) != 1 or rules.limits or rules.licences or rules.power is not None:
        return None
    rule = rules.closing[0]
    plain = isinstance(rule, Reservation) and not (rule.name or rule.floating or rule.amounts is not None)
    easy = isinstance(dispatcher, EASY) and dispatcher.in_order
    if not (plain and easy) or type(predictor) is not Walltime or any(jobs.reservation.values):
        return None
    nodes = workload.machine.nodes
    every = getattr(rule, "every", None)
    gap = None if every is None else every - (rule.end - rule.begin)
    if len(rule.indices(nodes)) < nodes or (gap is not None and jobs.walltime.max() > gap):
        return None
    last = int(jobs.submit[-1] + np.maximum(jobs.runtime, jobs.walltime).sum(dtype=np.float64)) + rule.end
    windows = 1 if every is None else max(1, -(-(last - rule.begin) // every) + 1)
    if windows > _MOST_WINDOWS:
        return None
    closed: IntArray = np.array([rule.begin, rule.end]) + np.arange(windows)[:, None] * (every or 0)
    return closed


def _successors(workload: Workload, bounded: bool) -> tuple[IntArray, IntArray] | None:
    """Return the dependent jobs of each job, and where they begin. ``None`` for other conditions than an end.

    A dependency on success equals one on the end if no job is killed.
    """
    jobs = workload.columns
    if any(jobs.begin.values) or any(jobs.hold.values) or any("%" in each for each in jobs.array.values):
        return None
    pairs = [(link, child) for child, listed in workload.links.items() for link in listed]
    killed = bounded & (jobs.runtime > jobs.walltime)
    if any(link.delay or link.condition not in ("afterany", "afterok", "singleton") for link, _ in pairs):
        return None
    if any(link.condition == "afterok" and killed[link.parent] for link, _ in pairs):
        return None
    parents = np.array([link.parent for link, _ in pairs], dtype=np.int64)
    order = np.argsort(parents, kind="stable")
    first = np.searchsorted(parents[order], np.arange(len(jobs) + 1)).astype(np.int64)
    return first, np.array([child for _, child in pairs], dtype=np.int64)[order]


def _maker(dispatcher: Dispatcher, jobs: int, machine: Machine, in_sequence: bool) -> Maker | None:
    """Return the function for the steps under a dispatcher. ``None`` if compiled code is impossible or not worth it."""
    if not in_sequence:  # Only the event loop of lists and EASY decides after each event.
        for maker in MAKERS:
            if (made := maker(dispatcher)) is not None:
                return made
    steps = DispatcherContract(dispatcher).steps_on_pool
    if steps is not None:
        return partial(_on_pool, steps) if jobs >= WORTH and machine.nodes == 1 and not in_sequence else None
    entry = entry_of(dispatcher, in_sequence) if jobs >= WORTH else None
    placement = "first-fit" if machine.nodes == 1 else DispatcherContract(dispatcher).placement
    if entry is None or placement not in ("first-fit", "compact") or (placement == "compact" and in_sequence):
        return None
    return partial(_plain, entry, compact=placement == "compact")


def _stays(predictor: Predictor, jobs: JobColumns, bounded: bool) -> tuple[IntArray, IntArray] | None:
    """Return the time on the machine and its prediction for each job. ``None`` if a prediction may change."""
    predicted = _PREDICTED.get(type(predictor))
    if predicted is None or "correct" in vars(predictor):
        return None
    lengths, work = predicted(jobs), jobs.runtime
    if bounded:
        return np.minimum(work, jobs.walltime), np.minimum(lengths, jobs.walltime)
    return work, lengths


def _plain(
    entry: Entry,
    predictor: Predictor,
    jobs: JobColumns,
    machine: Machine,
    bounded: bool,
    successors: tuple[IntArray, IntArray] | None = None,
    closed: IntArray | None = None,
    compact: bool = False,
) -> CompiledTrace | None:
    """Return the steps under a list order or EASY if the amounts decide which jobs fit.

    Then the choice of nodes has no effect on the starts.
    """
    stays = _stays(predictor, jobs, bounded)
    pool = machine.nodes == 1
    capacity = machine.capacity[0] if pool else slots_of(machine, jobs)
    if stays is None or capacity is None:
        return None
    need = amounts_of(machine, jobs) if pool else jobs.nodes[:, None]
    labels = machine.labels if compact else None
    if compact and stays[0].min() == 0:  # Which jobs it makes room for at its instant depends on the order of events.
        return None
    return CompiledTrace(entry, (jobs.submit, *stays), jobs.walltime, need, capacity, pool, successors, closed, labels)


def _on_pool(
    steps: Callable[..., CompiledSteps | None], predictor: Predictor, jobs: JobColumns, machine: Machine, bounded: bool
) -> CompiledSteps | None:
    """Return the steps of a dispatcher's own event loop."""
    stays = _stays(predictor, jobs, bounded)
    if stays is None:
        return None
    return steps((jobs.submit, *stays), jobs.walltime, amounts_of(machine, jobs), machine.capacity[0])


def amounts_of(machine: Machine, jobs: JobColumns) -> IntArray:
    """Return the amounts of jobs on a pool, shape (jobs, resources)."""
    return np.column_stack([jobs.amounts(resource) for resource in machine.resources])


def slots_of(machine: Machine, jobs: JobColumns) -> IntArray | None:
    """Return the slots of each node, if all jobs request the same amounts per slot."""
    codes = np.unique(jobs.per_node.codes)
    demands = {machine.demand(jobs.per_node.values[code]) for code in codes.tolist()}
    return count_slots(machine.capacity, demands.pop()) if len(demands) == 1 else None
