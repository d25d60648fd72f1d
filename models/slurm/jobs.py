"""What the scheduler of Slurm looks at: waiting jobs in the order in which they are tried, and running ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...base import BoolArray, IntArray


class Tried(NamedTuple):
    """Waiting jobs in the order in which they are tried: arrays of shape (jobs,).

    Attributes
    ----------
    partition
        Row of `Cluster.members`.
    slots
        Node slots: the tasks of ``-n``, or the nodes of ``-N``.
    apart
        Whether each slot takes a node of its own (``-N``); else slots fill nodes (``-n``).
    demand
        Amounts a slot asks for, shape (jobs, resources).
    limit
        Time limits, seconds.
    per_cpu
        What of its demand a job asks for by CPU (``--mem-per-cpu``), so that it limits the CPUs that it can have of a
        node: amounts a CPU, else 0; shape (jobs, resources).
    """

    partition: IntArray
    slots: IntArray
    apart: BoolArray
    demand: IntArray
    limit: IntArray
    per_cpu: IntArray


class Cluster(NamedTuple):
    """The nodes.

    Attributes
    ----------
    free
        Free amounts, shape (nodes, resources); what starts is taken off.
    members
        Which nodes a partition has, shape (partitions, nodes).
    primary
        The resource of which nodes are chosen by how much is free: the cores.
    weight
        Of each node, shape (nodes,): those of the lowest are taken first.
    """

    free: IntArray
    members: BoolArray
    primary: int
    weight: IntArray


class Placed(NamedTuple):
    """Jobs with their nodes: a row for each of the running ones, then one for each of those that are tried.

    Attributes
    ----------
    end
        When the limit of a running job ends, shape (rows,).
    start
        When a job starts, as far as it is known, else -1; shape (rows,).
    begin, stop
        Where the nodes of a job begin and stop in `node`.
    node, slots
        Nodes, and how many slots of the job are on each.
    demand
        Amounts of a slot, shape (rows, resources).
    order
        Rows of the jobs that run, in the order in which their limits end.
    counts
        How many run, and how far `node` is filled.
    """

    end: IntArray
    start: IntArray
    begin: IntArray
    stop: IntArray
    node: IntArray
    slots: IntArray
    demand: IntArray
    order: IntArray
    counts: IntArray

    def nodes_of(self, row: int) -> IntArray:
        """Return the nodes of a job."""
        return self.node[self.begin[row] : self.stop[row]]

    def slots_of(self, row: int) -> IntArray:
        """Return how many slots of a job are on each of its nodes."""
        return self.slots[self.begin[row] : self.stop[row]]


def placed(running: Sequence[tuple[int, IntArray, IntArray, Sequence[int]]], tried: Tried, nodes: int) -> Placed:
    """Return the table of running jobs with room for those that are tried on a machine of so many nodes.

    Parameters
    ----------
    running
        Of each running job the end of its limit, its nodes, its slots on each of them, and the demand of a slot; those
        whose limits end together in the order of their submission.
    tried
        The waiting jobs.
    nodes
        Nodes of the machine.
    """
    count, jobs = len(running), len(tried.slots)
    used = [len(row[1]) for row in running]
    filled = sum(used)
    node, slots = (np.empty(filled + int(np.minimum(tried.slots, nodes).sum()), np.int64) for _ in range(2))
    if running:
        np.concatenate([row[1] for row in running], out=node[:filled])
        np.concatenate([row[2] for row in running], out=slots[:filled])
    end, demand = np.zeros(count + jobs, np.int64), np.empty((count + jobs, tried.demand.shape[1]), np.int64)
    end[:count] = [row[0] for row in running]
    if running:
        demand[:count] = [row[3] for row in running]
    demand[count:] = tried.demand
    begin, stop, order = (np.zeros(count + jobs, np.int64) for _ in range(3))
    stop[:count] = np.cumsum(used)
    begin[:count] = stop[:count] - used
    order[:count] = np.argsort(end[:count], kind="stable")
    start = np.full(count + jobs, -1, dtype=np.int64)
    return Placed(end, start, begin, stop, node, slots, demand, order, np.array([count, filled]))
