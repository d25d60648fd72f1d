"""What happens if a job is changed. Copies of a simulation continue from an instant."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from ...base import InputError
from ...dispatchers import Dispatcher
from ...predictors import Predictor
from ...simulation.engine import Engine, SameInstant, engine_of, fresh_parts, settled_heap
from ...simulation.overrun import Overrun
from ...simulation.recorder import COMPLETED, Attempt, Recorder
from ...simulation.simulated_job import SimulatedJob
from ...simulation.simulation_errors import SimulationError
from ...workloads import Job, Workload


@dataclass(frozen=True, slots=True)
class Branch:
    """A change, its instant, and the end of the copy.

    Attributes
    ----------
    change
        The job that replaces the one of its id, submitted at the same time. ``None`` changes nothing.
    at
        The instant, seconds, at most the submission of the changed job. ``None`` is that submission.
    until
        Id of the job that ends the copy. ``None`` is the changed one.
    before
        The instant at which the copy stops if that job has not started before. Then its status is ``"waiting"``, and
        its end that instant. ``None`` waits for it.
    """

    change: Job | None
    at: int | None = None
    until: str | None = None
    before: int | None = None


@dataclass(frozen=True, slots=True)
class JobEnd:
    """The outcome of a job, as in :attr:`.Result.jobs`.

    Attributes
    ----------
    id, submit, start, end, wait, status, reason
        As there, ``start`` -1 if it never started.
    attempts
        Number of its starts.
    shape, nodes, walltime
        Those of its last run: -1, 0 and 0 if it never started.
    """

    id: str
    submit: int
    start: int
    end: int
    wait: int
    status: str
    reason: str
    attempts: int
    shape: int
    nodes: int
    walltime: int

    @property
    def turnaround(self) -> int:
        """Seconds from its submission to its end."""
        return self.end - self.submit


def branch(
    workload: Workload,
    dispatcher: str | Dispatcher,
    predictor: str | Predictor = "walltime",
    *,
    change: Job | None,
    at: int | None = None,
    until: str | None = None,
    overrun: str | Overrun = "run",
    seed: int = 0,
    same_instant: SameInstant = "batch",
) -> JobEnd:
    """Simulate a workload up to an instant. From there, continue with one job changed until a given job ends.

    That job fares the same as in a whole simulation of the changed workload. For several changes see
    :func:`branches`.

    Parameters
    ----------
    workload, dispatcher, predictor, overrun, seed, same_instant
        As for :func:`.simulate`.
    change, at, until
        As of :class:`Branch`.

    Raises
    ------
    InputError
        If the changed job is not in the workload, or is submitted at another time or before the instant. Also if the
        last job has left before it.
    SimulationError
        As :func:`.simulate`.
    """
    asked = [Branch(change, at, until)]
    options: dict[str, Any] = {"overrun": overrun, "seed": seed, "same_instant": same_instant}
    return branches(workload, dispatcher, predictor, asked, **options)[0]


def branches(
    workload: Workload,
    dispatcher: str | Dispatcher,
    predictor: str | Predictor,
    asked: Iterable[Branch],
    *,
    overrun: str | Overrun = "run",
    seed: int = 0,
    same_instant: SameInstant = "batch",
    stays: bool = False,
) -> list[JobEnd]:
    """Simulate a workload once. Continue in a copy at the instant of each branch.

    :func:`copy.deepcopy` copies the state with dispatcher and predictor. If one of these cannot be copied, the changed
    workload is simulated from its beginning.

    Parameters
    ----------
    workload, dispatcher, predictor, overrun, seed, same_instant
        As for :func:`.simulate`.
    asked
        The branches.
    stays
        Whether the dispatcher lets every started job run up to its walltime. Then a copy ends at the start of its job,
        since its end is known.

    Returns
    -------
    list of JobEnd
        One a branch, in their order; errors as for :func:`branch`.
    """
    parts = fresh_parts(workload.machine, dispatcher, predictor, seed)
    setup = _Setup(workload, (dispatcher, predictor), seed, Overrun.parse(overrun), same_instant, stays)
    trunk = _Trunk(setup, engine_of(Recorder(workload), *parts, setup.overrun, same_instant), asked)
    with settled_heap():
        return trunk.run()


@dataclass(frozen=True, slots=True)
class _Setup:
    """What is simulated."""

    workload: Workload
    parts: tuple[str | Dispatcher, str | Predictor]
    seed: int
    overrun: Overrun
    same_instant: SameInstant
    stays: bool


@dataclass(frozen=True, slots=True)
class _Planned:
    """A branch, by indices in the trace."""

    number: int
    at: int
    changed: tuple[int, Job] | None
    until: int
    before: float


class _ResultKnownError(Exception):
    """Ends a simulation when its result is known."""

    def __init__(self, end: JobEnd | None = None) -> None:
        super().__init__()
        self.end = end


class _Watch(Recorder):
    """Keeps nothing. Ends the simulation when one job has left, or when its end is known.

    Attributes
    ----------
    there
        Returns the job while it is there; set if the copy may end before it has left.
    """

    there: Callable[[], SimulatedJob | None] | None = None

    def __init__(self, workload: Workload, plan: _Planned, job: Job, stays: bool) -> None:
        super().__init__(workload)
        self._order = plan.until
        self._before = plan.before
        self._job = job
        self._stays = stays

    def complete(self, order: int, attempts: Sequence[Attempt]) -> None:
        if order == self._order:
            raise _ResultKnownError(_end(self._job, attempts, "completed", attempts[-1].end, ""))

    def fail(self, order: int, status: str, end: int, reason: str, attempts: Sequence[Attempt] = ()) -> None:
        if order == self._order:
            raise _ResultKnownError(_end(self._job, attempts, status, end, reason))

    def decision(self, counts: Any, report: Any, ns: int) -> None:
        """Book nothing, and see whether the job has started."""
        job = None if self.there is None else self.there()
        if job is not None and job.running is not None and self._stays:
            raise _ResultKnownError(_end_to_come(job))
        if job is not None and job.running is None and not job.attempts and counts[0] >= self._before:
            raise _ResultKnownError(_end(self._job, (), "waiting", counts[0], ""))


def _end_to_come(job: SimulatedJob) -> JobEnd:
    """Return the outcome of a running job that is not stopped and does not come back."""
    running = job.running
    request = job.request
    end = job.completion[0]
    assert running is not None
    asked = request.walltime
    stay = Attempt(running.start, end, job.outcome, 0, request.shape, 0, asked, asked, running.placement)
    limit = f"reached its walltime of {request.walltime} s"
    status, reason = ("completed", "") if job.outcome == COMPLETED else ("killed", limit)
    return _end(job.job, (*job.attempts, stay), status, end, reason)


def _end(job: Job, attempts: Sequence[Attempt], status: str, end: int, reason: str) -> JobEnd:
    """Return what became of a job."""
    held = sum(stay.end - stay.start for stay in attempts)
    start = attempts[0].start if attempts else -1
    last = attempts[-1] if attempts else None
    ran = (-1, 0, 0) if last is None else (last.shape, len(last.placement), last.walltime)
    return JobEnd(job.id, job.submit, start, end, end - job.submit - held, status, reason, len(attempts), *ran)


class _Trunk:
    """The simulation that is branched from."""

    def __init__(self, setup: _Setup, engine: Engine, asked: Iterable[Branch]) -> None:
        self._setup = setup
        self._engine = engine
        self._places = {id_: place for place, id_ in enumerate(setup.workload.columns.texts())}
        planned = [self._planned(number, branch) for number, branch in enumerate(asked)]
        self._found: list[JobEnd | None] = [None] * len(planned)
        self._left = sorted(planned, key=lambda plan: plan.at, reverse=True)

    def run(self) -> list[JobEnd]:
        """Return what became of the jobs."""
        mapper = self._engine.mapper
        mapper.at_pause = self._branch
        if self._left:
            mapper.pause = self._left[-1].at
            with suppress(_ResultKnownError):
                self._engine.start_hpc_simulation()
        if self._left:
            raise InputError(f"at: expected an instant before the last job has left, got {self._left[-1].at}")
        return [end for end in self._found if end is not None]

    def _planned(self, number: int, asked: Branch) -> _Planned:
        """Return a branch by indices, if it is valid."""
        changed = asked.change
        at = asked.at if asked.at is not None or changed is None else changed.submit
        until = asked.until if asked.until is not None or changed is None else changed.id
        before = math.inf if asked.before is None else asked.before
        if at is None or until is None:
            raise InputError(f"branch: expected an instant and a job to end with, or a changed job, got {asked}")
        for name, id_ in (("change", until if changed is None else changed.id), ("until", until)):
            if id_ not in self._places:
                raise InputError(f"{name}: expected a job of the workload, got {id_!r}")
        if changed is None:
            return _Planned(number, at, None, self._places[until], before)
        place = self._places[changed.id]
        submit = int(self._setup.workload.columns.submit[place])
        if changed.submit != submit:
            raise InputError(f"change: job {changed.id}: submit: expected {submit}, as it is, got {changed.submit}")
        if at > submit:
            raise InputError(f"at: expected at most {submit}, when job {changed.id} is submitted, got {at}")
        return _Planned(number, at, (place, changed), self._places[until], before)

    def _branch(self) -> None:
        """Continue in a copy for every branch at this instant, and set the next one. Stop after the last."""
        mapper = self._engine.mapper
        at = mapper.pause
        while self._left and self._left[-1].at == at:
            plan = self._left[-1]
            self._found[plan.number] = self._outcome(plan)
            self._left.pop()
        if not self._left:
            raise _ResultKnownError
        mapper.pause = self._left[-1].at

    def _outcome(self, plan: _Planned) -> JobEnd:
        job = self._setup.workload.jobs[plan.until]
        if plan.changed is not None and plan.changed[0] == plan.until:
            job = plan.changed[1]
        elif self._gone(plan.until, job):
            failed = self._engine.arrivals.recorder.failed.get(plan.until)
            if failed is None or failed[1] < plan.at:
                raise InputError(f"until: expected a job that has not left before {plan.at}, got {job.id!r}")
            return _end(job, (), *failed)
        stays = self._setup.stays and self._setup.overrun.mode != "resubmit"
        watch = _Watch(self._setup.workload, plan, job, stays)
        try:
            engine = self._copy(watch)
        except TypeError:
            engine = self._anew(watch)
        if stays or plan.before < math.inf:
            watch.there = partial(engine.mapper.events.get, job.id)
        return _ended(engine, plan)

    def _gone(self, order: int, job: Job) -> bool:
        ahead = any(event.order == order for event in self._engine.ahead)
        return order < self._engine.arrivals.position and job.id not in self._engine.mapper.events and not ahead

    def _copy(self, recorder: Recorder) -> Engine:
        """Return the simulation in its current state, with a recorder of its own."""
        whole = self._engine.arrivals.recorder
        own = self._setup.workload
        same = (own, own.jobs, own.columns, own.machine, self._setup)
        memo: dict[int, Any] = {id(part): part for part in same}
        memo[id(whole)] = recorder
        memo[id(self)] = self
        copied = copy.deepcopy(self._engine, memo)
        copied.mapper.pause = math.inf
        copied.mapper.at_pause = None
        return copied

    def _anew(self, recorder: Recorder) -> Engine:
        """Return the simulation at its beginning."""
        setup = self._setup
        parts = fresh_parts(setup.workload.machine, *setup.parts, setup.seed)
        return engine_of(recorder, *parts, setup.overrun, setup.same_instant)


def _ended(engine: Engine, plan: _Planned) -> JobEnd:
    """Go on until the job has left."""
    try:
        if plan.changed is not None:
            _change(engine, *plan.changed)
        engine.start_hpc_simulation()
    except _ResultKnownError as reached:
        if reached.end is not None:
            return reached.end
    raise SimulationError(f"job at place {plan.until} of the workload never left")


def _change(engine: Engine, place: int, job: Job) -> None:
    """Replace a job that has not arrived yet by another one."""
    arrivals = engine.arrivals
    mapper = engine.mapper
    if place >= arrivals.position:
        arrivals.changed[place] = job
        return
    mapper.events.pop(job.id, None)
    event = arrivals.event(job, place)
    later = bool(engine.ahead) and place >= engine.ahead[0].order
    for queue, is_here in ((mapper.loaded, not later), (engine.ahead, later)):
        kept = [other for other in queue if other.order != place] + [event] * (is_here and event is not None)
        queue.clear()
        queue.extend(sorted(kept, key=lambda other: other.order))
    if event is not None and not later:
        mapper.events[event.id] = event
