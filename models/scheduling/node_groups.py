"""Places on the nodes for jobs that start now, compiled: nodes with equal free amounts are one group.

A group is a stretch of a list of nodes. A job that takes some nodes of a group splits it in two. So the work depends on
the number of different nodes, not on the number of nodes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...base import FloatArray, IntArray
from ..compiled import borrowing, compiled
from .node_classes import NodeClasses, equal_rows

#: Rows of a table of groups: where a group begins in the list of nodes, its nodes, and the free amounts of each node.
FIRST, SIZE, FREE = range(3)
#: Columns of the jobs: slots, the number of the demand among the different ones, and the amounts of a slot.
SLOTS, KIND, DEMAND = range(3)


class Instant(NamedTuple):
    """The nodes now, and what jobs request of them.

    Attributes
    ----------
    jobs
        Slots, kind and demand of each job, shape (jobs, 2 + resources).
    nodes
        The nodes, group by group; none where there is only a pool.
    begin
        The groups beside what is held, shape (2 + resources, groups).
    weight
        What a unit of each resource counts in best fit, shape (resources,).
    room
        The groups of the decoding under way, shape (2 + resources, most).
    fits
        Slots of a job that fit on a node of each group, shape (most,).
    later
        When the next jobs may start after those that start now, seconds from now, shape (1,).
    refused
        The least number of slots of each kind that found no place, shape (kinds,): there is none later either.
    """

    jobs: IntArray
    nodes: IntArray
    begin: IntArray
    weight: FloatArray
    room: IntArray
    fits: IntArray
    later: IntArray
    refused: IntArray


def instant_of(nodes: NodeClasses, slots: IntArray, demand: IntArray, later: int) -> Instant:
    """Lay out the `nodes` of one instant, whose capacity is what is free.

    A unit of a resource counts in best fit by its scarcity. A job that finds no place now starts at `later` or after.
    """
    first, kind = equal_rows(demand)
    kinds, rows = demand[first], nodes.capacity
    useful = np.flatnonzero((kinds[None] <= rows[:, None]).all(axis=2).sum(axis=1))
    # A job takes all nodes of some groups, some of one more, and fills a part of one node.
    most = len(useful) + 2 * len(slots) + 1
    begin = np.ascontiguousarray(np.column_stack((nodes.begin[useful], nodes.count[useful], rows[useful])).T)
    return Instant(
        np.column_stack((slots, kind, demand)), nodes.members, begin, 1 / np.maximum(rows.max(axis=0, initial=1), 1),
        np.empty((len(begin), most), dtype=np.int64), np.empty(most, dtype=np.int64), np.array([later]),
        np.empty(len(kinds), dtype=np.int64),
    )  # fmt: skip


@compiled
def no_instant() -> Instant:
    """Return an instant without nodes: any job that the pool has room for finds a place."""
    line, table = np.zeros(0, dtype=np.int64), np.zeros((0, 0), dtype=np.int64)
    return Instant(table, line, table, np.zeros(0), table, line, line, line)


@borrowing
def slots_on(demand: IntArray, free: IntArray, most: int) -> int:
    """Return how many slots of a demand fit into the free amounts of a node, counted up to `most`."""
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


@borrowing
def forget_refusals(instant: Instant) -> None:
    """Note that every job may find a place."""
    for kind in range(len(instant.refused)):
        instant.refused[kind] = np.iinfo(np.int64).max


@borrowing
def finds_slots(instant: Instant, groups: int, job: int) -> bool:
    """Return whether a job finds all its slots; note how many of them fit on a node of each group."""
    jobs, room, fits, refused = instant.jobs, instant.room, instant.fits, instant.refused
    slots, kind, total = jobs[job, SLOTS], jobs[job, KIND], 0
    if slots >= refused[kind]:
        return False
    for group in range(groups):
        fits[group] = slots_on(jobs[job, DEMAND:], room[FREE:, group], slots) if room[SIZE, group] else 0
        total += fits[group] * room[SIZE, group]
    if total < slots:
        refused[kind] = slots
    return bool(total >= slots)


@borrowing
def take_slots(instant: Instant, groups: int, job: int, counts: IntArray) -> int:
    """Give a job its slots, on the nodes of least free share first; return how many groups there are.

    The slots are there, as :func:`finds_slots` has just found. `counts`, shape (nodes,) or empty, is filled with the
    slots on each node.
    """
    room, fits, weight, left = instant.room, instant.fits, instant.weight, instant.jobs[job, SLOTS]
    demand, known = instant.jobs[job, DEMAND:], groups
    while left > 0:
        best, least = -1, np.inf
        for group in range(known):
            if fits[group]:
                share = 0.0
                for resource in range(len(weight)):
                    share += room[FREE + resource, group] * weight[resource]
                if share < least:
                    best, least = group, share
        most = fits[best]
        fits[best] = 0
        # Some nodes take as many slots as fit; then one node takes the rest, if less is left than fits.
        while left > 0 and room[SIZE, best] > 0:
            fit, group = min(most, left), best
            nodes = min(room[SIZE, best], left // fit)
            if len(counts):
                for place in range(room[FIRST, best], room[FIRST, best] + nodes):
                    counts[instant.nodes[place]] = fit
            left -= fit * nodes
            if fit < most or nodes < room[SIZE, best]:
                group, groups = groups, groups + 1
                for row in range(len(room)):
                    room[row, group] = room[row, best]
                room[SIZE, group] = nodes
                room[FIRST, best] += nodes
                room[SIZE, best] -= nodes
            for resource in range(len(demand)):
                room[FREE + resource, group] -= fit * demand[resource]
            if group == best:
                break
    return groups


@compiled
def place_in_order(instant: Instant, order: IntArray, starts: IntArray, counts: IntArray) -> int:
    """Place the jobs of an order that start now, those that have `starts` of 0; fill in `counts`, shape (jobs, nodes).

    Returns
    -------
    The position of the first job in the order that finds no place, with which it ends; -1 if there is none.
    """
    groups = instant.begin.shape[1]
    forget_refusals(instant)
    for row in range(instant.begin.shape[0]):
        for group in range(groups):
            instant.room[row, group] = instant.begin[row, group]
    for position in range(len(order)):
        job = order[position]
        if starts[job] == 0:
            if not finds_slots(instant, groups, job):
                return position
            groups = take_slots(instant, groups, job, counts[job])
    return -1
