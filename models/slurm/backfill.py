"""One cycle of Slurm's backfill scheduler.

Rules as in Slurm 22.05, ``src/plugins/sched/backfill/backfill.c`` (``_attempt_backfill``).
"""

from typing import NamedTuple

import numpy as np

from ...base import BoolArray, IntArray
from ..compiled import borrowing
from .jobs import Cluster, JobTable, SlurmQueue
from .limits import JOBS, JobLimits, count_start, may_run, may_test, no_limits
from .nodes import UNTESTED, NodeBuffers, could_have, free_cpus, gpus_of, least_nodes, scratch_for, without_closed
from .predicted_start import can_start, predicted_start
from .preemption import Preemption, no_preemption, stop_for
from .reservations import (
    ClosedAmounts,
    NodeClosures,
    ReservedNodes,
    WordArray,
    close_amounts,
    find_open_nodes,
    no_amounts,
    no_reservations,
    packed,
    reserve,
)


class BackfillRules(NamedTuple):
    """Parameters of a cycle.

    Attributes
    ----------
    window
        ``bf_window``, seconds.
    resolution
        ``bf_resolution``, seconds.
    most
        ``bf_max_job_test``: jobs to consider, not counting those that `limits` hold back.
    kill_wait
        ``KillWait``, seconds.
    starts
        ``bf_max_job_start``: jobs to start.
    """

    window: int
    resolution: int
    most: int
    kill_wait: int
    starts: int = 2**62


class Reachable(NamedTuple):
    """Nodes and CPUs that a waiting job could use by some time. They avoid useless tests.

    Attributes
    ----------
    now, once
        CPUs of each node now, and after all running jobs have ended. Shape (nodes,).
    ended
        Nodes on which a running job ends before the time in question. Shape (nodes,).
    fits
        Nodes on which a slot fits without other jobs, shape (nodes,).
    stopped
        Running jobs that the job preempts, shape (running,).
    """

    now: IntArray
    once: IntArray
    ended: BoolArray
    fits: BoolArray
    stopped: BoolArray


def backfill_pass(
    waiting: SlurmQueue,
    cluster: Cluster,
    table: JobTable,
    now: int,
    rules: BackfillRules,
    limits: JobLimits | None = None,
    preemption: Preemption | None = None,
    closed: NodeClosures | None = None,
) -> None:
    """Write the start and nodes of each job into `table`.

    A job starts now if it delays no job before it. Otherwise it gets reserved nodes.

    Parameters
    ----------
    waiting
        Waiting jobs by priority.
    cluster
        The nodes. Starts reduce `free`.
    table
        Running jobs, and a row per waiting job. Receives each job's nodes and its start, -1 for none.
    now
        Seconds since 1970. Windows and reservations begin at multiples of the resolution.
    rules
        The parameters.
    limits
        Limits on running jobs, in the order of the jobs. Starts reduce them.
    preemption
        Jobs that may be stopped. Receives the stopped ones.
    closed
        Nodes and amounts that are closed for some time.
    """
    jobs = len(waiting.slots)
    nodes = len(cluster.free)
    grid = rules.resolution
    end = now + rules.window
    times = len(closed.start) if closed else 0
    reserved = no_reservations(now - now % grid, end - end % grid, nodes, min(jobs, rules.most) + times)
    if closed:
        starts = np.maximum(closed.start, now)
        ends = closed.end + grid - 1
        spans = zip((starts - starts % grid).tolist(), (ends - ends % grid).tolist(), closed.nodes, strict=True)
        for start, end, where in spans:
            reserve(reserved, where.astype(np.int64), start, end, grid, False)
    limits = limits or no_limits(jobs)
    preemption = preemption or no_preemption(jobs)
    full = _without_jobs(cluster, table)
    scratch = scratch_for(cluster)
    members = packed(cluster.members)
    now_once = np.zeros((2, nodes), np.int64)
    stopped = np.zeros(len(preemption.running), np.bool_)
    ended_fits = np.zeros((2, nodes), np.bool_)
    after = np.full(jobs, now)
    reach = Reachable(now_once[0], now_once[1], ended_fits[0], ended_fits[1], stopped)
    progress = np.zeros(3, np.int64)
    partly = closed.partly if closed else no_amounts(*cluster.free.shape)
    while True:
        job = consider_next(
            progress,
            waiting,
            cluster,
            members,
            table,
            full,
            now,
            rules,
            reserved,
            partly,
            reach,
            limits,
            preemption,
            scratch,
            after,
        )
        if job < 0:
            return
        beside = cluster._replace(free=cluster.free - scratch.closed)
        stop_for(job, waiting, beside, scratch.usable, table, preemption)


def _without_jobs(cluster: Cluster, table: JobTable) -> IntArray:
    """Return the free amounts of an empty machine, shape (nodes, resources)."""
    running, filled = table.counts.tolist()
    rows = np.repeat(np.arange(running), table.stop[:running] - table.begin[:running])
    full = cluster.free.copy()
    np.add.at(full, table.node[:filled], table.slots[:filled, None] * table.demand[rows] + table.by_node[rows])
    return full


@borrowing
def consider_next(
    progress: IntArray,
    waiting: SlurmQueue,
    cluster: Cluster,
    members: WordArray,
    table: JobTable,
    full: IntArray,
    now: int,
    rules: BackfillRules,
    reserved: ReservedNodes,
    partly: ClosedAmounts,
    reach: Reachable,
    limits: JobLimits,
    preemption: Preemption,
    scratch: NodeBuffers,
    after: IntArray,
) -> int:
    """Plan jobs. Return the next job that needs running jobs to stop, -1 if none.

    `progress` holds the first job, and the numbers of considered and of started jobs. `full` holds the free amounts of
    an empty machine. `after` holds the earliest start of each job. Components of heterogeneous jobs are planned, each
    no sooner than those before it, and do not start here.
    """
    first = len(table.end) - len(waiting.slots)
    nodes = len(cluster.free)
    resources = cluster.free.shape[1]
    stopped = reach.stopped
    taken = scratch.taken
    for job in range(progress[0], len(waiting.slots)):
        if not may_run(job, JOBS + 1, limits) or not may_test(job, limits):
            continue
        progress[1] += 1
        if progress[1] > rules.most or progress[2] >= rules.starts:
            break
        if not may_run(job, limits.room.shape[1], limits):
            continue
        partition = waiting.partition[job]
        limit = waiting.limit[job]
        own = cluster.members[partition]
        for node in range(nodes):
            reach.ended[node] = False
            reach.fits[node] = own[node] and could_have(node, job, waiting, cluster)
        stops = False
        for row in range(len(stopped)):
            stopped[row] = preemption.of[job] >= 0 and preemption.gives_way[preemption.of[job], preemption.running[row]]
            stops |= stopped[row]
        always = stops or gpus_of(job, waiting, cluster) > 0  # A GPU test always counts: it changes weights.
        # Try each time when nodes become open, until a start is found on nodes that stay open.
        start = -1
        ended = 0
        earliest = after[job] - 1
        later = after[job]
        joint = len(waiting.together) > 0 and waiting.together[job] >= 0
        while start < 0 and later > earliest:
            earliest = later
            later = find_open_nodes(reserved, members[partition], earliest, earliest + limit, scratch.usable)
            if len(partly.start):
                opens = close_amounts(partly, earliest, earliest + limit, scratch.closed)
                later = opens if opens and (not later or opens < later) else later
            if len(partly.start) or earliest == after[job]:
                without_closed(cluster.free, scratch)
                free_cpus(scratch.free, job, waiting, cluster.primary, own, reach.now)
                without_closed(full, scratch)
                free_cpus(scratch.free, job, waiting, cluster.primary, own, reach.once)
            for node in range(nodes):
                scratch.usable[node] &= reach.fits[node]
            if not always:
                while ended < table.counts[0] and (not later or table.end[table.order[ended]] <= later):
                    row = table.order[ended]
                    for place in range(table.begin[row], table.stop[row]):
                        reach.ended[table.node[place]] = True
                    ended += 1
                if not could_start(job, waiting, cluster.primary, scratch.usable, reach):
                    continue
            at = predicted_start(job, waiting, cluster, reach.now, table, now, rules.kill_wait, stopped, scratch)
            if at < 0:
                continue
            at = max(at, earliest)
            if at > now and not limits.reserves[job]:
                break
            if at > now and later and at > later:
                continue
            if at > earliest and len(partly.start):
                close_amounts(partly, at, at + limit, scratch.other)
                more = False
                for node in range(nodes):
                    for resource in range(resources):
                        more |= taken[node] > 0 and scratch.other[node, resource] > scratch.closed[node, resource]
                if more:
                    later = at
                    continue
            begin = at - at % rules.resolution
            end = at + limit
            end -= end % rules.resolution
            if (
                (at <= now and not joint)
                or at > now + rules.window
                or reserve(reserved, taken, begin, end, rules.resolution, True)
            ):
                start = at
            else:
                later = at
        array = limits.array[job]
        starts = 0 <= start <= now and not joint
        if joint and start >= 0:
            for other in range(job + 1, len(waiting.slots)):
                if waiting.together[other] == waiting.together[job]:
                    after[other] = max(after[other], start)
        if starts and stops:
            has_room = True
            for node in range(nodes):
                for resource in range(resources):
                    room = cluster.free[node, resource] - scratch.closed[node, resource]
                    has_room &= taken[node] * waiting.demand[job, resource] <= room
            if not has_room:
                end = now + limit
                reserve(reserved, taken, now, end - end % rules.resolution, rules.resolution, True)
                if array >= 0:
                    limits.tasks[array].reserve -= 1
                progress[0] = job + 1
                return job
        if not starts and array >= 0:
            # If a task gets no reserved nodes, skip the other tasks of its array.
            planned = 0 <= start <= now + rules.window
            limits.tasks[array].reserve = limits.tasks[array].reserve - 1 if planned else 0
        if start < 0:
            continue
        if starts and cluster.gpu >= 0:
            # Choose the nodes by weights without the tests of other jobs.
            for node in range(nodes):
                reach.now[node] = taken[node]
                if scratch.usable[node]:
                    cluster.weight[node] |= UNTESTED
            if not can_start(job, waiting, cluster, scratch.usable, scratch):
                for node in range(nodes):
                    taken[node] = reach.now[node]
        if starts:
            count_start(job, limits)
            progress[2] += 1
        row, last = first + job, table.counts[1]
        table.start[row] = start
        table.begin[row] = last
        for node in range(nodes):
            if taken[node]:
                table.node[last] = node
                table.slots[last] = taken[node]
                last += 1
                if starts:
                    if len(cluster.idle):
                        cluster.idle[node] = False
                    for resource in range(resources):
                        cluster.free[node, resource] -= (
                            taken[node] * waiting.demand[job, resource] + waiting.by_node[job, resource]
                        )
        table.stop[row] = table.counts[1] = last
        if starts:
            # The job runs from now until its walltime ends.
            end = table.end[row] = now + limit
            at = table.counts[0]
            table.counts[0] += 1
            while at:
                before = table.order[at - 1]
                if table.end[before] < end or (table.end[before] == end and table.place[before] <= table.place[row]):
                    break
                table.order[at] = before
                at -= 1
            table.order[at] = row
    return -1


@borrowing
def could_start(job: int, jobs: SlurmQueue, primary: int, usable: BoolArray, reach: Reachable) -> bool:
    """Return whether the usable nodes have enough CPUs: those free now, or all after a running job ends."""
    least = least_nodes(job, jobs)
    wanted = jobs.slots[job] * jobs.demand[job, primary]
    for node in range(len(usable)):
        if usable[node]:
            has = reach.once[node] if reach.ended[node] else reach.now[node]
            least -= has > 0
            wanted -= has
            if least <= 0 and wanted <= 0:
                return True
    return False
