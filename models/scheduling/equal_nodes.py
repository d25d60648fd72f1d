"""Nodes of equal free amounts as groups, so that counting and choosing hang on how many different nodes there are."""

from __future__ import annotations

import numpy as np

from ...base import IntArray
from .node_classes import equal_rows
from .placement import PlacementRule, choose, count_slots, slots_of_each

#: Groups of nodes that were shifted are not put together with equal ones before there are so many for each at first.
_SCATTERED = 4


class EqualNodes:
    """What is free on nodes at one instant, by groups of nodes that are alike.

    Two groups may be alike after a shift; their nodes are.

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
        self._rows = self._capacity = np.zeros((0, free.shape[1]), dtype=np.int64)
        self._size = self._label = np.zeros(0, dtype=np.int64)
        self._most = 0
        self._changed: list[IntArray] = []
        self._group()

    def count(self, demand: tuple[int, ...]) -> tuple[IntArray, int]:
        """Return how many slots of `demand` fit on a node of each group, and on all nodes."""
        if self._changed:
            self._regroup()
        fits = count_slots(self._rows, demand)
        return fits, int(fits @ self._size)

    def count_each(self, demands: IntArray, most: IntArray) -> IntArray:
        """Return how many slots of each demand fit on all nodes, see :func:`.placement.slots_of_each`."""
        if self._changed:
            self._regroup()
        return slots_of_each(self._rows, self._size, demands, most)

    def choose(self, fits: IntArray, nodes: int) -> IntArray:
        """Choose the nodes of `nodes` slots, of which `fits` can be on a node of each group, as just counted."""
        usable = fits > 0
        if self.rule == "best-fit":
            share = (self._rows / np.maximum(self._capacity, 1)).sum(axis=1)
            order = np.flatnonzero(usable)[np.argsort(share[usable], kind="stable")]
            last = order[np.searchsorted(np.cumsum((fits * self._size)[order]), nodes)]
            usable &= share <= share[last] + 1e-9  # Those that are as good, whatever the last digit says.
        candidates = np.flatnonzero(usable[self._label])
        counts = fits[self._label[candidates]]
        return candidates[choose(self.free[candidates], self.capacity[candidates], counts, nodes, self.rule)]

    def shifted(self, placement: IntArray) -> None:
        """Take note that something else is free on some nodes."""
        self._changed.append(placement)

    def _regroup(self) -> None:
        """Take the nodes that changed out of their groups, and put them into others."""
        nodes = np.unique(np.concatenate(self._changed))
        self._changed.clear()
        self._size -= np.bincount(self._label[nodes], minlength=len(self._size))
        first, label = equal_rows(self._keys(nodes))
        self._label[nodes] = len(self._rows) + label
        self._rows = np.concatenate((self._rows, self.free[nodes[first]]))
        self._capacity = np.concatenate((self._capacity, self.capacity[nodes[first]]))
        self._size = np.concatenate((self._size, np.bincount(label)))
        if len(self._rows) > self._most:
            self._group()

    def _group(self) -> None:
        first, self._label = equal_rows(self._keys(slice(None)))
        self._rows, self._capacity = self.free[first], self.capacity[first]
        self._size = np.bincount(self._label)
        self._most = _SCATTERED * len(first) + len(self.free) // _SCATTERED

    def _keys(self, nodes: IntArray | slice) -> IntArray:
        """Return what tells nodes apart: where the choice asks for it, the capacity as well."""
        free = self.free[nodes]
        return np.column_stack((free, self.capacity[nodes])) if self.rule == "best-fit" else free
