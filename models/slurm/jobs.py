"""Input of Slurm's scheduler: waiting jobs in scheduling order, running jobs and nodes."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...base import BoolArray, IntArray


class SlurmQueue(NamedTuple):
    """Waiting jobs in scheduling order: arrays of shape (jobs,).

    Attributes
    ----------
    partition
        Row of `Cluster.members`.
    slots
        Node slots: the tasks of ``-n``, or the nodes of ``-N``.
    apart
        Whether each slot needs its own node (``-N``). Otherwise slots share nodes (``-n``).
    demand
        Amounts per slot, shape (jobs, resources).
    limit
        Walltimes, seconds.
    per_cpu
        Amounts per CPU (``--mem-per-cpu``), 0 where there are none. They limit the job's CPUs on a node. Shape (jobs,
        resources).
    by_node
        Amounts per node for jobs with shared nodes (``--mem``, ``--gpus-per-node``). Counted once per node. Shape
        (jobs, resources).
    place
        Position in the list of all jobs, in order of submission. It breaks ties between running jobs with equal ends.
    least, wanted, most
        Least number of nodes of each job, the number that it gets if there is room, and the largest number. With shape
        (0,): its slots if they lie apart. Otherwise 1, 1, and its slots.
    together
        The heterogeneous job of each component, -1 for other jobs. With shape (0,): none. Components start together.
    """

    partition: IntArray
    slots: IntArray
    apart: BoolArray
    demand: IntArray
    limit: IntArray
    per_cpu: IntArray
    by_node: IntArray
    place: IntArray
    least: IntArray = np.empty(0, np.int64)
    wanted: IntArray = np.empty(0, np.int64)
    most: IntArray = np.empty(0, np.int64)
    together: IntArray = np.empty(0, np.int64)


class SlurmRun(NamedTuple):
    """A running job.

    Attributes
    ----------
    end
        End of its walltime, seconds since 1970.
    nodes, slots
        Its nodes, and its slots on each.
    demand
        Amounts per slot.
    place
        As :attr:`SlurmQueue.place`.
    by_node
        Further amounts per node. None by default.
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
        Free amounts, shape (nodes, resources). Starts reduce it.
    members
        Nodes of each partition, shape (partitions, nodes).
    primary
        Resource that decides between nodes: the cores.
    weight
        Weight of each node, shape (nodes,). The lowest is chosen first. With GPUs, the weights of
        :func:`.weights_below`, which tests change.
    total
        Amounts of each node, shape (nodes, resources). Used only with GPUs.
    gpu, memory
        Numbers of these resources, -1 for none.
    gpu_types
        Number of resources after the GPUs that are GPU types.
    idle
        Nodes without a job, shape (nodes,). Jobs that start later prefer others (``bf_busy_nodes``). Empty: no
        preference.
    """

    free: IntArray
    members: BoolArray
    primary: int
    weight: IntArray
    total: IntArray = np.empty((0, 0), np.int64)
    gpu: int = -1
    memory: int = -1
    gpu_types: int = 0
    idle: BoolArray = np.empty(0, np.bool_)


class JobTable(NamedTuple):
    """Jobs and their nodes: a row per running job, then a row per waiting job.

    Attributes
    ----------
    end, place
        End of a running job's walltime, and its position in the list of jobs. Shape (rows,).
    start
        Start of a job, or -1 if unknown. Shape (rows,).
    begin, stop
        Range of a job's nodes in `node`.
    node, slots
        Nodes, and the job's slots on each.
    demand, by_node
        Amounts per slot, and further amounts per node. Shape (rows, resources).
    order
        Rows of running jobs, ordered by the ends of their walltimes.
    counts
        Number of running jobs, and length of the used part of `node`.
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
        """Return the slots of a job on each of its nodes."""
        return self.slots[self.begin[row] : self.stop[row]]


def job_table(running: Sequence[SlurmRun], waiting: SlurmQueue, nodes: int) -> JobTable:
    """Return the table of running jobs, with room for the waiting ones, for `nodes` nodes."""
    count = len(running)
    jobs = len(waiting.slots)
    resources = waiting.demand.shape[1]
    used = [len(job.nodes) for job in running]
    filled = sum(used)
    # With bf_busy_nodes a job may be planned on one node more than it has slots.
    node, slots = np.empty((2, filled + int(np.minimum(waiting.slots + 1, nodes).sum())), np.int64)
    end, place, begin, stop, order = np.zeros((5, count + jobs), np.int64)
    demand, by_node = np.zeros((2, count + jobs, resources), np.int64)
    if running:
        np.concatenate([job.nodes for job in running], out=node[:filled])
        np.concatenate([job.slots for job in running], out=slots[:filled])
        end[:count] = [job.end for job in running]
        place[:count] = [job.place for job in running]
        demand[:count] = [job.demand for job in running]
        by_node[:count] = [job.by_node or [0] * resources for job in running]
    place[count:] = waiting.place
    demand[count:] = waiting.demand
    by_node[count:] = waiting.by_node
    stop[:count] = np.cumsum(used)
    begin[:count] = stop[:count] - used
    order[:count] = np.lexsort((place[:count], end[:count]))
    start = np.full(count + jobs, -1, dtype=np.int64)
    return JobTable(end, place, start, begin, stop, node, slots, demand, by_node, order, np.array([count, filled]))
