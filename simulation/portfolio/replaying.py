"""Replay the recent past under another dispatcher, from the state at the beginning of a window."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...base import InputError, IntArray
from ...base.corrections import correction_of
from ...dispatchers import Action, Dispatcher, Start, State, Stop, Wake
from ...dispatchers.portfolio import CompiledReplays, Past, ReplayMetrics, ReplayResult
from ...dispatchers.protocol import DispatcherContract
from ...dispatchers.registered import layers, tell_end
from ...predictors import Predictor
from ...workloads import Job, Provenance, Workload
from ..budget import Budget, BudgetError
from ..metrics import bounded_slowdown
from ..overrun import Overrun
from ..recorder import Attempt, Recorder
from ..simulation_errors import SimulationError, asked

#: Makes the engine of a simulation.
EngineOf = Callable[..., Any]


def let_learn(dispatcher: Dispatcher, replay: Replayer) -> list[Callable[[str, int, int], None]]:
    """Give replays to the dispatchers that use them. Return the functions to call when a job ends."""
    told = list[Callable[[str, int, int], None]]()
    for part in layers(dispatcher):
        contract = DispatcherContract(part)
        if contract.use_replays is not None:
            contract.use_replays(replay)
        if contract.job_ended is not None:
            told.append(_reported(type(part).__name__, contract.job_ended))
    return told


def _reported(name: str, job_ended: Callable[[str, int, int], None]) -> Callable[[str, int, int], None]:
    """Return the method of a dispatcher. A failure of it names the dispatcher."""
    return lambda id_, ran, now: asked(lambda: name, "job_ended", job_ended, id_, ran, now)


class Replayer:
    """Replays a past under the rules of a simulation.

    Unknown run times are the predicted ones. A job that overruns its prediction is corrected by the predictor as it is
    now.

    Parameters
    ----------
    engine_of
        Makes an engine.
    predictor
        That of the simulation, for pasts without one.
    overrun, same_instant
        Rules of the simulation.
    """

    def __init__(self, engine_of: EngineOf, predictor: Predictor, overrun: Overrun, same_instant: str) -> None:
        self._engine_of = engine_of
        self._predictor = predictor
        self._overrun = overrun
        self._same_instant = same_instant
        simple = same_instant == "batch" and overrun.mode != "resubmit"
        self._compiled = CompiledReplays(overrun.mode == "kill") if simple else None

    def __call__(self, past: Past, dispatcher: Dispatcher, budget: int) -> ReplayResult:
        """Return the outcome of the jobs; see :class:`.Replay`."""
        predictor = self._predictor if past.predictor is None else past.predictor
        compiled = None
        if self._compiled is not None:
            compiled = self._compiled.waits(past, dispatcher, correction_of(predictor), budget)
        if compiled is None:
            return self._in_engine(past, dispatcher, predictor, budget)
        waits, decisions = compiled
        return ReplayResult(None if waits is None else _outcome(past, waits), decisions)

    def _in_engine(self, past: Past, dispatcher: Dispatcher, predictor: Any, budget: int) -> ReplayResult:
        """Replay in the engine, which supports every case."""
        recorder = _Stays(Workload(tuple(past.jobs), past.machine, Provenance("replay")))
        going_on = _GoingOn(past, dispatcher)
        recalled = _Recalled(past, predictor)
        engine = self._engine_of(
            recorder, going_on, recalled, self._overrun, self._same_instant, budget=Budget(decisions=budget)
        )
        engine.mapper.pause = past.end
        engine.mapper.at_pause = _stop
        failure, whole = "", True
        try:
            if past.jobs:
                engine.start_hpc_simulation()
        except _EndError:
            pass
        except BudgetError:
            whole = False
        except (SimulationError, InputError, RecursionError) as error:
            failure = " ".join(str(error).split())
            whole = False
        return ReplayResult(_outcome(past, _waits(past, engine, recorder)) if whole else None, recorder.count, failure)


class _EndError(Exception):
    """Ends a replay at the end of its past."""


def _stop() -> None:
    raise _EndError


class _Stays(Recorder):
    """Records the jobs' time on the machine and their ends, and counts decisions."""

    def __init__(self, workload: Workload) -> None:
        super().__init__(workload)
        self.count = 0
        self.held: dict[int, tuple[int, int]] = {}

    def complete(self, order: int, attempts: Sequence[Attempt]) -> None:
        self.held[order] = sum(stay.end - stay.start for stay in attempts), attempts[-1].end

    def fail(self, order: int, status: str, end: int, reason: str, attempts: Sequence[Attempt] = ()) -> None:
        # A dispatcher gains nothing by a rejection: the job counts as waiting.
        if status != "rejected":
            self.complete(order, attempts)

    def decision(self, counts: Any, report: Any, ns: int) -> None:
        self.count += 1


def _waits(past: Past, engine: Any, recorder: _Stays) -> IntArray:
    """Return the waits of the jobs by the end of a window, seconds, shape (jobs,)."""
    alive = engine.mapper.events
    waits = np.zeros(len(past.jobs), dtype=np.int64)
    for order in np.flatnonzero(past.waiting).tolist():
        job = past.jobs[order]
        held, left = recorder.held.get(order, (0, past.end))
        event = alive.get(job.id)
        if event is not None:
            held = sum(stay.end - stay.start for stay in event.attempts)
            held += past.end - event.running.start if event.running is not None else 0
        waits[order] = left - job.submit - held
    return waits


def _outcome(past: Past, waits: IntArray) -> ReplayMetrics:
    """Return the waits so far of the jobs that had not started at the begin of the window."""
    counted = [past.jobs[order] for order in np.flatnonzero(past.waiting).tolist()]
    run = np.array([job.runtime for job in counted], dtype=np.float64)
    fresh = np.array([job.submit >= past.begin for job in counted], dtype=bool)
    wait = waits[past.waiting].astype(np.float64)
    return ReplayMetrics(wait, bounded_slowdown(wait + run, run), fresh)


class _GoingOn:
    """Repeats the recorded actions until the window begins, and then calls a dispatcher."""

    on_profile = False

    def __init__(self, past: Past, dispatcher: Dispatcher) -> None:
        self._begin = past.begin
        self._script = deque(past.script)
        self._dispatcher = dispatcher
        self.name = DispatcherContract(dispatcher).name or type(dispatcher).__name__

    @property
    def plans_closures(self) -> bool:
        """See :class:`.RuleGate`."""
        return all(DispatcherContract(part).plans_closures for part in layers(self._dispatcher))

    def job_ended(self, id_: str, ran: int, now: int) -> None:
        """Tell the dispatcher of an ended job."""
        tell_end(self._dispatcher, id_, ran, now)

    def dispatch(self, state: State) -> Sequence[Action]:
        """Call the dispatcher, or do the recorded actions that are due and set a timer for the next."""
        if state.now >= self._begin:
            return self._dispatcher.dispatch(state)
        free = state.free.copy()
        actions = list[Action]()
        while self._script and self._script[0][0] <= state.now:
            _, action = self._script.popleft()
            if _is_possible(action, state, free):
                actions.append(action)
        return [*actions, Wake(self._script[0][0] if self._script else self._begin)]


def _is_possible(action: Start | Stop, state: State, free: Any) -> bool:
    """Return whether an action is possible, and take the amounts of a start. Predicted run times may prevent it."""
    jobs = state.queue if isinstance(action, Start) else state.running
    entry = next((entry for entry in jobs if entry.id == action.job), None)
    if entry is None or isinstance(action, Stop):
        return entry is not None
    demand = entry.demand if action.shape is None else entry.job.shapes[action.shape].demand
    room = free - np.bincount(action.placement, minlength=len(free))[:, None] * np.array(demand)
    if room.min() < 0:
        return False
    free[:] = room
    return True


class _Recalled:
    """Returns the predictions made when the jobs arrived."""

    def __init__(self, past: Past, predictor: Predictor) -> None:
        self._predicted = past.predicted
        self._asked = {job.id: job.walltime for job in past.jobs}
        self.correct = correction_of(predictor)

    def predict(self, job: Job, now: int) -> float:
        """Return the prediction in seconds, scaled if the walltime has changed."""
        return math.ceil(self._predicted[job.id] * job.walltime / self._asked[job.id])

    def observe(self, job: Job) -> None:
        """Learn nothing."""
