"""Availability list of a machine: free processors over time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from ...base import check_whole
from ...base.argument_types import names_wrong_types
from .amount import NEVER, add, earliest, open_amount, peak, steps_of, with_room

#: Bound of all times, so that the sum of two never overflows.
_LATEST = NEVER // 4


class AvailabilityProfile:
    """Free processors of a machine over time, as conservative backfilling stores them.

    The availability list of Cirne and Berman (JSSPP 2000, section 2). It is a step function. Intervals are half-open,
    times whole seconds. The steps equal those of the dispatcher ``conservative`` on a pool of processors.

    Parameters
    ----------
    processors
        Processors of the machine, at least 1. All are free.
    start
        Begin of the list, at least 0.

    Raises
    ------
    ValueError
        If a number is out of range.
    """

    def __init__(self, processors: int, start: int = 0) -> None:
        self._most = check_whole("processors", processors, 1, _LATEST)
        self._profile = open_amount(self._most, check_whole("start", start, 0, _LATEST), 64)

    @classmethod
    @names_wrong_types
    def from_steps(
        cls, steps: Iterable[tuple[int, int | None, int]], processors: int | None = None
    ) -> AvailabilityProfile:
        """Return the profile of a list of time slots.

        Parameters
        ----------
        steps
            Begin, end and free processors of each slot, without gaps. Only the last has no end, ``None``.
        processors
            Processors of the machine. ``None`` for the most that is free in a slot.

        Raises
        ------
        ValueError
            If the slots leave a gap, or a number is out of range.
        """
        slots = list(steps)
        if not slots or slots[-1][1] is not None:
            raise ValueError("steps: expected one at least, and no end (None) of the last")
        frees = [check_whole(f"steps[{place}]: free", free, 0, _LATEST) for place, (_, _, free) in enumerate(slots)]
        profile = cls(max(frees) or 1 if processors is None else processors, slots[0][0])
        for place, ((begin, end, _), free) in enumerate(zip(slots, frees, strict=True)):
            following = slots[place + 1][0] if place + 1 < len(slots) else None
            if end != following or (end is not None and end <= begin):
                wanted = "none" if following is None else f"the begin of the next, {following}, after {begin}"
                raise ValueError(f"steps[{place}]: end: expected {wanted}, got {end}")
            if free > profile.processors:
                raise ValueError(f"steps[{place}]: free: expected at most {profile.processors} processors, got {free}")
        profile._profile = open_amount(frees[-1], slots[0][0], 64)
        for (begin, end, _), free in zip(slots[:-1], frees, strict=False):
            profile._add(check_whole("begin", begin, 0, _LATEST), cast(int, end), free - frees[-1])
        return profile

    @property
    def processors(self) -> int:
        """Processors of the machine."""
        return self._most

    def earliest_start(self, processors: int, duration: int, after: int = 0) -> int | None:
        """Return the first time, not before `after`, at which processors are free for `duration` seconds.

        ``None`` if they never are. A time before the list begins counts as its begin.
        """
        amount = check_whole("processors", processors, 1)
        if amount > self._most:
            return None
        seconds, begin = self._interval(duration, after)
        start = earliest(self._profile, amount, seconds, begin, NEVER, NEVER)
        return None if start < 0 else start

    def free(self, time: int) -> int:
        """Return the free processors at a time. A time before the list begins counts as its begin."""
        _, begin = self._interval(1, time)
        return peak(self._profile, begin, begin + 1)

    def reserve(self, processors: int, duration: int, start: int) -> None:
        """Occupy processors for `duration` seconds from `start` on.

        Raises
        ------
        ValueError
            If they are not free, or `start` is before the list begins.
        """
        amount = check_whole("processors", processors, 1)
        if self.earliest_start(amount, duration, start) != start:
            raise ValueError(f"{amount} processors are not free for {duration} s from {start} on")
        self._add(start, start + duration, -amount)

    def release(self, processors: int, duration: int, start: int) -> None:
        """Free processors for `duration` seconds from `start` on.

        Raises
        ------
        ValueError
            If more processors would be free than the machine has, or `start` is before the list begins.
        """
        amount = check_whole("processors", processors, 1)
        seconds, begin = self._interval(duration, start)
        if begin != start:
            raise ValueError(f"start: expected a time from {begin} on, when the list begins, got {start}")
        if peak(self._profile, start, start + seconds) + amount > self._most:
            raise ValueError(f"{amount} processors were not taken all the {seconds} s from {start} on")
        self._add(start, start + seconds, amount)

    def steps(self) -> list[tuple[int, int | None, int]]:
        """Return begin, end and free processors of each time slot. The last has no end, ``None``."""
        times, free = steps_of(self._profile)
        return list(zip(times, [*times[1:], None], free, strict=True))

    def _interval(self, duration: int, start: int) -> tuple[int, int]:
        seconds = check_whole("duration", duration, 1, _LATEST)
        return seconds, max(check_whole("start", start, 0, _LATEST), int(self._profile.times[0, 0]))

    def _add(self, start: int, end: int, amount: int) -> None:
        """Add to the free processors in [start, end)."""
        blocks = len(self._profile.times)
        if int(self._profile.blocks[0]) + 3 > blocks:
            self._profile = with_room(self._profile, 16 * blocks)
        add(self._profile, start, end, amount)
