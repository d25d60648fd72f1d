"""Rounds with standing reservations and requests of stochastic jobs, over a whole simulation, compiled."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from ....base import IntArray
from ....dispatchers import Dispatcher
from ....dispatchers.compiled_steps import CompiledSteps
from ....dispatchers.reservations.request_strategies import (
    FirstThenBound,
    LastRuns,
    RequestStrategy,
    TimeOptimal,
    UpperBound,
)
from ....dispatchers.reservations.reservation_sequences import ReservationSequences
from ....dispatchers.reservations.rounds import Rounds
from ....predictors import Predictor, Walltime
from ....simulation.events.compiled_events import MAKERS, Maker
from ....workloads import Machine
from ....workloads.job_columns import JobColumns
from .whole_rounds import go_on_in_rounds, whole_rounds

#: Decisions that are taken at a time.
_DECISIONS = 1 << 16
#: Strategies with requests that depend on the job only.
_ALONE = (UpperBound, FirstThenBound, LastRuns, TimeOptimal)


def standing_rounds(dispatcher: Dispatcher) -> tuple[RequestStrategy | None, int | None] | None:
    """Return the strategy, if any, and the batch of a dispatcher with rounds that compiled code supports.

    That is :class:`.Rounds` with ``move="never"``, alone or under a strategy. The strategy's requests depend on the job
    only. Neither may be a subclass. ``None`` for others.
    """
    strategy, rounds = None, dispatcher
    if type(dispatcher) is ReservationSequences:
        strategy = dispatcher.strategy
        rounds = dispatcher.over
        if type(strategy) not in _ALONE or dispatcher.options.backfill != "plain":
            return None
    if type(rounds) is not Rounds or rounds.options.move != "never":
        return None
    return strategy, rounds.options.batch


def requested(strategy: RequestStrategy | None, jobs: JobColumns) -> tuple[IntArray, IntArray, IntArray]:
    """Return the requests of jobs, one after the other, with the walltime at the end.

    Parameters
    ----------
    strategy
        Chooses for jobs with a distribution. The others request the walltime.
    jobs
        In order of submission. The strategy is asked in this order.

    Returns
    -------
    Requests, the first of each job, and how many these are; jobs with the same requests share them.
    """
    first = np.arange(len(jobs))
    count = np.ones(len(jobs), dtype=np.int64)
    places: dict[tuple[int, ...], int] = {}
    added: list[int] = []
    if strategy is not None:
        rows = np.flatnonzero(jobs.law.numbers(lambda law: law is not None))
        asked = zip(rows.tolist(), *(each.take(rows).each() for each in (jobs.law, jobs.user, jobs.name)), strict=True)
        for row, law, user, name in asked:
            walltime = int(jobs.walltime[row])
            chosen = _rising(strategy.requests(law, walltime, (user, name)), walltime)
            if chosen not in places:
                places[chosen] = len(jobs) + len(added)
                added += chosen
            first[row] = places[chosen]
            count[row] = len(chosen)
    return np.concatenate((jobs.walltime, np.array(added, dtype=np.int64))), first, count


def _rising(requests: Sequence[int], walltime: int) -> tuple[int, ...]:
    """Return requests up to the walltime, and that."""
    return *(seconds for seconds in requests if seconds < walltime), walltime


class CompiledRounds(CompiledSteps):
    """A simulation under :func:`standing_rounds`, as :func:`.whole_rounds`.

    Parameters
    ----------
    columns
        Of the jobs: submission, time on the machine, at most the walltime, both seconds, and what they take; shape
        (3, jobs).
    lengths
        What is predicted of them, seconds, shape (jobs,).
    chosen
        What is :func:`requested`.
    capacity
        The units of the pool.
    batch
        How many jobs a round has at most.
    """

    def __init__(
        self,
        columns: IntArray,
        lengths: IntArray,
        chosen: tuple[IntArray, IntArray, IntArray],
        capacity: int,
        batch: int | None,
    ) -> None:
        self.lengths = lengths
        self._requests, self._first, count = chosen
        rows = np.vstack((columns, self._first, count))
        self._rounds = whole_rounds(rows, self._requests, capacity, batch)
        self._work = columns[1]
        self._decisions = np.empty((_DECISIONS, 4), dtype=np.int64)
        self._ended = np.empty(_DECISIONS + min(capacity, len(self._work)) + 1, dtype=np.int64)

    def go_on(self) -> tuple[IntArray, IntArray]:
        """See :meth:`.CompiledSteps.go_on`."""
        decided, gone = go_on_in_rounds(self._rounds, self._decisions, self._ended)
        return self._decisions[:decided], self._ended[:gone]

    def attempts(self, jobs: IntArray) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """See :meth:`.CompiledSteps.attempts`."""
        tried = self._rounds.jobs["tried"][jobs]
        place = np.repeat(np.arange(len(jobs)), tried + 1)
        turn = np.arange(len(place)) - np.repeat(np.cumsum(tried + 1) - tried - 1, tried + 1)
        job = jobs[place]
        asked = self._requests[self._first[job] + turn]
        start = self._rounds.starts[self._rounds.jobs["attempts"][job] + turn]
        return place, start, np.minimum(asked, self._work[job]), asked


def _rounds(
    options: tuple[RequestStrategy | None, int | None],
    predictor: Predictor,
    jobs: JobColumns,
    machine: Machine,
    bounded: bool,
) -> CompiledRounds | None:
    """Return jobs that fit in rounds with standing reservations.

    ``None`` for others, such as sets with a job that exceeds its request or takes no time.
    """
    if type(predictor) is not Walltime or machine.capacity.size > 1:
        return None
    work = np.minimum(jobs.runtime, jobs.walltime)
    if not work.all() or not (bounded or (work == jobs.runtime).all()) or any(jobs.checkpoint.values):
        return None
    strategy, batch = options
    try:
        chosen = requested(strategy, jobs)
    except Exception:  # noqa: BLE001 - the engine says what a strategy refuses, and when
        return None
    columns = np.stack((jobs.submit, work, jobs.amounts(machine.resources[0])))
    return CompiledRounds(columns, jobs.walltime, chosen, int(machine.capacity[0, 0]), batch)


def maker(dispatcher: Dispatcher) -> Maker | None:
    """Return what makes the steps of a dispatcher under :func:`standing_rounds`, ``None`` for others."""
    rounds = standing_rounds(dispatcher)
    return None if rounds is None else partial(_rounds, rounds)


if maker not in MAKERS:
    MAKERS.append(maker)
