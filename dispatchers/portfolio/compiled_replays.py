"""Replays in compiled code: of rigid jobs on a pool under EASY or look-ahead."""

import math
from collections.abc import Callable
from functools import partial
from itertools import accumulate, chain
from typing import Any

import numpy as np

from ...base import LONGEST, IntArray
from ...base.checks import is_number
from ...models.events import Run
from ...models.lookahead.choosing import LookaheadReports, open_past, run_look_ahead
from ...models.portfolio.pool_replay import PoolPast, PoolReplay
from ...workloads import Job
from ...workloads.fitting_requests import room_for
from ..backfilling.compiled_traces import entry_of
from ..backfilling.easy import EASY
from ..lookahead import Lookahead
from ..protocol import Dispatcher, Start, id_of
from .recorded_past import Past

#: Decisions per call: about a second, after which an interrupt is noticed.
_DECISIONS = 4096
#: Corrections of one job from which the engine takes over.
_MOST_CORRECTIONS = 1000
#: Look-ahead with settings from outside: it needs no history, and reports are dropped.
_NONE = np.zeros(0, dtype=np.int64)
_TOLD: dict[str, Any] = {
    "patience": 0.0,
    "recent": 0,
    "past": open_past(_NONE, _NONE, _NONE, np.zeros((0, 1), dtype=np.int64), np.ones(1, dtype=np.int64)),
    "reports": np.empty((len(LookaheadReports._fields), 1)),
}

#: Function of a job that overruns its prediction, its seconds so far, and its earlier corrections. Returns its total
#: run time.
Correct = Callable[[Job, int, int], Any]


class CompiledReplays:
    """Replays that depend on nothing outside the compiled code.

    Parameters
    ----------
    bounded
        Whether jobs are killed at their walltimes.
    """

    def __init__(self, bounded: bool) -> None:
        self._bounded = bounded
        self._read: tuple[Past, Correct | None, PoolPast | None] | None = None

    def waits(
        self, past: Past, dispatcher: Dispatcher, correct: Correct, budget: int
    ) -> tuple[IntArray | None, int] | None:
        """Return the waits of past jobs until the end, if a dispatcher decides from the beginning.

        Parameters
        ----------
        past, dispatcher, budget
            As for :class:`.Replay`.
        correct
            Correction of the predictor.

        Returns
        -------
        Seconds of every job, shape (jobs,), ``None`` if the budget is too small. And the number of decisions. ``None``
        instead of both if only the engine can do it: other dispatchers, machines and jobs, stopped jobs, other shapes,
        impossible starts, and failing predictors.
        """
        run = None if past.machine.nodes > 1 or past.machine.rules else _run_of(dispatcher)
        jobs = None if run is None else self._jobs(past, correct)
        if run is None or jobs is None:
            return None
        replay = PoolReplay(jobs, past.machine.capacity[0], past.begin)
        if not replay.has_room:
            return None
        decisions, ended = 0, False
        while not ended and decisions < budget:
            most = min(_DECISIONS, budget - decisions)
            taken, ended = replay.go_on(run, past.end, most)
            decisions += taken
        return replay.waits_until(past.end) if ended else None, decisions

    def _jobs(self, past: Past, correct: Correct) -> PoolPast | None:
        """Return the jobs as arrays, cached for the same past."""
        if self._read is None or self._read[0] is not past or self._read[1] != correct:
            self._read = past, correct, _read(past, correct, self._bounded)
        return self._read[2]


def _run_of(dispatcher: Dispatcher) -> Run | None:
    """Return the event loop of exactly EASY or look-ahead, else ``None``."""
    if type(dispatcher) is Lookahead:
        settings = dispatcher.told_settings()
        return None if settings is None else partial(run_look_ahead, settings=settings, **_TOLD)
    return entry_of(dispatcher) if type(dispatcher) is EASY else None


def _read(past: Past, correct: Correct, bounded: bool) -> PoolPast | None:
    """Return the jobs of a past as arrays. ``None`` if arrays cannot describe them fully."""
    jobs = past.jobs
    demands = dict[Any, tuple[int, tuple[int, ...]]]()
    starts = _starts(past, bounded)
    if starts is None or any(job.shapes for job in jobs):
        return None
    for each in {job.per_node for job in jobs}:
        demands[each] = room_for(past.machine, each), past.machine.demand(each)
    if any(job.nodes > demands[job.per_node][0] for job in jobs):
        return None
    amount = [[job.nodes * amount for amount in demands[job.per_node][1]] for job in jobs]
    times = np.array([(job.submit, job.runtime, job.walltime) for job in jobs], dtype=np.int64).reshape(-1, 3)
    submit, runtime, walltime = times.T
    predicted = np.array([max(1, past.predicted[job.id]) for job in jobs], dtype=np.int64)
    if bounded:
        runtime = np.minimum(runtime, walltime)
        predicted = np.minimum(predicted, walltime)
    start = np.array([starts.get(job.id, -1) for job in jobs], dtype=np.int64)
    if (start[start >= 0] + runtime[start >= 0] < past.begin).any() or (submit < 0).any():
        return None
    corrected: list[list[int] | None] = [[] for _ in jobs]
    for place in np.flatnonzero(predicted < runtime).tolist():
        most = int(walltime[place]) if bounded else None
        corrected[place] = _corrections(correct, jobs[place], int(predicted[place]), int(runtime[place]), most)
    known = [corrections for corrections in corrected if corrections is not None]
    if len(known) < len(jobs):
        return None
    first = np.array([0, *accumulate(map(len, known))])
    flat = np.array([*chain.from_iterable(known)], dtype=np.int64)
    amounts = np.array(amount, dtype=np.int64).reshape(len(jobs), past.machine.capacity.shape[1])
    return PoolPast(submit, runtime, predicted, np.maximum(walltime, 1), amounts, start, first, flat)


def _starts(past: Past, bounded: bool) -> dict[str, int] | None:
    """Return the starts of jobs that run at the begin. ``None`` if one was limited or restarted."""
    starts = dict[str, int]()
    walltimes = {job.id: job.walltime for job in past.jobs}
    for time, action in past.script:
        if not isinstance(action, Start) or action.shape is not None or action.write:
            return None
        id_ = id_of(action.job)
        limited = action.limit is not None and not (bounded and action.limit == walltimes[id_])
        if limited or id_ in starts or time < 0:
            return None
        starts[id_] = time
    return starts


def _corrections(correct: Correct, job: Job, predicted: int, runtime: int, most: int | None) -> list[int] | None:
    """Return the successive corrected run times of a job that overruns."""
    corrections = list[int]()
    while predicted < runtime and len(corrections) < _MOST_CORRECTIONS:
        try:
            whole = correct(job, predicted, len(corrections))
        except (Exception, SystemExit):  # noqa: BLE001 - the engine says what a plugged-in part raises
            return None
        if not is_number(whole) and whole != math.inf:
            return None
        if not predicted < whole <= LONGEST:
            return corrections
        predicted = max(math.ceil(whole), predicted + 1)
        if most is not None and predicted >= most:
            return [*corrections, most] if most > (corrections[-1] if corrections else 0) else corrections
        corrections.append(predicted)
    return corrections if predicted >= runtime else None
