"""Where what is free is one number: a pool of one resource, or slots of nodes if all jobs ask for the same ones."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import NamedTuple

from ...base import IntArray
from ...models import count_slots
from ..columns import RunningJobs
from ..protocol import Running, Start, State, Waiting
from ..space import NodeSpace, PoolSpace
from .queue_index import QueueIndex
from .slot_space import SlotSpace

#: Queues from this length on are looked through by compiled code; a call of it costs as much as some hundred jobs.
LONG = 256


class Counted(NamedTuple):
    """What is free, and what jobs take of it.

    Attributes
    ----------
    free
        Units of the pool, or slots of nodes.
    queue
        The queue by what its jobs take of that.
    slots
        Whether it is slots.
    """

    free: int
    queue: QueueIndex
    slots: bool

    def held(self, running: RunningJobs[Running]) -> IntArray:
        """Return what each running job holds, shape (running jobs,)."""
        return running.nodes if self.slots else running.nodes * running.demand[:, 0]


def counted(state: State, longest: bool = False) -> Counted | None:
    """Return what is free as one number, if numbers tell all there is to know.

    On one node with one resource, that is its free amount; where every job asks for the same amounts a slot, the number
    of slots that fit, for a slot that is freed makes room for exactly one. ``None`` otherwise, for short queues, and
    for those that nobody keeps: to make an index costs more than to walk over the jobs.
    """
    queue = state.queue
    if len(queue.entries) < LONG or not queue.kept or 1 == len(state.free) < state.free.size:
        return None
    slots = len(state.free) > 1
    index = queue.followed((slots, longest), partial(QueueIndex, slots=slots, longest=longest))
    if not slots:
        return Counted(int(state.free[0, 0]), index, slots)
    demand, _ = queue[0].demand, index.tree()
    if len(index.demands) > 1 or not (state.running.demand == demand).all():
        return None
    return Counted(int(count_slots(state.free, demand).sum()), index, slots)


def start_at(state: State, space: PoolSpace | NodeSpace | SlotSpace, chosen: Iterable[Waiting]) -> list[Start]:
    """Start jobs for which there is room."""
    started = []
    for waiting in chosen:
        placement = space.place(waiting.nodes, waiting.demand)
        assert placement is not None
        started.append(Start(waiting, placement))
    return started
