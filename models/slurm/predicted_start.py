"""When Slurm expects a waiting job to start: now, or after so many of the running jobs have reached their limits.

Rules as in Slurm 22.05, ``src/plugins/select/cons_common/job_test.c`` (``_will_run_test``).
"""

from __future__ import annotations

import numpy as np

from ...base import BoolArray, IntArray
from ..compiled import compiled
from .jobs import Cluster, Placed, Tried
from .node_choice import choose_nodes, free_cpus, need_of

#: The first window in which running jobs are taken off together, seconds; each next one is twice as long.
WINDOW = 30


@compiled
def fits(job: int, tried: Tried, cluster: Cluster, free: IntArray, usable: BoolArray, taken: IntArray) -> bool:
    """Write into `taken` how many slots of a job go to each node if it starts with `free`; return whether it can."""
    apart = tried.apart[job]
    demand = tried.demand[job]
    unit = max(demand[cluster.primary], 1)
    need = need_of(tried.slots[job], apart, unit)
    cpus = np.empty(len(usable), np.int64)
    total, nodes = free_cpus(free, demand, cluster.primary, apart, usable, cpus)
    if (total < need.cpus and demand[cluster.primary] > 0) or nodes < need.least:
        return False
    if not choose_nodes(need, cpus, taken):
        return False
    for node in range(len(taken)):
        if taken[node] > 0:
            taken[node] = 1 if apart else taken[node] // unit
    return True


@compiled
def predicted_start(
    job: int, tried: Tried, cluster: Cluster, usable: BoolArray, held: Placed, now: int, kill_wait: int, taken: IntArray
) -> int:
    """Return when a job can start on the usable nodes if running jobs run to their limits, -1 if it never can.

    Running jobs are taken off in the order of their limits, those together that end within a window that begins at a
    multiple of 30 s and doubles; the start is the end of the last of them.

    Parameters
    ----------
    job
        Its place among those `tried`.
    tried, cluster, held
        All jobs and the nodes.
    usable
        The nodes that may be taken, shape (nodes,).
    now, kill_wait
        The time, and how long a job may stay beyond its limit, seconds.
    taken
        Gets the slots on each node, shape (nodes,).
    """
    if fits(job, tried, cluster, cluster.free, usable, taken):
        return now
    free = np.empty_like(cluster.free)
    for node in range(free.shape[0]):
        for resource in range(free.shape[1]):
            free[node, resource] = cluster.free[node, resource]
    window, barrier, at, running = WINDOW, -1, 0, held.counts[0]
    while at < running:
        last = -1
        while at < running:
            ending = held.order[at]
            at += 1
            if not _gives_back(ending, held, usable, free):
                continue
            if barrier < 0:
                barrier = held.end[ending] + WINDOW - held.end[ending] % WINDOW
            last = ending
            if at < running and held.end[held.order[at]] > barrier + window:
                break
        if last < 0:
            break
        window *= 2
        while at < running and held.end[held.order[at]] > barrier + window:
            window *= 2
        if fits(job, tried, cluster, free, usable, taken):
            end = held.end[last]
            return int(end if end > now else max(end + kill_wait, now + 1))
    return -1


@compiled
def _gives_back(ending: int, held: Placed, usable: BoolArray, free: IntArray) -> bool:
    """Take a running job off the usable nodes; return whether it was on any."""
    found = False
    for place in range(held.begin[ending], held.stop[ending]):
        node = held.node[place]
        if usable[node]:
            found = True
            for resource in range(free.shape[1]):
                free[node, resource] += held.slots[place] * held.demand[ending, resource]
    return found
