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
    by_node
        What a job whose slots fill nodes asks for by node (``--mem``, ``--gpus-per-node``), and takes once of each that
        it is on: amounts, shape (jobs, resources), or (jobs, 0) where no job does.
    place
        Place in the list of all jobs, which is that of their submission; running jobs whose limits end together are
        taken in its order.
    """

    partition: IntArray
    slots: IntArray
    apart: BoolArray
    demand: IntArray
    limit: IntArray
    per_cpu: IntArray
    by_node: IntArray
    place: IntArray


class Held(NamedTuple):
    """A running job.

    Attributes
    ----------
    end
        When its limit ends, seconds since 1970.
    nodes, slots
        Its nodes, and its slots on each of them.
    demand
        Amounts of a slot.
    place
        As :attr:`Tried.place`.
    by_node
        What it holds of each node beside; nothing by default.
    """

    end: int
    nodes: IntArray
    slots: IntArray
    demand: Sequence[int]
    place: int = 0
    by_node: Sequence[int] = ()


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
        Of each node, shape (nodes,): those of the lowest are taken first. Where there are GPUs, those of
        :func:`.weights_below`, which tests change.
    total
        Amounts that nodes have, shape (nodes, resources); of use only where there are GPUs.
    gpu, memory
        These resources, -1 for none.
    """

    free: IntArray
    members: BoolArray
    primary: int
    weight: IntArray
    total: IntArray = np.empty((0, 0), np.int64)
    gpu: int = -1
    memory: int = -1


class Placed(NamedTuple):
    """Jobs with their nodes: a row for each of the running ones, then one for each of those that are tried.

    Attributes
    ----------
    end, place
        When the limit of a running job ends, and its place in the list of jobs, shape (rows,).
    start
        When a job starts, as far as it is known, else -1; shape (rows,).
    begin, stop
        Where the nodes of a job begin and stop in `node`.
    node, slots
        Nodes, and how many slots of the job are on each.
    demand, by_node
        Amounts of a slot, and of a node beside, shape (rows, resources) as those of the jobs that are tried.
    order
        Rows of the jobs that run, in the order in which their limits end.
    counts
        How many run, and how far `node` is filled.
    """

    end: IntArray
    place: IntArray
    start: IntArray
    begin: IntArray
    stop: IntArray
    node: IntArray
    slots: IntArray
    demand: IntArray
    by_node: IntArray
    order: IntArray
    counts: IntArray

    def nodes_of(self, row: int) -> IntArray:
        """Return the nodes of a job."""
        return self.node[self.begin[row] : self.stop[row]]

    def slots_of(self, row: int) -> IntArray:
        """Return how many slots of a job are on each of its nodes."""
        return self.slots[self.begin[row] : self.stop[row]]


def placed(running: Sequence[Held], tried: Tried, nodes: int) -> Placed:
    """Return the table of running jobs with room for those that are tried on a machine of so many nodes.

    Parameters
    ----------
    running
        The running jobs.
    tried
        The waiting jobs.
    nodes
        Nodes of the machine.
    """
    count, jobs = len(running), len(tried.slots)
    used = [len(row.nodes) for row in running]
    filled = sum(used)
    node, slots = (np.empty(filled + int(np.minimum(tried.slots, nodes).sum()), np.int64) for _ in range(2))
    if running:
        np.concatenate([row.nodes for row in running], out=node[:filled])
        np.concatenate([row.slots for row in running], out=slots[:filled])
    end, place = np.zeros((2, count + jobs), np.int64)
    demand, beside = (np.zeros((count + jobs, each.shape[1]), np.int64) for each in (tried.demand, tried.by_node))
    end[:count], place[:count] = [row.end for row in running], [row.place for row in running]
    place[count:], demand[count:], beside[count:] = tried.place, tried.demand, tried.by_node
    if running:
        demand[:count] = [row.demand for row in running]
    if beside.shape[1]:
        beside[:count] = [row.by_node or [0] * beside.shape[1] for row in running] or 0
    begin, stop, order = (np.zeros(count + jobs, np.int64) for _ in range(3))
    stop[:count] = np.cumsum(used)
    begin[:count] = stop[:count] - used
    order[:count] = np.lexsort((place[:count], end[:count]))
    start = np.full(count + jobs, -1, dtype=np.int64)
    return Placed(end, place, start, begin, stop, node, slots, demand, beside, order, np.array([count, filled]))
