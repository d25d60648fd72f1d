"""Compiled placement of jobs that start now. Nodes with equal free amounts form one group.

A group is a range in a list of nodes. A job that uses some nodes of a group splits it in two. So the work depends on
the number of different nodes, not on all nodes.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...base import FloatArray, IntArray
from ..compiled import borrowing, compiled, within
from .node_classes import NodeClasses, equal_rows


class NodeGroups(NamedTuple):
    """Groups of nodes with equal free amounts. Shape (groups,) but for `free`.

    Attributes
    ----------
    first
        Position of the group in the list of nodes.
    size
        Number of nodes.
    free
        Free amounts of each node, shape (resources, groups).
    """

    first: IntArray
    size: IntArray
    free: IntArray


class JobsNow(NamedTuple):
    """What jobs ask for. Shape (jobs,) but for `demand`.

    Attributes
    ----------
    slots
        Slots.
    kind
        Number of the distinct demand.
    demand
        Amounts per slot, shape (jobs, resources).
    """

    slots: IntArray
    kind: IntArray
    demand: IntArray


class NodesNow(NamedTuple):
    """The nodes now, and the demands of the jobs.

    Attributes
    ----------
    jobs
        Columns of :class:`JobsNow`, shape (jobs, 2 + resources).
    nodes
        Nodes, group by group. Empty for a plain pool.
    begin
        Block of :class:`NodeGroups` beside the occupied amounts, shape (2 + resources, groups).
    weight
        Best-fit weight per unit of each resource, shape (resources,).
    room
        Block of :class:`NodeGroups` of the current decoding, shape (2 + resources, most).
    fits
        Slots of a job that fit on a node of each group. Shape (most,).
    later
        Earliest start after now, seconds from now, shape (1,).
    refused
        Least number of slots of each kind that did not fit. Shape (kinds,). As many never fit later either.
    """

    jobs: IntArray
    nodes: IntArray
    begin: IntArray
    weight: FloatArray
    room: IntArray
    fits: IntArray
    later: IntArray
    refused: IntArray


@within
def _groups(table: IntArray) -> NodeGroups:
    return NodeGroups(table[0], table[1], table[2:])


@within
def _jobs(instant: NodesNow) -> JobsNow:
    return JobsNow(instant.jobs[:, 0], instant.jobs[:, 1], instant.jobs[:, 2:])


@borrowing
def copy_slots(instant: NodesNow, rows: NDArray[np.void]) -> None:
    """Set `slots` and `kind` of each row to those of a job."""
    jobs = _jobs(instant)
    for row in range(len(rows)):
        rows[row].slots, rows[row].kind = jobs.slots[row], jobs.kind[row]


def instant_of(nodes: NodeClasses, slots: IntArray, demand: IntArray, later: int) -> NodesNow:
    """Prepare the `nodes` of one instant. Their capacity is the free amounts.

    Best fit weighs each resource by its scarcity. A job that does not fit now starts at `later` or after.
    """
    first, kind = equal_rows(demand)
    kinds, rows = demand[first], nodes.capacity
    useful = np.flatnonzero((kinds[None] <= rows[:, None]).all(axis=2).sum(axis=1))
    # A job uses all nodes of some groups, some nodes of one more, and a part of one node.
    most = len(useful) + 2 * len(slots) + 1
    begin = np.ascontiguousarray(np.column_stack((nodes.begin[useful], nodes.count[useful], rows[useful])).T)
    return NodesNow(
        np.column_stack((slots, kind, demand)),
        nodes.members,
        begin,
        1 / np.maximum(rows.max(axis=0, initial=1), 1),
        np.empty((len(begin), most), dtype=np.int64),
        np.empty(most, dtype=np.int64),
        np.array([later]),
        np.empty(len(kinds), dtype=np.int64),
    )


@compiled
def no_instant() -> NodesNow:
    """Return an instant without nodes: each job that fits into the pool fits."""
    line = np.zeros(0, dtype=np.int64)
    table = np.zeros((0, 0), dtype=np.int64)
    return NodesNow(table, line, table, np.zeros(0), table, line, line, line)


@borrowing
def slots_on(demand: IntArray, free: IntArray, most: int) -> int:
    """Return how many slots of a demand fit into a node's free amounts, at most `most`."""
    fit = most
    for resource in range(len(demand)):
        amount = demand[resource]
        if amount:
            there = free[resource]
            if there < amount:
                return 0
            if there < fit * amount:
                fit = 1 if there < 2 * amount else there // amount  # A division takes as long as the rest of this loop.
    return fit


@borrowing
def forget_refusals(instant: NodesNow) -> None:
    """Reset `refused`: every job may fit."""
    for kind in range(len(instant.refused)):
        instant.refused[kind] = np.iinfo(np.int64).max


@borrowing
def finds_slots(instant: NodesNow, groups: int, job: int) -> bool:
    """Return whether all slots of a job fit. Store how many fit on a node of each group."""
    jobs = _jobs(instant)
    room = _groups(instant.room)
    fits = instant.fits
    refused = instant.refused
    slots = jobs.slots[job]
    kind = jobs.kind[job]
    total = 0
    if slots >= refused[kind]:
        return False
    for group in range(groups):
        fits[group] = slots_on(jobs.demand[job], room.free[:, group], slots) if room.size[group] else 0
        total += fits[group] * room.size[group]
    if total < slots:
        refused[kind] = slots
    return bool(total >= slots)


@borrowing
def take_slots(instant: NodesNow, groups: int, job: int, counts: IntArray) -> int:
    """Place the slots of a job, on nodes of least free share first. Return the number of groups.

    :func:`finds_slots` must have returned True for this job. `counts`, shape (nodes,) or empty, receives the slots on
    each node.
    """
    table, room = instant.room, _groups(instant.room)
    fits = instant.fits
    weight = instant.weight
    left = _jobs(instant).slots[job]
    demand = _jobs(instant).demand[job]
    known = groups
    while left > 0:
        best, least = -1, np.inf
        for group in range(known):
            if fits[group]:
                share = 0.0
                for resource in range(len(weight)):
                    share += room.free[resource, group] * weight[resource]
                if share < least:
                    best, least = group, share
        most = fits[best]
        fits[best] = 0
        # Fill some nodes completely. One more node takes the remaining slots.
        while left > 0 and room.size[best] > 0:
            fit, group = min(most, left), best
            nodes = min(room.size[best], left // fit)
            if len(counts):
                for place in range(room.first[best], room.first[best] + nodes):
                    counts[instant.nodes[place]] = fit
            left -= fit * nodes
            if fit < most or nodes < room.size[best]:
                group, groups = groups, groups + 1
                for row in range(len(table)):
                    table[row, group] = table[row, best]
                room.size[group] = nodes
                room.first[best] += nodes
                room.size[best] -= nodes
            for resource in range(len(demand)):
                room.free[resource, group] -= fit * demand[resource]
            if group == best:
                break
    return groups


@compiled
def place_in_order(instant: NodesNow, order: IntArray, starts: IntArray, counts: IntArray) -> int:
    """Place the jobs of an order that have the start 0. Fill `counts`. Shape (jobs, nodes).

    Returns
    -------
    Position of the first job that does not fit, where placing stops. -1 if all fit.
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
