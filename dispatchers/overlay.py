"""Reservations that a dispatcher keeps between decisions, on the availability profile of each decision."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..base import IntArray
from ..models import PlacementRule
from ..models.profiles.timeline import (
    BEGINS,
    ENDS,
    NEVER,
    ROWS,
    Asks,
    Timeline,
    add_row,
    add_rows,
    earlier,
    earliest,
    lasting,
    occupy,
    peak,
    with_room,
)
from .profile import open_line, slot_nodes
from .rule_book import Key, RuleBook, Shared, no_amounts, read_rule_book
from .views import Placement, Running, StateView, Waiting


@dataclass(slots=True)
class Booking:
    """Slots of a job in an interval, on an overlay.

    Attributes
    ----------
    start, end
        Half-open interval, seconds.
    placement, demand
        Node of each slot, and amounts per slot.
    bound
        Latest end by the walltime, seconds. It counts at closures and falling limits.
    uses
        Amounts of the whole machine.
    row
        Its row on the profile, -1 for none.
    """

    start: int
    end: int
    placement: Placement
    demand: tuple[int, ...]
    bound: int = 0
    uses: Mapping[Key, int] = field(default_factory=dict)
    row: int = -1

    def shift(self, start: int, placement: Placement) -> None:
        """Set another start and nodes, for the same time."""
        moved = start - self.start
        self.start, self.end, self.bound = start, self.end + moved, self.bound + moved
        self.placement = placement


class Overlay:
    """Availability profile with reservations that stay.

    It begins as the whole machine, beside closed nodes and the limits of all amounts. Its owner books running jobs, for
    as long as it expects, and reservations of waiting jobs. A new decision takes it to a new state, see :meth:`rebase`.

    Parameters
    ----------
    state
        The present state.
    placement
        ``"first-fit"`` fills nodes in their order. ``"best-fit"`` fills the node with the least free share first.
    unit
        Amounts of a slot, if slots are counted instead of placed on nodes. For machines without rules.

    Attributes
    ----------
    ruled
        Whether the machine has rules. Then bookings need `bound` and `uses`.
    counted
        Whether slots are counted.
    """

    def __init__(
        self, state: StateView, placement: PlacementRule = "first-fit", unit: tuple[int, ...] | None = None
    ) -> None:
        self._unit = unit
        self.counted = unit is not None
        nodes = 1 if self.counted else state.machine.nodes
        self._best_fit = placement == "best-fit" and nodes > 1
        self._line: Timeline
        self.rebase(state, ())

    def rebase(self, state: StateView, bookings: Iterable[Booking]) -> None:
        """Continue at a new state with these bookings."""
        self._state = state
        self._book: RuleBook | None = read_rule_book(state)
        self.ruled = self._book is not None
        self._shared: Shared = no_amounts() if self._book is None else self._book.shared(state)
        keys, resources = len(self._shared.keys), 1 if self.counted else state.machine.capacity.shape[1]
        # What a search asks for. It is filled anew for each.
        slots, seconds, bound = np.empty((3, 1), dtype=np.int64)
        demand, need = np.empty((1, resources), dtype=np.int64), np.empty((1, keys), dtype=np.int64)
        self._asks = Asks(slots, seconds, bound, demand, need)
        self._open(sorted(bookings, key=_by_start), state.now)

    @property
    def now(self) -> int:
        """Begin of the profile, seconds."""
        return self._state.now

    def earliest(
        self, job: Waiting, after: int, before: int | None = None, seconds: int | None = None
    ) -> tuple[int, Placement] | None:
        """Return the first start of a job in [`after`, `before`), and the node of each slot. ``None`` without one.

        It counts for its prediction and its walltime, or for `seconds`.
        """
        self._ask(job.nodes, job.demand, job.predicted if seconds is None else seconds)
        if self._book is not None:
            self._asks.bound[0] = job.job.walltime if seconds is None else seconds
            self._need(self._book.uses(job))
        return self._earliest(after, before, -1)

    def earliest_of(self, nodes: int, demand: tuple[int, ...], seconds: int) -> int | None:
        """Return the first start of slots of no job, ``None`` without one."""
        self._ask(nodes, demand, seconds)
        self._need({})
        found = self._earliest(self.now, None, -1)
        return None if found is None else found[0]

    def earlier(
        self, booking: Booking, after: int, before: int | None = None, own: bool = True
    ) -> tuple[int, Placement] | None:
        """Return the first start of a booking in [`after`, `before`), and its nodes. ``None`` without one.

        Its own room is open to it, unless `own` is false.
        """
        self._ask(len(booking.placement), booking.demand, booking.end - booking.start)
        if self.ruled:
            self._asks.bound[0] = booking.bound - booking.start
            self._need(booking.uses)
        return self._earliest(after, before, booking.row if own else -1)

    def limits_of(self, job: Waiting, seconds: int | None = None) -> tuple[int, Mapping[Key, int]]:
        """Return the longest time for which a job may run, seconds, and its amounts of the whole machine."""
        if self._book is None:
            return 0, {}
        return job.job.walltime if seconds is None else seconds, self._book.uses(job)

    def follow_run(self, booking: Booking, run: Running, now: int) -> None:
        """Set what counts for a running job under rules.

        Inside of a reservation its room is closed for others. So it counts from the end of that on.
        """
        book = self._book
        if book is None:
            return
        opens = book.reserved_until(run.job.reservation, now)
        booking.start = run.start if opens is None else opens
        booking.bound = run.walltime_end(now)
        booking.uses = book.uses(run)

    def hold_overruns(self, bookings: Iterable[Booking]) -> None:
        """Occupy the next second for jobs that run longer than planned. Their room is not free yet."""
        for each in list(bookings):
            if each.end <= self.now:
                bound = max(each.bound, self.now + 1)
                self.add(Booking(self.now, self.now + 1, each.placement, each.demand, bound, each.uses))

    def add(self, booking: Booking) -> None:
        """Occupy the room of a booking, whether or not it is free."""
        start = max(booking.start, self.now)
        if booking.end <= start:
            booking.row = -1
            return
        bound = max(booking.bound, booking.end)
        self._reach(bound)
        node, slots = self._entries(booking.placement)
        self._line = line = with_room(self._line, 1, len(node))
        self._asks.demand[0] = 1 if self.counted else booking.demand
        self._need(booking.uses)
        booking.row = int(line.numbers[ROWS])
        add_row(line, (start, booking.end, bound), self._asks.demand[0], self._asks.need[0], node, slots)
        self._booked[booking.row] = booking

    def remove(self, booking: Booking) -> None:
        """Free the room of a booking."""
        if booking.row >= 0:
            occupy(self._line, booking.row, -1)
            del self._booked[booking.row]
            booking.row = -1

    def move(self, booking: Booking, start: int, placement: Placement) -> None:
        """Move a booking to another start and other nodes."""
        self.remove(booking)
        booking.shift(start, placement)
        self.add(booking)

    def free_until(self, job: Waiting) -> tuple[int | None, Placement] | None:
        """Return until when a job's slots stay free from now on, and their nodes.

        The first is ``None`` if they stay free for ever. The result is ``None`` if they are not free.
        """
        self._ask(job.nodes, job.demand, 1)
        self._need({} if self._book is None else self._book.uses(job))
        while True:
            self._line = line = with_room(self._line, 1, min(len(self._line.free), job.nodes))
            until, node, slots = lasting(line, self._asks, self.now, self._best_fit)
            if until < NEVER or self._until >= self._limit():
                break
            self._extend(self._until)
        return None if until <= self.now else (None if until == NEVER else until, slot_nodes(self._line, node, slots))

    def peak(self, begin: int, end: int) -> tuple[int, ...]:
        """Return the largest amounts that are free on all nodes at one time in [begin, end)."""
        return tuple(peak(self._line, begin, end).tolist())

    def steps(self) -> list[tuple[int, int | None, int]]:
        """Return begin, end and free units of each time slot of a pool of one resource. The last has no end."""
        line = self._line
        changes: dict[int, int] = {}
        for rows, times, sign, count in ((line.begins, line.begin, -1, BEGINS), (line.ends, line.end, 1, ENDS)):
            for row in rows[: line.numbers[count]].tolist():
                amount = int(line.slots[line.first[row] : line.last[row]].sum() * line.demand[row, 0])
                time = max(int(times[row]), self.now)
                changes[time] = changes.get(time, 0) + sign * amount
        free = int(line.free[0, 0]) + changes.pop(self.now, 0)
        steps = [(self.now, free)]
        for time in sorted(time for time, change in changes.items() if change):
            free += changes[time]
            steps.append((time, free))
        ends: list[int | None] = [time for time, _ in steps[1:]]
        return [(begin, end, left) for (begin, left), end in zip(steps, [*ends, None], strict=True)]

    def _ask(self, nodes: int, demand: tuple[int, ...], seconds: int) -> None:
        asks = self._asks
        asks.slots[0] = nodes
        asks.seconds[0] = asks.bound[0] = seconds
        asks.demand[0] = 1 if self.counted else demand

    def _need(self, uses: Mapping[Key, int]) -> None:
        for place, key in enumerate(self._shared.keys):
            self._asks.need[0, place] = uses.get(key, 0)

    def _earliest(self, after: int, before: int | None, row: int) -> tuple[int, Placement] | None:
        last = NEVER if before is None else before
        asks = self._asks
        span = int(max(asks.seconds[0], asks.bound[0]))
        own = self._booked.get(row)
        while True:
            self._reach(after + span)
            self._line = line = with_room(self._line, 1, min(len(self._line.free), int(asks.slots[0])))
            if own is None:
                start, node, slots = earliest(line, asks, after, last, self._best_fit)
            else:
                start, node, slots = earlier(line, own.row, asks, after, last, self._best_fit)
            if start >= 0 and start + span <= self._until:
                return start, slot_nodes(self._line, node, slots)
            if self._until == NEVER or (start < 0 and self._until >= min(self._limit(), last)):
                return None
            if start >= self._limit():
                return None
            self._extend(max(self._until, start + span))

    def _entries(self, placement: Placement) -> tuple[IntArray, IntArray]:
        """Return the entries of a booking: nodes, and slots on each."""
        if len(self._line.free) == 1:
            return np.zeros(1, dtype=np.int64), np.array([len(placement)])
        return np.asarray(placement, dtype=np.int64), np.ones(len(placement), dtype=np.int64)

    def _limit(self) -> int:
        return NEVER if self._book is None else self.now + self._book.horizon()

    def _reach(self, until: int) -> None:
        """Have all closures up to a time on the profile."""
        if until > self._until:
            self._extend(until)

    def _extend(self, until: int) -> None:
        ahead = 2 * (until - self.now) + 86400
        self._open(sorted(self._booked.values(), key=_by_start), min(self.now + ahead, max(self._limit(), until)))

    def _open(self, bookings: list[Booking], until: int) -> None:
        """Open the profile with closures up to a time at least, and with bookings in order of start."""
        state = self._state
        now = state.now
        book = self._book
        until = max([until, *(max(each.bound, each.end) for each in bookings)]) if book is not None else until
        closed = None if book is None else book.closed(now, until)
        self._until = NEVER if closed is None else closed.until
        free = state.machine.capacity.copy()
        if self._unit is not None:
            free = np.array([[state.machine.slots_of(self._unit)]], dtype=np.int64)
        pool = len(free) == 1
        slots = [len(each.placement) for each in bookings]
        entries = len(bookings) if pool else sum(slots)
        # Room for the waiting jobs, too, so that it seldom grows.
        room = len(bookings) + len(state.queue.entries) + 2, entries + (8 if pool else 4 * len(free))
        self._line = open_line(state, book, closed, self._shared, (free, self._shared.most.copy()), room)
        self._booked: dict[int, Booking] = {}
        if not bookings:
            return
        begin, end, bound = np.array([(each.start, each.end, each.bound) for each in bookings], dtype=np.int64).T
        begin = np.maximum(begin, now)
        end = np.maximum(end, begin)
        bound = np.maximum(bound, end)
        demand = np.ones((len(bookings), 1), dtype=np.int64)
        if not self.counted:
            demand = np.array([each.demand for each in bookings], dtype=np.int64)
        keys = self._shared.keys
        need = np.array([[each.uses.get(key, 0) for key in keys] for each in bookings], dtype=np.int64)
        counts = np.array(slots, dtype=np.int64)
        first = int(self._line.numbers[ROWS])
        if pool:
            node, last = np.zeros_like(counts), np.arange(1, len(counts) + 1)
        else:
            node, last = np.concatenate([each.placement for each in bookings]), counts.cumsum()
            counts = np.ones(len(node), dtype=np.int64)
        need = need.reshape(len(bookings), len(keys))
        add_rows(self._line, (begin, end, bound), demand, need, last, node.astype(np.int64, copy=False), counts)
        for row, each in enumerate(bookings, first):
            each.row = row
            self._booked[row] = each


def _by_start(booking: Any) -> int:
    start: int = booking.start
    return start
