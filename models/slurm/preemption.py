"""Preemption: running jobs to stop for a waiting job, by partition tiers or QOS, as in Slurm.

Rules as in Slurm 22.05, ``src/plugins/preempt/partition_prio`` and ``src/plugins/select/cons_common/job_test.c``
(``_run_now``), with ``preempt_reorder_count`` 1.
"""

from typing import NamedTuple

import numpy as np

from ...base import BoolArray, IntArray
from ..compiled import borrowing
from .jobs import Cluster, JobTable, SlurmQueue
from .nodes import NodeBuffers, choose_nodes, free_cpus, scratch_for
from .predicted_start import give_back

#: Number of choices of jobs. The second and third prefer jobs on most nodes of the previous choice.
_TIMES = 3


class Preemption(NamedTuple):
    """Preemption classes of jobs, and the jobs to stop.

    Attributes
    ----------
    of
        Class of each waiting job, -1 if it stops no job. Shape (jobs,).
    running
        Class of each running job, shape (running,).
    gives_way
        Whether a job of the first class may stop one of the second. Shape (classes, classes).
    order
        Rows of preemptable running jobs in stopping order. Within one priority, jobs on the fewest nodes first.
    by
        The waiting job that stops each running job, -1 for none. Shape (running,).
    """

    of: IntArray
    running: IntArray
    gives_way: BoolArray
    order: IntArray
    by: IntArray

    def may_stop(self, job: int) -> bool:
        """Return whether a waiting job may stop some running job."""
        return bool(self.stopped_for(job).any())

    def stopped_for(self, job: int) -> BoolArray:
        """Return the running jobs that a waiting job may stop."""
        if self.of[job] < 0:
            return np.zeros(len(self.running), np.bool_)
        return np.asarray(self.gives_way[self.of[job]][self.running])


def no_preemption(jobs: int) -> Preemption:
    """Return a preemption that stops no job."""
    nothing = np.empty(0, np.int64)
    return Preemption(np.full(jobs, -1), nothing, np.zeros((0, 0), np.bool_), nothing, nothing)


def stop_for(
    job: int, jobs: SlurmQueue, cluster: Cluster, usable: BoolArray, table: JobTable, preemption: Preemption
) -> None:
    """Record the jobs to stop for a job to start on the usable nodes. Record none if it cannot start.

    Jobs are removed in order until the job fits. Then jobs on most of the chosen nodes move to the front, and the
    removal is repeated, up to twice. Of the removed jobs, those on the chosen nodes are stopped.

    Parameters
    ----------
    job
        Its row among the waiting jobs.
    jobs, cluster, table, preemption
        All jobs and the nodes.
    usable
        Nodes that the job may use, shape (nodes,).
    """
    rows = preemption.order
    order = rows[preemption.stopped_for(job)[rows] & (preemption.by[rows] < 0)]
    scratch = scratch_for(cluster)
    scratch.usable[:] = usable

    def common_nodes(row: int) -> int:
        """Return how many of the chosen nodes a job uses."""
        return int(np.count_nonzero(scratch.taken[table.nodes_of(row)]))

    times = min(_TIMES, len(order))
    for again in range(times):
        last = take_away(job, jobs, cluster, table, order, scratch)
        if last < 0:
            return
        if again < times - 1:
            common = np.zeros(len(order), np.int64)
            common[:last] = [common_nodes(row) for row in order[:last].tolist()]
            common[last] = len(usable) + 1
            order = order[np.argsort(-common, kind="stable")]
    for row in order[: last + 1].tolist() if times else ():
        if common_nodes(row):
            preemption.by[row] = job


@borrowing
def take_away(
    job: int, jobs: SlurmQueue, cluster: Cluster, table: JobTable, order: IntArray, scratch: NodeBuffers
) -> int:
    """Return the position of the last job to remove. -1 if removing all is not enough."""
    free = scratch.free
    for node in range(len(free)):
        for resource in range(free.shape[1]):
            free[node, resource] = cluster.free[node, resource]
    free_cpus(free, job, jobs, cluster.primary, scratch.usable, scratch.cpus)
    for place in range(len(order)):
        gave = give_back(order[place], table, free, job, jobs, cluster.primary, scratch)
        if gave and choose_nodes(job, jobs, cluster, free, scratch.usable, scratch, False):
            return place
    return -1
