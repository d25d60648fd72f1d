"""Which nodes Slurm picks for a job: ``select/cons_tres`` without topology and GRES on sockets.

Rules as in Slurm 22.05, ``src/plugins/select/cons_tres/job_test.c`` (``_eval_nodes``, ``choose_nodes``,
``can_job_run_on_node``) and ``src/slurmctld/node_scheduler.c`` (``_sync_node_weight``).

A test of a job with GPUs lowers the weight of each node that could run a part of it if all cores were free. The main
scheduler sets the weights of the partition's nodes back before each test, and so does a submission. Backfill does so
only for a job that it starts, which is tested once more, on its usable nodes. Its other tests, also those of jobs
without GPUs, find the weights that earlier tests left.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...base import BoolArray, IntArray
from ...base.checks import LARGEST
from ..compiled import borrowing
from .jobs import Cluster, WaitingJobs

#: Columns of a set of consecutive nodes of one weight: the first, the last, their CPUs, how many they are, the weight.
FIRST, LAST, SIZE, COUNT, WEIGHT = range(5)
#: What is below the weight of the configuration as long as no job with GPUs was tested.
UNTESTED = 0xFF


class Scratch(NamedTuple):
    """Arrays for the test of one job, made once per pass.

    Attributes
    ----------
    cpus
        CPUs that the job can have of each node, shape (nodes,).
    left
        The same while nodes are chosen.
    taken
        Result: the slots of the job on each node, shape (nodes,).
    sets
        Sets of consecutive nodes, shape (nodes, 5).
    free
        Free amounts once some running jobs have left, shape (nodes, resources).
    usable
        The nodes that the job may take, shape (nodes,).
    """

    cpus: IntArray
    left: IntArray
    taken: IntArray
    sets: IntArray
    free: IntArray
    usable: BoolArray


def scratch_for(cluster: Cluster) -> Scratch:
    """Return the arrays for tests on a cluster."""
    nodes = len(cluster.free)
    cpus, left, taken = np.zeros((3, nodes), np.int64)
    return Scratch(
        cpus, left, taken, np.empty((nodes, 5), np.int64), np.empty_like(cluster.free), np.ones(nodes, np.bool_)
    )


def weights_below(weights: IntArray) -> IntArray:
    """Return the weights of a configuration with room below for what tests leave there."""
    return weights * (UNTESTED + 1) + UNTESTED


def note_submitted(job: int, jobs: WaitingJobs, cluster: Cluster) -> None:
    """Lower the weights as the test of a job at its submission does, which takes all nodes for empty."""
    members = cluster.members[jobs.partition[job]]
    cluster.weight[members] |= UNTESTED
    lower_weights(job, jobs, cluster, cluster.total, members)


@borrowing
def gpus_of(job: int, jobs: WaitingJobs, cluster: Cluster) -> int:
    """Return the GPUs that a job asks for per node, of a slot and beside."""
    return int(jobs.demand[job, cluster.gpu] + jobs.by_node[job, cluster.gpu]) if cluster.gpu >= 0 else 0


@borrowing
def cpus_on(node: int, free: IntArray, job: int, jobs: WaitingJobs, primary: int) -> int:
    """Return the CPUs that a job can have of a node, 0 if not a slot of it fits.

    Of a node with a single slot of the job all free CPUs count, not only the tasks per node, as far as there is enough
    of what the job asks for per CPU.
    """
    room: int = LARGEST
    for resource in range(free.shape[1]):
        if 0 < jobs.by_node[job, resource] > free[node, resource]:
            return 0
        amount = jobs.demand[job, resource]
        if amount > 0 and free[node, resource] // amount < room:
            room = free[node, resource] // amount
    if room < 1:
        return 0
    if jobs.demand[job, primary] == 0:
        return 1 if jobs.apart[job] else room
    if not jobs.apart[job]:
        return int(room * jobs.demand[job, primary])
    cpus = int(free[node, primary])
    for resource in range(free.shape[1]):
        amount = jobs.per_cpu[job, resource]
        if amount > 0 and free[node, resource] // amount < cpus:
            cpus = free[node, resource] // amount
    return cpus


@borrowing
def could_have(node: int, job: int, jobs: WaitingJobs, cluster: Cluster) -> bool:
    """Return whether a slot of a job would fit on a node without any other job, GPUs aside.

    Slurm tests a job on such nodes alone; running jobs on others do not count in its prediction of a start.
    """
    fits = True
    for resource in range(cluster.total.shape[1]):
        if not cluster.gpu <= resource <= cluster.gpu + cluster.gpu_types or cluster.gpu < 0:
            fits &= jobs.demand[job, resource] + jobs.by_node[job, resource] <= cluster.total[node, resource]
    return fits


@borrowing
def free_cpus(free: IntArray, job: int, jobs: WaitingJobs, primary: int, usable: BoolArray, cpus: IntArray) -> None:
    """Write the CPUs that a job can have of each usable node into `cpus`, 0 for the others."""
    for node in range(len(cpus)):
        cpus[node] = cpus_on(node, free, job, jobs, primary) if usable[node] else 0


@borrowing
def lower_weights(job: int, jobs: WaitingJobs, cluster: Cluster, free: IntArray, usable: BoolArray) -> None:
    """Lower the weights of the usable nodes on which a job with GPUs could run if all their cores were free.

    The weights change only if enough usable nodes have the free memory, and could ever have the cores and GPUs.

    Parameters
    ----------
    job
        Its place among the waiting jobs.
    jobs, cluster
        The waiting jobs and the nodes.
    free
        Free amounts that the test counts with, shape (nodes, resources).
    usable
        The nodes that the job may take, shape (nodes,).
    """
    gpus = gpus_of(job, jobs, cluster)
    if gpus <= 0:
        return
    gpus = min(gpus, UNTESTED)
    nodes, least = 0, jobs.slots[job] if jobs.apart[job] else 1
    for lowers in range(2):
        if lowers and nodes < least:
            return
        for node in range(len(usable)):
            could = usable[node]
            for resource in range(free.shape[1]):
                has = free[node, resource] if resource == cluster.memory else cluster.total[node, resource]
                could &= jobs.demand[job, resource] + jobs.by_node[job, resource] <= has
            nodes += could
            if lowers and could and free[node, cluster.gpu] >= gpus:
                cluster.weight[node] = (cluster.weight[node] | UNTESTED) - gpus


@borrowing
def choose_nodes(
    job: int, jobs: WaitingJobs, cluster: Cluster, free: IntArray, usable: BoolArray, scratch: Scratch
) -> bool:
    """Choose nodes for a job that can have ``scratch.cpus`` of each; return whether it finds enough.

    If the tightest sets of nodes are not enough, nodes with few free CPUs and GPUs are left out, one count after the
    other.

    Parameters
    ----------
    job
        Its place among the waiting jobs.
    jobs, cluster
        The waiting jobs and the nodes.
    free
        Free amounts that the test counts with, shape (nodes, resources).
    usable
        The nodes that the job may take, shape (nodes,).
    scratch
        Gets the slots on each node in `taken`.
    """
    lower_weights(job, jobs, cluster, free, usable)
    slots, apart, unit = jobs.slots[job], jobs.apart[job], jobs.demand[job, cluster.primary]
    gpus = gpus_of(job, jobs, cluster)
    least, cpus, nodes = slots if apart else 1, 0, 0
    for node in range(len(usable)):
        scratch.left[node] = scratch.cpus[node]
        cpus += scratch.cpus[node]
        nodes += scratch.cpus[node] > 0
    if cpus < slots * unit or nodes < least:
        return False
    unit = max(unit, 1)
    # A job with GPUs has no CPUs beside those that it asks for.
    at_most = unit if gpus > 0 and apart else LARGEST
    count, most = 0, 0
    while not _take_sets(slots, least, unit, at_most, cluster.weight, scratch):
        if nodes <= least:
            return False
        if count == 0:
            for node in range(len(usable)):
                has = scratch.left[node]
                if has > 0:
                    has += free[node, cluster.gpu] if gpus > 0 else 0
                    most = has if has > most else most
        left_out = count == 0
        while True:
            count += 1
            if count >= most:
                return False
            for node in range(len(usable)):
                if 0 < scratch.left[node] <= count - (free[node, cluster.gpu] if gpus > 0 else 0):
                    scratch.left[node] = 0
                    left_out = True
                    nodes -= 1
                    if nodes <= least:
                        break
            if left_out:
                break
    for node in range(len(usable)):
        if scratch.taken[node] > 0:
            scratch.taken[node] = 1 if apart else scratch.taken[node] // unit
    return True


@borrowing
def _take_sets(slots: int, least: int, unit: int, at_most: int, weight: IntArray, scratch: Scratch) -> bool:
    """Take sets of consecutive nodes of one weight, until a job has enough; return whether it has.

    First those of the lowest weight, be they enough or not; of these the tightest that suffices, or else the largest.
    The job gets `unit` to `at_most` CPUs of each node. What it takes of each goes to ``scratch.taken``.
    """
    sets, cpus, taken = scratch.sets, scratch.left, scratch.taken
    count, inside = 0, False
    for node in range(len(cpus)):
        taken[node] = 0
        has = cpus[node] if cpus[node] < at_most else at_most
        if has <= 0:
            inside = False
            continue
        if not inside or weight[node] != sets[count - 1, WEIGHT]:
            sets[count, FIRST], sets[count, WEIGHT], inside = node, weight[node], True
            sets[count, SIZE] = sets[count, COUNT] = 0
            count += 1
        sets[count - 1, LAST] = node
        sets[count - 1, SIZE] += has
        sets[count - 1, COUNT] += 1
    # What is still to be had: CPUs and nodes that the job needs, and those that it may take.
    wanted, nodes, most_cpus, most_nodes = slots * unit, least, slots * unit, slots
    while most_nodes > 0 and (nodes > 0 or wanted > 0):
        best, enough = -1, False
        for index in range(count):
            size = sets[index, SIZE]
            if sets[index, COUNT] == 0:
                continue
            sufficient = size >= wanted and sets[index, COUNT] >= nodes
            if best < 0 or sets[index, WEIGHT] != sets[best, WEIGHT]:
                better = best < 0 or sets[index, WEIGHT] < sets[best, WEIGHT]
            elif sufficient:
                better = not enough or size < sets[best, SIZE]
            else:
                better = size > sets[best, SIZE]
            if better:
                best, enough = index, sufficient
        if best < 0:
            return False
        first, last = sets[best, FIRST], sets[best, LAST]
        if nodes <= 1:  # A single node may be enough: the one with the fewest free CPUs.
            only, fewest = -1, 0
            for node in range(first, last + 1):
                has = cpus[node] if cpus[node] < at_most else at_most
                if not taken[node] and has >= wanted and (only < 0 or has < fewest):
                    only, fewest = node, has
            if only >= 0:
                first = last = only
        for node in range(first, last + 1):
            if most_nodes == 0 or (nodes <= 0 and wanted <= 0):
                break
            has = cpus[node] if cpus[node] < at_most else at_most
            if taken[node] or (most_nodes == 1 and has < wanted):
                continue
            others = least - (slots - most_nodes) - 1  # Each of these is left at least a CPU.
            room = most_cpus - (others if others > 0 else 0)
            if has > room:
                has = cpus[node] = room if room > unit else unit
            taken[node] = has
            wanted -= has
            most_cpus -= has
            nodes -= 1
            most_nodes -= 1
        sets[best, COUNT] = 0
    return nodes <= 0 and wanted <= 0
