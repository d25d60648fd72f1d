"""The availability list of a machine: how many processors are free when."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from ...base.checks import check_whole
from .amount import NEVER, AmountProfile

#: Times are below that, so that no sum of two overflows.
_LATEST = NEVER // 4


class AvailabilityProfile:
    """The free processors of a machine over time, a step function that conservative backfilling reserves in.

    The availability list of Cirne and Berman (JSSPP 2000, section 2). Intervals are half-open, times whole seconds. The
    steps are those that the dispatcher ``conservative`` keeps for a pool of processors.

    Parameters
    ----------
    processors
        Of the machine, at least 1; all are free.
    start
        When the list begins, at least 0.

    Raises
    ------
    ValueError
        For a number out of range.
    """

    def __init__(self, processors: int, start: int = 0) -> None:
        self._most = check_whole("processors", processors, 1, _LATEST)
        self._profile = AmountProfile(self._most, check_whole("start", start, 0, _LATEST))

    @classmethod
    def from_steps(
        cls, steps: Iterable[tuple[int, int | None, int]], processors: int | None = None
    ) -> AvailabilityProfile:
        """Return the profile of a list of time slots.

        Parameters
        ----------
        steps
            Begin, end and free processors of each, without gaps; the last alone has no end, ``None``.
        processors
            Of the machine; ``None`` takes the most that is free in a slot.

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
        profile._profile = AmountProfile(frees[-1], slots[0][0])
        for (begin, end, _), free in zip(slots[:-1], frees, strict=False):
            profile._profile.add(check_whole("begin", begin, 0, _LATEST), cast(int, end), free - frees[-1])
        return profile

    @property
    def processors(self) -> int:
        """Processors of the machine."""
        return self._most

    def earliest_start(self, processors: int, duration: int, after: int = 0) -> int | None:
        """Return the first time, not before `after`, from which on processors are free for `duration` seconds.

        ``None`` if they never are. A time before the list begins counts as its begin.
        """
        amount = check_whole("processors", processors, 1)
        if amount > self._most:
            return None
        seconds, begin = self._interval(duration, after)
        found = self._profile.earliest(amount, (1,), seconds, begin)
        return None if found is None else found[0]

    def free(self, time: int) -> int:
        """Return how many processors are free at a time; before the list begins, as at its begin."""
        _, begin = self._interval(1, time)
        return self._profile.peak(begin, begin + 1)[0]

    def reserve(self, processors: int, duration: int, start: int) -> None:
        """Take processors for `duration` seconds from `start` on.

        Raises
        ------
        ValueError
            If they are not free, or `start` lies before the list begins.
        """
        amount = check_whole("processors", processors, 1)
        if self.earliest_start(amount, duration, start) != start:
            raise ValueError(f"{amount} processors are not free for {duration} s from {start} on")
        self._profile.add(start, start + duration, -amount)

    def release(self, processors: int, duration: int, start: int) -> None:
        """Give processors back for `duration` seconds from `start` on.

        Raises
        ------
        ValueError
            If more than the machine's would be free, or `start` lies before the list begins.
        """
        amount = check_whole("processors", processors, 1)
        seconds, begin = self._interval(duration, start)
        if begin != start:
            raise ValueError(f"start: expected a time from {begin} on, when the list begins, got {start}")
        if self._profile.peak(start, start + seconds)[0] + amount > self._most:
            raise ValueError(f"{amount} processors were not taken all the {seconds} s from {start} on")
        self._profile.add(start, start + seconds, amount)

    def steps(self) -> list[tuple[int, int | None, int]]:
        """Return begin, end and free processors of each time slot; the last has no end, ``None``."""
        return self._profile.steps()

    def _interval(self, duration: int, start: int) -> tuple[int, int]:
        seconds = check_whole("duration", duration, 1, _LATEST)
        return seconds, max(check_whole("start", start, 0, _LATEST), self._profile.now)
