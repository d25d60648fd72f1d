"""Which waiting jobs fit now, from the columns of the queue: without a look at the entries."""

from __future__ import annotations

import numpy as np

from ..base import BoolArray, IntArray
from ..models import equal_rows
from ..models import fitting as fitting_in
from .columns import Jobs
from .protocol import Running, State, Waiting
from .space import NodeSpace, PoolSpace


def amounts_of(jobs: Jobs[Waiting] | Jobs[Running]) -> IntArray:
    """Return the amounts that each job asks for, all its slots together, shape (jobs, resources)."""
    table = jobs.table
    demand = table[len(jobs.FIELDS) :].T
    need = np.empty(demand.shape, dtype=np.int64)
    np.multiply(table[1][:, None], demand, out=need)
    return need


def sums_suffice(state: State) -> bool:
    """Return whether jobs fit wherever the sums of what is free leave room for them.

    That is so on one node, and on equal nodes if there is a resource of which every slot of who waits or runs takes all
    that a node has.
    """
    capacity = state.machine.capacity
    if len(capacity) == 1:
        return True
    if (capacity != capacity[0]).any():
        return False
    whole = (state.queue.demand == capacity[0]).all(axis=0) & (state.running.demand == capacity[0]).all(axis=0)
    return bool(whole.any())


def fitting(state: State, need: IntArray, space: PoolSpace | NodeSpace) -> tuple[BoolArray, bool]:
    """Return which waiting jobs fit now, each alone, and whether there may be room for all together.

    Parameters
    ----------
    state
        Now.
    need
        As of :func:`amounts_of`.
    space
        What is free. On nodes the slots that fit are counted for each demand of those for which the sums leave room.
    """
    fits, count, together = fitting_in(need, np.array(space.totals, dtype=np.int64))
    if count and isinstance(space, NodeSpace):
        places = np.flatnonzero(fits)
        demands, nodes = state.queue.demand[places], state.queue.nodes[places]
        first, kind = equal_rows(demands)
        most = np.zeros(len(first), dtype=np.int64)
        np.maximum.at(most, kind, nodes)
        fits[places] = nodes <= space.rooms(np.ascontiguousarray(demands[first]), most)[kind]
        together = together and bool(fits.all())
    return fits, together
