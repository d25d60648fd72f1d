"""Reservations that move up into what was freed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from ..protocol import Placement, State, Waiting
from ..space import space_of
from .standing_reservations import Booking, StandingReservations

#: How reservations move up when a job ends early.
Compress = Literal["until-stable", "once", "never"]


class MovingReservations(StandingReservations):
    """Reservations for every job of the queue, which move up when something is freed."""

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

    def reserve_new(self, state: State) -> None:
        """Reserve for the jobs without a reservation, in order of submission."""
        if len(self.reserved) == len(state.queue):
            return
        for waiting in state.queue:
            if waiting.id not in self.reserved:
                self.reserve(waiting, state.now)

    def start_due(self, state: State) -> tuple[Iterator[tuple[Waiting, Placement]], bool, int | None]:
        """Return who starts and where, whether somebody is late, and the start of the next reservation."""
        due = self.due(state.now)
        started = list(self.start(due, state.now, space_of(state, self.rule))) if due else []
        later = (booking.start for booking in self.reserved.values() if booking.start > state.now)
        return iter(started), len(started) < len(due), min(later, default=None)

    def _move_first(self, now: int) -> bool:
        """Move the first reservation that fits earlier; return whether there was one.

        Nothing could move before the intervals in `freed` were freed, so that a job can only move to a start at which
        it would use one of them that has not been tried for it yet.
        """
        fresh: dict[int, tuple[int, int, tuple[int, ...]]] = {}
        freed = len(self.freed)
        for booking in self.reserved.values():
            if booking.tried == freed or booking.start <= now or booking.away:
                continue
            if booking.tried not in fresh:
                fresh[booking.tried] = self._fresh(booking.tried, now)
            low, high, peak = fresh[booking.tried]
            booking.tried = freed
            if booking.exceeds(peak):
                continue
            after = max(now, low - (booking.end - booking.start) + 1)
            before = min(booking.start, high)
            if after < before and self._move(booking, after, before):
                return True
        return False

    def _fresh(self, tried: int, now: int) -> tuple[int, int, tuple[int, ...]]:
        """Return start and end of the intervals freed since, together, and the most that is free in them."""
        low = max(now, min(start for start, _ in self.freed[tried:]))
        high = max(end for _, end in self.freed[tried:])
        return low, high, self.profile.peak(low, high)

    def _move(self, booking: Booking, after: int, before: int) -> bool:
        """Move a reservation to a start in [after, before), if it fits there."""
        interval = booking.start, booking.end
        found = self.profile.earlier((*interval, booking.placement), booking.demand, after, before)
        if found is None:
            return False
        self.freed.append(interval)
        self.rebook(booking, *found)
        return True
