"""AccaSim's resource manager on one integer matrix of free amounts."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base import IntArray
from ..dispatchers import Placement
from ..workloads import Machine
from .accasim_compat import ResourceManager

#: Slots up to which one is put after the other faster than all by numpy.
_FEW = 8


class NodeMatrix(ResourceManager):  # type: ignore[misc]
    """Free amounts of every node and resource, with the capacity held at every allocation.

    AccaSim's own keeps a dictionary a node and builds all of them anew at every look; see the benchmark.

    What is free of a pool is kept in plain integers, and written into the matrix when somebody looks.
    """

    def __init__(self, machine: Machine) -> None:
        # AccaSim's constructor insists on its dictionaries of nodes; nothing of them is used here.
        self.machine = machine
        self._hold(machine.capacity.copy())

    def _hold(self, free: IntArray) -> None:
        self._free = free
        self._columns: list[IntArray] = list(self._free.T)
        self._shown: IntArray = self._free.view()
        self._shown.flags.writeable = False
        self._pool: list[int] | None = self._free[0].tolist() if self.machine.nodes == 1 else None

    def __deepcopy__(self, memo: dict[int, Any]) -> NodeMatrix:
        """Return a copy: the views of the matrix are to be views of its own."""
        copied = NodeMatrix(self.machine)
        copied._hold(self.shown.copy())
        return copied

    @property
    def shown(self) -> IntArray:
        """Free amounts, integer array of shape (nodes, resources), for dispatchers: read-only, but not for ever."""
        if self._pool is not None:
            for index, amount in enumerate(self._pool):
                self._free[0, index] = amount
        return self._shown

    def allocate(self, placement: Placement, demand: tuple[int, ...]) -> bool:
        """Take slots of `demand` at `placement`; return whether they fit. Nothing is taken if they do not."""
        free = self._pool
        if free is not None:
            slots = len(placement)
            for index, amount in enumerate(demand):
                if amount * slots > free[index]:
                    return False
            for index, amount in enumerate(demand):
                free[index] -= amount * slots
            return True
        for index, amount in enumerate(demand):
            if amount and not _add(self._columns[index], placement, -amount):
                self.release(placement, demand[: index + 1])
                return False
        return True

    def release(self, placement: Placement, demand: tuple[int, ...]) -> None:
        """Return slots of `demand` at `placement`."""
        free = self._pool
        if free is None:
            for index, amount in enumerate(demand):
                if amount:
                    _add(self._columns[index], placement, amount)
            return
        slots = len(placement)
        for index, amount in enumerate(demand):
            free[index] += amount * slots


def _add(column: IntArray, placement: Placement, amount: int) -> bool:
    """Add an amount at every slot of a placement; return whether what is there then is nowhere below zero."""
    if len(placement) > _FEW:
        np.add.at(column, placement, amount)
        now = column[placement]
        return bool(now.item(now.argmin()) >= 0)  # In two calls: a reduction takes ten times as long.
    least = 0
    for node in placement.tolist():
        column[node] = left = column.item(node) + amount
        least = min(least, left)
    return least >= 0
