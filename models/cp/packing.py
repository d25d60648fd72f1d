"""Placing jobs whose times are fixed, compiled: best-fit in an order, and a search of all placements at one time."""

from __future__ import annotations

import numpy as np

from ...base import IntArray
from ..compiled import compiled
from ..scheduling.node_layout import NodeData, NodeRoom
from ..scheduling.serial_on_nodes import choose_nodes, fill, least_between, open_room


@compiled
def pack_in_order(
    order: IntArray,
    first: IntArray,
    last: IntArray,
    data: NodeData,
    room: NodeRoom,
    counts: IntArray,
    tries: int,
) -> bool:
    """Place jobs in `order`, changed in place: one that fails comes first in the next try."""
    for _ in range(tries):
        open_room(data, room)
        failed = -1
        for position in range(len(order)):
            job = order[position]
            least_between(room, first[job], last[job])
            if fill(job, data, room) < data.slots[job]:
                failed = position
                break
            choose_nodes(job, data, room, counts[job])
            for node in range(counts.shape[1]):
                for resource in range(data.demand.shape[1]):
                    for step in range(first[job], last[job]):
                        room.free[step, resource, node] -= counts[job, node] * data.demand[job, resource]
            room.drop[first[job]] = True
        if failed < 0:
            return True
        if failed == 0:
            return False
        job = order[failed]
        for position in range(failed, 0, -1):
            order[position] = order[position - 1]
        order[0] = job
    return False


@compiled
def search_packing(job: IntArray, demand: IntArray, free: IntArray, most: int, node: IntArray) -> int:
    """Place slots one by one on nodes, going back where no node is left.

    Parameters
    ----------
    job
        Which job each slot belongs to, shape (slots,); those of a job beside each other.
    demand
        Amounts of each slot, shape (slots, resources).
    free
        Shape (nodes, resources); changed on the way.
    most
        How many slots are placed before the search is given up.
    node
        Where each slot lies in the end, shape (slots,).

    Returns
    -------
    1 if they were placed, 0 if there is no way, -1 if that is not known.
    """
    slots, nodes = len(job), len(free)
    for slot in range(slots):
        node[slot] = -1
    slot, tried = 0, 0
    while 0 <= slot < slots:
        here = node[slot]
        if here >= 0:
            _take(free, here, demand[slot], -1)
        elif slot and job[slot] == job[slot - 1]:
            here = node[slot - 1] - 1  # The slots of a job are alike: on nodes of rising number.
        here += 1
        while here < nodes and not (_holds(free, here, demand[slot]) and _is_new(free, here, slot, job, node, demand)):
            here += 1
        if here == nodes:
            node[slot] = -1
            slot -= 1
            continue
        tried += 1
        if tried > most:
            return -1
        node[slot] = here
        _take(free, here, demand[slot], 1)
        slot += 1
    return 1 if slot == slots else 0


@compiled
def _take(free: IntArray, node: int, demand: IntArray, sign: int) -> None:
    for resource in range(len(demand)):
        free[node, resource] -= sign * demand[resource]


@compiled
def _holds(free: IntArray, node: int, demand: IntArray) -> bool:
    enough = True
    for resource in range(len(demand)):
        enough = enough and (not demand[resource] or free[node, resource] >= demand[resource])
    return enough


@compiled
def _is_new(free: IntArray, node: int, slot: int, job: IntArray, places: IntArray, demand: IntArray) -> bool:
    """Whether no node before, on which the slot may be, has the same free."""
    begin = 0
    if slot and job[slot] == job[slot - 1]:
        begin = places[slot - 1]
    for before in range(begin, node):
        same = True
        for resource in range(free.shape[1]):
            if free[before, resource] != free[node, resource]:
                same = False
                break
        if same:
            return False
    return True


@compiled
def first_together(slots: IntArray, demand: IntArray, free: IntArray, most: int, first: IntArray) -> None:
    """Find for each two jobs the first step at which they may run at once, the number of steps if there is none.

    Parameters
    ----------
    slots, demand
        Of the jobs, shapes (jobs,) and (jobs, resources).
    free
        Shape (steps, nodes, resources); must not fall with time.
    most
        How many slots are placed before a search is given up and the two are taken to fit.
    first
        The result, shape (jobs, jobs).
    """
    for one in range(len(slots)):
        first[one, one] = 0
        for two in range(one):
            low, high = -1, len(free)
            middle = 0
            while high - low > 1:
                if _fit_together(one, two, slots, demand, free[middle], most):
                    high = middle
                else:
                    low = middle
                middle = (low + high) // 2
            first[one, two] = first[two, one] = high


@compiled
def _fit_together(one: int, two: int, slots: IntArray, demand: IntArray, free: IntArray, most: int) -> bool:
    many = slots[one] + slots[two]
    job = np.empty(many, dtype=np.int64)
    asked = np.empty((many, demand.shape[1]), dtype=np.int64)
    for slot in range(many):
        job[slot] = one if slot < slots[one] else two
        for resource in range(demand.shape[1]):
            asked[slot, resource] = demand[job[slot], resource]
    return search_packing(job, asked, free.copy(), most, np.empty(many, dtype=np.int64)) != 0
