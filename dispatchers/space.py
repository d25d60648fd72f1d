"""Free room of the machine at one instant: whether a job fits, and on which nodes."""

from collections.abc import Sequence
from functools import cache

import numpy as np

from ..base import IntArray
from ..base.argument_types import names_wrong_types
from ..models import NODE_ZERO as NODE_ZERO  # noqa: PLC0414  (had from here, too)
from ..models import PlacementRule, choose, count_slots, equal_rows, pool_placement, shift, slots_of_each
from ..workloads import Machine
from .views import Placement, StateView, Waiting

#: Number of nodes from which equal nodes are grouped. Below it, counting each is faster.
_GROUPED = 256


class PoolSpace:
    """A single node, as plain integers.

    Examples
    --------
    >>> import numpy as np
    >>> from hpcdispatch.dispatchers import PoolSpace
    >>> space = PoolSpace(np.array([[4]]))
    >>> space.place(3, (1,))
    array([0, 0, 0])
    >>> space.place(3, (1,)) is None
    True
    """

    __slots__ = ("free",)

    def __init__(self, free: IntArray) -> None:
        self.free: list[int] = free[0].tolist()

    @property
    def totals(self) -> list[int]:
        """Return the free amounts of each resource."""
        return self.free

    def room(self, demand: tuple[int, ...], most: int) -> int:
        """Return how many slots of `demand` fit, at most `most`."""
        for free, amount in zip(self.free, demand, strict=True):
            if amount:
                most = min(most, free // amount)
        return most

    def place(self, nodes: int, demand: tuple[int, ...]) -> Placement | None:
        """Place `nodes` slots of `demand`. Return their nodes, or ``None`` if they do not fit."""
        free = self.free
        for index, amount in enumerate(demand):
            if amount * nodes > free[index]:
                return None
        for index, amount in enumerate(demand):
            free[index] -= amount * nodes
        return pool_placement(nodes)

    def put(self, placement: Placement, demand: tuple[int, ...]) -> bool:
        """Place slots of `demand` at `placement`, if they fit there. Return whether they do."""
        return self.place(len(placement), demand) is not None

    def give(self, placement: Placement, demand: tuple[int, ...]) -> None:
        """Free the slots of `demand` at `placement`."""
        for index, amount in enumerate(demand):
            self.free[index] += amount * len(placement)


class NodeSpace:
    """Many nodes as a matrix, with cached slot counts per demand.

    Parameters
    ----------
    free
        Integer array of shape (nodes, resources). Copied.
    machine
        Its capacities weigh resources for best-fit.
    rule
        ``"first-fit"`` fills nodes in their order. ``"best-fit"`` fills the node with the least free share first.
        ``"compact"`` uses few groups of the machine's levels.

    Examples
    --------
    >>> import numpy as np
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.dispatchers import NodeSpace
    >>> machine = hd.Machine(("core", "gpu"), [[8, 0], [8, 2]])
    >>> space = NodeSpace(np.array([[2, 0], [8, 2]]), machine, "best-fit")
    >>> space.place(2, (4, 1))
    array([1, 1])
    """

    __slots__ = ("_counts", "free", "machine", "rule", "totals")

    def __init__(self, free: IntArray, machine: Machine, rule: PlacementRule = "first-fit") -> None:
        self.free = free.copy()
        self.totals: list[int] = _ones(len(free)).dot(free).tolist()
        self.machine = machine
        self.rule = rule
        self._counts: dict[tuple[int, ...], tuple[IntArray, int]] = {}

    def room(self, demand: tuple[int, ...], most: int) -> int:
        """Return how many slots of `demand` fit, at most `most`."""
        return min(most, self._count(demand)[1])

    def rooms(self, demands: IntArray, most: IntArray) -> IntArray:
        """Return how many slots of each demand fit, shape (demands,), at most `most` per node."""
        if len(self.free) < _GROUPED:
            return slots_of_each(self.free, _ones(len(self.free)), demands, most)
        first, label = equal_rows(self.free)
        return slots_of_each(self.free[first], np.bincount(label), demands, most)

    def place(self, nodes: int, demand: tuple[int, ...]) -> Placement | None:
        """Place `nodes` slots of `demand`. Return their nodes, or ``None`` if they do not fit."""
        for total, amount in zip(self.totals, demand, strict=True):
            if amount * nodes > total:
                return None
        counts, fitting = self._count(demand)
        if fitting < nodes:
            return None
        placement = choose(self.free, self.machine.capacity, counts, nodes, self.rule, self.machine.labels)
        self._shift(placement, demand, -1)
        return placement

    def put(self, placement: Placement, demand: tuple[int, ...]) -> bool:
        """Place slots of `demand` at `placement`, if they fit there. Return whether they do."""
        self._shift(placement, demand, -1)
        if self.free[placement].min() < 0:
            self._shift(placement, demand, 1)
            return False
        return True

    def give(self, placement: Placement, demand: tuple[int, ...]) -> None:
        """Free the slots of `demand` at `placement`."""
        self._shift(placement, demand, 1)

    def _shift(self, placement: Placement, demand: tuple[int, ...], sign: int) -> None:
        shift(self.free, placement, demand, sign)
        for index, amount in enumerate(demand):
            self.totals[index] += sign * amount * len(placement)
        self._counts.clear()

    def _count(self, demand: tuple[int, ...]) -> tuple[IntArray, int]:
        slots = self._counts.get(demand)
        if slots is None:
            counts = count_slots(self.free, demand)
            slots = self._counts[demand] = counts, int(_ones(len(counts)).dot(counts))
        return slots


#: Free amounts, to fill with jobs one after another.
Space = PoolSpace | NodeSpace


@cache
def _ones(nodes: int) -> IntArray:
    """Return ones. Their product with a matrix sums its columns, four times as fast on few nodes."""
    return np.ones(nodes, dtype=np.int64)


def place_at(space: Space, waiting: Waiting, given: Placement | None) -> Placement | None:
    """Place a job on given nodes or any. ``None`` if it does not fit."""
    if given is None:
        return space.place(waiting.nodes, waiting.demand)
    return given if space.put(given, waiting.demand) else None


def place_all(space: Space, waiting: Sequence[Waiting]) -> list[Placement] | None:
    """Place all of `waiting` in order. Return their nodes, or ``None`` and place none if one does not fit."""
    placed: list[Placement] = []
    for entry in waiting:
        placement = space.place(entry.nodes, entry.demand)
        if placement is None:
            for before, where in zip(waiting, placed, strict=False):
                space.give(where, before.demand)
            return None
        placed.append(placement)
    return placed


@names_wrong_types
def space_of(state: StateView, rule: PlacementRule = "first-fit") -> Space:
    """Return the free room of `state`, filled by `rule`.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.dispatchers import Start, space_of
    >>> from hpcdispatch.testing import tiny
    >>> class InOrder:
    ...     "Start jobs in order until one does not fit."
    ...
    ...     def dispatch(self, state):
    ...         room, actions = space_of(state), []
    ...         for waiting in state.queue:
    ...             placement = room.place(waiting.nodes, waiting.demand)
    ...             if placement is None:
    ...                 break
    ...             actions.append(Start(waiting, placement))
    ...         return actions
    >>> hd.simulate(tiny(), InOrder()).jobs["start"].tolist()
    [0, 0, 100, 160, 160]
    """
    return PoolSpace(state.free) if len(state.free) == 1 else NodeSpace(state.free, state.machine, rule)
