"""Which running jobs are stopped so that a waiting one can start, by tiers of partitions or by QOS, as in Slurm.

Rules as in Slurm 22.05, ``src/plugins/preempt/partition_prio`` and ``src/plugins/select/cons_common/job_test.c``
(``_run_now``), with ``preempt_reorder_count`` 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...base import BoolArray, IntArray
from ..compiled import borrowing
from .jobs import Cluster, JobTable, WaitingJobs
from .nodes import Scratch, choose_nodes, free_cpus, scratch_for
from .predicted_start import give_back

#: How often jobs are chosen: the second and the third time those first that have most of the nodes of the time before.
_TIMES = 3


class Preemption(NamedTuple):
    """Classes of jobs, which of them give way to which, and which jobs are stopped.

    Attributes
    ----------
    of
        The class of each waiting job, shape (jobs,); -1 for one that stops none.
    running
        The class of each running job, shape (running,).
    gives_way
        Whether jobs of a class, the second, are stopped for those of another, shape (classes, classes).
    order
        Rows of the running jobs that may be stopped: those that are to give way first, there those on the fewest nodes.
    by
        The waiting job for which a running one is stopped, -1: none; shape (running,).
    """

    of: IntArray
    running: IntArray
    gives_way: BoolArray
    order: IntArray
    by: IntArray

    def may_stop(self, job: int) -> bool:
        """Return whether there is a running job that a waiting one may stop."""
        return bool(self.stopped_for(job).any())

    def stopped_for(self, job: int) -> BoolArray:
        """Return which running jobs a waiting one may stop."""
        if self.of[job] < 0:
            return np.zeros(len(self.running), np.bool_)
        return np.asarray(self.gives_way[self.of[job]][self.running])


def no_preemption(jobs: int) -> Preemption:
    """Return that no job is stopped."""
    nothing = np.empty(0, np.int64)
    return Preemption(np.full(jobs, -1), nothing, np.zeros((0, 0), np.bool_), nothing, nothing)


def stop_for(
    job: int, jobs: WaitingJobs, cluster: Cluster, usable: BoolArray, table: JobTable, preemption: Preemption
) -> None:
    """Note which jobs are stopped so that one can start on the usable nodes, none if that is not possible.

    Jobs are taken away in their order until there is room; then those that had most of the nodes come first, and it is
    done once more, and again. Of those that were taken away, the ones on the chosen nodes are stopped.

    Parameters
    ----------
    job
        Its place among the waiting jobs.
    jobs, cluster, table, preemption
        All jobs and the nodes.
    usable
        The nodes that may be taken, shape (nodes,).
    """
    rows = preemption.order
    order = rows[preemption.stopped_for(job)[rows] & (preemption.by[rows] < 0)]
    scratch = scratch_for(cluster)
    scratch.usable[:] = usable

    def common_nodes(row: int) -> int:
        """Return on how many of the chosen nodes a job runs."""
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
def take_away(job: int, jobs: WaitingJobs, cluster: Cluster, table: JobTable, order: IntArray, scratch: Scratch) -> int:
    """Return the place of the last of the jobs that have to be taken away, -1 if all are not enough."""
    free = scratch.free
    for node in range(len(free)):
        for resource in range(free.shape[1]):
            free[node, resource] = cluster.free[node, resource]
    free_cpus(free, job, jobs, cluster.primary, scratch.usable, scratch.cpus)
    for place in range(len(order)):
        gave = give_back(order[place], table, free, job, jobs, cluster.primary, scratch)
        if gave and choose_nodes(job, jobs, cluster, free, scratch.usable, scratch):
            return place
    return -1
