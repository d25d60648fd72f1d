"""Take the state of a simulation at an instant, from which another simulation can begin."""

from collections import Counter
from contextlib import suppress
from dataclasses import replace
from operator import attrgetter

import numpy as np

from ...base import FloatArray, InputError
from ...base.argument_types import names_wrong_types
from ...dispatchers import Action, Conservative, Dispatcher, Reject, State
from ...dispatchers.protocol import DispatcherContract
from ...dispatchers.registered import layers
from ...predictors import Predictor
from ...workloads import Job, Machine, Workload
from ...workloads.machine_state import EndedJob, MachineState, RunningSince
from ..engine import Engine, SameInstant, engine_of, fresh_parts, recorder_on, settled_heap, simulate
from ..overrun import Overrun
from ..recorder import STAY, Recorder
from ..simulated_job import SimulatedJob

#: Begin, end and free units of a time slot. The last one has no end, ``None``.
Step = tuple[int, int | None, int]
#: An added job that reads the free units and never runs.
_ASKS = "the job that asks what is free"


@names_wrong_types
def guaranteed_starts(workload: Workload, at: int) -> tuple[list[Step], FloatArray]:
    """Simulate a pool under ``conservative`` with kills, and read its availability list once.

    Parameters
    ----------
    workload
        On a pool of one resource.
    at
        The instant, seconds of the trace. Jobs that arrive then already have reservations.

    Returns
    -------
    list
        Begin, end and free units of each time slot, as known at the instant. The last one has no end, ``None``.
    FloatArray
        For every job that was not rejected: its turnaround over the one its first reservation guaranteed. Both count as
        at least 1 s. Shape (jobs,).

    Examples
    --------
    >>> from hpcdispatch.simulation import guaranteed_starts
    >>> from hpcdispatch.testing import tiny
    >>> slots, delays = guaranteed_starts(tiny(), at=15)
    >>> slots
    [(15, 100, 1), (100, 120, 3), (120, 180, 0), (180, None, 4)]
    """
    asks = Job(_ASKS, at, 0, 1, per_node={workload.machine.resources[0]: 1})
    watched = _Watched()
    jobs = simulate(workload.with_jobs([*workload.jobs, asks]), watched, overrun="kill").jobs
    ran = np.flatnonzero((jobs["status"] != "rejected").to_numpy())
    took = (jobs["end"] - jobs["submit"]).to_numpy(dtype=np.float64)[ran]
    guaranteed = np.array([watched.guaranteed[place] for place in ran.tolist()], dtype=np.float64)
    return watched.steps, np.maximum(took, 1.0) / np.maximum(guaranteed, 1.0)


class _Watched:
    """Conservative backfilling that records its guaranteed starts, and its list when the added job arrives."""

    steps: list[Step]

    def reset(self, machine: Machine, rng: np.random.Generator) -> None:
        self._over = Conservative()
        self.guaranteed: dict[int, int] = {}

    def dispatch(self, state: State) -> list[Action]:
        """Record the guaranteed starts of new jobs, and dispatch."""
        asks = [waiting for waiting in state.queue if waiting.id == _ASKS]
        if asks:
            others = [waiting for waiting in state.queue if waiting.id != _ASKS]
            state = State(state.now, others, state.running, state.free, state.machine)
        self._over.update(state)
        for waiting in reversed(state.queue):
            if waiting.order in self.guaranteed:
                break
            start = self._over.guaranteed(waiting)
            assert start is not None
            self.guaranteed[waiting.order] = start + waiting.predicted - waiting.job.submit
        if asks:
            self.steps = self._over.steps()
        return [*self._over.dispatch(state), *(Reject(waiting, "it only asks") for waiting in asks)]


class _InstantReachedError(Exception):
    """Ends a simulation at its instant."""


def _stop() -> None:
    raise _InstantReachedError


@names_wrong_types
def state_at(
    workload: Workload,
    dispatcher: str | Dispatcher,
    predictor: str | Predictor = "walltime",
    *,
    at: int,
    overrun: str | Overrun = "run",
    seed: int = 0,
    same_instant: SameInstant = "batch",
) -> tuple[Workload, MachineState]:
    """Simulate a workload up to an instant. Return the jobs that have not left by then, and the state.

    :func:`.simulate` continues from these as the simulation would have. This needs dispatchers and predictors that keep
    no other data between decisions, or return them by ``memory()``.

    Parameters
    ----------
    workload, dispatcher, predictor
        As for :func:`.simulate`.
    at
        The instant, seconds. No events of this instant have happened.
    overrun, seed, same_instant
        As for :func:`.simulate`.

    Raises
    ------
    InputError
        If all jobs have left, or a job that has not left was stopped earlier. A state cannot hold this.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.simulation import state_at
    >>> from hpcdispatch.testing import tiny
    >>> rest, state = state_at(tiny(), "easy", at=90)
    >>> [running.id for running in state.running]
    ['a']
    >>> hd.simulate(rest, "easy", state=state).jobs["start"].tolist()
    [0, 100, 160]
    """
    recorder = recorder_on(workload, np.arange(workload.machine.nodes))
    parts = fresh_parts(recorder.workload.machine, dispatcher, predictor, seed)
    engine = engine_of(recorder, *parts, Overrun.parse(overrun), same_instant)
    engine.mapper.pause = at
    engine.mapper.at_pause = _stop
    with settled_heap(), suppress(_InstantReachedError):
        engine.start_hpc_simulation()
        raise InputError(f"at: expected an instant before the last job has left, got {at}")
    methods = ((type(part).__name__, DispatcherContract(part).memory) for part in layers(parts[0]))
    memory = {name: method() for name, method in methods if method is not None}
    return _captured(engine, workload, at, memory)


def _captured(engine: Engine, workload: Workload, at: int, memory: dict[str, object]) -> tuple[Workload, MachineState]:
    mapper = engine.mapper
    recorder = engine.arrivals.recorder
    alive = [job for job in mapper.events.values() if job.queued_time < at]
    for job in alive:
        if job.attempts or (job.running is not None and job.running.stopping):
            raise InputError(f"at: job {job.id} was stopped before {at}; a state has no room for that")
    running = [_since(job) for job in alive if job.running is not None]
    ended = tuple(_ended(recorder, workload))
    gone = {each.job.id for each in ended} | {workload.jobs[order].id for order in recorder.failed}
    state = MachineState(
        at,
        tuple(sorted(running, key=attrgetter("start"))),
        {job.id: recorder.predicted[job.order] for job in alive if job.order not in mapper.held},
        ended,
        tuple(sorted(mapper.decisions.wakes)),
        memory,
    )
    left = [(order, job) for order, job in enumerate(workload.jobs) if job.id not in gone]
    if mapper.cycle.eligibility is None:
        return workload.with_jobs(job for _, job in left), state
    return workload.with_jobs(_still_waiting(engine, order, job) for order, job in left), state


def _still_waiting(engine: Engine, order: int, job: Job) -> Job:
    """Return a job with its open dependencies."""
    simulated = engine.mapper.events.get(job.id)
    if simulated is not None and (simulated.waiting is not None or simulated.running is not None):
        return replace(job, depends=(), begin=simulated.eligible)
    depends, begin = engine.mapper.cycle.eligibility.rest(order)
    return replace(job, depends=depends, begin=begin)


def _since(job: SimulatedJob) -> RunningSince:
    running = job.running
    assert running is not None
    shape = job.request.shape if job.places is None else job.places.index(job.request.shape) - 1
    limit = None if running.kill_at is None else running.kill_at - running.start
    return RunningSince(
        job.id,
        running.start,
        tuple(running.placement.tolist()),
        limit,
        None if shape < 0 else shape,
        job.write,
        running.predicted_end,
        job.misses,
    )


def _ended(recorder: Recorder, workload: Workload) -> list[EndedJob]:
    """Return the ended jobs, each with its last shape and the run time that predictors saw."""
    width = len(STAY)
    ended = dict[int, EndedJob]()
    useful = Counter[int]()
    for row in range(0, len(recorder.stays), width):
        stay = dict(zip(STAY, recorder.stays[row : row + width], strict=True))
        order = stay["order"]
        start = stay["start"]
        length = stay["end"] - stay["start"]
        status = recorder.failed.get(order, ("",))[0]
        if status == "rejected":
            continue
        useful[order] += stay["useful"]
        job = workload.jobs[order].on_shape(None if stay["shape"] < 0 else stay["shape"])
        ran = length if status == "killed" else useful[order]
        ended[order] = EndedJob(replace(job, runtime=length, walltime=stay["shape_walltime"]), start, ran)
    return list(ended.values())
