"""One pass of Slurm's main scheduler.

Rules as in Slurm 22.05, ``src/slurmctld/job_scheduler.c`` (``_schedule``).
"""

from collections import Counter

import numpy as np

from ...base import IntArray
from .jobs import Cluster, JobTable, SlurmQueue
from .limits import JobLimits, count_start, may_run, no_limits
from .nodes import UNTESTED, lower_weights, scratch_for
from .predicted_start import can_start
from .preemption import Preemption, stop_for
from .reservations import NodeClosures, close_amounts


def main_pass(
    waiting: SlurmQueue,
    cluster: Cluster,
    now: int = 0,
    limits: JobLimits | None = None,
    stopping: tuple[JobTable, Preemption] | None = None,
    closed: NodeClosures | None = None,
    depth: int = 0,
) -> list[tuple[int, IntArray, IntArray]]:
    """Return the jobs that the main scheduler starts now, with their nodes and slots per node.

    Started jobs are subtracted from ``free`` and from `limits`. Three kinds of jobs are skipped:

    * Jobs that `limits` hold back.
    * Jobs after one of their partition that did not fit. That job blocks the nodes of its partition.
    * Jobs beyond the first `depth` of a partition, if `depth` is above 0.

    A component of a heterogeneous job counts as one that does not fit: only backfill starts it.

    A job that does not fit may stop running jobs, if `stopping` is given. `stopping` holds the table of running jobs
    and their preemption. A node or amount is unusable for a job if it is in `closed` before the job's walltime ends.
    `now` is in seconds since 1970.
    """
    limits = limits or no_limits(len(waiting.slots))
    scratch = scratch_for(cluster)
    usable = np.ones(len(cluster.free), np.bool_)
    since = None if closed is None else closed.since()
    blocked, tried = set[int](), Counter[int]()
    starts: list[tuple[int, IntArray, IntArray]] = []
    for job, partition in enumerate(waiting.partition.tolist()):
        if partition in blocked or not may_run(job, limits.room.shape[1], limits):
            continue
        tried[partition] += 1
        if 0 < depth < tried[partition]:
            continue
        members = cluster.members[partition]
        own = usable & members if since is None else usable & members & (since >= now + waiting.limit[job])
        if closed is not None:
            close_amounts(closed.partly, now, now + int(waiting.limit[job]), scratch.closed)
        if cluster.gpu >= 0:
            cluster.weight[members] |= UNTESTED
        joint = len(waiting.together) > 0 and waiting.together[job] >= 0
        if not joint and can_start(job, waiting, cluster, own, scratch):
            count_start(job, limits)
            nodes = np.flatnonzero(scratch.taken)
            slots = scratch.taken[nodes]
            cluster.free[nodes] -= slots[:, None] * waiting.demand[job] + waiting.by_node[job]
            starts.append((job, nodes, slots))
            continue
        if cluster.gpu >= 0:  # Its test whether the job could ever run assumes empty nodes.
            lower_weights(job, waiting, cluster, cluster.total, own)
        if not joint and stopping is not None and stopping[1].may_stop(job):
            stop_for(job, waiting, cluster._replace(free=cluster.free - scratch.closed), own, *stopping)
        blocked.add(partition)
        usable &= ~members
        if not usable.any():
            break
    return starts
