"""Reservations that a dispatcher keeps between decisions, on the availability profile of each decision."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..models import PlacementRule, pool_placement
from ..models.profiles.amount import Amount, add, forget, free_until, open_amount, steps_of
from ..models.profiles.amount import earliest as earliest_of
from ..models.profiles.amount import peak as peak_of
from ..models.profiles.amount import with_room as with_more
from ..models.profiles.timeline import (
    ANY_LAYOUT,
    FIXED,
    NEVER,
    Timeline,
    add_row,
    add_rows,
    advance,
    earlier,
    earliest,
    make_asks,
    occupy,
    peak,
    with_room,
)
from .profile_search import ProfileSearch, open_line, rule_number, slot_nodes
from .rule_book import Key, Layout, Shared, no_amounts, read_rule_book
from .views import Placement, Running, StateView, Waiting

#: Rows of bookings that have left, beside twice the others, at which a profile without rules is built again.
_MOST_GONE = 64
#: Node of the entries of a pool.
_POOL = np.zeros(1, dtype=np.int64)
_NONE = np.zeros(0, dtype=np.int64)


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
    layout
        How its slots lie on nodes.
    row
        Its row on the profile, -1 for none.
    """

    start: int
    end: int
    placement: Placement
    demand: tuple[int, ...]
    bound: int = 0
    uses: Mapping[Key, int] = field(default_factory=dict)
    layout: Layout = ANY_LAYOUT
    row: int = -1

    def shift(self, start: int, placement: Placement) -> None:
        """Set another start and nodes, for the same time."""
        moved = start - self.start
        self.start, self.end, self.bound = start, self.end + moved, self.bound + moved
        self.placement = placement


class Overlay(ProfileSearch):
    """Availability profile with reservations that stay.

    It begins as the whole machine, beside closed nodes and the limits of all amounts. Its owner books running jobs, for
    as long as it expects, and reservations of waiting jobs. A new decision takes it to a new state, see :meth:`rebase`.

    Parameters
    ----------
    state
        The present state.
    placement
        ``"first-fit"`` fills nodes in their order. ``"best-fit"`` fills the node with the least free share first.
        ``"compact"`` uses few groups of the machine's levels.
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
        self._rule = rule_number(placement, nodes)
        self._line: Timeline
        #: The units over time of a pool of one resource without rules, in place of the profile.
        self._amount: Amount | None = None
        #: Rows and entries in use, and nodes.
        self._rows = self._entries = self._nodes = 0
        #: Slots of a new row on a pool.
        self._count = np.ones(1, dtype=np.int64)
        #: Bookings on the profile, by row, with start, end and nodes as they are there.
        self._booked: dict[int, tuple[Booking, int, int, Placement]] = {}
        self._start(state, ())

    def rebase(self, state: StateView, bookings: Iterable[Booking]) -> None:
        """Continue at a new state with these bookings.

        The end of a booking may be another than before. Its start and nodes change by :meth:`move` alone.
        """
        follows = state.machine is self._state.machine and state.now >= self.now
        if self.ruled or not follows or read_rule_book(state) is not None:
            self._start(state, bookings)
        else:
            self._follow(state, list(bookings))

    def _start(self, state: StateView, bookings: Iterable[Booking]) -> None:
        """Open the profile at a state."""
        self._state = state
        self._book = read_rule_book(state)
        self.ruled = self._book is not None
        self._shared: Shared = no_amounts() if self._book is None else self._book.shared(state)
        keys, resources = len(self._shared.keys), 1 if self.counted else state.machine.capacity.shape[1]
        # What a search asks for. It is filled anew for each.
        one = np.ones(1, dtype=np.int64)
        demand, need = np.ones((1, resources), dtype=np.int64), np.zeros((1, keys), dtype=np.int64)
        self._asks = make_asks(one, one, one, demand, need)  # The demand stays so for counted slots.
        self._open(sorted(bookings, key=_by_start), state.now)

    def _follow(self, state: StateView, bookings: list[Booking]) -> None:
        """Continue at a new state without rules, by the bookings that changed."""
        self._state = state
        now = state.now
        if self._amount is not None:
            forget(self._amount, now)
        elif self._rows > 2 * len(bookings) + _MOST_GONE:
            self._open(sorted(bookings, key=_by_start), now)
            return
        else:
            advance(self._line.memory, now)
        there = self._booked
        changed = [
            each
            for each in bookings
            if (row := there.get(each.row)) is None or row[0] is not each or not row[2] == each.end > now
        ]
        if len(bookings) - len(changed) < len(there):
            same = {each.row for each in bookings} - {each.row for each in changed}
            for number in there.keys() - same:
                booking, start, end, placement = there.pop(number)
                if end > now:
                    self._free(number, start, end, len(placement) * self._units(booking.demand))
                booking.row = -1
        for each in changed:
            self.add(each)

    def earliest(
        self,
        job: Waiting,
        after: int,
        before: int | None = None,
        seconds: int | None = None,
        bound: int | None = None,
    ) -> tuple[int, Placement] | None:
        """Return the first start of a job in [`after`, `before`), and the node of each slot. ``None`` without one.

        It counts for its prediction against other jobs, and for its walltime against closures. With `seconds` it counts
        for these against both, or for `bound` against closures.
        """
        length = job.predicted if seconds is None else seconds
        if self._book is None:
            return self._earliest_plain(job.nodes, job.demand, length, after, before)
        layout = self._book.layout(job.job, job.since)
        self._ask(job.nodes, job.demand, length, _bound(job, seconds, bound), layout)
        self._need(self._book.uses(job))
        return self._earliest(after, before)

    def earliest_of(self, nodes: int, demand: tuple[int, ...], seconds: int) -> int | None:
        """Return the first start of slots of no job, ``None`` without one."""
        self._ask(nodes, demand, seconds, seconds)
        self._need({})
        fit = self._earliest(self.now, None)
        return None if fit is None else fit[0]

    def earlier(
        self, booking: Booking, after: int, before: int | None = None, own: bool = True
    ) -> tuple[int, Placement] | None:
        """Return the first start of a booking in [`after`, `before`), and its nodes. ``None`` without one.

        Its own room is open to it, unless `own` is false.
        """
        own_room = booking if own and booking.row >= 0 else None
        seconds = booking.end - booking.start
        if self._book is None:
            return self._earliest_plain(len(booking.placement), booking.demand, seconds, after, before, own_room)
        bound = booking.bound - booking.start
        self._ask(len(booking.placement), booking.demand, seconds, bound, booking.layout)
        self._need(booking.uses)
        return self._earliest(after, before, own_room)

    def limits_of(
        self, job: Waiting, seconds: int | None = None, bound: int | None = None
    ) -> tuple[int, Mapping[Key, int]]:
        """Return the longest time for which a job may run, seconds, and its amounts of the whole machine.

        The arguments are those of :meth:`earliest`.
        """
        if self._book is None:
            return 0, {}
        return _bound(job, seconds, bound), self._book.uses(job)

    def layout_of(self, job: Waiting) -> Layout:
        """Return how the slots of a job lie on nodes."""
        return ANY_LAYOUT if self._book is None else self._book.layout(job.job, job.since)

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
        booking.uses = book.uses(run) if opens is None else {}  # Those inside are on the profile from now on.

    def hold_overruns(self, bookings: Iterable[Booking]) -> None:
        """Occupy the next second for jobs that run longer than planned. Their room is not free yet."""
        for each in list(bookings):
            if each.end <= self.now:
                bound = max(each.bound, self.now + 1)
                self.add(Booking(self.now, self.now + 1, each.placement, each.demand, bound, each.uses))

    def add(self, booking: Booking) -> None:
        """Occupy the room of a booking, whether or not it is free."""
        now = self._state.now
        start, end = max(booking.start, now), booking.end
        if end <= start:
            booking.row = -1
            return
        placement = booking.placement
        row = self._rows
        if self._amount is not None:
            self._add_units(start, end, -len(placement) * (1 if self.counted else booking.demand[0]))
            self._booked[row] = booking, booking.start, end, placement
            booking.row = row
            self._rows = row + 1
            return
        bound = end
        if self._book is not None:
            bound = max(booking.bound, end)
            self._reach(bound, True)
            self._need(booking.uses)
            row = self._rows  # It may have been built again.
        if self._nodes == 1:
            node, slots = _POOL, self._count
            slots[0] = len(placement)
        else:
            node, slots = np.asarray(placement, dtype=np.int64), np.ones(len(placement), dtype=np.int64)
        line = self._room(1, len(node))
        self._set_demand(booking.demand)
        asks = self._asks
        add_row(line.memory, start, end, bound, asks.demand[0], asks.need[0], node, slots)
        self._booked[row] = booking, booking.start, end, placement
        booking.row = row
        self._rows = row + 1
        self._entries += len(node)

    def add_all(self, bookings: Sequence[Booking]) -> None:
        """Occupy the room of several bookings, fastest in order of start. A row without time occupies nothing."""
        if self._amount is not None:
            for each in bookings:
                self.add(each)
        if self._amount is not None or not bookings:
            return
        begin, end, bound = np.array([(each.start, each.end, each.bound) for each in bookings], dtype=np.int64).T
        begin = np.maximum(begin, self.now)
        end = np.maximum(end, begin)
        bound = np.maximum(bound, end)
        if self._book is not None:
            self._reach(int(bound.max()), True)
        demand = np.ones((len(bookings), 1), dtype=np.int64)
        if not self.counted:
            demand = np.array([each.demand for each in bookings], dtype=np.int64)
        keys = self._shared.keys
        need = np.array([[each.uses.get(key, 0) for key in keys] for each in bookings], dtype=np.int64)
        counts = np.array([len(each.placement) for each in bookings], dtype=np.int64)
        if self._nodes == 1:
            node, last = np.zeros_like(counts), np.arange(1, len(counts) + 1)
        else:
            node, last = np.concatenate([each.placement for each in bookings]), counts.cumsum()
            node = node.astype(np.int64, copy=False)
            counts = np.ones_like(node)
        line = self._room(len(bookings), len(node))
        need = need.reshape(len(bookings), len(keys))
        add_rows(line.memory, np.stack((begin, end, bound)), demand, need, last, node, counts)
        for row, each in enumerate(bookings, self._rows):
            each.row = row
            self._booked[row] = (each, each.start, each.end, each.placement)
        self._rows += len(bookings)
        self._entries += len(node)

    def remove(self, booking: Booking) -> None:
        """Free the room of a booking."""
        if booking.row >= 0:
            _, start, end, placement = self._booked.pop(booking.row)
            self._free(booking.row, start, end, len(placement) * self._units(booking.demand))
            booking.row = -1

    def _free(self, row: int, start: int, end: int, units: int) -> None:
        """Free the room of a row, or of units on a pool."""
        if self._amount is None:
            occupy(self._line.memory, row, -1)
        else:
            self._add_units(max(start, self._state.now), end, units)

    def _add_units(self, start: int, end: int, units: int) -> None:
        """Add free units to a pool."""
        amount = self._amount
        assert amount is not None
        blocks = len(amount.times)
        if int(amount.blocks[0]) + 3 > blocks:
            self._amount = amount = with_more(amount, 16 * blocks)
        add(amount, start, end, units)

    def _units(self, demand: tuple[int, ...]) -> int:
        """Return the units of a slot on a pool."""
        return 1 if self.counted else demand[0]

    def move(self, booking: Booking, start: int, placement: Placement) -> None:
        """Move a booking to another start and other nodes."""
        self.remove(booking)
        booking.shift(start, placement)
        self.add(booking)

    def free_until(self, job: Waiting) -> tuple[int | None, Placement] | None:
        """Return until when a job's slots stay free from now on, and their nodes.

        The first is ``None`` if they stay free for ever. The result is ``None`` if they are not free.
        """
        if self._amount is not None:
            until = int(free_until(self._amount, job.nodes * self._units(job.demand), self.now))
            return None if until <= self.now else (None if until == NEVER else until, pool_placement(job.nodes))
        self._ask(job.nodes, job.demand, 1, 1, self.layout_of(job))
        self._need({} if self._book is None else self._book.uses(job))
        return self._free_until(self._asks, self.now)

    def peak(self, begin: int, end: int) -> tuple[int, ...]:
        """Return the largest amounts that are free on all nodes at one time in [begin, end)."""
        if self._amount is not None:
            return (max(0, peak_of(self._amount, begin, end)),)
        return tuple(peak(self._line.memory, begin, end).tolist())

    def steps(self) -> list[tuple[int, int | None, int]]:
        """Return begin, end and free units of each time slot of a pool of one resource. The last has no end."""
        if self._amount is not None:
            begins, amounts = steps_of(self._amount)
            return list(zip(begins, [*begins[1:], None], amounts, strict=True))
        line = self._line
        changes: dict[int, int] = {}
        for rows, times, sign, count in ((line.begins, line.begin, -1, "begins"), (line.ends, line.end, 1, "ends")):
            for row in rows[: line.header[0][count]].tolist():
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

    def _earliest_plain(
        self,
        nodes: int,
        demand: tuple[int, ...],
        seconds: int,
        after: int,
        before: int | None,
        own: Booking | None = None,
    ) -> tuple[int, Placement] | None:
        """Return what a search does without rules. Nothing lies beyond the end of the profile then."""
        last = NEVER if before is None else before
        if self._amount is not None:
            start = self._earliest_on_pool(nodes * self._units(demand), seconds, after, last, own)
            return None if start < 0 else (start, pool_placement(nodes))
        self._ask(nodes, demand, seconds, seconds)
        line = self._room(1, self._nodes)
        if own is None:
            start, first, end = earliest(line.memory, self._asks.memory, after, last, self._rule)
        else:
            start, first, end = earlier(line.memory, own.row, self._asks.memory, after, last, self._rule)
        if start < 0:
            return None
        return start, pool_placement(nodes) if self._nodes == 1 else slot_nodes(line, first, end)

    def _earliest_on_pool(self, units: int, seconds: int, after: int, before: int, own: Booking | None) -> int:
        """Return the first start, -1 if there is none."""
        assert self._amount is not None
        if own is None or before <= own.start:  # From there on its units are free to it.
            start = NEVER if own is None else own.start
            return int(earliest_of(self._amount, units, seconds, after, before, start))
        _, start, end, _ = self._booked[own.row]
        self._add_units(max(start, self.now), end, units)
        first_start = int(earliest_of(self._amount, units, seconds, after, before, NEVER))
        self._add_units(max(start, self.now), end, -units)
        return first_start

    def _ask(self, nodes: int, demand: tuple[int, ...], seconds: int, bound: int, layout: Layout = ANY_LAYOUT) -> None:
        memory = self._asks.memory  # One job. Single numbers are set faster than slices.
        memory[0], memory[1], memory[2] = nodes, seconds, bound
        if self._book is not None and self._book.layouts:
            memory[3:FIXED] = layout
        self._set_demand(demand)

    def _set_demand(self, demand: tuple[int, ...]) -> None:
        if not self.counted:
            memory = self._asks.memory
            for place, amount in enumerate(demand, FIXED):
                memory[place] = amount

    def _need(self, uses: Mapping[Key, int]) -> None:
        for place, key in enumerate(self._shared.keys):
            self._asks.need[0, place] = uses.get(key, 0)

    def _earliest(self, after: int, before: int | None, own: Booking | None = None) -> tuple[int, Placement] | None:
        return self._search(self._asks, after, NEVER if before is None else before, True, own)

    def _room(self, rows: int, entries: int) -> Timeline:
        if self._rows + rows > len(self._line.begin) or self._entries + entries > len(self._line.node):
            self._line = with_room(self._line, rows, entries)
        return self._line

    def _reach(self, until: int, whole: bool) -> Timeline:
        """Have all closures up to a time on the profile."""
        if until > self._until:
            self._extend(until)
        return self._line

    def _build(self, until: int) -> None:
        self._open(sorted((row[0] for row in self._booked.values()), key=_by_start), until)

    def _open(self, bookings: list[Booking], until: int) -> None:
        """Open the profile with closures up to a time at least, and with bookings in order of start."""
        state = self._state
        now = state.now
        book = self._book
        until = max([until, *(max(each.bound, each.end) for each in bookings)]) if book is not None else until
        closed = None if book is None else book.closed(now, until)
        self._until = NEVER if closed is None else closed.until
        free = state.machine.capacity
        if self._unit is not None:
            free = np.array([[state.machine.slots_of(self._unit)]], dtype=np.int64)
        for gone in self._booked.values():
            gone[0].row = -1
        self._booked = {}
        self._nodes = len(free)
        self._amount = None
        if book is None and free.size == 1:
            jobs = len(bookings) + len(state.queue.entries) + len(state.running.entries)
            self._amount = open_amount(int(free[0, 0]), now, jobs)
            self._rows = 0
            self.add_all(bookings)
            return
        pool = len(free) == 1
        entries = len(bookings) if pool else sum(len(each.placement) for each in bookings)
        # Room for running and waiting jobs, too, so that it seldom grows.
        jobs = len(bookings) + len(state.queue.entries) + len(state.running.entries) + 2
        room = jobs, entries + (jobs if pool else 4 * len(free) + int(state.running.nodes.sum()))
        self._line = open_line(state, book, closed, self._shared, (free, self._shared.most), room)
        self._rows = int(self._line.header[0]["rows"])
        self._entries = int(self._line.header[0]["entries"])
        self._add_amounts_inside()
        self.add_all(bookings)

    def _add_amounts_inside(self) -> None:
        """Occupy the shared amounts of running jobs inside of reservations. Their nodes are closed for others."""
        book = self._book
        if book is None or not book.named or not self._shared.keys:
            return
        now = self.now
        for run in self._state.running.entries:
            if book.reserved_until(run.job.reservation, now) is None:
                continue
            line = self._room(1, 0)
            uses = book.uses(run)
            need = np.array([uses.get(key, 0) for key in self._shared.keys], dtype=np.int64)
            end = max(run.predicted_end, now + 1)
            bound = max(run.walltime_end(now), end)
            add_row(line.memory, now, end, bound, np.zeros_like(line.demand[0]), need, _NONE, _NONE)
            self._rows += 1


def _by_start(booking: Any) -> int:
    start: int = booking.start
    return start


def _bound(job: Waiting, seconds: int | None, bound: int | None) -> int:
    """Return the longest time for which a job may run, as of :meth:`Overlay.earliest`."""
    if bound is not None:
        return bound
    return job.job.walltime if seconds is None else seconds
