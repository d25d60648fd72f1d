"""Dispatchers that run a whole trace in compiled code, and the trace for it."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base import IntArray
from ...models.backfilling.job_queue import NEVER
from ...models.events import Run, open_events, run_easy, run_in_order
from ...models.profiles.layouts import place_compactly
from ..compiled_steps import CompiledSteps
from .easy import EASY
from .list_scheduling import ListScheduler

#: Decisions per call.
_DECISIONS = 1 << 16
#: Event loop of a policy.
Entry = Run


def entry_of(dispatcher: Any, in_sequence: bool = False) -> Entry | None:
    """Return the event loop of a dispatcher: exactly a list scheduler or EASY. Else ``None``.

    `in_sequence` is whether it decides after each event of an instant, see :func:`.run_in_order`.
    """
    if type(dispatcher) is EASY and dispatcher.compiled:
        by_walltime = dispatcher.reserve_by == "walltimes"
        shortest_first = dispatcher.shortest_first
        return partial(run_easy, shortest_first=shortest_first, by_walltime=by_walltime, in_sequence=in_sequence)
    if type(dispatcher) is ListScheduler and dispatcher.compiled_order is not None:
        skip = dispatcher.blocked == "skip"
        return partial(run_in_order, order=dispatcher.compiled_order, skip=skip, in_sequence=in_sequence)
    return None


class CompiledTrace(CompiledSteps):
    """A trace of rigid jobs in the event loop.

    Parameters
    ----------
    entry
        Event loop of the policy.
    columns
        Submission, run time and prediction of the jobs, seconds, each of shape (jobs,).
    walltime
        Seconds, shape (jobs,).
    amount
        Amounts on a pool, slots on nodes, shape (jobs, resources).
    capacity
        Capacity of the pool, or slots of each node. Shape (resources,) or (nodes,).
    pool
        Whether it is a pool.
    successors, closed
        As for :func:`.open_events`. ``None`` for no dependencies and no closures.
    labels
        Group of each node at each level, for jobs in few groups. ``None``: jobs use the first free nodes.
    decisions
        Most decisions per call. ``None`` for the default.
    """

    def __init__(
        self,
        entry: Entry,
        columns: tuple[IntArray, IntArray, IntArray],
        walltime: IntArray,
        amount: IntArray,
        capacity: IntArray,
        pool: bool,
        successors: tuple[IntArray, IntArray] | None = None,
        closed: IntArray | None = None,
        labels: IntArray | None = None,
        decisions: int | None = None,
    ) -> None:
        self._entry = entry
        slots = None if pool else capacity
        total = capacity if pool else np.array([capacity.sum()])
        self._events = open_events(*columns, walltime, amount, total, slots=slots, successors=successors, closed=closed)
        self._row = None if successors is None else np.zeros(len(walltime), dtype=np.int64)
        _, self._work, self.lengths = columns
        self._walltime = walltime
        self._labels = labels
        self._compact = False
        self._capacity = capacity
        # Nodes in few groups are chosen at the end, in order of the starts.
        most = decisions or (_DECISIONS if labels is None else 3 * len(walltime) + 2 * len(self._events.closed) + 1)
        self._decisions = np.empty((most, 4), dtype=np.int64)
        self._ended = np.empty(most + self._events.running.shape[1] + 1, dtype=np.int64)

    def go_on(self) -> tuple[IntArray, IntArray]:
        """See :meth:`.CompiledSteps.go_on`."""
        decided, gone = self._entry(self._events, NEVER, self._decisions, self._ended)
        if self._row is not None:  # Without successors, rows are jobs.
            queue = self._events.queue
            count = int(queue.counts.rows[0])
            self._row[queue.jobs.order[:count]] = np.arange(count)
        return self._decisions[:decided], self._ended[:gone]

    def attempts(self, jobs: IntArray) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Return the one attempt of each job."""
        start = self._events.queue.start[self._rows(jobs)]
        return np.arange(len(jobs)), start, self._work[jobs], self._walltime[jobs]

    def eligible(self, jobs: IntArray) -> IntArray | None:
        """See :meth:`.CompiledSteps.eligible`."""
        return None if self._row is None else self._events.queue.jobs.since[self._rows(jobs)]

    def _rows(self, jobs: IntArray) -> IntArray:
        return jobs if self._row is None else self._row[jobs]

    def placements(self, jobs: IntArray) -> list[NDArray[np.int32]] | None:
        """See :meth:`.CompiledSteps.placements`."""
        if not len(self._events.slots):
            return None
        first = self._events.rows.first_slot[self._rows(jobs)]
        if self._labels is not None and not self._compact:
            self._compact = True
            self._place_compactly()
        placed = self._events.placed
        last = first + self._events.amount[jobs, 0]
        return [placed[at:end] for at, end in zip(first.tolist(), last.tolist(), strict=True)]

    def _place_compactly(self) -> None:
        """Choose the nodes of all slots again, in few groups."""
        assert self._labels is not None
        every = np.arange(len(self._walltime))
        rows = self._rows(every)
        order = np.argsort(self._events.rows.first_slot[rows], kind="stable")
        start = self._events.queue.start[rows][order]
        slots = self._events.amount[every, 0][order]
        room = self._capacity.astype(np.int64)
        placed = np.empty(int(slots.sum()), dtype=np.int64)
        place_compactly(start, start + self._work[order], slots, room, np.array(self._labels), placed)
        self._events.placed[: len(placed)] = placed
