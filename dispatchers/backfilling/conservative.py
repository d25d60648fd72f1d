"""Conservative backfilling: a reservation for every job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from ...base.checks import check_choice
from ...models import NodeProfile, PlacementRule, PoolProfile, Profile, free_until
from ...workloads import Machine
from ..protocol import Action, Placement, Start, State, Waiting, Wake
from ..space import PoolSpace, Space, space_of

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
        How many of the freed intervals were looked at for an earlier start.
    away
        Whether the job was started outside its reservation, to be killed before that begins: it may come back.
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
        asked = waiting.nodes, waiting.demand, waiting.predicted
        return (len(self.placement), self.demand, self.end - self.start) == asked

    def exceeds(self, amounts: tuple[int, ...]) -> bool:
        """Return whether the slots ask for more of some resource than `amounts`."""
        slots = len(self.placement)
        if len(amounts) == 1:
            return slots * self.demand[0] > amounts[0]
        return any(slots * amount > most for amount, most in zip(self.demand, amounts, strict=True))


class Conservative:
    """Conservative backfilling: every job gets a reservation when it arrives, so that it delays nobody before it.

    The reservation is the first slot of the availability profile in which the job fits (Feitelson and Weil, IPPS
    1998). When a job ends early the reservations are moved up, as in Cirne and Berman (JSSPP 2000, section 2): the
    queue is traversed in order of submission, the first job that fits earlier is moved, and so again from the head
    until nothing moves.

    What happens when a job outruns its prediction is not in those papers. Here, if the predictor corrects itself, the
    reservations are made anew in the order in which they stood, none earlier than it was. If it does not, the job may
    end at any second and the promises stand: a job whose time has come starts as soon as what it was promised is free,
    tried in order of submission; if its whole reservation passes before that, it gets a new one.

    A job that somebody else starts for a while that ends before its reservation begins keeps it (see :meth:`occupy`).

    Parameters
    ----------
    placement
        ``"first-fit"`` or ``"best-fit"``.
    compress
        ``"until-stable"`` as above; ``"once"`` traverses the queue once; ``"never"`` keeps every reservation.
    """

    uses: ClassVar[tuple[str, ...]] = ()

    def __init__(self, placement: PlacementRule = "first-fit", compress: Compress = "until-stable") -> None:
        check_choice("placement", placement, PlacementRule)
        check_choice("compress", compress, Compress)
        self.placement = placement
        self.compress = compress
        self._machine: Machine | None = None
        self._profile: Profile = PoolProfile(0)
        self._forget()

    def reset(self, machine: Machine, rng: np.random.Generator | None = None) -> None:
        """Forget every reservation."""
        self._forget()

    def dispatch(self, state: State) -> Sequence[Action]:
        """Bring the profile up to date, reserve for who arrived, and start who is due."""
        if self._machine is not state.machine:
            self._forget()
            self._machine = state.machine
            self._profile = self._empty(state)
        self._profile.advance(state.now)
        corrected = self._follow_running(state)
        self._drop_gone(state)
        if corrected:
            self._rebuild(state)
            self._looks_ahead = True
        self._drop_passed(state)
        if self._freed and self.compress == "until-stable":
            self._compress_until_stable(state)
        elif self._freed and self.compress == "once":
            self._compress_once(state)
        self._freed.clear()
        self._reserve_new(state)
        return self._start_due(state)

    # The profile.

    def _forget(self) -> None:
        self._machine = None
        self._running: dict[str, Booking] = {}
        self._reserved: dict[str, Booking] = {}
        self._freed: list[tuple[int, int]] = []
        # A reservation begins when a job is predicted to end. Nothing happens then if the reservation was not moved up
        # when that job ended early; something new is known if its prediction is corrected. Only then a timer is set.
        self._looks_ahead = self.compress != "until-stable"

    def _empty(self, state: State) -> Profile:
        capacity = state.machine.capacity
        if capacity.size == 1:
            return PoolProfile(int(capacity[0, 0]), state.now)
        return NodeProfile(capacity, capacity, state.now, self.placement)

    def _follow_running(self, state: State) -> bool:
        """Bring running jobs up to date; return whether one is now known to end later than was planned."""
        now, held = state.now, self._running
        corrected = False
        alive = set()
        for run in state.running:
            alive.add(run.id)
            booking = held.get(run.id)
            if booking is None:
                booking = held[run.id] = Booking(None, run.start, now, run.placement, run.demand)
            if run.predicted_end > booking.end:
                self._profile.take(max(booking.end, now), run.predicted_end, run.placement, run.demand)
                corrected = True
            else:
                self._free(max(now, run.predicted_end), booking.end, booking)
            booking.end = run.predicted_end
        for id_ in [id_ for id_ in held if id_ not in alive]:
            booking = held.pop(id_)
            self._free(now, booking.end, booking)
        return corrected

    def _drop_gone(self, state: State) -> None:
        """Drop the reservations of jobs that left the queue for good or came back to it as others."""
        now = state.now
        waiting = {entry.id: entry for entry in state.queue} if self._reserved else {}
        for id_, booking in list(self._reserved.items()):
            entry, run = waiting.get(id_), self._running.get(id_)
            booking.away = entry is None and run is not None and run.end <= booking.start
            if entry is not None and booking.is_for(entry):
                booking.waiting = entry
            elif not booking.away:
                del self._reserved[id_]
                self._free(max(now, booking.start), booking.end, booking)

    def _drop_passed(self, state: State) -> None:
        """Drop the reservations that have passed without the job having started."""
        for id_ in [id_ for id_, booking in self._reserved.items() if booking.end <= state.now]:
            del self._reserved[id_]

    def _rebuild(self, state: State) -> None:
        """Make the reservations anew, in the order in which they stood, none earlier than it was."""
        now = state.now
        self._profile = self._empty(state)
        for booking in self._running.values():
            self._profile.take(now, booking.end, booking.placement, booking.demand)
        for booking in sorted(self._reserved.values(), key=lambda booking: booking.start):
            waiting = booking.waiting
            assert waiting is not None
            found = self._profile.earliest(waiting.nodes, waiting.demand, waiting.predicted, max(now, booking.start))
            assert found is not None
            booking.start, booking.placement = found
            booking.end = booking.start + waiting.predicted
            self._profile.take(booking.start, booking.end, booking.placement, booking.demand)
            self._freed.append((now, booking.end))

    def _free(self, start: int, end: int, booking: Booking) -> None:
        if end > start:
            self._profile.give(start, end, booking.placement, booking.demand)
            self._freed.append((start, end))

    # Reservations.

    def _reserve_new(self, state: State) -> None:
        """Reserve for the jobs without a reservation, in order of submission."""
        if len(self._reserved) == len(state.queue):
            return
        for waiting in state.queue:
            if waiting.id in self._reserved:
                continue
            found = self._profile.earliest(waiting.nodes, waiting.demand, waiting.predicted, state.now)
            if found is not None:
                self._book(waiting, *found)

    def _book(self, waiting: Waiting, start: int, placement: Placement) -> None:
        end = start + waiting.predicted
        self._profile.take(start, end, placement, waiting.demand)
        self._reserved[waiting.id] = Booking(waiting, start, end, placement, waiting.demand)

    def _compress_until_stable(self, state: State) -> None:
        """Move the first reservation that fits earlier, again from the head, until nothing moves.

        Nothing could move before the intervals in `_freed` were freed, so that a job can only move to a start at
        which it would use one of them that has not been tried for it yet.
        """
        now, freed = state.now, self._freed
        for booking in self._reserved.values():
            booking.tried = 0
        moved = True
        while moved:
            moved = False
            fresh: dict[int, tuple[int, int, tuple[int, ...]]] = {}
            for booking in self._reserved.values():
                if booking.tried == len(freed) or booking.start <= now or booking.away:
                    continue
                if booking.tried not in fresh:
                    fresh[booking.tried] = self._fresh(booking.tried, now)
                low, high, peak = fresh[booking.tried]
                booking.tried = len(freed)
                if booking.exceeds(peak):
                    continue
                after = max(now, low - (booking.end - booking.start) + 1)
                before = min(booking.start, high)
                if after < before and self._move(booking, after, before):
                    moved = True
                    break

    def _fresh(self, tried: int, now: int) -> tuple[int, int, tuple[int, ...]]:
        """Return start and end of the intervals freed since, together, and the most that is free in them."""
        low = max(now, min(start for start, _ in self._freed[tried:]))
        high = max(end for _, end in self._freed[tried:])
        return low, high, self._profile.peak(low, high)

    def _compress_once(self, state: State) -> None:
        for booking in self._reserved.values():
            if booking.start > state.now and not booking.away:
                self._move(booking, state.now, booking.start)

    def _move(self, booking: Booking, after: int, before: int) -> bool:
        """Move a reservation to a start in [after, before), if it fits there."""
        held = booking.start, booking.end, booking.placement
        found = self._profile.earlier(held, booking.demand, after, before)
        if found is None:
            return False
        self._freed.append(held[:2])
        self._rebook(booking, *found)
        return True

    def _rebook(self, booking: Booking, start: int, placement: Placement) -> None:
        """Give a reservation another start and other nodes."""
        self._profile.give(booking.start, booking.end, booking.placement, booking.demand)
        booking.end += start - booking.start
        booking.start, booking.placement = start, placement
        self._profile.take(start, booking.end, placement, booking.demand)

    def _start_due(self, state: State) -> list[Action]:
        """Start the jobs whose time has come, if what they were promised is free."""
        now = state.now
        due = [booking for booking in self._reserved.values() if booking.start <= now and not booking.away]
        actions: list[Action] = []
        if due:
            space = space_of(state, self.placement)
            for booking in due:
                waiting = booking.waiting
                assert waiting is not None
                if self._take_place(now, booking, waiting, space):
                    actions.append(Start(waiting, booking.placement))
                    del self._reserved[waiting.id]
                    booking.waiting = None
                    self._running[waiting.id] = booking
        if len(actions) < len(due) or self._looks_ahead:
            later = [booking.start for booking in self._reserved.values() if booking.start > now]
            if later:
                actions.append(Wake(min(later)))
        return actions

    # The gaps between reservations, right after a dispatch.

    def gap(self, waiting: Waiting) -> tuple[int | None, Placement] | None:
        """Return for how many seconds from now a job's slots are free beside every reservation, and where.

        Not beyond the begin of its own. ``None`` if they are not free, or instead of the seconds if they are for ever.
        """
        now = self._profile.times[0]
        found = free_until(self._profile, waiting.nodes, waiting.demand, now)
        own = self._reserved.get(waiting.id)
        if found is None or (own is not None and own.start <= now):
            return None
        until, placement = found
        if own is not None:
            until = own.start if until is None else min(until, own.start)
        return None if until is None else until - now, placement

    def occupy(self, waiting: Waiting, placement: Placement, seconds: int) -> None:
        """Take note that a job is started in a gap, for `seconds` at most; its own reservation stands."""
        now = self._profile.times[0]
        self._profile.take(now, now + seconds, placement, waiting.demand)
        self._running[waiting.id] = Booking(None, now, now + seconds, placement, waiting.demand)

    def _take_place(self, now: int, booking: Booking, waiting: Waiting, space: Space) -> bool:
        """Take the reserved nodes, or others that the profile leaves free; update the profile for a late start."""
        if not space.put(booking.placement, waiting.demand):
            if isinstance(space, PoolSpace):
                return False
            self._profile.give(max(now, booking.start), booking.end, booking.placement, waiting.demand)
            found = self._profile.earliest(waiting.nodes, waiting.demand, waiting.predicted, now, now + 1)
            fits = found is not None and space.put(found[1], waiting.demand)
            if found is not None and fits:
                booking.placement = found[1]
            self._profile.take(max(now, booking.start), booking.end, booking.placement, waiting.demand)
            if not fits:
                return False
        if booking.start < now:
            self._profile.take(booking.end, now + waiting.predicted, booking.placement, waiting.demand)
            booking.start, booking.end = now, now + waiting.predicted
        return True
