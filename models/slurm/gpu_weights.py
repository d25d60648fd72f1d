"""What tests of jobs with GPUs do to the weights of nodes.

Rules as in Slurm 22.05, ``src/plugins/select/cons_tres/job_test.c`` (``can_job_run_on_node``) and
``src/slurmctld/node_scheduler.c`` (``_sync_node_weight``): a test of a job with GPUs lowers the weight of each node
that could run a part of it if all cores were free. The main scheduler sets the weights of the partition's nodes back
before each test, and so does a submission; backfill does so only for a job that it starts, which is tested once more,
on the nodes that it could have. So its other tests find what the last ones left, those of jobs without GPUs, too.
"""

from __future__ import annotations

from ...base import BoolArray, IntArray
from ..compiled import borrowing
from .jobs import Cluster, Tried

#: What is below the weight of the configuration as long as no job with GPUs was tested.
UNTESTED = 0xFF


def weights_below(weights: IntArray) -> IntArray:
    """Return the weights of a configuration with room below for what tests leave there."""
    return weights * (UNTESTED + 1) + UNTESTED


@borrowing
def set_back(cluster: Cluster, nodes: BoolArray) -> None:
    """Forget on some nodes which jobs were tested."""
    if cluster.gpu >= 0:
        for node in range(len(nodes)):
            if nodes[node]:
                cluster.weight[node] |= UNTESTED


@borrowing
def asks_for_gpus(job: int, tried: Tried, cluster: Cluster) -> bool:
    """Return whether a job asks for GPUs."""
    return cluster.gpu >= 0 and _asked(job, tried, cluster.gpu) > 0


@borrowing
def _asked(job: int, tried: Tried, resource: int) -> int:
    """Return what a job asks for of a node, for a slot and beside."""
    return int(tried.demand[job, resource] + (tried.by_node[job, resource] if tried.by_node.shape[1] else 0))


@borrowing
def note_tested(job: int, tried: Tried, cluster: Cluster, free: IntArray, usable: BoolArray) -> None:
    """Lower the weights of the usable nodes on which a job with GPUs could run, were all their cores free.

    That is noted only where the nodes with enough memory, and enough GPUs once nobody has any, could be enough.

    Parameters
    ----------
    job
        Its place among those `tried`.
    tried, cluster
        All jobs and the nodes.
    free
        Free amounts as far as the test goes, shape (nodes, resources).
    usable
        The nodes that may be taken, shape (nodes,).
    """
    if not asks_for_gpus(job, tried, cluster):
        return
    known = 0
    for node in range(len(usable)):
        known += usable[node] and _could_once(node, free, job, tried, cluster)
    if known < (tried.slots[job] if tried.apart[job] else 1):
        return
    asks = min(_asked(job, tried, cluster.gpu), UNTESTED)
    for node in range(len(usable)):
        if usable[node] and _could_once(node, free, job, tried, cluster) and free[node, cluster.gpu] >= asks:
            cluster.weight[node] = (cluster.weight[node] | UNTESTED) - asks


@borrowing
def note_ever(job: int, tried: Tried, cluster: Cluster, usable: BoolArray) -> None:
    """Note the test whether a job could ever run, which takes all that the usable nodes have for free."""
    note_tested(job, tried, cluster, cluster.total, usable)


@borrowing
def note_submitted(job: int, tried: Tried, cluster: Cluster) -> None:
    """Note the test whether a job that is submitted could ever run."""
    members = cluster.members[tried.partition[job]]
    set_back(cluster, members)
    note_ever(job, tried, cluster, members)


@borrowing
def _could_once(node: int, free: IntArray, job: int, tried: Tried, cluster: Cluster) -> bool:
    """Return whether a node has the memory for a part of a job, and would have its cores and GPUs if nobody had any."""
    for resource in range(free.shape[1]):
        asks = _asked(job, tried, resource)
        has = free[node, resource] if resource == cluster.memory else cluster.total[node, resource]
        if asks > has:
            return False
    return True
