"""Where what is free is one number: a pool of one resource, or slots of nodes if all jobs ask for the same ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ...base import IntArray
from ...models import count_slots
from ..protocol import Start, State
from ..space import NodeSpace, PoolSpace

#: Queues from this length on are looked through by compiled code; a call of it costs as much as some hundred jobs.
LONG = 256


class Counted(NamedTuple):
    """What is free, and what jobs take of it.

    Attributes
    ----------
    free
        Units of the pool, or slots of nodes.
    unit
        What a slot of each waiting job takes, shape (waiting jobs,).
    held
        What each running job holds, shape (running jobs,).
    """

    free: int
    unit: IntArray
    held: IntArray


def counted(state: State) -> Counted | None:
    """Return what is free as one number, if numbers tell all there is to know.

    On one node with one resource, that is its free amount; where every job asks for the same amounts a slot, the number
    of slots that fit, for a slot that is freed makes room for exactly one. ``None`` otherwise, for short queues, and
    for those whose columns would have to be made: that costs more than to walk over the jobs.
    """
    queue, running = state.queue, state.running
    if len(queue) < LONG or not queue.kept:
        return None
    if state.free.size == 1:
        return Counted(int(state.free[0, 0]), queue.demand[:, 0], running.nodes * running.demand[:, 0])
    if len(state.free) == 1:
        return None
    demand = queue.demand
    if (demand == demand[0]).all() and (running.demand == demand[0]).all():
        slots = int(count_slots(state.free, queue[0].demand).sum())
        return Counted(slots, np.ones(len(queue), dtype=np.int64), running.nodes)
    return None


def start_at(state: State, space: PoolSpace | NodeSpace, places: Iterable[int]) -> list[Start]:
    """Start the jobs at these places of the queue, for which there is room."""
    started = []
    for place in places:
        waiting = state.queue[place]
        placement = space.place(waiting.nodes, waiting.demand)
        assert placement is not None
        started.append(Start(waiting, placement))
    return started
