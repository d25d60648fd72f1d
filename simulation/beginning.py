"""Begin a simulation from a state: the engine replays the arrivals and starts that led to it."""

from dataclasses import replace
from operator import attrgetter
from typing import Any

import numpy as np

from ..base import InputError, IntArray, count_slots
from ..dispatchers import Dispatcher, Start
from ..dispatchers.protocol import DispatcherContract
from ..dispatchers.registered import layers
from ..predictors import Predictor
from ..workloads import Machine
from ..workloads.machine_state import MachineState, RunningSince
from .events.event_calendar import CORRECTION, TIMER
from .simulated_job import JobRequest, SimulatedJob
from .simulation_errors import ActionError, asked

#: The :class:`~.engine.Engine` that begins.
Engine = Any


def begin_from(engine: Engine, dispatcher: Dispatcher, predictor: Predictor, state: MachineState) -> None:
    """Set an engine that has not run yet to a state.

    Raises
    ------
    InputError
        If a running job is not in the workload, came later, or has no room. Also if it has already ended.
    """
    mapper, at = engine.mapper, state.at
    for ended in sorted(state.ended, key=attrgetter("end")):
        asked(lambda: type(predictor).__name__, "observe", predictor.observe, ended.whole)
    for part in layers(dispatcher):
        recall = DispatcherContract(part).recall
        if recall is not None:
            name = type(part).__name__
            asked(lambda: name, "recall", recall, state, state.memory.get(name))  # noqa: B023 - called at once
    jobs = _standing(engine, state)
    known = [since for since in state.running if since.placement is not None]
    unknown = [since for since in state.running if since.placement is None]
    for since in sorted(known, key=attrgetter("start")):
        _start(engine, jobs, since, at)
    # Jobs with fewer possible nodes come first.
    unknown.sort(key=lambda since: (_choices(engine, jobs, since), since.start))
    for since in _laid_out(engine, jobs, unknown):
        _start(engine, jobs, since, at)
    heap = mapper.calendar.heap
    while heap and heap[0][0] < at:
        passed = heap[0][0]
        for _, kind, _, job in mapper.calendar.due(passed, CORRECTION):
            if kind == CORRECTION:  # Other events are past outages: their jobs do not run in the state.
                mapper.cycle.correct(job, passed)
    mapper.decisions.wakes.update((at,) if state.timers is None else state.timers)
    for timer in sorted(mapper.decisions.wakes):
        mapper.calendar.add(timer, TIMER, None)
    mapper.cycle.changed = False
    mapper.current_time = at


def _standing(engine: Engine, state: MachineState) -> dict[str, SimulatedJob]:
    """Add the jobs submitted before the state. Return them by id."""
    mapper = engine.mapper
    arrivals = engine.arrivals
    workload = arrivals.recorder.workload
    before = int(np.searchsorted(workload.columns.submit, state.at))
    came_before = 0
    for order, job in enumerate(workload.jobs[:before]):
        event = arrivals.event(job, order)
        if event is not None:
            came_before += 1
            mapper.events[event.id] = event
            came = max(event.queued_time, job.begin if job.begin < state.at else 0)
            mapper.cycle.submit(event, came, state.predicted.get(event.id))
    arrivals.position = before
    # Lost jobs, such as held ones, are subtracted again.
    engine.loaded_jobs += came_before
    jobs: dict[str, SimulatedJob] = mapper.events
    return jobs


def _laid_out(engine: Engine, jobs: dict[str, SimulatedJob], unknown: list[RunningSince]) -> list[RunningSince]:
    """Return jobs with nodes for each, in their order, if a placement is found.

    A job without room moves to the front, and all are placed again.
    """
    order = [since for since in unknown if since.id in jobs]
    for _ in range(len(order) + 1):
        free = engine.mapper.cycle.nodes.shown.copy()
        placements: dict[str, tuple[int, ...]] = {}
        for since in order:
            asks = engine.mapper.decisions.checks.requested(jobs[since.id], since.shape)
            nodes = _room(free, asks)
            if len(nodes) < asks.nodes:
                break
            np.subtract.at(free, list(nodes), asks.demand)
            placements[since.id] = nodes
        else:
            return [replace(since, placement=placements.get(since.id)) for since in unknown]
        order.insert(0, order.pop(order.index(since)))
    return unknown


def _start(engine: Engine, jobs: dict[str, SimulatedJob], since: RunningSince, at: int) -> None:
    """Start a job at its recorded time."""
    mapper = engine.mapper
    where = f"state: job {since.id}"
    job = jobs.get(since.id)
    if job is None:
        raise InputError(f"{where}: expected a job of the workload that fits and was submitted before {at}, got none")
    if since.start < job.queued_time:
        raise InputError(f"{where}: start must be at least {job.queued_time}, its submission, got {since.start}")
    try:
        asks = mapper.decisions.checks.requested(job, since.shape)
        placement = since.placement
        if placement is None:
            placement = _room(mapper.cycle.nodes.shown, asks)
        if len(placement) < asks.nodes and since.placement is None:
            raise ActionError(f"job {asks.job.id}: no room for {asks.nodes} x {asks.demand}")
        action = Start(since.id, np.array(placement, dtype=np.int64), since.limit, since.shape, since.write)
        mapper.cycle.start(*mapper.decisions.checks.start(action), since.start)
    except ActionError as error:
        raise InputError(f"state: {str(error).removeprefix('state: ')}") from None
    if since.predicted_end is not None:
        mapper.cycle.predict_end(job, since.predicted_end, since.misses, at)
    engine.dispatched_jobs += 1
    if job.completion[0] < at:
        raise InputError(f"{where}: expected an end at {at} or later, got {job.completion[0]}")


def _choices(engine: Engine, jobs: dict[str, SimulatedJob], since: RunningSince) -> int:
    """Return the slots of the empty machine for a job, 0 if the job is unknown."""
    machine: Machine = engine.mapper.machine
    return machine.slots_of(jobs[since.id].own.demand) if since.id in jobs else 0


def _room(free: IntArray, asks: JobRequest) -> tuple[int, ...]:
    """Return the first nodes with room for a job; too few if there are no more."""
    slots = count_slots(free, asks.demand)
    return tuple(np.repeat(np.arange(len(slots)), slots)[: asks.nodes].tolist())
