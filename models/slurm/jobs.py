"""What the scheduler of Slurm looks at: waiting jobs in the order in which they are tried, running jobs and nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...base import BoolArray, IntArray


class WaitingJobs(NamedTuple):
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
        Amounts per slot, shape (jobs, resources).
    limit
        Time limits, seconds.
    per_cpu
        What of its demand a job asks for per CPU (``--mem-per-cpu``), which limits the CPUs that it can have of a node;
        0 where it does not; shape (jobs, resources).
    by_node
        What a job whose slots fill nodes asks for per node (``--mem``, ``--gpus-per-node``), and takes once of each of
        its nodes; shape (jobs, resources).
    place
        Place in the list of all jobs, which is in order of submission; running jobs whose limits end together are taken
        in its order.
    """

    partition: IntArray
    slots: IntArray
    apart: BoolArray
    demand: IntArray
    limit: IntArray
    per_cpu: IntArray
    by_node: IntArray
    place: IntArray


class RunningJob(NamedTuple):
    """A running job.

    Attributes
    ----------
    end
        When its limit ends, seconds since 1970.
    nodes, slots
        Its nodes, and its slots on each of them.
    demand
        Amounts per slot.
    place
        As :attr:`WaitingJobs.place`.
    by_node
        Amounts per node beside; none by default.
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
    gpu_types
        How many resources after the GPUs are types of these.
    """

    free: IntArray
    members: BoolArray
    primary: int
    weight: IntArray
    total: IntArray = np.empty((0, 0), np.int64)
    gpu: int = -1
    memory: int = -1
    gpu_types: int = 0


class JobTable(NamedTuple):
    """Jobs with their nodes: a row for each running job, then one for each waiting job.

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
        Amounts per slot, and per node beside, shape (rows, resources).
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


def job_table(running: Sequence[RunningJob], waiting: WaitingJobs, nodes: int) -> JobTable:
    """Return the table of running jobs with room for the waiting ones, on a machine of so many nodes."""
    count, jobs, resources = len(running), len(waiting.slots), waiting.demand.shape[1]
    used = [len(job.nodes) for job in running]
    filled = sum(used)
    node, slots = np.empty((2, filled + int(np.minimum(waiting.slots, nodes).sum())), np.int64)
    end, place, begin, stop, order = np.zeros((5, count + jobs), np.int64)
    demand, by_node = np.zeros((2, count + jobs, resources), np.int64)
    if running:
        np.concatenate([job.nodes for job in running], out=node[:filled])
        np.concatenate([job.slots for job in running], out=slots[:filled])
        end[:count], place[:count] = [job.end for job in running], [job.place for job in running]
        demand[:count] = [job.demand for job in running]
        by_node[:count] = [job.by_node or [0] * resources for job in running]
    place[count:], demand[count:], by_node[count:] = waiting.place, waiting.demand, waiting.by_node
    stop[:count] = np.cumsum(used)
    begin[:count] = stop[:count] - used
    order[:count] = np.lexsort((place[:count], end[:count]))
    start = np.full(count + jobs, -1, dtype=np.int64)
    return JobTable(end, place, start, begin, stop, node, slots, demand, by_node, order, np.array([count, filled]))
