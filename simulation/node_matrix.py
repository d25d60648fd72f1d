"""AccaSim's resource manager on one integer matrix of free amounts."""

from __future__ import annotations

from ..base import IntArray
from ..dispatchers import Placement, shift
from ..workloads import Machine
from .accasim_compat import ResourceManager


class NodeMatrix(ResourceManager):  # type: ignore[misc]
    """Free amounts of every node and resource, with the capacity held at every allocation.

    AccaSim's own keeps a dictionary a node and builds all of them anew at every look; see the benchmark.

    Attributes
    ----------
    free
        Integer array of shape (nodes, resources).
    shown
        The same memory, read-only, for dispatchers.
    """

    def __init__(self, machine: Machine) -> None:
        # AccaSim's constructor insists on its dictionaries of nodes; nothing of them is used here.
        self.machine = machine
        self.free: IntArray = machine.capacity.copy()
        self.shown: IntArray = self.free.view()
        self.shown.flags.writeable = False
        self._pool = machine.nodes == 1

    def allocate(self, placement: Placement, demand: tuple[int, ...]) -> bool:
        """Take slots of `demand` at `placement`; return whether they fit. Nothing is taken if they do not."""
        if self._pool:
            row = self.free[0]
            slots = len(placement)
            for index, amount in enumerate(demand):
                if amount * slots > row[index]:
                    return False
            for index, amount in enumerate(demand):
                row[index] -= amount * slots
            return True
        shift(self.free, placement, demand, -1)
        if self.free[placement].min() < 0:
            shift(self.free, placement, demand, 1)
            return False
        return True

    def release(self, placement: Placement, demand: tuple[int, ...]) -> None:
        """Return slots of `demand` at `placement`."""
        if self._pool:
            row = self.free[0]
            slots = len(placement)
            for index, amount in enumerate(demand):
                row[index] += amount * slots
        else:
            shift(self.free, placement, demand, 1)
