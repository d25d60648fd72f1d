"""Partitions of a site, and further ones that jobs name."""

import numpy as np

from ...base import LONGEST, BoolArray, FloatArray, InputError, IntArray
from ...models.slurm.jobs import Cluster
from ...models.slurm.nodes import weights_below
from ...workloads import Machine
from ...workloads.formats.slots import GPU, MEMORY
from ...workloads.slurm_conf import GPU_TYPE, PARTITION, SlurmPartition, SlurmSite


class Partitions:
    """Partitions as columns.

    A partition without configuration includes the nodes with the resource of its partition or of its name. Without such
    a resource, all nodes.

    Attributes
    ----------
    members
        Shape (partitions, nodes).
    max_time, tier, least_nodes, most_nodes
        Seconds, ``PriorityTier``, ``MinNodes`` and ``MaxNodes``, shape (partitions,).
    factor
        ``PriorityJobFactor`` over the largest.
    weight
        ``Weight`` of each node, with low bits for tests of GPU jobs, shape (nodes,).
    gpus
        Whether there are GPUs. Requests of GPUs per node need a configuration.

    Parameters
    ----------
    machine, site
        Machine, and configuration or ``None``.
    busy_first
        ``bf_busy_nodes``.

    Raises
    ------
    InputError
        If the configuration and the machine differ in the number of nodes.
    """

    members: BoolArray
    max_time: IntArray
    tier: IntArray
    least_nodes: IntArray
    most_nodes: IntArray
    factor: FloatArray

    def __init__(self, machine: Machine, site: SlurmSite | None, *, busy_first: bool = False) -> None:
        if site is not None and len(site.nodes) != machine.nodes:
            raise InputError(f"{site.source}: expected the {machine.nodes} nodes of the machine, got {len(site.nodes)}")
        self._machine = machine
        self._busy_first = busy_first
        self._total = machine.capacity.copy()  # A copy, because a read-only array would compile the passes once more.
        self.weight = weights_below(np.ones(machine.nodes, np.int64) if site is None else np.array(site.weights))
        names = machine.resources if site is not None else ()
        self._gpu, self._memory = (names.index(name) if name in names else -1 for name in (GPU, MEMORY))
        self._types = sum(name.startswith(GPU_TYPE) for name in names)
        self.gpus = self._gpu >= 0
        self._partitions = list(site.partitions if site else ())
        self._index = {partition.name: row for row, partition in enumerate(self._partitions)}
        if self._partitions:
            self._make_columns()
        else:
            self.index("")

    def index(self, queue: str) -> int:
        """Return the row of the partition that a job names."""
        if queue not in self._index:
            machine = self._machine
            nodes = np.arange(machine.nodes)
            own = next((name for name in (f"{PARTITION}{queue}", queue) if name in machine.resources), None)
            if own is not None:
                nodes = np.flatnonzero(machine.capacity[:, machine.resources.index(own)])
            self._index[queue] = len(self._partitions)
            self._partitions.append(SlurmPartition(queue, tuple(nodes.tolist())))
            self._make_columns()
        return self._index[queue]

    def whole(self, queue: str) -> bool:
        """Return whether jobs of a partition use whole nodes."""
        return self._partitions[self.index(queue)].exclusive

    def cluster(self, free: IntArray, members: BoolArray) -> Cluster:
        """Return the nodes with these free amounts, shape (nodes, resources), and these partition members."""
        primary = self._machine.primary
        idle = np.empty(0, np.bool_)
        if self._busy_first:
            idle = (free == self._machine.capacity).all(axis=1)
        return Cluster(free, members, primary, self.weight, self._total, self._gpu, self._memory, self._types, idle)

    def _make_columns(self) -> None:
        known = self._partitions
        self.members = np.zeros((len(known), self._machine.nodes), np.bool_)
        for row, each in enumerate(known):
            self.members[row, list(each.nodes)] = True
        self.max_time = np.array([LONGEST if each.max_time is None else each.max_time for each in known])
        self.tier = np.array([each.tier for each in known])
        self.least_nodes = np.array([each.least_nodes for each in known])
        self.most_nodes = np.array([LONGEST if each.most_nodes is None else each.most_nodes for each in known])
        self.factor = np.array([each.factor for each in known]) / max(1, *(each.factor for each in known))
