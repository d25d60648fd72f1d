"""Forecast the start of a waiting job: simulate a dispatcher from the present state, with predictions as run times."""

import copy
import math
from collections.abc import Sequence

import numpy as np

from ...models import shift
from ..fitting import amounts_of
from ..protocol import Action, Dispatcher, Reject, Running, Start, State, Stop, Waiting, Wake
from ..rule_book import keep_rules, rule_book
from .rigid_jobs import Size

#: Most changes of rules in a row without an end of a job, after which the job is taken never to start.
_MOST_IDLE = 100


def forecast_start(dispatcher: Dispatcher, state: State, order: int, before: float = math.inf) -> int | None:
    """Return when a waiting job would start without further arrivals, if every job ran as long as predicted.

    Parameters
    ----------
    dispatcher
        The dispatcher. A copy of it decides.
    state
        Initial state.
    order
        Position of the job in the trace.
    before
        Seconds. Later starts do not matter.

    Returns
    -------
    int or None
        Seconds. ``None`` if it would never start, or not before `before`.
    """
    ahead = _Ahead(state)
    asked = copy.deepcopy(dispatcher)
    while True:
        for action in asked.dispatch(ahead.state()):
            if isinstance(action, Start) and ahead.waiting(action.job).order == order:
                return ahead.now
            ahead.carry_out(action)
        if not ahead.next_instant() or ahead.now >= before:
            return None


def earliest_end(state: State, size: Size) -> int:
    """Return when a job would end on a size if no other job waited and all nodes were one pool, seconds."""
    running = state.running
    need = size.nodes * np.array(size.demand, dtype=np.int64)
    ends = np.maximum(running.predicted_end, state.now + 1)
    order = np.argsort(ends, kind="stable")
    free = state.free.sum(axis=0) + np.cumsum(amounts_of(running)[order], axis=0)
    if (state.free.sum(axis=0) >= need).all():
        return state.now + size.predicted
    enough = np.flatnonzero((free >= need).all(axis=1))
    start = int(ends[order[enough[0]]]) if len(enough) else int(ends.max(initial=state.now))
    return start + size.predicted


def starts_now(dispatcher: Dispatcher, state: State) -> list[int]:
    """Return the jobs that a copy of a dispatcher would start now, by position in the trace."""
    ahead = _Ahead(state)
    actions = copy.deepcopy(dispatcher).dispatch(ahead.state())
    return [ahead.waiting(action.job).order for action in actions if isinstance(action, Start)]


class _Ahead:
    """A state that is simulated forward."""

    def __init__(self, state: State) -> None:
        self.now = state.now
        self._machine = state.machine
        self._free = state.free.copy()
        self._queue = list(state.queue)
        self._running = list(map(copy.copy, state.running))
        for run in self._running:
            run.predicted_end = run.expected_end(self.now)
        self._wakes: set[int] = set()
        book = rule_book(state)
        self._book = None if book is None else book.as_known(state.now)
        #: Changes of rules in a row at which nothing ended.
        self._idle = 0

    def state(self) -> State:
        """Return the state for the dispatcher."""
        self._running.sort(key=lambda run: run.predicted_end)
        shown = State(self.now, list(self._queue), list(self._running), self._free.copy(), self._machine)
        if self._book is not None:
            keep_rules(shown, self._book)
        return shown

    def waiting(self, named: object) -> Waiting:
        """Return the entry of a waiting job."""
        id_ = getattr(named, "id", named)
        return next(waiting for waiting in self._queue if waiting.id == id_)

    def carry_out(self, action: Action) -> None:
        """Start, stop or reject a job, or set a timer. A stopped job leaves for good."""
        if isinstance(action, Wake):
            self._wakes.add(action.at)
        elif isinstance(action, Stop):
            id_ = getattr(action.job, "id", action.job)
            self._leave([run for run in self._running if run.id == id_])
        elif isinstance(action, Reject):
            self._queue.remove(self.waiting(action.job))
        else:
            self._start(action)

    def next_instant(self) -> bool:
        """Advance to the next end or timer, and end jobs. Return whether there is one.

        Under rules, also to the next time at which nodes open or a limit rises.
        """
        ends = [run.predicted_end for run in self._running]
        coming = [time for time in (*ends, *self._wakes) if time > self.now]
        change = None if self._book is None else self._book.next_change(self.now)
        if change is not None and self._idle < _MOST_IDLE:
            self._idle = self._idle + 1 if change < min(ends, default=math.inf) else 0
            coming.append(change)
        if not coming or not self._queue:
            return False
        self.now = min(coming)
        self._wakes.discard(self.now)
        self._leave([run for run in self._running if run.predicted_end <= self.now])
        return True

    def _start(self, action: Start) -> None:
        waiting = self.waiting(action.job)
        placement = np.array(action.placement, dtype=np.int64)
        run = Running(waiting.job, self.now, placement, waiting.demand, waiting.order)
        run.predicted_end = self.now + min(waiting.predicted, action.limit or waiting.predicted)
        shift(self._free, placement, waiting.demand, -1)
        self._queue.remove(waiting)
        self._running.append(run)

    def _leave(self, runs: Sequence[Running]) -> None:
        for run in runs:
            shift(self._free, run.placement, run.demand, 1)
            self._running.remove(run)
