"""Free amounts on nodes over time, with the placement of slots."""

from bisect import bisect_left, bisect_right

import numpy as np

from ...base import IntArray
from ..compiled import compiled
from ..placement import PlacementRule, choose
from ..scheduling.selection import copy_range
from .amount import NEVER


class NodeProfile:
    """Free amounts of many nodes and resources over time: one matrix per step.

    Parameters
    ----------
    free, capacity
        Integer arrays of shape (nodes, resources): free amounts now, and capacities. Best-fit weighs resources by
        capacity.
    now
        Begin of the profile.
    rule
        How to choose among nodes that are free for the whole duration.
    """

    __slots__ = ("_amounts", "_spare", "capacity", "free", "rule", "times")

    def __init__(self, free: IntArray, capacity: IntArray, now: int = 0, rule: PlacementRule = "first-fit") -> None:
        self.times = [now]
        #: Position of each step in the amounts, shape (places, nodes, resources). Some places are unused.
        self.free = [0]
        self._amounts = free[None].copy()
        self._spare: list[int] = []
        self.capacity = capacity
        self.rule = rule

    @property
    def now(self) -> int:
        """First of the times."""
        return self.times[0]

    def advance(self, now: int) -> None:
        """Remove the part before `now`."""
        index = max(bisect_right(self.times, now) - 1, 0)
        self._spare.extend(self.free[:index])
        del self.times[:index], self.free[:index]
        self.times[0] = now

    def earliest(
        self, nodes: int, demand: tuple[int, ...], duration: int, after: int, before: int | None = None
    ) -> tuple[int, IntArray] | None:
        """Return the first start >= `after` at which slots fit for `duration` seconds, and their nodes.

        ``None`` if that start is not before `before`, or if the slots never fit.
        """
        if not any(demand):
            raise ValueError("a slot must ask for at least one resource, got none")
        index = bisect_right(self.times, after) - 1
        places = np.array(self.free)
        times = np.array(self.times)
        asked = np.array(demand)
        last = NEVER if before is None else before
        found, stop, fits = _first_start(self._amounts, places, times, asked, nodes, duration, index, after, last)
        if found < 0:
            return None
        least = np.maximum(self._amounts[places[found:stop]].min(axis=0), 0)
        return max(after, self.times[found]), choose(least, self.capacity, fits, nodes, self.rule)

    def earlier(
        self, held: tuple[int, int, IntArray], demand: tuple[int, ...], after: int, before: int
    ) -> tuple[int, IntArray] | None:
        """Return the first start in [after, before) to which slots in `held` can move, and their nodes.

        `held` is their start, end and placement. `before` must not be after that start.
        """
        start, end, placement = held
        # Before their start, the slots occupy nothing. So if they do not fit as is, they cannot begin.
        possible = self.earliest(len(placement), demand, 1, after, before)
        if possible is None:
            return None
        self._add(start, end, placement, demand, 1)
        found = self.earliest(len(placement), demand, end - start, possible[0], before)
        self._add(start, end, placement, demand, -1)
        return found

    def at(self, index: int) -> IntArray:
        """Return the free amounts of a step, shape (nodes, resources)."""
        amounts: IntArray = self._amounts[self.free[index]]
        return amounts

    def peak(self, start: int, end: int) -> tuple[int, ...]:
        """Return, per resource, the largest amount free at one time on all nodes together in [start, end)."""
        first = max(0, bisect_right(self.times, start) - 1)
        steps = self.free[first : max(first + 1, bisect_left(self.times, end))]
        amounts = np.maximum(self._amounts[steps], 0)
        return tuple(amounts.sum(axis=1).max(axis=0).tolist())

    def take(self, start: int, end: int, placement: IntArray, demand: tuple[int, ...]) -> None:
        """Occupy slots in [start, end), even if they are not free. Free amounts may become negative."""
        self._add(start, end, placement, demand, -1)

    def give(self, start: int, end: int, placement: IntArray, demand: tuple[int, ...]) -> None:
        """Free slots in [start, end)."""
        self._add(start, end, placement, demand, 1)

    def _add(self, start: int, end: int, placement: IntArray, demand: tuple[int, ...], sign: int) -> None:
        if end <= start:
            return
        first = self._split(start)
        stop = self._split(end)
        _add_slots(self._amounts, np.array(self.free[first:stop]), placement, sign * np.array(demand))
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

    def free_until(self, nodes: int, demand: tuple[int, ...], start: int) -> tuple[int | None, IntArray] | None:
        """Return the time until which slots are free from `start` on, and their nodes.

        The time is ``None`` if they stay free for ever. The result is ``None`` if they are not free at `start`.
        """
        ends = self.times[bisect_right(self.times, start) :]
        found = self.earliest(nodes, demand, 1, start, start + 1)
        if found is None:
            return None
        low, high = 0, len(ends)  # The slots are free until ends[low]. At len(ends), that is for ever.
        while low < high:
            middle = (low + high + 1) // 2
            duration = ends[middle] - start if middle < len(ends) else ends[-1] + 1 - start
            longer = self.earliest(nodes, demand, duration, start, start + 1)
            if longer is None:
                high = middle - 1
            else:
                low, found = middle, longer
        return ends[low] if low < len(ends) else None, found[1]


@compiled
def _first_start(
    amounts: IntArray,
    places: IntArray,
    times: IntArray,
    demand: IntArray,
    slots: int,
    duration: int,
    index: int,
    after: int,
    before: int,
) -> tuple[int, int, IntArray]:
    """Return the first step from which slots fit, the step after the last one needed, and how many fit.

    Parameters
    ----------
    amounts
        Free amounts, shape (places, nodes, resources).
    places, times
        Position in `amounts` and begin of each step.
    demand
        Amounts per slot, shape (resources,).
    slots, duration
        Number of slots, and seconds.
    index, after
        First step to consider, and the time in it.
    before
        A start must be before this time.

    Returns
    -------
    tuple
        The first step is -1 if there is none. The array holds the slots that fit on each node all the time.
    """
    nodes = amounts.shape[1]
    fits = np.empty(nodes, dtype=np.int64)
    counts = np.empty((len(times), nodes), dtype=np.int64)
    totals = np.full(len(times), -1)
    while index < len(times):
        start = max(after, times[index])
        if start >= before:
            break
        step, following = index, -1
        while step == index or (step < len(times) and times[step] < start + duration):
            if totals[step] < 0:
                totals[step] = _count(counts[step], amounts[places[step]], demand)
            together = totals[step] if step == index else _narrow(fits, counts[step])
            if step == index:
                copy_range(counts[step], fits, 0, len(fits))
            if totals[step] < slots or together < slots:
                following = (step if totals[step] < slots else index) + 1
                break
            step += 1
        if following < 0:
            return index, step, fits
        index = following
    return -1, 0, fits


@compiled
def _count(counts: IntArray, free: IntArray, demand: IntArray) -> int:
    """Set how many slots fit on each node. Return the total."""
    counts[:] = -1
    for resource in range(len(demand)):
        asked = demand[resource]
        if asked > 0:
            for node in range(len(counts)):
                fitting = max(free[node, resource], 0)
                if asked > 1:
                    fitting //= asked
                if counts[node] < 0 or fitting < counts[node]:
                    counts[node] = fitting
    return int(counts.sum())


@compiled
def _narrow(fits: IntArray, counts: IntArray) -> int:
    """Reduce `fits` to the slots that also fit at another step. Return the total."""
    together = 0
    for node in range(len(fits)):
        fits[node] = min(fits[node], counts[node])
        together += fits[node]
    return together


@compiled
def _add_slots(amounts: IntArray, places: IntArray, placement: IntArray, demand: IntArray) -> None:
    """Add the demand of slots on nodes to amounts, shape (places, nodes, resources), at some places."""
    for place in places:
        for node in placement:
            for resource in range(len(demand)):
                amounts[place, node, resource] += demand[resource]
