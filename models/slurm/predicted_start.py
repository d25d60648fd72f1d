"""Slurm's predicted start of a waiting job: now, or when some running jobs reach their walltimes.

Rules as in Slurm 22.05, ``src/plugins/select/cons_common/job_test.c`` (``_will_run_test``).
"""

from ...base import BoolArray, IntArray
from ..compiled import borrowing
from .jobs import Cluster, JobTable, SlurmQueue
from .nodes import NodeBuffers, choose_nodes, cpus_on, free_cpus, without_closed

#: Seconds of the first window that removes running jobs together. Each next window is twice as long.
WINDOW = 30


@borrowing
def can_start(job: int, jobs: SlurmQueue, cluster: Cluster, usable: BoolArray, scratch: NodeBuffers) -> bool:
    """Return whether a job can start now on the usable nodes. Its slots per node go to ``scratch.taken``.

    ``scratch.closed`` holds the amounts that it cannot use.
    """
    without_closed(cluster.free, scratch)
    free_cpus(scratch.free, job, jobs, cluster.primary, usable, scratch.cpus)
    return choose_nodes(job, jobs, cluster, scratch.free, usable, scratch, False)


@borrowing
def predicted_start(
    job: int,
    jobs: SlurmQueue,
    cluster: Cluster,
    room: IntArray,
    table: JobTable,
    now: int,
    kill_wait: int,
    stopped: BoolArray,
    scratch: NodeBuffers,
) -> int:
    """Return when a job can start on ``scratch.usable``, if running jobs use their walltimes. -1 if never.

    ``scratch.closed`` holds the amounts that it cannot use.

    Running jobs are removed in the order in which their walltimes end. A window removes all jobs that end in it
    together. It begins at a multiple of 30 s and doubles. The start is the end of the last removed job. Preempted jobs
    are removed first.

    Parameters
    ----------
    job
        Its row among the waiting jobs.
    jobs, cluster, table
        All jobs and the nodes.
    room
        CPUs that the job could use on each node now beside them, as :func:`.free_cpus` writes them. Shape (nodes,).
    now, kill_wait
        The time, and seconds that a job may run past its walltime.
    stopped
        Running jobs that the job preempts, shape (running,).
    scratch
        Receives the slots on each node in `taken`.
    """
    usable, free = scratch.usable, scratch.free
    without_closed(cluster.free, scratch)
    for node in range(len(usable)):
        scratch.cpus[node] = room[node] if usable[node] else 0
    stops = False
    for row in range(len(stopped)):
        stops |= stopped[row]
    start = now
    window = WINDOW
    barrier = -1
    at = 0
    running = table.counts[0]
    later = False
    while not choose_nodes(job, jobs, cluster, free, usable, scratch, later):
        if stops:
            stops = False
            for row in range(len(stopped)):
                if stopped[row]:
                    give_back(row, table, free, job, jobs, cluster.primary, scratch)
            continue
        later = True
        last = -1
        while at < running:
            row = table.order[at]
            at += 1
            if row < len(stopped) and stopped[row]:
                continue
            if not give_back(row, table, free, job, jobs, cluster.primary, scratch):
                continue
            last = row
            if barrier < 0:
                barrier = table.end[row] + WINDOW - table.end[row] % WINDOW
            if at < running and table.end[table.order[at]] > barrier + window:
                break
        if last < 0:
            return -1
        start = table.end[last]
        if start <= now:
            start = start + kill_wait if start + kill_wait > now else now + 1
        window *= 2
        while at < running and table.end[table.order[at]] > barrier + window:
            window *= 2
    return start


@borrowing
def give_back(
    row: int, table: JobTable, free: IntArray, job: int, jobs: SlurmQueue, primary: int, scratch: NodeBuffers
) -> bool:
    """Remove a running job from the usable nodes and update another job's CPUs. Return whether it used any.

    Parameters
    ----------
    row, table
        The running job.
    free
        Free amounts, shape (nodes, resources). Updated.
    job, jobs, primary
        The waiting job, and the resource of its CPUs.
    scratch
        Its `usable` and `cpus`.
    """
    any_usable = False
    for place in range(table.begin[row], table.stop[row]):
        node = table.node[place]
        if scratch.usable[node]:
            any_usable = True
            for resource in range(free.shape[1]):
                free[node, resource] += table.slots[place] * table.demand[row, resource] + table.by_node[row, resource]
            scratch.cpus[node] = cpus_on(node, free, job, jobs, primary)
    return any_usable
