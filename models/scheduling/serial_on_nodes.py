"""Serial schedule generation on nodes, compiled: the earliest start that keeps its slots, and the nodes that take them.

The profile is a list of steps; a step that is split in two leaves its rows where they are. A count of slots that fit
at a step is an upper bound from then on, since a schedule only fills up.
"""

from __future__ import annotations

import numpy as np

from ...base import IntArray
from ..compiled import compiled
from .node_layout import NodeData, NodeRoom


@compiled
def open_room(data: NodeData, room: NodeRoom) -> None:
    """Begin with the profile beside what is held."""
    steps, resources, nodes = data.free.shape
    for step in range(steps):
        room.at[step] = data.times[step]
        room.row[step] = step
        room.drop[step] = data.drop[step]
        for kind in range(data.known.shape[1]):
            room.known[step, kind] = data.known[step, kind]
        for resource in range(resources):
            room.total[step, resource] = data.total[step, resource]
            for node in range(nodes):
                room.free[step, resource, node] = data.free[step, resource, node]


@compiled
def learn(data: NodeData, room: NodeRoom) -> None:
    """Count in ``data.known`` the slots of each kind that fit at each step; worth it for many decodings."""
    open_room(data, room)
    for job in range(len(data.kind)):
        kind, slots = data.kind[job], data.slots[job]
        for step in range(len(data.times)):
            if data.known[step, kind] >= slots:
                found = _slots(job, data, room, data.free[step], slots)
                if found < slots:
                    data.known[step, kind] = found


@compiled
def earliest_on_nodes(job: int, data: NodeData, room: NodeRoom, steps: int, first: int = 0) -> tuple[int, int]:
    """Return the first step at which a job fits until its end, and the first at or after that end; (-1, -1) if none.

    Looks from step `first` on.

    Leaves in `room` what is free on each node all that time, and the slots that fit there.
    """
    last = 0
    while first < steps:
        # Steps before `last` have room for the job, each taken alone.
        last = max(last, first)
        while last < steps and (last == first or room.at[last] < room.at[first] + data.duration[job]):
            if (last == first or room.drop[room.row[last]]) and not _fits_alone(job, data, room, last):
                first = last + 1
            last += 1
        if first == steps:
            break
        blocked = _blocked(job, data, room, first, last)
        if blocked < 0:
            return first, last
        first = blocked + 1
    return -1, -1


@compiled
def _fits_alone(job: int, data: NodeData, room: NodeRoom, step: int) -> bool:
    """Whether a job fits at one step, whatever comes after."""
    row, kind, slots = room.row[step], data.kind[job], data.slots[job]
    if room.known[row, kind] < slots:
        return False
    for resource in range(data.demand.shape[1]):
        if slots * data.demand[job, resource] > room.total[row, resource]:
            return False
    found = _slots(job, data, room, room.free[row], slots)
    if found >= slots:
        return True
    room.known[row, kind] = found
    return False


@compiled
def _blocked(job: int, data: NodeData, room: NodeRoom, first: int, last: int) -> int:
    """Return a step from `first` on at which too few nodes are free until before `last`; -1 if there is none."""
    least_between(room, first, last)
    if fill(job, data, room) >= data.slots[job]:
        return -1
    # Looking back from the end: what fails from there fails for every start before.
    least_between(room, last - 1, last)
    for step in range(last - 1, first, -1):
        row = room.row[step]
        if room.drop[row]:
            _narrow(room.least, room.free[row])
            if _slots(job, data, room, room.least, data.slots[job]) < data.slots[job]:
                return step
    return first


@compiled
def least_between(room: NodeRoom, first: int, last: int) -> None:
    """Put into ``room.least`` what is free at all steps from `first` to before `last`."""
    free = room.free[room.row[first]]
    for resource in range(free.shape[0]):
        for node in range(free.shape[1]):
            room.least[resource, node] = free[resource, node]
    for step in range(first + 1, last):
        if room.drop[room.row[step]]:
            _narrow(room.least, room.free[room.row[step]])


@compiled
def _narrow(least: IntArray, free: IntArray) -> None:
    for resource in range(free.shape[0]):
        for node in range(free.shape[1]):
            least[resource, node] = min(least[resource, node], free[resource, node])


@compiled
def _slots(job: int, data: NodeData, room: NodeRoom, free: IntArray, enough: int) -> int:
    """Return how many slots of a job fit in `free`; some number not below `enough` once that is reached."""
    total = 0
    for node in range(free.shape[1]):
        fit = enough - total
        for resource in range(free.shape[0]):
            amount = data.demand[job, resource]
            if amount:
                there = free[resource, node]
                if there < amount:
                    fit = 0
                    break
                if there < fit * amount:
                    fit = there // amount
        total += fit
        if total >= enough:
            break
    return total


@compiled
def fill(job: int, data: NodeData, room: NodeRoom) -> int:
    """Count the slots of a job that fit on each node of ``room.least`` into ``room.fits``; return their sum."""
    total = 0
    for node in range(len(room.fits)):
        fit = data.slots[job]
        for resource in range(data.demand.shape[1]):
            amount = data.demand[job, resource]
            if amount:
                there = room.least[resource, node]
                if there < amount:
                    fit = 0
                    break
                if there < fit * amount:
                    fit = there // amount
        room.fits[node] = fit
        total += fit
    return total


@compiled
def choose_nodes(job: int, data: NodeData, room: NodeRoom, counts: IntArray) -> None:
    """Put the slots on nodes of which ``room.fits`` can take some: in their order, or the least free share first."""
    nodes = len(counts)
    slots = data.slots[job]
    for node in range(nodes):
        counts[node] = 0
    if not data.best_fit:
        for node in range(nodes):
            counts[node] = min(slots, room.fits[node])
            slots -= counts[node]
        return
    share = np.empty(nodes)
    for node in range(nodes):
        share[node] = 0.0
        if room.fits[node]:
            for resource in range(data.capacity.shape[0]):
                share[node] += room.least[resource, node] / data.capacity[resource, node]
    while slots:
        best = -1
        for node in range(nodes):
            if room.fits[node] and not counts[node] and (best < 0 or share[node] < share[best]):
                best = node
        counts[best] = min(slots, room.fits[best])
        slots -= counts[best]


@compiled
def hold_on_nodes(job: int, data: NodeData, room: NodeRoom, steps: int, first: int, last: int, counts: IntArray) -> int:
    """Take a job's amounts out of the profile from a step until its end, before step `last`; return how many steps."""
    end = room.at[first] + data.duration[job]
    resources, nodes = room.least.shape
    if last == steps or room.at[last] != end:
        for step in range(steps, last, -1):
            room.at[step] = room.at[step - 1]
            room.row[step] = room.row[step - 1]
        old = room.row[last - 1]
        room.at[last] = end
        room.row[last] = steps
        room.drop[steps] = False
        for kind in range(room.known.shape[1]):
            room.known[steps, kind] = room.known[old, kind]
        for resource in range(resources):
            room.total[steps, resource] = room.total[old, resource]
            for node in range(nodes):
                room.free[steps, resource, node] = room.free[old, resource, node]
        steps += 1
    room.drop[room.row[first]] = True
    for node in range(nodes):
        if counts[node]:
            for resource in range(resources):
                amount = counts[node] * data.demand[job, resource]
                if amount:
                    for step in range(first, last):
                        room.free[room.row[step], resource, node] -= amount
                        room.total[room.row[step], resource] -= amount
    return steps
