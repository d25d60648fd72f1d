"""Reservations move up into what was freed."""

from __future__ import annotations

from .standing_reservations import Booking, StandingReservations


def compress_until_stable(held: StandingReservations, now: int) -> None:
    """Move the first reservation that fits earlier, again from the head, until nothing moves.

    Nothing could move before the intervals in `freed` were freed, so that a job can only move to a start at which it
    would use one of them that has not been tried for it yet.
    """
    for booking in held.reserved.values():
        booking.tried = 0
    while _move_first(held, now):
        pass


def compress_once(held: StandingReservations, now: int) -> None:
    """Move every reservation that fits earlier, in one traversal of the queue."""
    for booking in held.reserved.values():
        if booking.start > now and not booking.away:
            _move(held, booking, now, booking.start)


def _move_first(held: StandingReservations, now: int) -> bool:
    """Move the first reservation that fits earlier; return whether there was one."""
    fresh: dict[int, tuple[int, int, tuple[int, ...]]] = {}
    freed = len(held.freed)
    for booking in held.reserved.values():
        if booking.tried == freed or booking.start <= now or booking.away:
            continue
        if booking.tried not in fresh:
            fresh[booking.tried] = _fresh(held, booking.tried, now)
        low, high, peak = fresh[booking.tried]
        booking.tried = freed
        if booking.exceeds(peak):
            continue
        after = max(now, low - (booking.end - booking.start) + 1)
        before = min(booking.start, high)
        if after < before and _move(held, booking, after, before):
            return True
    return False


def _fresh(held: StandingReservations, tried: int, now: int) -> tuple[int, int, tuple[int, ...]]:
    """Return start and end of the intervals freed since, together, and the most that is free in them."""
    low = max(now, min(start for start, _ in held.freed[tried:]))
    high = max(end for _, end in held.freed[tried:])
    return low, high, held.profile.peak(low, high)


def _move(held: StandingReservations, booking: Booking, after: int, before: int) -> bool:
    """Move a reservation to a start in [after, before), if it fits there."""
    interval = booking.start, booking.end
    found = held.profile.earlier((*interval, booking.placement), booking.demand, after, before)
    if found is None:
        return False
    held.freed.append(interval)
    held.rebook(booking, *found)
    return True
