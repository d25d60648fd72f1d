"""Room on the machine at one instant: does a job fit, and on which nodes is it put."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Protocol

import numpy as np

from ..base import IntArray
from ..models import NODE_ZERO as NODE_ZERO  # noqa: PLC0414  (had from here, too)
from ..models import PlacementRule, choose, count_slots, equal_rows, pool_placement, shift, slots_of_each
from ..workloads import Machine
from .protocol import Placement, State, Waiting

#: Nodes from which on they are put in groups: fewer are counted faster one by one.
GROUPED = 256


class Space(Protocol):
    """Free amounts that jobs are put into one after the other."""

    @property
    def totals(self) -> Sequence[int]:
        """Return the free amounts of each resource, all nodes together."""
        ...

    def room(self, demand: tuple[int, ...], most: int) -> int:
        """Return how many slots of `demand` fit, counted up to `most`."""
        ...

    def place(self, nodes: int, demand: tuple[int, ...]) -> Placement | None:
        """Take room for `nodes` slots of `demand`; return their nodes, or ``None`` if they do not fit."""
        ...

    def put(self, placement: Placement, demand: tuple[int, ...]) -> bool:
        """Take room for slots of `demand` at `placement`, if they fit there; return whether they did."""
        ...

    def give(self, placement: Placement, demand: tuple[int, ...]) -> None:
        """Return the amounts of slots of `demand` at `placement`."""
        ...


class PoolSpace:
    """A single node: plain integers."""

    __slots__ = ("free",)

    def __init__(self, free: IntArray) -> None:
        self.free: list[int] = free[0].tolist()

    @property
    def totals(self) -> list[int]:
        """Return the free amounts of each resource."""
        return self.free

    def room(self, demand: tuple[int, ...], most: int) -> int:
        """Return how many slots of `demand` fit, counted up to `most`."""
        for free, amount in zip(self.free, demand, strict=True):
            if amount:
                most = min(most, free // amount)
        return most

    def place(self, nodes: int, demand: tuple[int, ...]) -> Placement | None:
        """Take room for `nodes` slots of `demand`; return their nodes, or ``None`` if they do not fit."""
        free = self.free
        for index, amount in enumerate(demand):
            if amount * nodes > free[index]:
                return None
        for index, amount in enumerate(demand):
            free[index] -= amount * nodes
        return pool_placement(nodes)

    def put(self, placement: Placement, demand: tuple[int, ...]) -> bool:
        """Take room for slots of `demand` at `placement`, if they fit there; return whether they did."""
        return self.place(len(placement), demand) is not None

    def give(self, placement: Placement, demand: tuple[int, ...]) -> None:
        """Return the amounts of slots of `demand` at `placement`."""
        for index, amount in enumerate(demand):
            self.free[index] += amount * len(placement)


class EqualNodes:
    """What is free on nodes at one instant, by classes of nodes that are alike then.

    Parameters
    ----------
    free, capacity
        Integer arrays of shape (nodes, resources); the first is read again after it changed, see :meth:`shifted`.
    rule
        How nodes are chosen, see :func:`.placement.choose`.
    """

    def __init__(self, free: IntArray, capacity: IntArray, rule: PlacementRule) -> None:
        self.free = free
        self.capacity = capacity
        self.rule = rule
        self._known = False

    def count(self, demand: tuple[int, ...]) -> tuple[IntArray, int]:
        """Return how many slots of `demand` fit on a node of each class, and on all nodes."""
        self._classify()
        fits = count_slots(self._rows, demand)
        return fits, int(fits @ self._size)

    def count_each(self, demands: IntArray, most: IntArray) -> IntArray:
        """Return how many slots of each demand fit on all nodes, see :func:`.placement.slots_of_each`."""
        self._classify()
        return slots_of_each(self._rows, self._size, demands, most)

    def choose(self, fits: IntArray, nodes: int) -> IntArray:
        """Choose the nodes of `nodes` slots, of which `fits` can be on a node of each class, as just counted."""
        usable = fits > 0
        if self.rule == "best-fit":
            share = (self._rows / np.maximum(self.capacity[self._first], 1)).sum(axis=1)
            order = np.flatnonzero(usable)[np.argsort(share[usable], kind="stable")]
            last = order[np.searchsorted(np.cumsum((fits * self._size)[order]), nodes)]
            usable &= share <= share[last] + 1e-9  # Those that are as good, whatever the last digit says.
        candidates = np.flatnonzero(usable[self._label])
        counts = fits[self._label[candidates]]
        return candidates[choose(self.free[candidates], self.capacity[candidates], counts, nodes, self.rule)]

    def shifted(self) -> None:
        """Take note that something else is free."""
        self._known = False

    def _classify(self) -> None:
        """Find the classes anew if what is free has changed; the capacity counts where the choice asks for it."""
        if not self._known:
            alike = np.column_stack((self.free, self.capacity)) if self.rule == "best-fit" else self.free
            self._first, self._label = equal_rows(alike)
            self._rows, self._size, self._known = self.free[self._first], np.bincount(self._label), True


class NodeSpace:
    """Many nodes: a matrix, with the slots that fit on each node counted once a demand.

    Parameters
    ----------
    free
        Integer array of shape (nodes, resources); copied.
    machine
        Its capacities weigh the resources against each other under best-fit.
    rule
        ``"first-fit"`` fills the nodes in their order; ``"best-fit"`` the one with the least free share first.
    """

    __slots__ = ("_counts", "_groups", "free", "machine", "rule", "totals")

    def __init__(self, free: IntArray, machine: Machine, rule: PlacementRule = "first-fit") -> None:
        self.free = free.copy()
        self.totals: list[int] = _ones(len(free)).dot(free).tolist()
        self.machine = machine
        self.rule = rule
        self._counts: dict[tuple[int, ...], tuple[IntArray, int]] = {}
        #: On a large machine the nodes in groups; slots are then counted on a node of each group.
        self._groups = EqualNodes(self.free, machine.capacity, rule) if len(free) >= GROUPED else None

    def room(self, demand: tuple[int, ...], most: int) -> int:
        """Return how many slots of `demand` fit, counted up to `most`."""
        return min(most, self._count(demand)[1])

    def rooms(self, demands: IntArray, most: IntArray) -> IntArray:
        """Return how many slots of each demand fit, shape (demands,), at most so many counted on a node."""
        if self._groups is not None:
            return self._groups.count_each(demands, most)
        return slots_of_each(self.free, _ones(len(self.free)), demands, most)

    def place(self, nodes: int, demand: tuple[int, ...]) -> Placement | None:
        """Take room for `nodes` slots of `demand`; return their nodes, or ``None`` if they do not fit."""
        for total, amount in zip(self.totals, demand, strict=True):
            if amount * nodes > total:
                return None
        counts, fitting = self._count(demand)
        if fitting < nodes:
            return None
        if self._groups is not None:
            placement = self._groups.choose(counts, nodes)
        else:
            placement = choose(self.free, self.machine.capacity, counts, nodes, self.rule)
        self._shift(placement, demand, -1)
        return placement

    def put(self, placement: Placement, demand: tuple[int, ...]) -> bool:
        """Take room for slots of `demand` at `placement`, if they fit there; return whether they did."""
        self._shift(placement, demand, -1)
        if self.free[placement].min() < 0:
            self._shift(placement, demand, 1)
            return False
        return True

    def give(self, placement: Placement, demand: tuple[int, ...]) -> None:
        """Return the amounts of slots of `demand` at `placement`."""
        self._shift(placement, demand, 1)

    def _shift(self, placement: Placement, demand: tuple[int, ...], sign: int) -> None:
        shift(self.free, placement, demand, sign)
        for index, amount in enumerate(demand):
            self.totals[index] += sign * amount * len(placement)
        self._counts.clear()
        if self._groups is not None:
            self._groups.shifted()

    def _count(self, demand: tuple[int, ...]) -> tuple[IntArray, int]:
        found = self._counts.get(demand)
        if found is None:
            if self._groups is not None:
                found = self._groups.count(demand)
            else:
                counts = count_slots(self.free, demand)
                found = counts, int(_ones(len(counts)).dot(counts))
            self._counts[demand] = found
        return found


@cache
def _ones(nodes: int) -> IntArray:
    """Return ones, whose product with a matrix is the sums of its columns: on few nodes a quarter of the time."""
    return np.ones(nodes, dtype=np.int64)


def place_all(space: Space, waiting: Sequence[Waiting]) -> list[Placement] | None:
    """Take room for all of `waiting`, in order; return their nodes, or ``None`` and take nothing if one finds none."""
    placed: list[Placement] = []
    for entry in waiting:
        placement = space.place(entry.nodes, entry.demand)
        if placement is None:
            for before, where in zip(waiting, placed, strict=False):
                space.give(where, before.demand)
            return None
        placed.append(placement)
    return placed


def space_of(state: State, rule: PlacementRule = "first-fit") -> PoolSpace | NodeSpace:
    """Return the free room of `state`, to be filled by `rule`."""
    if len(state.free) == 1:
        return PoolSpace(state.free)
    return NodeSpace(state.free, state.machine, rule)
