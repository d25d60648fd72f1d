"""Which jobs Slurm stops, of those that may be, so that a waiting one can start.

Rules as in Slurm 22.05, ``src/plugins/select/cons_common/job_test.c`` (``_run_now``), with ``preempt_reorder_count`` 1.
"""

from __future__ import annotations

import numpy as np

from ...base import BoolArray, IntArray
from ..compiled import borrowing, compiled
from .jobs import Cluster, Placed, Tried
from .node_choice import free_cpus
from .predicted_start import CPUS, NODES, enough, give_back
from .preemption import Preemption, gives_way

#: How often jobs are chosen: the second and the third time those first that have most of the nodes of the time before.
_TIMES = 3


@compiled
def stop_for(
    job: int, tried: Tried, cluster: Cluster, usable: BoolArray, table: Placed, preemption: Preemption, taken: IntArray
) -> bool:  # fmt: skip
    """Note which jobs are stopped so that one can start on the usable nodes; return whether that is possible.

    Jobs are taken away in their order until there is room; then those that had most of the nodes come first, and it is
    done once more, and again. Of those that were taken away, the ones on the chosen nodes are stopped.

    Parameters
    ----------
    job
        Its place among those `tried`.
    tried, cluster, table, preemption
        All jobs and the nodes.
    usable
        The nodes that may be taken, shape (nodes,).
    taken
        Gets the slots on each node, shape (nodes,).
    """
    order = np.array([row for row in preemption.order if gives_way(row, job, preemption) and preemption.by[row] < 0])
    for again in range(min(_TIMES, max(len(order), 1))):
        last = _taken_away(job, tried, cluster, usable, table, order, taken)
        if last < 0:
            return False
        if again < min(_TIMES, len(order)) - 1:
            common = np.zeros(len(order), np.int64)
            for place in range(last):
                common[place] = _common_nodes(order[place], table, taken)
            common[last] = len(taken) + 1
            order = order[np.argsort(-common, kind="mergesort")]
    for place in range(last + 1):
        if _common_nodes(order[place], table, taken):
            preemption.by[order[place]] = job
    return True


@compiled
def _taken_away(
    job: int, tried: Tried, cluster: Cluster, usable: BoolArray, table: Placed, order: IntArray, taken: IntArray
) -> int:  # fmt: skip
    """Return the place of the last of the jobs that have to be taken away, -1 if all are not enough."""
    primary = cluster.primary
    cpus, has, free = np.empty(len(usable), np.int64), np.empty(2, np.int64), cluster.free.copy()
    has[CPUS], has[NODES] = free_cpus(free, job, tried, primary, usable, cpus)
    for place in range(len(order)):
        gave = give_back(order[place], table, usable, free, job, tried, primary, cpus, has)
        if gave and enough(job, tried, cluster, free, usable, cpus, has, taken):
            return place
    return -1


@borrowing
def _common_nodes(row: int, table: Placed, taken: IntArray) -> int:
    """Return on how many of the nodes that are taken a job runs."""
    common = 0
    for place in range(table.begin[row], table.stop[row]):
        common += taken[table.node[place]] > 0
    return common
