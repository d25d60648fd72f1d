"""Slurm's choice of nodes for a job: ``select/cons_tres`` without topology and GRES on sockets.

Rules as in Slurm 22.05, ``src/plugins/select/cons_tres/job_test.c`` (``_eval_nodes``, ``choose_nodes``,
``can_job_run_on_node``) and ``src/slurmctld/node_scheduler.c`` (``_sync_node_weight``).

A test of a job with GPUs lowers the weight of some nodes: those that could run a part of it with all cores free. The
main scheduler resets the weights of the partition's nodes before each test. A submission does so too. Backfill resets
them only for a job that it starts, on its usable nodes, and tests that job once more. Its other tests, with or without
GPUs, use the weights of earlier tests.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...base import BoolArray, IntArray
from ...base.checks import LARGEST
from ..compiled import borrowing
from .jobs import Cluster, SlurmQueue

#: A set of consecutive nodes of one weight: first and last node, CPUs, number of nodes, and weight.
NODE_SET = np.dtype([(name, np.int64) for name in ("first", "last", "cpus", "nodes", "weight")])
#: Low bits of a configuration's weight before any GPU job was tested.
UNTESTED = 0xFF


class NodeBuffers(NamedTuple):
    """Buffers for the test of one job, made once per pass.

    Attributes
    ----------
    cpus
        CPUs that the job can use on each node, shape (nodes,).
    left
        The same during the choice of nodes.
    taken
        Result: slots of the job on each node, shape (nodes,).
    sets
        Sets of consecutive nodes, of type :data:`NODE_SET`. Shape (nodes,).
    free
        Free amounts after some running jobs end, shape (nodes, resources).
    closed, other
        Amounts that reservations close during the job, at two starts. Shape (nodes, resources).
    usable
        Nodes that the job may use, shape (nodes,).
    """

    cpus: IntArray
    left: IntArray
    taken: IntArray
    sets: NDArray[np.void]
    free: IntArray
    closed: IntArray
    other: IntArray
    usable: BoolArray


def scratch_for(cluster: Cluster) -> NodeBuffers:
    """Return buffers for tests on a cluster."""
    nodes = len(cluster.free)
    cpus, left, taken = np.zeros((3, nodes), np.int64)
    free, closed, other = np.zeros((3, *cluster.free.shape), np.int64)
    usable = np.ones(nodes, np.bool_)
    return NodeBuffers(cpus, left, taken, np.empty(nodes, NODE_SET), free, closed, other, usable)


def weights_below(weights: IntArray) -> IntArray:
    """Return the weights of a configuration, with low bits for the effect of tests."""
    return weights * (UNTESTED + 1) + UNTESTED


def note_submitted(job: int, jobs: SlurmQueue, cluster: Cluster) -> None:
    """Lower the weights as Slurm does at a job's submission, where its test assumes empty nodes."""
    members = cluster.members[jobs.partition[job]]
    cluster.weight[members] |= UNTESTED
    lower_weights(job, jobs, cluster, cluster.total, members)


@borrowing
def least_nodes(job: int, jobs: SlurmQueue) -> int:
    """Return the least number of nodes of a job."""
    if len(jobs.least):
        return int(jobs.least[job])
    return int(jobs.slots[job]) if jobs.apart[job] else 1


@borrowing
def gpus_of(job: int, jobs: SlurmQueue, cluster: Cluster) -> int:
    """Return the GPUs per node of a job, from its slot and its node amounts."""
    return int(jobs.demand[job, cluster.gpu] + jobs.by_node[job, cluster.gpu]) if cluster.gpu >= 0 else 0


@borrowing
def cpus_on(node: int, free: IntArray, job: int, jobs: SlurmQueue, primary: int) -> int:
    """Return the CPUs that a job can use on a node. 0 if no slot fits.

    A job with one slot per node counts all free CPUs of the node, not only its tasks. Amounts per CPU limit them.
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
def could_have(node: int, job: int, jobs: SlurmQueue, cluster: Cluster) -> bool:
    """Return whether a slot of a job fits on an otherwise empty node, ignoring GPUs.

    Slurm tests a job only on such nodes. Running jobs on other nodes do not affect its predicted start.
    """
    fits = True
    for resource in range(cluster.total.shape[1]):
        if not cluster.gpu <= resource <= cluster.gpu + cluster.gpu_types or cluster.gpu < 0:
            fits &= jobs.demand[job, resource] + jobs.by_node[job, resource] <= cluster.total[node, resource]
    return fits


@borrowing
def free_cpus(free: IntArray, job: int, jobs: SlurmQueue, primary: int, usable: BoolArray, cpus: IntArray) -> None:
    """Write the CPUs that a job can use on each usable node into `cpus`, and 0 for the others."""
    for node in range(len(cpus)):
        cpus[node] = cpus_on(node, free, job, jobs, primary) if usable[node] else 0


@borrowing
def without_closed(of: IntArray, scratch: NodeBuffers) -> None:
    """Write amounts without the closed ones into ``scratch.free``."""
    for node in range(of.shape[0]):
        for resource in range(of.shape[1]):
            scratch.free[node, resource] = of[node, resource] - scratch.closed[node, resource]


@borrowing
def lower_weights(job: int, jobs: SlurmQueue, cluster: Cluster, free: IntArray, usable: BoolArray) -> None:
    """Lower the weights of usable nodes where a job with GPUs could run with all cores free.

    The weights change only if enough usable nodes have the free memory and the total cores and GPUs.

    Parameters
    ----------
    job
        Its row among the waiting jobs.
    jobs, cluster
        Waiting jobs and nodes.
    free
        Free amounts of the test, shape (nodes, resources).
    usable
        Nodes that the job may use, shape (nodes,).
    """
    gpus = gpus_of(job, jobs, cluster)
    if gpus <= 0:
        return
    gpus = min(gpus, UNTESTED)
    nodes = 0
    least = least_nodes(job, jobs)
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
    job: int,
    jobs: SlurmQueue,
    cluster: Cluster,
    free: IntArray,
    usable: BoolArray,
    scratch: NodeBuffers,
    later: bool,
) -> bool:
    """Choose nodes for a job with ``scratch.cpus`` on each. Return whether there are enough.

    If the tightest sets of nodes are too small, nodes with few free CPUs and GPUs are dropped. The bound rises step by
    step.

    Parameters
    ----------
    job
        Its row among the waiting jobs.
    jobs, cluster
        Waiting jobs and nodes.
    free
        Free amounts of the test, shape (nodes, resources).
    usable
        Nodes that the job may use, shape (nodes,).
    scratch
        Receives the slots on each node in `taken`.
    later
        Whether the job starts later. It then prefers nodes that are not in ``cluster.idle``.
    """
    lower_weights(job, jobs, cluster, free, usable)
    slots = jobs.slots[job]
    apart = jobs.apart[job]
    unit = jobs.demand[job, cluster.primary]
    gpus = gpus_of(job, jobs, cluster)
    least = least_nodes(job, jobs)
    wanted = jobs.wanted[job] if len(jobs.wanted) else least
    largest = jobs.most[job] if len(jobs.most) else slots
    cpus = 0
    nodes = 0
    for node in range(len(usable)):
        scratch.left[node] = scratch.cpus[node]
        cpus += scratch.cpus[node]
        nodes += scratch.cpus[node] > 0
    if cpus < slots * unit or nodes < least:
        return False
    unit = max(unit, 1)
    # A job with GPUs gets no CPUs beyond its demand.
    at_most = unit if gpus > 0 and apart else LARGEST
    count, most = 0, 0
    # Tasks that must lie on several nodes are spread evenly.
    even = wanted > 1 and not apart
    busy_first = later and len(cluster.idle) > 0
    while True:
        if busy_first:
            enough = _take_busy(slots, least, wanted, largest, unit, at_most, even, cluster, scratch)
        else:
            enough = _take_sets(slots, least, wanted, largest, unit, at_most, even, cluster.weight, scratch)
        if enough:
            break
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
def _beside_others(most_cpus: int, others: int) -> int:
    """Return the CPUs that a node may give, so that at least one is left to each of the other nodes."""
    return most_cpus - (others if others > 0 else 0)


@borrowing
def _even_share(most_cpus: int, nodes: int, unit: int, rest: int) -> int:
    """Return a node's share of the CPUs in whole units. It is more if the nodes after it have only `rest` CPUs."""
    share = -(-most_cpus // (nodes * unit)) * unit
    return share if share > most_cpus - rest else most_cpus - rest


@borrowing
def _take_sets(
    slots: int,
    least: int,
    aim: int,
    largest: int,
    unit: int,
    at_most: int,
    even: bool,
    weight: IntArray,
    scratch: NodeBuffers,
) -> bool:
    """Take sets of consecutive nodes of one weight, until a job has enough. Return whether it has.

    Sets of the lowest weight come first, even if they are too small. Among them the tightest sufficient set comes
    first, else the largest. The job gets `unit` to `at_most` CPUs per node, on `aim` nodes if there is room, on `least`
    to `largest` otherwise. If `even`, no node gets more than its share, as far as the nodes after it have room. The
    CPUs go to ``scratch.taken``.
    """
    sets = scratch.sets
    cpus = scratch.left
    taken = scratch.taken
    count, inside = 0, False
    for node in range(len(cpus)):
        taken[node] = 0
        has = cpus[node] if cpus[node] < at_most else at_most
        if has <= 0:
            inside = False
            continue
        if not inside or weight[node] != sets[count - 1].weight:
            sets[count].first = node
            sets[count].weight = weight[node]
            inside = True
            sets[count].cpus = sets[count].nodes = 0
            count += 1
        sets[count - 1].last = node
        sets[count - 1].cpus += has
        sets[count - 1].nodes += 1
    # CPUs and nodes that the job still needs, and that it may still use.
    wanted = slots * unit
    nodes = aim
    most_cpus = slots * unit
    most_nodes = largest
    while most_nodes > 0 and (nodes > 0 or wanted > 0):
        best, enough = -1, False
        for index in range(count):
            size = sets[index].cpus
            if sets[index].nodes == 0:
                continue
            sufficient = size >= wanted and sets[index].nodes >= nodes
            if best < 0 or sets[index].weight != sets[best].weight:
                better = best < 0 or sets[index].weight < sets[best].weight
            elif sufficient:
                better = not enough or size < sets[best].cpus
            else:
                better = size > sets[best].cpus
            if better:
                best, enough = index, sufficient
        if best < 0:
            break
        first = sets[best].first
        last = sets[best].last
        if nodes <= 1:  # A single node may suffice: choose the one with the fewest free CPUs.
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
            room = _beside_others(most_cpus, aim - (largest - most_nodes) - 1)
            if has > room:
                has = cpus[node] = room if room > unit else unit
            if even and nodes > 1:
                rest: int = 0
                for other in range(node + 1, last + 1):
                    rest += 0 if taken[other] else cpus[other] - cpus[other] % unit
                share = _even_share(most_cpus, nodes, unit, rest)
                has = has if has < share else share
            taken[node] = has
            wanted -= has
            most_cpus -= has
            nodes -= 1
            most_nodes -= 1
        sets[best].nodes = 0
    return largest - most_nodes >= least and wanted <= 0


@borrowing
def _take_busy(
    slots: int,
    least: int,
    aim: int,
    largest: int,
    unit: int,
    at_most: int,
    even: bool,
    cluster: Cluster,
    scratch: NodeBuffers,
) -> bool:
    """Take nodes in their order until a job has enough: by weight, and of one weight those with jobs first.

    Slurm looks at the idle nodes of a weight even if the job has enough after the others. So it plans one idle node
    more. Parameters and result are those of :func:`_take_sets`.
    """
    cpus, taken, weight = scratch.left, scratch.taken, cluster.weight
    for node in range(len(cpus)):
        taken[node] = 0
    wanted = slots * unit
    most_cpus = slots * unit
    nodes = aim
    most_nodes = largest
    done = LARGEST  # No node has a weight below this, at first.
    first = True
    while most_nodes > 0 and (nodes > 0 or wanted > 0):
        lightest: int = LARGEST
        for node in range(len(cpus)):
            if cpus[node] > 0 and weight[node] < lightest and (first or weight[node] > done):
                lightest = weight[node]
        if lightest == LARGEST:
            break
        for idle in range(2):
            rest: int = 0
            for node in range(len(cpus)):
                if weight[node] == lightest and cluster.idle[node] == (idle == 1):
                    rest += cpus[node] - cpus[node] % unit
            for node in range(len(cpus)):
                has = cpus[node] if cpus[node] < at_most else at_most
                if has <= 0 or weight[node] != lightest or cluster.idle[node] != (idle == 1):
                    continue
                rest -= cpus[node] - cpus[node] % unit
                room = _beside_others(most_cpus, aim - (largest - most_nodes) - 1)
                if has > room:
                    has = room if room > unit else unit
                if even and nodes > 1:
                    share = _even_share(most_cpus, nodes, unit, rest)
                    has = has if has < share else share
                taken[node] = has
                wanted -= has
                most_cpus -= has
                nodes -= 1
                most_nodes -= 1
                if most_nodes <= 0 or (nodes <= 0 and wanted <= 0):
                    break
        done = lightest
        first = False
    return largest - most_nodes >= least and wanted <= 0
