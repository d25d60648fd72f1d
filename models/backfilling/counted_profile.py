"""What is free of one number when, as the profile of a machine over compiled steps."""

from __future__ import annotations

from ...base import IntArray
from ..scheduling.placement import pool_placement
from . import pool_profile as steps

_FIRST_ROOM = 64


class CountedProfile:
    """The profile of one node with one resource, as :class:`.PoolProfile`, for thousands of reservations."""

    __slots__ = ("_steps", "_until")

    def __init__(self, free: int, now: int = 0) -> None:
        self._steps = steps.open_profile(free, now, _FIRST_ROOM)
        #: Amount to until when it is free, as long as nothing changes.
        self._until: dict[int, int] = {}

    @property
    def times(self) -> list[int]:
        """When what is free changes, increasing; the first is now."""
        found: list[int] = self._steps.times[: self._steps.steps[0]].tolist()
        return found

    @property
    def now(self) -> int:
        """The first of the times."""
        return int(self._steps.times[0])

    def free_until(self, amount: int) -> int:
        """Return until when an amount is free from now on: now if it is not, :data:`.NEVER` if for ever."""
        found = self._until.get(amount)
        if found is None:
            found = self._until[amount] = int(steps.free_until(self._steps, amount))
        return found

    def advance(self, now: int) -> None:
        """Forget what lies before `now`."""
        self._until.clear()
        steps.advance(self._steps, now)

    def earliest(
        self, nodes: int, demand: tuple[int, ...], duration: int, after: int, before: int | None = None
    ) -> tuple[int, IntArray] | None:
        """Return the first start >= `after` at which slots fit for `duration` seconds, and their nodes."""
        return self._found(nodes, demand, duration, (after, before), None)

    def earlier(
        self, held: tuple[int, int, IntArray], demand: tuple[int, ...], after: int, before: int
    ) -> tuple[int, IntArray] | None:
        """Return the first start in [after, before) at which slots that are `held` would fit, and their nodes."""
        start, end, placement = held
        return self._found(len(placement), demand, end - start, (after, before), start)

    def _found(
        self, nodes: int, demand: tuple[int, ...], duration: int, between: tuple[int, int | None], held: int | None
    ) -> tuple[int, IntArray] | None:
        after, before = between
        last = steps.NEVER if before is None else before
        own = steps.NEVER if held is None else held
        start = steps.earliest(self._steps, nodes * demand[0], duration, after, last, own)
        return None if start < 0 else (int(start), pool_placement(nodes))

    def at(self, index: int) -> IntArray:
        """Return what is free at a step, shape (1, 1)."""
        return self._steps.free[index : index + 1].reshape(1, 1).copy()

    def peak(self, start: int, end: int) -> tuple[int, ...]:
        """Return the most that is free at once in [start, end)."""
        return (int(steps.peak(self._steps, start, end)),)

    def take(self, start: int, end: int, placement: IntArray, demand: tuple[int, ...]) -> None:
        """Take slots in [start, end), even if they are not free: what is free falls below zero then."""
        self._add(start, end, -len(placement) * demand[0])

    def give(self, start: int, end: int, placement: IntArray, demand: tuple[int, ...]) -> None:
        """Return slots in [start, end)."""
        self._add(start, end, len(placement) * demand[0])

    def _add(self, start: int, end: int, amount: int) -> None:
        self._until.clear()
        self._steps = steps.released(self._steps, start, end, amount)
