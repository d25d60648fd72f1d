"""When Slurm expects a waiting job to start: now, or after so many of the running jobs have reached their limits.

Rules as in Slurm 22.05, ``src/plugins/select/cons_common/job_test.c`` (``_will_run_test``).
"""

from __future__ import annotations

from ...base import BoolArray, IntArray
from ..compiled import borrowing
from .jobs import Cluster, JobTable, WaitingJobs
from .nodes import Scratch, choose_nodes, cpus_on, free_cpus

#: The first window in which running jobs are taken off together, seconds; each next one is twice as long.
WINDOW = 30


@borrowing
def can_start(job: int, jobs: WaitingJobs, cluster: Cluster, usable: BoolArray, scratch: Scratch) -> bool:
    """Return whether a job can start now on the usable nodes; its slots on each go to ``scratch.taken``."""
    free_cpus(cluster.free, job, jobs, cluster.primary, usable, scratch.cpus)
    return choose_nodes(job, jobs, cluster, cluster.free, usable, scratch)


@borrowing
def predicted_start(
    job: int, jobs: WaitingJobs, cluster: Cluster, room: IntArray, table: JobTable, now: int, kill_wait: int,
    stopped: BoolArray, scratch: Scratch,
) -> int:  # fmt: skip
    """Return when a job can start on ``scratch.usable`` if running jobs run to their limits, -1 if it never can.

    Running jobs are taken off in the order of their limits, those together that end within a window that begins at a
    multiple of 30 s and doubles; the start is the end of the last of them. Those that give way are taken off first.

    Parameters
    ----------
    job
        Its place among the waiting jobs.
    jobs, cluster, table
        All jobs and the nodes.
    room
        CPUs that the job could have of each node now, as :func:`.free_cpus` writes them, shape (nodes,).
    now, kill_wait
        The time, and how long a job may stay beyond its limit, seconds.
    stopped
        Which of the running jobs give way to the job, shape (running,).
    scratch
        Gets the slots on each node in `taken`.
    """
    usable, free = scratch.usable, scratch.free
    for node in range(len(usable)):
        scratch.cpus[node] = room[node] if usable[node] else 0
        for resource in range(free.shape[1]):
            free[node, resource] = cluster.free[node, resource]
    stops = False
    for row in range(len(stopped)):
        stops |= stopped[row]
    start, window, barrier, at, running = now, WINDOW, -1, 0, table.counts[0]
    while not choose_nodes(job, jobs, cluster, free, usable, scratch):
        if stops:
            stops = False
            for row in range(len(stopped)):
                if stopped[row]:
                    give_back(row, table, free, job, jobs, cluster.primary, scratch)
            continue
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
    row: int, table: JobTable, free: IntArray, job: int, jobs: WaitingJobs, primary: int, scratch: Scratch
) -> bool:
    """Take a running job off the usable nodes, and update the CPUs that another can have; return whether it was on any.

    Parameters
    ----------
    row, table
        The running job.
    free
        Free amounts, shape (nodes, resources); changed.
    job, jobs, primary
        The job that can have CPUs, and their resource.
    scratch
        Its `usable` and `cpus`.
    """
    found = False
    for place in range(table.begin[row], table.stop[row]):
        node = table.node[place]
        if scratch.usable[node]:
            found = True
            for resource in range(free.shape[1]):
                free[node, resource] += table.slots[place] * table.demand[row, resource] + table.by_node[row, resource]
            scratch.cpus[node] = cpus_on(node, free, job, jobs, primary)
    return found
