"""When Slurm expects a waiting job to start: now, or after so many of the running jobs have reached their limits.

Rules as in Slurm 22.05, ``src/plugins/select/cons_common/job_test.c`` (``_will_run_test``).
"""

from __future__ import annotations

import numpy as np

from ...base import BoolArray, IntArray
from ..compiled import borrowing, compiled
from .gpu_weights import asks_for_gpus, note_tested
from .jobs import Cluster, Placed, Tried
from .node_choice import choose_nodes, cpus_on, free_cpus, need_of
from .preemption import Preemption, gives_way, may_stop

#: The first window in which running jobs are taken off together, seconds; each next one is twice as long.
WINDOW = 30
#: Places in what a job can have: CPUs, and nodes.
CPUS, NODES = range(2)


@compiled
def fits(job: int, tried: Tried, cluster: Cluster, usable: BoolArray, taken: IntArray) -> bool:
    """Write into `taken` how many slots of a job go to each node if it starts now; return whether it can."""
    cpus, has = np.empty(len(usable), np.int64), np.empty(2, np.int64)
    has[CPUS], has[NODES] = free_cpus(cluster.free, job, tried, cluster.primary, usable, cpus)
    return enough(job, tried, cluster, cluster.free, usable, cpus, has, taken)


@compiled
def enough(
    job: int, tried: Tried, cluster: Cluster, free: IntArray, usable: BoolArray, cpus: IntArray, has: IntArray,
    taken: IntArray,
) -> bool:  # fmt: skip
    """Choose nodes of which a job can have so many CPUs, if all together can be enough."""
    note_tested(job, tried, cluster, free, usable)
    apart, per_slot = tried.apart[job], tried.demand[job, cluster.primary]
    unit, asks = max(per_slot, 1), asks_for_gpus(job, tried, cluster)
    need = need_of(tried.slots[job], apart, unit, asks)
    if (has[CPUS] < need.cpus and per_slot > 0) or has[NODES] < need.least:
        return False
    left, gpus = cpus.copy(), np.empty(len(cpus) if asks else 0, np.int64)
    for node in range(len(gpus)):
        gpus[node] = free[node, cluster.gpu]
    if not choose_nodes(need, left, gpus, cluster.weight, taken):
        return False
    for node in range(len(taken)):
        if taken[node] > 0:
            taken[node] = 1 if apart else taken[node] // unit
    return True


@borrowing
def _usable_room(room: IntArray, usable: BoolArray, cpus: IntArray, has: IntArray) -> None:
    """Write what can be had of each usable node, 0 of the others, and add it to what there is."""
    for node in range(len(usable)):
        cpus[node] = room[node] if usable[node] else 0
        has[CPUS] += cpus[node]
        has[NODES] += cpus[node] > 0


@compiled
def predicted_start(
    job: int,
    tried: Tried,
    cluster: Cluster,
    usable: BoolArray,
    room: IntArray,
    held: Placed,
    now: int,
    kill_wait: int,
    preemption: Preemption,
    taken: IntArray,
) -> int:
    """Return when a job can start on the usable nodes if running jobs run to their limits, -1 if it never can.

    Running jobs are taken off in the order of their limits, those together that end within a window that begins at a
    multiple of 30 s and doubles; the start is the end of the last of them. Those that give way are taken off first.

    Parameters
    ----------
    job
        Its place among those `tried`.
    tried, cluster, held
        All jobs and the nodes.
    usable
        The nodes that may be taken, shape (nodes,).
    room
        What the job could have of each node now, as :func:`.free_cpus` has it, shape (nodes,).
    now, kill_wait
        The time, and how long a job may stay beyond its limit, seconds.
    preemption
        Which jobs give way.
    taken
        Gets the slots on each node, shape (nodes,).
    """
    primary = cluster.primary
    cpus, has = np.empty(len(usable), np.int64), np.zeros(2, np.int64)
    _usable_room(room, usable, cpus, has)
    if enough(job, tried, cluster, cluster.free, usable, cpus, has, taken):
        return now
    free = cluster.free.copy()
    if may_stop(job, preemption):
        for row in preemption.order:
            if gives_way(row, job, preemption):
                give_back(row, held, usable, free, job, tried, primary, cpus, has)
        if enough(job, tried, cluster, free, usable, cpus, has, taken):
            return now
    window, barrier, at, running = WINDOW, -1, 0, held.counts[0]
    while at < running:
        last = -1
        while at < running:
            ending = held.order[at]
            at += 1
            if gives_way(ending, job, preemption) or not give_back(
                ending, held, usable, free, job, tried, primary, cpus, has
            ):
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
        if enough(job, tried, cluster, free, usable, cpus, has, taken):
            end = held.end[last]
            return int(end if end > now else max(end + kill_wait, now + 1))
    return -1


@borrowing
def give_back(
    ending: int, held: Placed, usable: BoolArray, free: IntArray, job: int, tried: Tried, primary: int,
    cpus: IntArray, has: IntArray,
) -> bool:  # fmt: skip
    """Take a running job off the usable nodes, and see what another can have of them; return whether it was on any."""
    found = False
    for place in range(held.begin[ending], held.stop[ending]):
        node = held.node[place]
        if usable[node]:
            found = True
            for resource in range(free.shape[1]):
                free[node, resource] += held.slots[place] * held.demand[ending, resource]
            for resource in range(held.by_node.shape[1]):
                free[node, resource] += held.by_node[ending, resource]
            before = cpus[node]
            cpus[node] = cpus_on(node, free, job, tried, primary)
            has[CPUS] += cpus[node] - before
            has[NODES] += (cpus[node] > 0) - (before > 0)
    return found
