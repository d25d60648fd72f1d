"""AccaSim's resource manager as one integer matrix of free amounts."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base import IntArray
from ..dispatchers import Placement
from ..workloads import Machine
from .accasim_compat import ResourceManager

#: Up to this many slots, single additions are faster than numpy.
_FEW = 8


class NodeMatrix(ResourceManager):  # type: ignore[misc]
    """Free amounts of every node and resource. Allocations never exceed the capacity.

    AccaSim's own manager keeps a dictionary per node and rebuilds all of them for every view. The free amounts of a
    pool are plain integers. They are written to the matrix when it is read.
    """

    def __init__(self, machine: Machine) -> None:
        # AccaSim's constructor needs its dictionaries of nodes, which are not used here.
        self.machine = machine
        self._hold(machine.capacity.copy())

    def _hold(self, free: IntArray) -> None:
        self._free = free
        self._columns: list[IntArray] = list(self._free.T)
        self._shown: IntArray = self._free.view()
        self._shown.flags.writeable = False
        self._pool: list[int] | None = self._free[0].tolist() if self.machine.nodes == 1 else None

    def __deepcopy__(self, memo: dict[int, Any]) -> NodeMatrix:
        """Return a copy with its own matrix and views."""
        copied = NodeMatrix(self.machine)
        copied._hold(self.shown.copy())
        return copied

    def __getstate__(self) -> dict[str, Any]:
        """Return machine and free amounts, for pickling."""
        return {"machine": self.machine, "free": self.shown.copy()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the free amounts, with views of its own."""
        self.machine = state["machine"]
        self._hold(state["free"])

    @property
    def shown(self) -> IntArray:
        """Free amounts for dispatchers, read-only integer array of shape (nodes, resources). It changes later."""
        if self._pool is not None:
            for index, amount in enumerate(self._pool):
                self._free[0, index] = amount
        return self._shown

    def allocate(self, placement: Placement, demand: tuple[int, ...]) -> bool:
        """Take slots of `demand` at `placement`. Return whether they fit; otherwise nothing is taken."""
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
    """Add an amount at every slot of a placement. Return whether all amounts there are at least 0."""
    if len(placement) > _FEW:
        np.add.at(column, placement, amount)
        now = column[placement]
        return bool(now.item(now.argmin()) >= 0)  # Two calls: a reduction takes ten times as long.
    least = 0
    for node in placement.tolist():
        column[node] = left = column.item(node) + amount
        least = min(least, left)
    return least >= 0
