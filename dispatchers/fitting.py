"""Waiting jobs that fit now, from the columns of the queue, without reading the entries."""

import numpy as np

from ..base import BoolArray, IntArray
from ..models import equal_rows
from ..models import fitting as fitting_in
from .columns import JobSequence
from .protocol import Running, State, Waiting
from .space import NodeSpace, Space


def amounts_of(jobs: JobSequence[Waiting] | JobSequence[Running]) -> IntArray:
    """Return the amounts of each job, all slots together. Shape (jobs, resources)."""
    table = jobs.table
    demand = table[len(jobs.FIELDS) :].T
    need = np.empty(demand.shape, dtype=np.int64)
    np.multiply(table[1][:, None], demand, out=need)
    return need


def sums_suffice(state: State) -> bool:
    """Return whether free sums alone decide which jobs fit.

    True on one node. Also on equal nodes, if every waiting and running slot uses a whole node in some resource.
    """
    capacity = state.machine.capacity
    if len(capacity) == 1:
        return True
    if (capacity != capacity[0]).any():
        return False
    whole = (state.queue.demand == capacity[0]).all(axis=0) & (state.running.demand == capacity[0]).all(axis=0)
    return bool(whole.any())


def fitting(state: State, need: IntArray, space: Space) -> tuple[BoolArray, bool]:
    """Return which waiting jobs each fit now, and whether all may fit together.

    Parameters
    ----------
    state
        Present state.
    need
        As returned by :func:`amounts_of`.
    space
        Free amounts. On nodes, slots are counted per demand, for jobs that fit into the free sums.
    """
    fits, count, together = fitting_in(need, np.array(space.totals, dtype=np.int64))
    if count and isinstance(space, NodeSpace):
        places = np.flatnonzero(fits)
        demands = state.queue.demand[places]
        nodes = state.queue.nodes[places]
        first, kind = equal_rows(demands)
        most = np.zeros(len(first), dtype=np.int64)
        np.maximum.at(most, kind, nodes)
        fits[places] = nodes <= space.rooms(np.ascontiguousarray(demands[first]), most)[kind]
        together = together and bool(fits.all())
    return fits, together
