"""Which jobs find places on the nodes at one instant, compiled: nodes of equal free amounts are one group.

A group is a stretch of a list of nodes. A job that takes some nodes of a group splits it in two; the work hangs on
how many different nodes there are, not on how many.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...base import FloatArray, IntArray
from ..compiled import borrowing, compiled
from .node_classes import NodeClasses, equal_rows


class Groups(NamedTuple):
    """Nodes in groups, with room for more of them.

    Attributes
    ----------
    first, size
        The stretch of each group in the list of nodes, shape (most,).
    free
        What is free on each of its nodes, shape (most, resources).
    """

    first: IntArray
    size: IntArray
    free: IntArray


class Instant(NamedTuple):
    """The nodes now, and what jobs ask of them.

    Attributes
    ----------
    slots, demand
        Of each job, shape (jobs,), and of a slot, shape (jobs, resources).
    kind
        Number of the job's demand among the different ones, shape (jobs,).
    nodes
        The nodes, group by group; none where there is only a pool.
    begin
        The groups beside what is held.
    weight
        What a unit of each resource counts in best fit, shape (resources,).
    room
        Where the groups of a decoding are kept.
    fits
        Slots of a job that fit on a node of each group, shape (most,).
    share
        Free share of a node of each group, as far as slots of the job fit there, shape (most,).
    later
        When the next jobs may start after those that start now, seconds from now.
    refused
        The least number of slots of each kind that found no place, shape (kinds,): there will be none later.
    """

    slots: IntArray
    demand: IntArray
    kind: IntArray
    nodes: IntArray
    begin: Groups
    weight: FloatArray
    room: Groups
    fits: IntArray
    share: FloatArray
    later: int
    refused: IntArray


def instant_of(nodes: NodeClasses, slots: IntArray, demand: IntArray, later: int) -> Instant:
    """Lay out the `nodes` of one instant, of which what is free is the capacity.

    A unit of a resource counts in best fit by how scarce it is. A job that finds no place now starts at `later` at the
    earliest.
    """
    first, kind = equal_rows(demand)
    kinds, rows = demand[first], nodes.capacity
    holds = (kinds[None] <= rows[:, None]).all(axis=2)
    useful = np.flatnonzero(holds.sum(axis=1))
    # A job takes all nodes of some groups, some of one more, and fills a part of one node.
    most = len(useful) + 2 * len(slots) + 1
    begin = Groups(nodes.begin[useful], nodes.count[useful], np.ascontiguousarray(rows[useful]))
    room = Groups(
        np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64), np.empty((most, rows.shape[1]), dtype=np.int64)
    )
    weight = 1 / np.maximum(rows.max(axis=0, initial=1), 1)
    fits, refused = np.empty(most, dtype=np.int64), np.empty(len(kinds), dtype=np.int64)
    return Instant(slots, demand, kind, nodes.members, begin, weight, room, fits, np.empty(most), later, refused)


@borrowing
def slots_on(demand: IntArray, free: IntArray, most: int) -> int:
    """Return how many slots of a demand fit into what is free on a node, counted up to `most`."""
    fit = most
    for resource in range(len(demand)):
        amount = demand[resource]
        if amount:
            there = free[resource]
            if there < amount:
                return 0
            if there < fit * amount:
                fit = 1 if there < 2 * amount else there // amount  # A division takes as long as all else here.
    return fit


@compiled
def no_instant() -> Instant:
    """Return an instant without nodes: whatever the pool has room for finds a place."""
    line, table = np.zeros(0, dtype=np.int64), np.zeros((0, 0), dtype=np.int64)
    groups = Groups(line, line, table)
    return Instant(line, table, line, line, groups, np.zeros(0), groups, line, np.zeros(0), 1, line)


@borrowing
def open_instant(instant: Instant) -> int:
    """Begin with what is free now; return how many groups."""
    groups = len(instant.begin.size)
    for kind in range(len(instant.refused)):
        instant.refused[kind] = np.iinfo(np.int64).max
    for group in range(groups):
        instant.room.first[group] = instant.begin.first[group]
        instant.room.size[group] = instant.begin.size[group]
        for resource in range(instant.begin.free.shape[1]):
            instant.room.free[group, resource] = instant.begin.free[group, resource]
    return groups


@borrowing
def place_now(job: int, instant: Instant, groups: int, counts: IntArray) -> int:
    """Give a job its slots, on the nodes of least free share first; return how many groups, -1 if it finds no place.

    `counts`, shape (nodes,) or empty, is filled with the slots on each node.
    """
    return take_now(job, instant, groups, counts) if finds_slots(job, instant, groups) else -1


@compiled
def place_in_order(instant: Instant, order: IntArray, starts: IntArray, counts: IntArray) -> None:
    """Place the jobs of an order that start now, those that have `starts` of 0; fill in `counts`, shape (jobs, nodes).

    They find their places, as they did where their starts were found.
    """
    groups = open_instant(instant)
    for job in order:
        if starts[job] == 0:
            groups = place_now(job, instant, groups, counts[job])


@borrowing
def finds_slots(job: int, instant: Instant, groups: int) -> bool:
    """Return whether a job finds all its slots; note how many of them fit on a node of each group."""
    left, kind = instant.slots[job], instant.kind[job]
    if left >= instant.refused[kind]:
        return False
    if _count_slots(job, left, instant.demand, instant.room.free, instant.room.size, groups, instant.fits) >= left:
        return True
    instant.refused[kind] = left
    return False


@borrowing
def _count_slots(
    job: int, most: int, demand: IntArray, free: IntArray, size: IntArray, groups: int, fits: IntArray
) -> int:
    """Fill in how many slots of a job, up to `most`, fit on a node of each group; return how many on all nodes.

    What is called in a loop is handed arrays that it needs, not all of the instant: that would take longer than the
    rest.
    """
    total = 0
    for group in range(groups):
        fits[group] = slots_on(demand[job], free[group], most) if size[group] else 0
        total += fits[group] * size[group]
    return total


@borrowing
def take_now(job: int, instant: Instant, groups: int, counts: IntArray) -> int:
    """Do what :func:`place_now` does for a job that finds its slots, as :func:`finds_slots` has just found."""
    room, fits, share, left = instant.room, instant.fits, instant.share, instant.slots[job]
    demand = instant.demand[job]
    _fill_shares(fits, room.free, instant.weight, groups, share)
    open_groups = groups
    while left:
        best = _fullest(fits, share, open_groups)
        fit, count = fits[best], room.size[best]
        whole = min(count, left // fit)
        _note(instant.nodes, room.first[best], whole, fit, counts)
        if whole == count:
            _take(demand, room.free, best, fit)
        elif whole:
            groups = _split(demand, room, groups, best, whole, fit)
        left -= whole * fit
        if whole < count and left:  # Less is left than a node of them has room for.
            _note(instant.nodes, room.first[best], 1, left, counts)
            groups = _split(demand, room, groups, best, 1, left)
            left = 0
        fits[best] = 0
    return groups


@borrowing
def _fill_shares(fits: IntArray, free: IntArray, weight: FloatArray, groups: int, share: FloatArray) -> None:
    for group in range(groups):
        if fits[group]:
            share[group] = 0.0
            for resource in range(len(weight)):
                share[group] += free[group, resource] * weight[resource]


@borrowing
def _fullest(fits: IntArray, share: FloatArray, groups: int) -> int:
    """Return the group of least free share among those that have room."""
    best, least = -1, np.inf
    for group in range(groups):
        if fits[group] and share[group] < least:
            best, least = group, share[group]
    return best


@borrowing
def _take(demand: IntArray, free: IntArray, group: int, slots: int) -> None:
    for resource in range(len(demand)):
        free[group, resource] -= slots * demand[resource]


@borrowing
def _split(demand: IntArray, room: Groups, groups: int, group: int, nodes: int, slots: int) -> int:
    """Put slots on each of the first nodes of a group, which become a group of their own; return how many groups."""
    room.first[groups], room.size[groups] = room.first[group], nodes
    room.first[group] += nodes
    room.size[group] -= nodes
    for resource in range(len(demand)):
        room.free[groups, resource] = room.free[group, resource] - slots * demand[resource]
    return groups + 1


@borrowing
def _note(nodes: IntArray, first: int, count: int, slots: int, counts: IntArray) -> None:
    if len(counts):
        for place in range(first, first + count):
            counts[nodes[place]] = slots
