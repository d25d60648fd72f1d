"""Index for long queues where amounts alone decide which jobs fit: pools, or nodes with one demand per slot."""

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import chain, starmap

import numpy as np

from ...base import IntArray
from ...models import count_slots
from ...models.backfilling.easy import Room, chosen_by_easy, chosen_in_order
from ...models.backfilling.job_queue import enlarged, follow, open_queue
from ..protocol import Start, State, Waiting
from ..space import Space

#: Queue length from which compiled code is used. A call costs as much as several hundred jobs.
LONG = 256
_FEW = 64


class QueueIndex:
    """The queue as :class:`.JobQueue`, kept between decisions.

    Parameters
    ----------
    entries
        Waiting jobs.
    slots
        Whether amounts are slots of nodes instead of pool amounts.
    resources
        Number of amounts.
    """

    def __init__(self, entries: Sequence[Waiting], slots: bool, resources: int) -> None:
        self._slots = slots
        self._waiting: dict[int, Waiting] = {}
        self._queue = open_queue(0, resources)
        self._changes = [(waiting, 1) for waiting in entries]
        self._scratch = np.empty((3, 0), dtype=np.int64)

    def changed(self, job: Waiting, came: bool) -> bool:
        """Record an arrival or departure. Return whether to receive more.

        False if the index was unused while about all jobs changed. A new one then costs no more.
        """
        self._changes.append((job, 1 if came else 0))
        return len(self._changes) <= len(self._waiting) + _FEW

    def in_order(self, state: State, order: int, skip: bool) -> list[Waiting]:
        """Return the jobs that start in an order. See :func:`.models.backfilling.fill`."""
        room = self._room(state, None)
        return self._jobs(room, chosen_in_order(self._queue, room, state.now, order, skip))

    def by_easy(self, state: State, shortest_first: bool) -> list[Waiting]:
        """Return the jobs that start under EASY. See :func:`.models.backfilling.backfill`."""
        running = state.running
        held = running.nodes[:, None] if self._slots else running.nodes[:, None] * running.demand
        room = self._room(state, held)
        ends = running.predicted_end.copy()
        return self._jobs(room, chosen_by_easy(self._queue, room, ends, state.now, shortest_first))

    def _room(self, state: State, held: IntArray | None) -> Room:
        """Update the queue. Return the free amounts and the buffers for a decision."""
        if self._changes:
            width = 7 + self._queue.amount.shape[1]
            rows = chain.from_iterable(starmap(self._row, self._changes))
            changes = np.fromiter(rows, np.int64, width * len(self._changes)).reshape(-1, width)
            self._changes.clear()
            if self._queue.counts.rows[0] + len(changes) > len(self._queue.start):
                self._queue = enlarged(self._queue, 2 * (len(self._waiting) + len(changes)))
            follow(self._queue, changes)
        most = len(self._queue.start) + len(state.running)
        if self._scratch.shape[1] < most:
            self._scratch = np.empty((3, 2 * most), dtype=np.int64)
        free = state.free[0].copy()
        if self._slots:
            free = np.array([count_slots(state.free, state.queue[0].demand).sum()])
        if held is None:
            held = np.empty((0, len(free)), dtype=np.int64)
        return Room(free, self._scratch[0], self._scratch[1], held, np.empty_like(free), self._scratch[2])

    def _row(self, waiting: Waiting, came: int) -> tuple[int, ...]:
        """Record a change. Return its row for the queue."""
        order = waiting.tie
        demand = waiting.demand
        nodes = waiting.nodes
        if came:
            self._waiting[order] = waiting
        else:
            del self._waiting[order]
        amount = (nodes,) if self._slots else tuple(nodes * amount for amount in demand)
        times = waiting.job.submit, waiting.since, waiting.predicted, waiting.walltime, 0
        return came, order, *times, *amount

    def _jobs(self, room: Room, count: int) -> list[Waiting]:
        """Return the chosen jobs."""
        return [self._waiting[order] for order in self._queue.jobs.order[room.chosen[:count]].tolist()]


def indexed(state: State) -> QueueIndex | None:
    """Return the index of a long queue, if amounts alone decide which jobs fit.

    They do on a pool. They also do on nodes if all jobs have the same demand per slot: a freed slot then fits exactly
    one. ``None`` otherwise, for short queues, and for queues without kept columns. For those an index costs more than a
    walk over the jobs.
    """
    queue = state.queue
    slots = len(state.free) > 1
    if len(queue.entries) < LONG or not queue.kept:
        return None
    if slots and (len(queue.slots) > 1 or not (state.running.demand == queue[0].demand).all()):
        return None
    resources = 1 if slots else state.free.shape[1]
    return queue.followed(slots, partial(QueueIndex, slots=slots, resources=resources))


def start_at(state: State, space: Space, chosen: Iterable[Waiting]) -> list[Start]:
    """Start jobs that are known to fit."""
    started = []
    for waiting in chosen:
        placement = space.place(waiting.nodes, waiting.demand)
        assert placement is not None
        started.append(Start(waiting, placement))
    return started
