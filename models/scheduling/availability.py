"""What is free when: the availability profile of a machine, as a step function of time."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Generic, Protocol, TypeVar

import numpy as np

from ...base import IntArray
from .placement import PlacementRule, choose, pool_placement
from .steps_on_nodes import add_slots, first_start

T = TypeVar("T")
#: After every start.
_NEVER = int(np.iinfo(np.int64).max)


class Profile(Protocol):
    """Free amounts over time, from now to the end of time; intervals are half-open.

    The list of available time slots that a conservative backfilling scheduler keeps (Cirne and Berman, JSSPP 2000,
    section 2), for nodes and several resources.
    """

    @property
    def times(self) -> list[int]:
        """When what is free changes, increasing; the first is now."""
        ...

    @property
    def now(self) -> int:
        """The first of the times."""
        ...

    def advance(self, now: int) -> None:
        """Forget what lies before `now`."""
        ...

    def earliest(
        self, nodes: int, demand: tuple[int, ...], duration: int, after: int, before: int | None = None
    ) -> tuple[int, IntArray] | None:
        """Return the first start >= `after` at which slots fit for `duration` seconds, and their nodes.

        ``None`` if that start would not lie before `before`, or if the slots do not fit at any time.
        """
        ...

    def earlier(
        self, held: tuple[int, int, IntArray], demand: tuple[int, ...], after: int, before: int
    ) -> tuple[int, IntArray] | None:
        """Return the first start in [after, before) at which slots that are `held` would fit, and their nodes.

        `held` is their start, end and placement; `before` must not lie after that start.
        """
        ...

    def peak(self, start: int, end: int) -> tuple[int, ...]:
        """Return, for each resource, the most that is free at once on all nodes together in [start, end)."""
        ...

    def at(self, index: int) -> IntArray:
        """Return what is free at a step, shape (nodes, resources)."""
        ...

    def take(self, start: int, end: int, placement: IntArray, demand: tuple[int, ...]) -> None:
        """Take slots in [start, end), even if they are not free: what is free falls below zero then."""
        ...

    def give(self, start: int, end: int, placement: IntArray, demand: tuple[int, ...]) -> None:
        """Return slots in [start, end)."""
        ...


class _Steps(Generic[T]):
    """What is free from each of the `times` to the next, and from the last one on."""

    __slots__ = ("free", "times")

    def __init__(self, free: T, now: int) -> None:
        self.times = [now]
        self.free = [free]

    @property
    def now(self) -> int:
        """The first of the times."""
        return self.times[0]

    def advance(self, now: int) -> None:
        """Forget what lies before `now`."""
        index = bisect_right(self.times, now) - 1
        if index > 0:
            del self.times[:index], self.free[:index]
        self.times[0] = now

    def _between(self, start: int, end: int) -> slice:
        """Return the steps that lie, in whole or in part, in [start, end)."""
        first = max(0, bisect_right(self.times, start) - 1)
        return slice(first, max(first + 1, bisect_left(self.times, end)))


class PoolProfile(_Steps[int]):
    """The profile of one node with one resource: a list of numbers."""

    __slots__ = ()

    def __init__(self, free: int, now: int = 0) -> None:
        super().__init__(free, now)

    def earliest(
        self, nodes: int, demand: tuple[int, ...], duration: int, after: int, before: int | None = None
    ) -> tuple[int, IntArray] | None:
        """Return the first start >= `after` at which slots fit for `duration` seconds, and their nodes."""
        start = self._earliest(nodes * demand[0], duration, after, before)
        return None if start is None else (start, pool_placement(nodes))

    def earlier(
        self, held: tuple[int, int, IntArray], demand: tuple[int, ...], after: int, before: int
    ) -> tuple[int, IntArray] | None:
        """Return the first start in [after, before) at which slots that are `held` would fit, and their nodes.

        From the start of what is held on, what they need is theirs already.
        """
        start, end, placement = held
        found = self._earliest(len(placement) * demand[0], end - start, after, before, start)
        return None if found is None else (found, placement)

    def at(self, index: int) -> IntArray:
        """Return what is free at a step, shape (1, 1)."""
        return np.array([[self.free[index]]], dtype=np.int64)

    def peak(self, start: int, end: int) -> tuple[int, ...]:
        """Return, for each resource, the most that is free at once on all nodes together in [start, end)."""
        return (max(self.free[self._between(start, end)]),)

    def _earliest(
        self, amount: int, duration: int, after: int, before: int | None, held: int | None = None
    ) -> int | None:
        """Return the first start in [after, before) with `amount` free for `duration`; from `held` on it is ours."""
        times, free = self.times, self.free
        last = len(times) - 1
        index = bisect_right(times, after) - 1
        start = after
        while True:
            while free[index] < amount:
                index += 1
                if index > last:
                    return None
                start = times[index]
            if before is not None and start >= before:
                return None
            end = start + duration
            while index < last and times[index + 1] < end:
                index += 1
                if free[index] < amount and (held is None or times[index] < held or free[index] < 0):
                    break
            else:
                return start

    def take(self, start: int, end: int, placement: IntArray, demand: tuple[int, ...]) -> None:
        """Take slots in [start, end), even if they are not free: what is free falls below zero then."""
        self._add(start, end, -len(placement) * demand[0])

    def give(self, start: int, end: int, placement: IntArray, demand: tuple[int, ...]) -> None:
        """Return slots in [start, end)."""
        self._add(start, end, len(placement) * demand[0])

    def _add(self, start: int, end: int, amount: int) -> None:
        if end <= start:
            return
        times, free = self.times, self.free
        first = self._split(start)
        stop = self._split(end)
        for index in range(first, stop):
            free[index] += amount
        if free[stop] == free[stop - 1]:
            del times[stop], free[stop]
        if first and free[first] == free[first - 1]:
            del times[first], free[first]

    def _split(self, time: int) -> int:
        index = bisect_left(self.times, time)
        if index == len(self.times) or self.times[index] != time:
            self.times.insert(index, time)
            self.free.insert(index, self.free[index - 1])
        return index


class NodeProfile(_Steps[int]):
    """The profile of many nodes or resources: a matrix of free amounts a step, one beside the other.

    Parameters
    ----------
    free, capacity
        Integer arrays of shape (nodes, resources): what is free now, and the capacities, which weigh the resources
        under best-fit.
    now
        Start of the profile.
    rule
        How nodes are chosen among those that are free all the time.
    """

    __slots__ = ("_amounts", "_spare", "capacity", "rule")

    def __init__(self, free: IntArray, capacity: IntArray, now: int = 0, rule: PlacementRule = "first-fit") -> None:
        super().__init__(0, now)
        #: Shape (places, nodes, resources); each step has a place there, and some are spare.
        self._amounts = free[None].copy()
        self._spare: list[int] = []
        self.capacity = capacity
        self.rule = rule

    def advance(self, now: int) -> None:
        """Forget what lies before `now`."""
        index = bisect_right(self.times, now) - 1
        self._spare.extend(self.free[: max(index, 0)])
        super().advance(now)

    def earliest(
        self, nodes: int, demand: tuple[int, ...], duration: int, after: int, before: int | None = None
    ) -> tuple[int, IntArray] | None:
        """Return the first start >= `after` at which slots fit for `duration` seconds, and their nodes."""
        if not any(demand):
            raise ValueError("a slot must ask for at least one resource, got none")
        index = bisect_right(self.times, after) - 1
        places, times = np.array(self.free), np.array(self.times)
        asked, last = np.array(demand), _NEVER if before is None else before
        found, stop, fits = first_start(self._amounts, places, times, asked, nodes, duration, index, after, last)
        if found < 0:
            return None
        least = np.maximum(self._amounts[places[found:stop]].min(axis=0), 0)
        return max(after, self.times[found]), choose(least, self.capacity, fits, nodes, self.rule)

    def earlier(
        self, held: tuple[int, int, IntArray], demand: tuple[int, ...], after: int, before: int
    ) -> tuple[int, IntArray] | None:
        """Return the first start in [after, before) at which slots that are `held` would fit, and their nodes."""
        start, end, placement = held
        # Before its own start, what is held takes nothing: where the slots do not fit as it is, they cannot begin.
        possible = self.earliest(len(placement), demand, 1, after, before)
        if possible is None:
            return None
        self._add(start, end, placement, demand, 1)
        found = self.earliest(len(placement), demand, end - start, possible[0], before)
        self._add(start, end, placement, demand, -1)
        return found

    def at(self, index: int) -> IntArray:
        """Return what is free at a step, shape (nodes, resources)."""
        amounts: IntArray = self._amounts[self.free[index]]
        return amounts

    def peak(self, start: int, end: int) -> tuple[int, ...]:
        """Return, for each resource, the most that is free at once on all nodes together in [start, end)."""
        amounts = np.maximum(self._amounts[self.free[self._between(start, end)]], 0)
        return tuple(amounts.sum(axis=1).max(axis=0).tolist())

    def take(self, start: int, end: int, placement: IntArray, demand: tuple[int, ...]) -> None:
        """Take slots in [start, end), even if they are not free: what is free falls below zero then."""
        self._add(start, end, placement, demand, -1)

    def give(self, start: int, end: int, placement: IntArray, demand: tuple[int, ...]) -> None:
        """Return slots in [start, end)."""
        self._add(start, end, placement, demand, 1)

    def _add(self, start: int, end: int, placement: IntArray, demand: tuple[int, ...], sign: int) -> None:
        if end <= start:
            return
        first, stop = self._split(start), self._split(end)
        add_slots(self._amounts, np.array(self.free[first:stop]), placement, sign * np.array(demand))
        for index in (stop, first):
            if index and np.array_equal(self.at(index), self.at(index - 1)):
                self._spare.append(self.free[index])
                del self.times[index], self.free[index]

    def _split(self, time: int) -> int:
        index = bisect_left(self.times, time)
        if index == len(self.times) or self.times[index] != time:
            if not self._spare:
                most = len(self._amounts)
                self._amounts = np.concatenate((self._amounts, np.empty_like(self._amounts)))
                self._spare.extend(range(most, 2 * most))
            place = self._spare.pop()
            self._amounts[place] = self.at(index - 1)
            self.times.insert(index, time)
            self.free.insert(index, place)
        return index


def free_until(profile: Profile, nodes: int, demand: tuple[int, ...], start: int) -> tuple[int | None, IntArray] | None:
    """Return until when slots are free from `start` on, ``None`` for ever, and their nodes.

    ``None`` if they are not free at `start`.
    """
    ends = profile.times[bisect_right(profile.times, start) :]
    found = profile.earliest(nodes, demand, 1, start, start + 1)
    if found is None:
        return None
    low, high = 0, len(ends)  # Free until ends[low] as found, which is for ever at len(ends).
    while low < high:
        middle = (low + high + 1) // 2
        duration = ends[middle] - start if middle < len(ends) else ends[-1] + 1 - start
        longer = profile.earliest(nodes, demand, duration, start, start + 1)
        if longer is None:
            high = middle - 1
        else:
            low, found = middle, longer
    return ends[low] if low < len(ends) else None, found[1]
