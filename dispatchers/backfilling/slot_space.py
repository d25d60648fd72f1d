"""Room on nodes where all jobs ask for the same amounts a slot: how many slots are free, and which are next."""

from __future__ import annotations

import numpy as np

from ...base import IntArray
from ...models import PlacementRule, choose, count_slots
from ..protocol import Placement, State
from ..space import NodeSpace, PoolSpace, space_of


class SlotSpace:
    """Free slots of one demand, filled in the order of the nodes, which are not looked at before a job is put there.

    Parameters
    ----------
    free
        Free amounts, integer array of shape (nodes, resources); not changed.
    demand
        What every slot that is put here asks for.
    left
        How many slots of it are free.

    Attributes
    ----------
    left
        How many slots are free.
    """

    __slots__ = ("_counts", "_demand", "_free", "_line", "left")

    def __init__(self, free: IntArray, demand: tuple[int, ...], left: int) -> None:
        self.left = left
        self._free = free
        self._demand = demand
        self._counts: IntArray | None = None
        self._line: IntArray | None = None

    def place(self, nodes: int, _: tuple[int, ...]) -> Placement | None:
        """Take so many slots; return their nodes, or ``None`` if there are not as many."""
        left = self.left
        if nodes > left:
            return None
        self.left = left - nodes
        if self._line is None:
            counts = count_slots(self._free, self._demand) if self._counts is None else self._counts
            if counts.item(counts.argmax()) > 1:
                return self._choose(counts, nodes)
            # One slot a node: whoever comes next takes the next nodes, however many come.
            self._line = counts.nonzero()[0]
        first = len(self._line) - left
        return self._line[first : first + nodes]

    def _choose(self, counts: IntArray, nodes: int) -> Placement:
        placement = choose(self._free, self._free, counts, nodes)
        self._counts = counts.copy()
        np.subtract.at(self._counts, placement, 1)
        return placement


def room_of(state: State, rule: PlacementRule) -> PoolSpace | NodeSpace | SlotSpace:
    """Return the free room of `state`, to be filled by `rule`; as slots, if these tell all there is to know."""
    if len(state.free) > 1 and rule == "first-fit" and state.queue.kept:
        waiting, running = state.queue.slots, state.running.slots
        if len(waiting) == 1 and (not running or waiting.keys() == running.keys()):
            (demand,) = waiting
            return SlotSpace(state.free, demand, state.machine.slots_of(demand) - running.get(demand, 0))
    return space_of(state, rule)
