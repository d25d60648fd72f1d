"""Problems on nodes laid out as compiled code wants them: classes of nodes beside each other, to go in one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...base import FloatArray, IntArray
from .node_classes import NodeClasses, equal_rows

#: Where a room has its numbers: of its parts, of its rows, and of the parts that a job was given.
PARTS, ROWS, GIVEN = range(3)


class NodeData(NamedTuple):
    """What a decoding reads.

    Attributes
    ----------
    duration, slots
        Of each job, shape (jobs,).
    demand
        Of a slot, shape (jobs, resources).
    kind
        Number of the job's demand among the different ones, shape (jobs,).
    members, begin
        The nodes, class by class, and where those of each class begin; as in :class:`.node_classes.NodeClasses`.
    times
        When the profile changes, shape (steps,).
    free
        What is free on a node of each class from each of them on, shape (steps, resources, classes).
    total
        Sum of what is free over the nodes, negative amounts as zero, shape (steps, resources).
    drop
        Whether anything is less than at the step before, shape (steps,). Where it is not, what fitted goes on to fit.
    known
        An upper bound on the slots of each kind of demand that fit at each step, shape (steps, kinds).
    capacity
        Of a node of each class, shape (resources, classes), at least 1.
    best_fit
        Whether the nodes of least free share come first.
    """

    duration: IntArray
    slots: IntArray
    demand: IntArray
    kind: IntArray
    members: IntArray
    begin: IntArray
    times: IntArray
    free: IntArray
    total: IntArray
    drop: NDArray[np.bool_]
    known: IntArray
    capacity: IntArray
    best_fit: bool


class NodeRoom(NamedTuple):
    """A profile that is being filled, with room for more steps and for more parts of classes.

    A job that takes some nodes of a part splits it: those nodes, and those it leaves, are parts of their own from then
    on. Of every part the job has as many slots on each node.

    Attributes
    ----------
    numbers
        How many parts and rows there are, and parts that a job was given; see :data:`PARTS`.
    first, nodes
        Where the nodes of each part begin among the members, and how many they are, shape (most parts,).
    origin
        Class of each part.
    at
        Times of the steps in their order, shape (most,).
    row
        Where the amounts of a step are, shape (most,).
    free, total, drop, known
        As in :class:`NodeData`, by row, and free by part.
    least
        What is free on a node of each part all the time that a job would run, shape (resources, most parts).
    fits
        Slots that fit on a node of each part all that time, shape (most parts,).
    share
        Free share of the nodes of each part, shape (most parts,).
    given, slots
        Parts that the last job was given, and its slots on each node of them, shape (most parts,).
    taken
        How many nodes of each part are, while they are being chosen, shape (most parts,).
    """

    numbers: IntArray
    first: IntArray
    nodes: IntArray
    origin: IntArray
    at: IntArray
    row: IntArray
    free: IntArray
    total: IntArray
    drop: NDArray[np.bool_]
    known: IntArray
    least: IntArray
    fits: IntArray
    share: FloatArray
    given: IntArray
    slots: IntArray
    taken: IntArray


def node_arrays(
    classes: NodeClasses, duration: IntArray, slots: IntArray, demand: IntArray, best_fit: bool
) -> tuple[NodeData, NodeRoom]:
    """Lay out the inputs of a decoding, and room for it."""
    times, free = classes.times, classes.free
    _, kind = equal_rows(demand)
    kind = np.ascontiguousarray(kind, dtype=np.int64)
    kinds = int(kind.max(initial=-1)) + 1
    known = np.full((len(times), kinds), np.iinfo(np.int64).max)
    by_resource = np.ascontiguousarray(free.transpose(0, 2, 1))
    data = NodeData(
        duration, slots, demand, kind, classes.members, classes.begin, times, by_resource,
        np.maximum(by_resource, 0) @ classes.count,
        np.diff(free, axis=0, prepend=free[:1]).min(axis=(1, 2), initial=0) < 0, known,
        np.ascontiguousarray(np.maximum(classes.capacity, 1).T), best_fit,
    )  # fmt: skip
    return data, _room(len(times) + len(duration) + 1, free.shape[2], len(classes.members), kinds)


def _room(most: int, resources: int, parts: int, kinds: int) -> NodeRoom:
    """Return room for so many steps and parts; of what is never used the machine's memory is never asked for."""
    line, by_part = np.empty(most, dtype=np.int64), np.empty((7, parts), dtype=np.int64)
    return NodeRoom(
        np.zeros(3, dtype=np.int64), by_part[0], by_part[1], by_part[2], line, np.empty_like(line),
        np.empty((most, resources, parts), dtype=np.int64), np.empty((most, resources), dtype=np.int64),
        np.empty(most, dtype=np.bool_), np.empty((most, kinds), dtype=np.int64),
        np.empty((resources, parts), dtype=np.int64), by_part[3], np.empty(parts), by_part[4], by_part[5], by_part[6],
    )  # fmt: skip


def no_nodes() -> tuple[NodeData, NodeRoom]:
    """Return the inputs of a decoding on no nodes."""
    line, table = np.zeros(0, dtype=np.int64), np.zeros((0, 0), dtype=np.int64)
    cube, drop = np.zeros((0, 0, 0), dtype=np.int64), np.zeros(0, dtype=np.bool_)
    data = NodeData(line, line, table, line, line, line, line, cube, table, drop, table, table, False)
    return data, _room(0, 0, 0, 0)
