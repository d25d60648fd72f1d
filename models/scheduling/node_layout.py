"""Problems on nodes laid out as compiled code wants them: nodes beside each other in memory, so that they go in one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...base import IntArray
from ..compiled import compiled


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
    times
        When the profile changes, shape (steps,).
    free
        What is free from each of them on, shape (steps, resources, nodes).
    total
        Sum of what is free over the nodes, negative amounts as zero, shape (steps, resources).
    drop
        Whether anything is less than at the step before, shape (steps,). Where it is not, what fitted goes on to fit.
    known
        An upper bound on the slots of each kind of demand that fit at each step, shape (steps, kinds).
    capacity
        Shape (resources, nodes), at least 1.
    best_fit
        Whether the nodes of least free share come first.
    """

    duration: IntArray
    slots: IntArray
    demand: IntArray
    kind: IntArray
    times: IntArray
    free: IntArray
    total: IntArray
    drop: NDArray[np.bool_]
    known: IntArray
    capacity: IntArray
    best_fit: bool


class NodeRoom(NamedTuple):
    """A profile that is being filled, with room for more steps.

    Attributes
    ----------
    at
        Times of the steps in their order, shape (most,).
    row
        Where the amounts of a step are, shape (most,).
    free, total, drop, known
        As in :class:`NodeData`, by row.
    least
        What is free all the time that a job would run, shape (resources, nodes).
    fits
        Slots that fit on each node all that time, shape (nodes,).
    """

    at: IntArray
    row: IntArray
    free: IntArray
    total: IntArray
    drop: NDArray[np.bool_]
    known: IntArray
    least: IntArray
    fits: IntArray


def node_arrays(
    profile: tuple[IntArray, IntArray],
    duration: IntArray,
    slots: IntArray,
    demand: IntArray,
    capacity: IntArray,
    best_fit: bool,
) -> tuple[NodeData, NodeRoom]:
    """Lay out the inputs of a decoding, and room for it."""
    times, free = profile
    _, kind = np.unique(demand, axis=0, return_inverse=True)
    kind = np.ascontiguousarray(kind.ravel(), dtype=np.int64)
    kinds = int(kind.max(initial=-1)) + 1
    known = np.full((len(times), kinds), np.iinfo(np.int64).max)
    nodes, resources = capacity.shape
    by_resource = np.ascontiguousarray(free.transpose(0, 2, 1))
    data = NodeData(
        duration, slots, demand, kind, times, by_resource, np.maximum(by_resource, 0).sum(axis=2),
        np.diff(free, axis=0, prepend=free[:1]).min(axis=(1, 2), initial=0) < 0, known,
        np.ascontiguousarray(np.maximum(capacity, 1).T), best_fit,
    )  # fmt: skip
    most = len(times) + len(duration) + 1
    room = NodeRoom(
        np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64),
        np.empty((most, resources, nodes), dtype=np.int64), np.empty((most, resources), dtype=np.int64),
        np.empty(most, dtype=np.bool_), np.empty((most, kinds), dtype=np.int64),
        np.empty((resources, nodes), dtype=np.int64), np.empty(nodes, dtype=np.int64),
    )  # fmt: skip
    return data, room


@compiled
def no_nodes() -> tuple[NodeData, NodeRoom]:
    """Return the inputs of a decoding on no nodes."""
    line, table = np.zeros(0, dtype=np.int64), np.zeros((0, 0), dtype=np.int64)
    cube, drop = np.zeros((0, 0, 0), dtype=np.int64), np.zeros(0, dtype=np.bool_)
    data = NodeData(line, line, table, line, line, cube, table, drop, table, table, False)
    return data, NodeRoom(line, line, cube, table, drop, table, table, line)
