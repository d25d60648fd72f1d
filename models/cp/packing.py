"""Placing jobs whose times are fixed, compiled: best-fit in an order, and a search of all placements at one time."""

from __future__ import annotations

import numpy as np

from ...base import IntArray
from ..compiled import compiled
from ..scheduling.serial_on_nodes import NodeData, NodeRoom, choose_nodes, fill, least_between, open_room, take_given


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
            take_given(job, data, room, first[job], last[job])
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
def add_patterns(
    fits: IntArray, demand: IntArray, first: IntArray, last: IntArray, free: IntArray, most: int, patterns: IntArray
) -> int:
    """List how many slots of each kind of job a node can hold together, so that nothing can be added.

    Parameters
    ----------
    fits
        Slots of each kind that it can be of use for at most, shape (kinds,).
    demand
        Of a slot of each kind, shape (kinds, resources).
    first, last
        The steps of each kind: from the first to before the last, shape (kinds,).
    free
        What is free on the node at each step, shape (steps, resources); changed on the way.
    most
        How many sets are looked at before the search is given up.
    patterns
        The result, one a row, shape (room for patterns, kinds).

    Returns
    -------
    How many there are; -1 if they are too many.
    """
    kinds, count, kind = len(fits), 0, 0
    here = np.zeros(kinds, dtype=np.int64)
    for _ in range(most):
        while kind < kinds:
            _put_kind(kind, min(_more(kind, demand, first, last, free), fits[kind]), here, demand, first, last, free)
            kind += 1
        full = True
        for other in range(kinds):
            full = full and (here[other] == fits[other] or not _more(other, demand, first, last, free))
        if full:
            if count == len(patterns):
                return -1
            patterns[count] = here
            count += 1
        # The next set in falling order: one slot less of the last kind that has any, and what then fits of those after.
        kind -= 1
        _put_kind(kind, -here[kind], here, demand, first, last, free)
        while kind >= 0 and not here[kind]:
            kind -= 1
        if kind < 0:
            return count
        _put_kind(kind, -1, here, demand, first, last, free)
        kind += 1
    return -1


@compiled
def _more(kind: int, demand: IntArray, first: IntArray, last: IntArray, free: IntArray) -> int:
    """Return how many slots of a kind fit in what is left at all of its steps."""
    fit = np.iinfo(np.int64).max
    for resource in range(demand.shape[1]):
        if demand[kind, resource]:
            for step in range(first[kind], last[kind]):
                fit = min(fit, max(free[step, resource], 0) // demand[kind, resource])
    return fit


@compiled
def _put_kind(
    kind: int, slots: int, here: IntArray, demand: IntArray, first: IntArray, last: IntArray, free: IntArray
) -> None:
    here[kind] += slots
    for step in range(first[kind], last[kind]):
        for resource in range(demand.shape[1]):
            free[step, resource] -= slots * demand[kind, resource]


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
def first_together(
    slots: IntArray, demand: IntArray, free: IntArray, count: IntArray, most: int, first: IntArray
) -> None:
    """Find for each two jobs the first step at which they may run at once, the number of steps if there is none.

    Parameters
    ----------
    slots, demand
        Of the jobs, shapes (jobs,) and (jobs, resources).
    free
        Of a node of each class, shape (steps, classes, resources); must not fall with time.
    count
        Nodes of each class, shape (classes,).
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
                if _fit_together(one, two, slots, demand, free[middle], count, most):
                    high = middle
                else:
                    low = middle
                middle = (low + high) // 2
            first[one, two] = first[two, one] = high


@compiled
def _fit_together(
    one: int, two: int, slots: IntArray, demand: IntArray, free: IntArray, count: IntArray, most: int
) -> bool:
    if _leaves_room(one, two, slots, demand, free, count) or _leaves_room(two, one, slots, demand, free, count):
        return True
    many = slots[one] + slots[two]
    nodes, needed = _nodes_of(one, two, demand, free, count, many), slots[two]
    if many > most or len(nodes) > most:
        return True
    job = np.empty(many, dtype=np.int64)
    asked = np.empty((many, demand.shape[1]), dtype=np.int64)
    for slot in range(many):
        job[slot] = one if slot < many - needed else two
        for resource in range(demand.shape[1]):
            asked[slot, resource] = demand[job[slot], resource]
    return search_packing(job, asked, nodes, most, np.empty(many, dtype=np.int64)) != 0


@compiled
def _leaves_room(one: int, two: int, slots: IntArray, demand: IntArray, free: IntArray, count: IntArray) -> bool:
    """Whether a job leaves room for another, if it takes first the nodes that are of no use to that one."""
    left, room = slots[one], 0
    for useful in range(2):
        for part in range(len(count)):
            there = _room_for(two, demand, free[part], 0, demand[two])
            if (there > 0) != (useful == 1):
                continue
            fits = min(_room_for(one, demand, free[part], 0, demand[one]), left)
            nodes = min(count[part], left // fits) if fits else 0
            room += there * (count[part] - nodes)
            if nodes and there:
                room += nodes * _room_for(two, demand, free[part], fits, demand[one])
            left -= nodes * fits
            if left and fits and nodes < count[part]:
                room += _room_for(two, demand, free[part], left, demand[one]) - there
                left = 0
    enough: bool = left == 0 and room >= slots[two]
    return enough


@compiled
def _room_for(job: int, demand: IntArray, free: IntArray, taken: int, by: IntArray) -> int:
    """Return how many slots of a job fit on a node beside so many others."""
    fit = np.iinfo(np.int32).max
    for resource in range(len(free)):
        if demand[job, resource]:
            fit = min(fit, max(free[resource] - taken * by[resource], 0) // demand[job, resource])
    return fit


@compiled
def _nodes_of(one: int, two: int, demand: IntArray, free: IntArray, count: IntArray, most: int) -> IntArray:
    """Return what is free on the nodes on which a slot of one of two jobs fits, `most` of a class at most."""
    usable = np.zeros(len(count), dtype=np.int64)
    for part in range(len(count)):
        fits = _room_for(one, demand, free[part], 0, demand[one]) + _room_for(two, demand, free[part], 0, demand[two])
        usable[part] = min(count[part], most) if fits else 0
    nodes = np.empty((usable.sum(), free.shape[1]), dtype=np.int64)
    row = 0
    for part in range(len(count)):
        for _ in range(usable[part]):
            nodes[row] = free[part]
            row += 1
    return nodes
