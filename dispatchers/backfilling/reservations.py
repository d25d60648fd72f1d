"""Reservations on any machine that stay between decisions, or move up into freed intervals."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ...models import AmountProfile, NodeProfile, PlacementRule
from ..protocol import Placement, Running, State, Waiting
from ..space import PoolSpace, Space, space_of
from .closed_times import ClosedTimes, profile_of

#: How reservations move up after a job ends early.
Compress = Literal["until-stable", "once", "never"]


@dataclass(slots=True)
class Booking:
    """A job's interval and nodes in the profile.

    Attributes
    ----------
    start, end
        Half-open interval, seconds.
    tried
        Number of freed intervals already searched for an earlier start.
    away
        Whether the job runs outside its reservation and is killed before that begins. It may then return.
    """

    waiting: Waiting | None
    start: int
    end: int
    placement: Placement
    demand: tuple[int, ...]
    tried: int = 0
    away: bool = False

    def is_for(self, waiting: Waiting) -> bool:
        """Return whether the reservation still matches a job that returned."""
        wanted = waiting.nodes, waiting.demand, waiting.predicted
        return (len(self.placement), self.demand, self.end - self.start) == wanted

    def exceeds(self, amounts: tuple[int, ...]) -> bool:
        """Return whether the slots need more of some resource than `amounts`."""
        slots = len(self.placement)
        return any(slots * amount > most for amount, most in zip(self.demand, amounts, strict=True))


class Reservations:
    """Running jobs and reservations by job id, in an availability profile.

    Parameters
    ----------
    state
        State with the machine, initially empty, and the begin of the profile.
    rule
        How to choose among nodes that are free long enough.

    Attributes
    ----------
    profile
        Free amounts over time.
    running, reserved
        Bookings of running and waiting jobs.
    freed
        Freed intervals, until they are cleared.
    """

    def __init__(self, state: State, rule: PlacementRule) -> None:
        self.rule = rule
        self._resources = state.machine.resources
        self.profile = self._empty(state)
        self.running: dict[str, Booking] = {}
        self.reserved: dict[str, Booking] = {}
        self.freed: list[tuple[int, int]] = []

    def _empty(self, state: State) -> AmountProfile | NodeProfile:
        self._closed, profile = ClosedTimes(state.machine), self._open(state)
        self._close(profile, state.now)
        return profile

    def _open(self, state: State) -> AmountProfile | NodeProfile:
        """Return the profile of the machine without closed nodes."""
        return profile_of(state.machine, state.now, self.rule)

    def _close(self, profile: AmountProfile | NodeProfile, now: int) -> None:
        """Subtract closed nodes from a profile that begins now, as far ahead as needed."""
        for taken in self._closed.more(now):
            profile.take(*taken)

    def memory(self) -> dict[str, Any]:
        """Return running jobs and reservations, in order of booking.

        Amounts have the names of their resources: the machine that recalls them may lack those that no job is left for.
        """
        return {
            name: [
                (
                    id_,
                    each.start,
                    each.end,
                    each.placement.tolist(),
                    dict(zip(self._resources, each.demand, strict=True)),
                )
                for id_, each in held.items()
            ]
            for name, held in (("running", self.running), ("reserved", self.reserved))
        }

    def recall(self, state: State, memory: Mapping[str, Any]) -> None:
        """Restore the bookings, before any others."""
        for held, rows in ((self.running, memory["running"]), (self.reserved, memory["reserved"])):
            for id_, start, end, placement, amounts in rows:
                demand = tuple(amounts.get(name, 0) for name in self._resources)
                held[id_] = booking = Booking(None, start, end, np.array(placement, dtype=np.int64), demand)
                self.profile.take(max(start, state.now), end, booking.placement, booking.demand)

    def follow(self, state: State) -> bool:
        """Update the profile. Return whether the reservations were made anew.

        They are if a running job's end is now later than planned.
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
        """Drop reservations that passed without a start, and those of all jobs behind in the queue.

        They are then made anew in queue order.
        """
        gone = set(passed)
        first = next((place for place, id_ in enumerate(queue) if id_ in gone), len(queue))
        gone.update(queue[first:])
        for id_ in [id_ for id_ in self.reserved if id_ in gone]:
            booking = self.reserved.pop(id_)
            self._free(max(now, booking.start), booking.end, booking)

    def _follow_run(self, run: Running, now: int) -> bool:
        """Book a running job up to its predicted end. Return whether that is later than planned."""
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
        """Drop the reservation of a job that left for good, or returned changed as `entry`."""
        booking = self.reserved[id_]
        run = self.running.get(id_)
        was_away = booking.away
        booking.away = entry is None and run is not None and run.end <= booking.start
        if was_away and not booking.away:
            self.freed.append((now, booking.end))  # It may move again.
        if entry is not None and booking.is_for(entry):
            booking.waiting = entry
        elif not booking.away:
            del self.reserved[id_]
            self._free(max(now, booking.start), booking.end, booking)

    def _rebuild(self, state: State) -> None:
        """Make the reservations anew in their order, none earlier than before."""
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

    def reserve_new(self, state: State) -> None:
        """Reserve for the jobs without a reservation, in order of submission."""
        if len(self.reserved) < len(state.queue):
            for waiting in state.queue:
                if waiting.id not in self.reserved:
                    self.reserve(waiting, state.now)

    def reserve(self, waiting: Waiting, now: int, before: int | None = None) -> bool:
        """Reserve the first start in [now, before) where a job fits. Return whether there is one."""
        found = self.profile.earliest(waiting.nodes, waiting.demand, waiting.predicted, now, before)
        if found is None:
            return False
        start, placement = found
        end = start + waiting.predicted
        self.profile.take(start, end, placement, waiting.demand)
        self.reserved[waiting.id] = Booking(waiting, start, end, placement, waiting.demand)
        return True

    def rebook(self, booking: Booking, start: int, placement: Placement) -> None:
        """Move a reservation to another start and other nodes."""
        self.profile.give(booking.start, booking.end, booking.placement, booking.demand)
        booking.end += start - booking.start
        booking.start = start
        booking.placement = placement
        self.profile.take(start, booking.end, placement, booking.demand)

    def compress(self, how: Compress, now: int) -> None:
        """Move reservations up into freed intervals."""
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
        """Move the first reservation that fits earlier. Return whether there was one.

        Before the intervals in `freed` nothing could move. So a job can only move to a start that uses one of them not
        yet tried.
        """
        fresh: dict[int, tuple[int, int, tuple[int, ...]]] = {}
        freed = len(self.freed)
        for booking in self.reserved.values():
            if booking.tried == freed or booking.start <= now or booking.away:
                continue
            if booking.tried not in fresh:  # Range of the intervals freed since, and the most free amount in it.
                low = max(now, min(start for start, _ in self.freed[booking.tried :]))
                high = max(end for _, end in self.freed[booking.tried :])
                fresh[booking.tried] = low, high, self.profile.peak(low, high)
            low, high, peak = fresh[booking.tried]
            booking.tried = freed
            # Over its own interval it also uses its own nodes, so less than its whole amount suffices there.
            if booking.exceeds(peak) and not booking.start <= low < booking.end:
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

    def start_due(self, state: State) -> tuple[Iterator[tuple[Waiting, Placement]], bool, int | None]:
        """Return the starting jobs with nodes, whether one is late, and the start of the next reservation."""
        due = self.due(state.now)
        started = list(self.start(due, state.now, space_of(state, self.rule))) if due else []
        later = (booking.start for booking in self.reserved.values() if booking.start > state.now)
        return iter(started), len(started) < len(due), min(later, default=None)

    def due(self, now: int) -> list[Booking]:
        """Return the due reservations."""
        return [booking for booking in self.reserved.values() if booking.start <= now and not booking.away]

    def start(self, due: Iterable[Booking], now: int, space: Space) -> Iterator[tuple[Waiting, Placement]]:
        """Yield the due jobs and their nodes, if these are free."""
        for booking in due:
            waiting = booking.waiting
            assert waiting is not None
            if not self._take_nodes(now, booking, waiting, space):
                continue
            if booking.start < now:  # A late start occupies the profile for longer.
                self.profile.take(booking.end, now + waiting.predicted, booking.placement, waiting.demand)
                booking.start = now
                booking.end = now + waiting.predicted
            del self.reserved[waiting.id]
            booking.waiting = None
            self.running[waiting.id] = booking
            yield waiting, booking.placement

    def _take_nodes(self, now: int, booking: Booking, waiting: Waiting, space: Space) -> bool:
        """Occupy the reserved nodes, or others free in the profile. Return whether there are any."""
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

    def earliest_start(self, nodes: int, demand: tuple[int, ...], duration: int) -> int | None:
        """Return the first start at which slots fit beside all reservations, or ``None``."""
        found = self.profile.earliest(nodes, demand, duration, self.profile.now)
        return None if found is None else found[0]

    def guaranteed(self, waiting: Waiting) -> int | None:
        """Return the begin of a job's reservation, or ``None``."""
        own = self.reserved.get(waiting.id)
        return None if own is None else own.start

    def gap(self, waiting: Waiting) -> tuple[int | None, Placement] | None:
        """Return for how many seconds a job's slots are free from now beside all reservations, and where.

        At most until its own reservation. ``None`` if they are not free. The seconds are ``None`` if they stay free.
        """
        now = self.profile.now
        own = self.reserved.get(waiting.id)
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
        """Record that a job starts in a gap, for at most `seconds`. Its own reservation stays."""
        now = self.profile.now
        self.profile.take(now, now + seconds, placement, waiting.demand)
        self.running[waiting.id] = Booking(None, now, now + seconds, placement, waiting.demand)
