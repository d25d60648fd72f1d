"""Reservations that stand from one decision to the next on a pool of one resource, in compiled tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ...base import IntArray
from ...models import pool_placement
from ...models.backfilling import reservation_table as book
from ...models.backfilling.compression import compress_once, compress_until_stable
from ...models.backfilling.pool_profile import NEVER, advance, earliest, free_until, longer, open_profile, release
from ..protocol import Placement, State, Waiting
from .moving_reservations import Compress

_FIRST_ROOM = 64


class CountedReservations:
    """As :class:`.StandingReservations`, where what is free is one number.

    Parameters
    ----------
    state
        Its machine is booked from its time on, all of it free at first.
    """

    def __init__(self, state: State) -> None:
        self._total = int(state.machine.capacity[0, 0])
        self._profile = open_profile(self._total, state.now, _FIRST_ROOM)
        self._reserved = book.open_table(_FIRST_ROOM)
        self._held = book.open_table(_FIRST_ROOM)
        self._freed = book.open_freed(_FIRST_ROOM)
        self._rows = np.full(_FIRST_ROOM, -1, dtype=np.int64)
        self._settled = True
        self._seen = state

    def memory(self) -> dict[str, Any]:
        """Return what runs and what is reserved, in the order of booking."""
        ids = _ids(self._seen)
        return {
            "running": _rows(self._held, ids),
            "reserved": _rows(self._reserved, ids),
            "settled": self._settled,
        }

    def recall(self, state: State, memory: Mapping[str, Any]) -> None:
        """Hold what was held then, before anything else is."""
        orders = {id_: order for order, id_ in _ids(state).items()}
        last = max(orders.values(), default=-1)
        rows = [*memory["running"], *memory["reserved"]]
        # A job that has left since then is known by an order that no other one has, until it is missed.
        unknown = [id_ for id_, *_ in rows if id_ not in orders]
        orders |= {id_: last + 1 + place for place, id_ in enumerate(unknown)}
        known = np.array([orders[id_] for id_, *_ in rows], dtype=np.int64)
        self._make_room(known, known)
        for table, held in ((self._held, memory["running"]), (self._reserved, memory["reserved"])):
            for id_, start, end, amount in held:
                book.add(table, orders[id_], start, end, amount)
                if end > state.now:
                    release(self._profile, max(start, state.now), end, -amount)
        self._settled = memory["settled"]

    def follow(self, state: State) -> bool:
        """Bring the profile up to date; return whether the reservations had to be made anew."""
        now, queue, running = state.now, state.queue, state.running
        waits = book.Jobs(queue.order, queue.nodes * queue.demand[:, 0], queue.since, queue.predicted)
        runs = book.Jobs(running.order, running.nodes * running.demand[:, 0], running.start, running.predicted_end)
        self._waits, self._seen = waits, state
        self._make_room(waits.order, runs.order)
        advance(self._profile, now)
        corrected = book.follow_running(now, self._profile, self._held, runs, self._freed, self._rows)
        book.find_places(self._reserved, waits, self._rows)
        book.drop_gone(now, self._profile, self._reserved, self._held, waits, self._freed, self._rows)
        if corrected:
            book.rebuild(now, self._total, self._profile, self._reserved, self._held, self._freed)
        book.drop_passed(now, self._reserved)
        return corrected

    def compress(self, how: Compress, now: int) -> None:
        """Move reservations up into what was freed."""
        if self._freed.size[0] and how == "until-stable":
            self._settled = compress_until_stable(now, self._profile, self._reserved, self._freed, self._settled)
        elif self._freed.size[0] and how == "once":
            compress_once(now, self._profile, self._reserved)
        self._freed.size[0] = 0

    def reserve_new(self, state: State) -> None:
        """Reserve for the jobs without a reservation, in order of submission."""
        scratch = np.empty(len(state.queue), dtype=np.bool_)
        book.reserve_new(state.now, self._profile, self._reserved, self._waits, scratch)

    def start_due(self, state: State) -> tuple[Iterator[tuple[Waiting, Placement]], bool, int | None]:
        """Return who starts and where, whether somebody is late, and the start of the next reservation."""
        queue, free = state.queue, int(state.free[0, 0])
        places = np.empty(len(queue), dtype=np.int64)
        count, late, following = book.start_due(state.now, free, self._profile, self._reserved, self._held, places)
        started = ((queue[place], pool_placement(queue[place].nodes)) for place in places[:count].tolist())
        return started, late > 0, None if following == NEVER else following

    def gap(self, waiting: Waiting) -> tuple[int | None, Placement] | None:
        """Return for how many seconds from now a job's slots are free beside every reservation, and where.

        Not beyond the begin of its own. ``None`` if they are not free, or instead of the seconds if they are for ever.
        """
        now, until = int(self._profile.times[0]), free_until(self._profile, waiting.nodes * waiting.demand[0])
        own = np.flatnonzero(self._reserved.order[: self._reserved.rows[0]] == waiting.order)
        begin = int(self._reserved.start[own[0]]) if len(own) else NEVER
        if until == now or begin <= now:
            return None
        until = min(until, begin)
        return None if until == NEVER else until - now, pool_placement(waiting.nodes)

    def earliest_start(self, nodes: int, demand: tuple[int, ...], duration: int) -> int | None:
        """Return the first start at which slots fit beside all that is reserved, ``None`` if there is none."""
        start = earliest(self._profile, nodes * demand[0], duration, int(self._profile.times[0]), NEVER, NEVER)
        return None if start < 0 else int(start)

    def promised(self, waiting: Waiting) -> int | None:
        """Return when the reservation of a job begins, ``None`` if it has none."""
        own = np.flatnonzero(self._reserved.order[: self._reserved.rows[0]] == waiting.order)
        return int(self._reserved.start[own[0]]) if len(own) else None

    def steps(self) -> list[tuple[int, int | None, int]]:
        """Return begin, end and free units of each time slot; where more was promised than there is, none."""
        count = int(self._profile.steps[0])
        begins = self._profile.times[:count].tolist()
        frees = np.maximum(self._profile.free[:count], 0).tolist()
        return list(zip(begins, [*begins[1:], None], frees, strict=True))

    def occupy(self, waiting: Waiting, placement: Placement, seconds: int) -> None:
        """Take note that a job is started in a gap, for `seconds` at most; its own reservation stands."""
        now, amount = int(self._profile.times[0]), len(placement) * waiting.demand[0]
        self._make_room(np.array([waiting.order]), np.array([waiting.order]))
        release(self._profile, now, now + seconds, -amount)
        book.add(self._held, waiting.order, now, now + seconds, amount)

    def _make_room(self, waiting: IntArray, running: IntArray) -> None:
        """Lengthen the arrays for what may be added by one decision."""
        book.close_gaps(self._reserved)
        book.close_gaps(self._held)
        new = len(waiting) + len(running)
        most = int(self._reserved.rows[0] + self._held.rows[0]) + new + 1
        if len(self._reserved.order) < most:
            self._reserved = longer(self._reserved, book.open_table(2 * most))
        if len(self._held.order) < most:
            self._held = longer(self._held, book.open_table(2 * most))
        if len(self._profile.times) < 2 * most + 4:
            self._profile = longer(self._profile, open_profile(0, 0, 4 * most + 8))
        if len(self._freed.start) < 2 * most:
            self._freed = longer(self._freed, book.open_freed(4 * most))
        last = max(waiting.max(initial=0), running.max(initial=0))
        if last >= len(self._rows):
            self._rows = np.full(2 * last + 1, -1, dtype=np.int64)


def _ids(state: State) -> dict[int, str]:
    """Return the ids of the jobs by their order."""
    return {job.order: job.id for job in state.queue} | {job.order: job.id for job in state.running}


def _rows(table: book.Table, ids: Mapping[int, str]) -> list[tuple[str, int, int, int]]:
    """Return id, start, end and amount of the rows of jobs that have not left."""
    count = int(table.rows[0])
    columns = (column[:count].tolist() for column in (table.order, table.start, table.end, table.amount))
    held = zip(*columns, strict=True)
    return [(ids[order], start, end, amount) for order, start, end, amount in held if order in ids]
