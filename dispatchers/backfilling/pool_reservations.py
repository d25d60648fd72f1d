"""Reservations of all jobs on a pool of one resource, in a compiled book."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ...models import pool_placement
from ...models.book import pool as book
from ...models.profiles.amount import NEVER, add, earliest, free_until, open_amount, steps_of
from ..protocol import Placement, State, Waiting
from .reservations import Compress

_KINDS = ("running", "reserved")


class PoolReservations:
    """Like :class:`.Reservations`, for a single free amount and without rules of the machine.

    Parameters
    ----------
    state
        State with the machine, initially empty, and the begin of the book.
    """

    def __init__(self, state: State) -> None:
        self._total = int(state.machine.capacity[0, 0])
        self._book = book.open_book(self._total, state.now)
        self._state = state

    def memory(self) -> dict[str, Any]:
        """Return running jobs and reservations, in order of booking."""
        ids = {order: id_ for id_, order in _orders(self._state).items()}
        return {kind: [(ids[order], *row) for order, *row in self._rows(kind) if order in ids] for kind in _KINDS}

    def recall(self, state: State, memory: Mapping[str, Any]) -> None:
        """Restore the bookings, before any others."""
        orders = _orders(state)
        ran = {id_ for id_, *_ in memory["running"]}
        last = max(orders.values(), default=-1)
        for kind in _KINDS:
            for id_, start, end, units in memory[kind]:
                if id_ not in orders:  # A job that has left since then gets an unused order.
                    last += 1
                    orders[id_] = last
                self._book = book.with_room_for(self._book, 1, last)
                if kind == "reserved":
                    row = book.book_reservation(self._book, orders[id_], units, start, end)
                    self._reserved.away[row] = id_ in ran
                else:
                    book.book_run(self._book, orders[id_], units, start, end)
                add(self._book.profile, max(start, state.now), end, -units)

    def follow(self, state: State) -> bool:
        """Update the profile. Return whether the reservations were made anew."""
        now = state.now
        queue = state.queue
        running = state.running
        waits = book.WaitingUnits(queue.order, queue.nodes * queue.demand[:, 0], queue.predicted)
        runs = book.RunningUnits(
            running.order, running.nodes * running.demand[:, 0], running.predicted_end, running.start
        )
        self._queue = np.stack(waits)
        last = max(queue.order.max(initial=0), running.order.max(initial=0))
        jobs = len(queue) + len(running)
        self._state, self._book = state, book.with_room_for(self._book, jobs, int(last))
        corrected = book.follow(now, self._book, self._queue, np.stack(runs))
        if corrected:
            order = np.argsort(self._reserved.start, kind="stable")
            self._book = self._book._replace(profile=open_amount(self._total, now, 8 * len(self._book.profile.times)))
            book.rebuild(now, self._book, order)
        return corrected

    def compress(self, how: Compress, now: int) -> None:
        """Move reservations up into freed intervals."""
        freed = self._book.counts.freed
        if freed[0] and how == "until-stable":
            book.compress_until_stable(now, self._book)
        elif freed[0] and how == "once":
            book.compress_once(now, self._book)
        freed[0] = 0

    def reserve_new(self, state: State) -> None:
        """Reserve for the jobs without a reservation, in order of submission."""
        book.reserve_new(state.now, self._book, self._queue)

    def start_due(self, state: State) -> tuple[Iterator[tuple[Waiting, Placement]], bool, int | None]:
        """Return the starting jobs with nodes, whether one is late, and the start of the next reservation."""
        queue = state.queue
        places = np.empty(len(state.queue), dtype=np.int64)
        first = int(self._book.counts.running[0])
        count, late, following = book.start_due(state.now, int(state.free[0, 0]), self._book, places)
        if count and (book.Bookings(*self._book.running).start[first : first + count] < state.now).any():
            book.delay(state.now, self._book, first)
        started = ((queue[place], pool_placement(queue[place].nodes)) for place in places[:count].tolist())
        return started, late > 0, None if following == NEVER else following

    def gap(self, waiting: Waiting) -> tuple[int | None, Placement] | None:
        """Return for how many seconds a job's slots are free from now beside all reservations, and where.

        At most until its own reservation. ``None`` if they are not free. The seconds are ``None`` if they stay free.
        """
        now = self._now
        until = free_until(self._book.profile, waiting.nodes * waiting.demand[0], now)
        begin = self.guaranteed(waiting)
        if until == now or (begin is not None and begin <= now):
            return None
        until = until if begin is None else min(until, begin)
        return None if until == NEVER else until - now, pool_placement(waiting.nodes)

    def earliest_start(self, nodes: int, demand: tuple[int, ...], duration: int) -> int | None:
        """Return the first start at which slots fit beside all reservations, or ``None``."""
        start = earliest(self._book.profile, nodes * demand[0], duration, self._now, NEVER, NEVER)
        return None if start < 0 else start

    def guaranteed(self, waiting: Waiting) -> int | None:
        """Return the begin of a job's reservation, or ``None``."""
        own = np.flatnonzero(self._reserved.order == waiting.order)
        return int(self._reserved.start[own[0]]) if len(own) else None

    def steps(self) -> list[tuple[int, int | None, int]]:
        """Return begin, end and free units of each time slot. 0 where over capacity."""
        times, free = steps_of(self._book.profile)
        return list(zip(times, [*times[1:], None], (max(0, units) for units in free), strict=True))

    def occupy(self, waiting: Waiting, placement: Placement, seconds: int) -> None:
        """Record that a job starts in a gap, for at most `seconds`. Its own reservation stays."""
        now = self._now
        units = len(placement) * waiting.demand[0]
        self._book = book.with_room_for(self._book, 1, waiting.order)
        book.book_run(self._book, waiting.order, units, now, now + seconds)
        add(self._book.profile, now, now + seconds, -units)

    @property
    def _now(self) -> int:
        return int(self._book.profile.times[0, 0])

    @property
    def _reserved(self) -> book.Bookings:
        """The reservations by name."""
        return book.Bookings(*self._book.reserved[:, : self._book.counts.reserved[0]])

    def _rows(self, kind: str) -> list[list[int]]:
        """Return order, start, end and units of the reservations or of running jobs."""
        count = getattr(self._book.counts, kind)[0]
        rows = book.Bookings(*getattr(self._book, kind)[:, :count])
        listed: list[list[int]] = np.column_stack((rows.order, rows.start, rows.end, rows.units)).tolist()
        return listed


def _orders(state: State) -> dict[str, int]:
    """Return the orders of jobs by id."""
    return {entry.id: entry.order for entry in state.queue} | {run.id: run.order for run in state.running}
