"""Reservations that stand from one decision to the next, or move up into what was freed, on any machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ...models import AmountProfile, NodeProfile, PlacementRule
from ..protocol import Placement, Running, State, Waiting
from ..space import PoolSpace, Space, space_of
from .closed_times import ClosedTimes, profile_of

#: How reservations move up when a job ends early.
Compress = Literal["until-stable", "once", "never"]


@dataclass(slots=True)
class Booking:
    """What a job holds in the profile.

    Attributes
    ----------
    start, end
        Half-open interval, seconds.
    tried
        For how many of the freed intervals an earlier start was looked for.
    away
        Whether the job runs outside its reservation, and is killed before that begins: it may come back.
    """

    waiting: Waiting | None
    start: int
    end: int
    placement: Placement
    demand: tuple[int, ...]
    tried: int = 0
    away: bool = False

    def is_for(self, waiting: Waiting) -> bool:
        """Return whether a job that came back still asks for what is reserved."""
        wanted = waiting.nodes, waiting.demand, waiting.predicted
        return (len(self.placement), self.demand, self.end - self.start) == wanted

    def exceeds(self, amounts: tuple[int, ...]) -> bool:
        """Return whether the slots ask for more of some resource than `amounts`."""
        slots = len(self.placement)
        return any(slots * amount > most for amount, most in zip(self.demand, amounts, strict=True))


class Reservations:
    """What runs and what is reserved, by id of the job, in the profile of what is free.

    Parameters
    ----------
    state
        Its machine is booked from its time on, all of it free at first.
    rule
        How nodes are chosen among those that are free long enough.

    Attributes
    ----------
    profile
        What is free when.
    running, reserved
        What running and waiting jobs hold of it.
    freed
        Intervals in which something was given back, until they are cleared.
    """

    def __init__(self, state: State, rule: PlacementRule) -> None:
        self.rule = rule
        self.profile = self._empty(state)
        self.running: dict[str, Booking] = {}
        self.reserved: dict[str, Booking] = {}
        self.freed: list[tuple[int, int]] = []

    def _empty(self, state: State) -> AmountProfile | NodeProfile:
        self._closed, profile = ClosedTimes(state.machine), profile_of(state.machine, state.now, self.rule)
        self._close(profile, state.now)
        return profile

    def _close(self, profile: AmountProfile | NodeProfile, now: int) -> None:
        """Take the closed nodes out of a profile that begins now, as far ahead as it has to reach."""
        for taken in self._closed.more(now):
            profile.take(*taken)

    def memory(self) -> dict[str, Any]:
        """Return what runs and what is reserved, in the order of booking."""
        return {
            name: [(id_, each.start, each.end, each.placement.tolist(), each.demand) for id_, each in held.items()]
            for name, held in (("running", self.running), ("reserved", self.reserved))
        }

    def recall(self, state: State, memory: Mapping[str, Any]) -> None:
        """Hold what was held then, before anything else is."""
        for held, rows in ((self.running, memory["running"]), (self.reserved, memory["reserved"])):
            for id_, start, end, placement, demand in rows:
                held[id_] = booking = Booking(None, start, end, np.array(placement, dtype=np.int64), tuple(demand))
                self.profile.take(max(start, state.now), end, booking.placement, booking.demand)

    # What changed.

    def follow(self, state: State) -> bool:
        """Bring the profile up to date; return whether the reservations had to be made anew.

        That is when a running job is now known to end later than was planned.
        """
        self.profile.advance(state.now)
        self._close(self.profile, state.now)
        corrected = [self._follow_run(run, state.now) for run in state.running]
        alive = {run.id for run in state.running}
        for id_ in [id_ for id_ in self.running if id_ not in alive]:
            booking = self.running.pop(id_)
            self._free(state.now, booking.end, booking)
        waiting = {entry.id: entry for entry in state.queue} if self.reserved else {}
        for id_ in list(self.reserved):
            self._drop_if_gone(id_, waiting.get(id_), state.now)
        if any(corrected):
            self._rebuild(state)
        passed = [id_ for id_, booking in self.reserved.items() if booking.end <= state.now]
        if passed:
            self._drop_passed(passed, list(waiting), state.now)
        return any(corrected)

    def _drop_passed(self, passed: Sequence[str], queue: Sequence[str], now: int) -> None:
        """Drop reservations that passed without the start of their jobs, and those of all jobs behind in the queue.

        So they are made anew in the order of the queue.
        """
        gone = set(passed)
        first = next((place for place, id_ in enumerate(queue) if id_ in gone), len(queue))
        gone.update(queue[first:])
        for id_ in [id_ for id_ in self.reserved if id_ in gone]:
            booking = self.reserved.pop(id_)
            self._free(max(now, booking.start), booking.end, booking)

    def _follow_run(self, run: Running, now: int) -> bool:
        """Book a running job up to its predicted end; return whether that is later than was planned."""
        booking = self.running.get(run.id)
        if booking is None:
            booking = self.running[run.id] = Booking(None, run.start, now, run.placement, run.demand)
        later = run.predicted_end > booking.end
        if later:
            self.profile.take(max(booking.end, now), run.predicted_end, run.placement, run.demand)
        else:
            self._free(max(now, run.predicted_end), booking.end, booking)
        booking.end = run.predicted_end
        return later

    def _drop_if_gone(self, id_: str, entry: Waiting | None, now: int) -> None:
        """Drop the reservation of a job that left the queue for good or came back to it as another, `entry`."""
        booking, run = self.reserved[id_], self.running.get(id_)
        booking.away = entry is None and run is not None and run.end <= booking.start
        if entry is not None and booking.is_for(entry):
            booking.waiting = entry
        elif not booking.away:
            del self.reserved[id_]
            self._free(max(now, booking.start), booking.end, booking)

    def _rebuild(self, state: State) -> None:
        """Make the reservations anew, in the order in which they stood, none earlier than it was."""
        now = state.now
        self.profile = self._empty(state)
        for booking in self.running.values():
            self.profile.take(now, booking.end, booking.placement, booking.demand)
        for booking in sorted(self.reserved.values(), key=lambda booking: booking.start):
            waiting = booking.waiting
            assert waiting is not None
            found = self.profile.earliest(waiting.nodes, waiting.demand, waiting.predicted, max(now, booking.start))
            assert found is not None
            booking.start, booking.placement = found
            booking.end = booking.start + waiting.predicted
            self.profile.take(booking.start, booking.end, booking.placement, booking.demand)
            self.freed.append((now, booking.end))

    def _free(self, start: int, end: int, booking: Booking) -> None:
        if end > start:
            self.profile.give(start, end, booking.placement, booking.demand)
            self.freed.append((start, end))

    # Reservations, and how they move.

    def reserve_new(self, state: State) -> None:
        """Reserve for the jobs without a reservation, in order of submission."""
        if len(self.reserved) < len(state.queue):
            for waiting in state.queue:
                if waiting.id not in self.reserved:
                    self.reserve(waiting, state.now)

    def reserve(self, waiting: Waiting, now: int, before: int | None = None) -> bool:
        """Reserve the first start in [now, before) at which a job fits; return whether there is one."""
        found = self.profile.earliest(waiting.nodes, waiting.demand, waiting.predicted, now, before)
        if found is None:
            return False
        start, placement = found
        end = start + waiting.predicted
        self.profile.take(start, end, placement, waiting.demand)
        self.reserved[waiting.id] = Booking(waiting, start, end, placement, waiting.demand)
        return True

    def rebook(self, booking: Booking, start: int, placement: Placement) -> None:
        """Give a reservation another start and other nodes."""
        self.profile.give(booking.start, booking.end, booking.placement, booking.demand)
        booking.end += start - booking.start
        booking.start, booking.placement = start, placement
        self.profile.take(start, booking.end, placement, booking.demand)

    def compress(self, how: Compress, now: int) -> None:
        """Move reservations up into what was freed."""
        if self.freed and how == "until-stable":
            for booking in self.reserved.values():
                booking.tried = 0
            while self._move_first(now):
                pass
        elif self.freed and how == "once":
            for booking in self.reserved.values():
                if booking.start > now and not booking.away:
                    self._move(booking, now, booking.start)
        self.freed.clear()

    def _move_first(self, now: int) -> bool:
        """Move the first reservation that fits earlier; return whether there was one.

        Nothing could move before the intervals in `freed` were freed. So a job can only move to a start at which it
        uses one of them that has not been tried for it yet.
        """
        fresh: dict[int, tuple[int, int, tuple[int, ...]]] = {}
        freed = len(self.freed)
        for booking in self.reserved.values():
            if booking.tried == freed or booking.start <= now or booking.away:
                continue
            if booking.tried not in fresh:  # The intervals freed since, together, and the most that is free in them.
                low = max(now, min(start for start, _ in self.freed[booking.tried :]))
                high = max(end for _, end in self.freed[booking.tried :])
                fresh[booking.tried] = low, high, self.profile.peak(low, high)
            low, high, peak = fresh[booking.tried]
            booking.tried = freed
            if booking.exceeds(peak):
                continue
            after = max(now, low - (booking.end - booking.start) + 1)
            before = min(booking.start, high)
            if after < before and self._move(booking, after, before):
                return True
        return False

    def _move(self, booking: Booking, after: int, before: int) -> bool:
        """Move a reservation to a start in [after, before), if it fits there."""
        interval = booking.start, booking.end
        found = self.profile.earlier((*interval, booking.placement), booking.demand, after, before)
        if found is None:
            return False
        self.freed.append(interval)
        self.rebook(booking, *found)
        return True

    # Starts.

    def start_due(self, state: State) -> tuple[Iterator[tuple[Waiting, Placement]], bool, int | None]:
        """Return which jobs start and where, whether one is late, and the start of the next reservation."""
        due = self.due(state.now)
        started = list(self.start(due, state.now, space_of(state, self.rule))) if due else []
        later = (booking.start for booking in self.reserved.values() if booking.start > state.now)
        return iter(started), len(started) < len(due), min(later, default=None)

    def due(self, now: int) -> list[Booking]:
        """Return the reservations whose time has come."""
        return [booking for booking in self.reserved.values() if booking.start <= now and not booking.away]

    def start(self, due: Iterable[Booking], now: int, space: Space) -> Iterator[tuple[Waiting, Placement]]:
        """Yield the jobs that are due and their nodes, as far as what is reserved for them is free."""
        for booking in due:
            waiting = booking.waiting
            assert waiting is not None
            if not self._take_nodes(now, booking, waiting, space):
                continue
            if booking.start < now:  # A late start: the profile holds it for longer.
                self.profile.take(booking.end, now + waiting.predicted, booking.placement, waiting.demand)
                booking.start, booking.end = now, now + waiting.predicted
            del self.reserved[waiting.id]
            booking.waiting = None
            self.running[waiting.id] = booking
            yield waiting, booking.placement

    def _take_nodes(self, now: int, booking: Booking, waiting: Waiting, space: Space) -> bool:
        """Take the reserved nodes, or others that the profile leaves free; return whether there are any."""
        if space.put(booking.placement, waiting.demand):
            return True
        if isinstance(space, PoolSpace):
            return False
        self.profile.give(max(now, booking.start), booking.end, booking.placement, waiting.demand)
        found = self.profile.earliest(waiting.nodes, waiting.demand, waiting.predicted, now, now + 1)
        fits = found is not None and space.put(found[1], waiting.demand)
        if found is not None and fits:
            booking.placement = found[1]
        self.profile.take(max(now, booking.start), booking.end, booking.placement, waiting.demand)
        return fits

    # What else may be asked.

    def earliest_start(self, nodes: int, demand: tuple[int, ...], duration: int) -> int | None:
        """Return the first start at which slots fit beside all that is reserved, ``None`` if there is none."""
        found = self.profile.earliest(nodes, demand, duration, self.profile.now)
        return None if found is None else found[0]

    def guaranteed(self, waiting: Waiting) -> int | None:
        """Return when the reservation of a job begins, ``None`` if it has none."""
        own = self.reserved.get(waiting.id)
        return None if own is None else own.start

    def gap(self, waiting: Waiting) -> tuple[int | None, Placement] | None:
        """Return for how many seconds from now a job's slots are free beside every reservation, and where.

        Not beyond the begin of its own. ``None`` if they are not free, or instead of the seconds if they are for ever.
        """
        now, own = self.profile.now, self.reserved.get(waiting.id)
        found = None if own is not None and own.start <= now else self._free_until(waiting, now)
        if found is None:
            return None
        until, placement = found
        if own is not None:
            until = own.start if until is None else min(until, own.start)
        return None if until is None else until - now, placement

    def _free_until(self, waiting: Waiting, now: int) -> tuple[int | None, Placement] | None:
        return self.profile.free_until(waiting.nodes, waiting.demand, now)

    def occupy(self, waiting: Waiting, placement: Placement, seconds: int) -> None:
        """Take note that a job is started in a gap, for `seconds` at most; its own reservation stands."""
        now = self.profile.now
        self.profile.take(now, now + seconds, placement, waiting.demand)
        self.running[waiting.id] = Booking(None, now, now + seconds, placement, waiting.demand)
