"""One cycle of Slurm's backfill scheduler, and one of its main scheduler.

Rules as in Slurm 22.05, ``src/plugins/sched/backfill/backfill.c`` (``_attempt_backfill``) and
``src/slurmctld/job_scheduler.c`` (``_schedule``).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...base import BoolArray, IntArray
from ..compiled import borrowing, compiled
from .caps import Caps, counted, may_be_tried, no_caps, planned
from .closed_nodes import ClosedNodes
from .gpu_weights import asks_for_gpus, note_ever, set_back
from .jobs import Cluster, Placed, Tried
from .node_choice import free_cpus
from .predicted_start import fits, predicted_start
from .preemption import Preemption, may_stop, no_preemption
from .reachable_nodes import Reachable, could_have, look_anew, note_room, nothing_reachable
from .reserved_nodes import (
    ReservedNodes,
    WordArray,
    is_open,
    nothing_reserved,
    open_nodes,
    packed,
    reserve,
    unpacked,
)
from .stopped_jobs import stop_for

#: In place of a start: others are stopped for the job, and its nodes reserved.
_STOPS = -2


class BackfillRules(NamedTuple):
    """The parameters of a cycle.

    Attributes
    ----------
    window
        ``bf_window``, seconds.
    resolution
        ``bf_resolution``, seconds.
    most
        ``bf_max_job_test``: jobs that are looked at, but for those that `caps` hold back.
    kill_wait
        ``KillWait``, seconds.
    """

    window: int
    resolution: int
    most: int
    kill_wait: int


def backfill_pass(
    tried: Tried,
    cluster: Cluster,
    table: Placed,
    now: int,
    rules: BackfillRules,
    caps: Caps | None = None,
    preemption: Preemption | None = None,
    closed: ClosedNodes | None = None,
) -> None:
    """Write into `table` when and where each job starts: now where it delays none before it, else on reserved nodes.

    Parameters
    ----------
    tried
        The waiting jobs by priority.
    cluster
        The nodes; what starts is taken off `free`.
    table
        The running jobs, and a row for each that is tried: it gets its start, -1 where none was found, and its nodes.
    now
        Seconds since 1970, of which windows and reservations begin at multiples.
    rules
        The parameters.
    caps
        What limits how much may run, in the order of the jobs; what starts is taken off.
    preemption
        Which jobs may be stopped; it gets those that are.
    closed
        Nodes that are closed for some time.
    """
    jobs, nodes = len(tried.slots), len(cluster.free)
    end = now + rules.window
    begin = now - now % rules.resolution
    times = 0 if closed is None else len(closed.start)
    reserved = nothing_reserved(begin, end - end % rules.resolution, nodes, min(jobs, rules.most) + times)
    if closed is not None:
        _close(closed, now, rules.resolution, reserved)
    caps, preemption = caps or no_caps(jobs), preemption or no_preemption(jobs)
    _backfill(jobs, tried, cluster, table, now, rules, reserved, nothing_reachable(nodes), caps, preemption)


@compiled
def _close(closed: ClosedNodes, now: int, resolution: int, reserved: ReservedNodes) -> None:
    words = np.zeros(reserved.open.shape[1], np.uint64)
    for time in range(len(closed.start)):
        packed(closed.nodes[time], words)
        start, end = max(closed.start[time], now), closed.end[time] + resolution - 1
        reserve(reserved, words, start - start % resolution, end - end % resolution, resolution)


@compiled
def _backfill(
    jobs: int, tried: Tried, cluster: Cluster, table: Placed, now: int, rules: BackfillRules, reserved: ReservedNodes,
    reach: Reachable, caps: Caps, preemption: Preemption,
) -> None:  # fmt: skip
    taken, full = np.zeros(len(cluster.free), np.int64), cluster.free.copy()
    _end_all(table, full)
    running, words = table.counts[0], reserved.open.shape[1]
    members = np.zeros((cluster.members.shape[0], words), np.uint64)
    for partition in range(len(members)):
        packed(cluster.members[partition], members[partition])
    tests, alike = 0, -1
    for job in range(jobs):
        if not may_be_tried(job, 0, caps):
            continue
        tests += 1
        if tests > rules.most:
            break
        if alike < 0 or not _ask_alike(job, alike, tried):
            own = cluster.members[tried.partition[job]]
            free_cpus(full, job, tried, cluster.primary, own, reach.once)
            free_cpus(cluster.free, job, tried, cluster.primary, own, reach.now)
            note_room(reach)
            alike = job
        start = _plan(job, tried, cluster, table, now, rules, reserved, members, reach, preemption, taken)
        if start < 0 or start > now:
            planned(job, start == _STOPS or 0 <= start <= now + rules.window, caps)
        if start < 0 or (start <= now and not counted(job, taken.sum() * tried.demand[job, cluster.primary], caps)):
            continue
        row = running + job
        _note(row, start, table, taken)
        if start <= now:
            alike = -1
            _take(row, cluster, table)
            _run(row, now + tried.limit[job], table)


@borrowing
def _end_all(table: Placed, full: IntArray) -> None:
    """Add what all running jobs hold to what is free."""
    for place in range(table.counts[0]):
        row = table.order[place]
        for at in range(table.begin[row], table.stop[row]):
            node = table.node[at]
            for resource in range(full.shape[1]):
                full[node, resource] += table.slots[at] * table.demand[row, resource]
            for resource in range(table.by_node.shape[1]):
                full[node, resource] += table.by_node[row, resource]


@borrowing
def _ask_alike(job: int, other: int, tried: Tried) -> bool:
    """Return whether two jobs could have the same of each node."""
    same = tried.partition[job] == tried.partition[other] and tried.apart[job] == tried.apart[other]
    for resource in range(tried.demand.shape[1]):
        same &= tried.demand[job, resource] == tried.demand[other, resource]
        same &= tried.per_cpu[job, resource] == tried.per_cpu[other, resource]
    for resource in range(tried.by_node.shape[1]):
        same &= tried.by_node[job, resource] == tried.by_node[other, resource]
    return bool(same)


@compiled
def _plan(
    job: int, tried: Tried, cluster: Cluster, table: Placed, now: int, rules: BackfillRules, reserved: ReservedNodes,
    members: WordArray, reach: Reachable, preemption: Preemption, taken: IntArray,
) -> int:  # fmt: skip
    """Return the start of a job, -1 if none is found, and reserve its nodes where that is later than now."""
    stops = may_stop(job, preemption)
    own, limit = members[tried.partition[job]], tried.limit[job]
    words, usable = np.zeros(len(own), np.uint64), np.empty(len(taken), np.bool_)
    asks = asks_for_gpus(job, tried, cluster)  # its test is never in vain: it changes weights
    look_anew(reach)
    earliest, later = now - 1, now
    while later > earliest:
        earliest = later
        later = open_nodes(reserved, own, earliest, earliest + limit, words)
        start = -1
        if stops or asks or could_have(job, tried, cluster.primary, words, reach, table, later):
            unpacked(words, usable)
            start = predicted_start(
                job, tried, cluster, usable, reach.now, table, now, rules.kill_wait, preemption, taken
            )
        if start < 0:
            if not later:
                return -1
            continue
        start = max(start, earliest)
        if start <= now:
            if not stops or _has_room(tried.demand[job], cluster.free, taken):
                if cluster.gpu >= 0:
                    _choose_again(job, tried, cluster, usable, taken)
                return start
            packed(taken > 0, words)
            reserve(reserved, words, now, now + limit - (now + limit) % rules.resolution, rules.resolution)
            stop_for(job, tried, cluster, usable, table, preemption, taken)
            return _STOPS
        if later and start > later:
            continue
        begin, end = start - start % rules.resolution, start + limit - (start + limit) % rules.resolution
        if start > now + rules.window:
            return start
        packed(taken > 0, words)
        if is_open(reserved, words, begin, end):
            reserve(reserved, words, begin, end, rules.resolution)
            return start
        later = start
    return -1


@compiled
def _choose_again(job: int, tried: Tried, cluster: Cluster, usable: BoolArray, taken: IntArray) -> None:
    """Choose nodes for a job that starts by the weights that they have without the tests of others."""
    chosen = np.empty_like(taken)
    set_back(cluster, usable)
    if fits(job, tried, cluster, usable, chosen):
        taken[:] = chosen


@borrowing
def _has_room(demand: IntArray, free: IntArray, taken: IntArray) -> bool:
    """Return whether what is taken is free."""
    for node in range(len(taken)):
        for resource in range(len(demand)):
            if taken[node] * demand[resource] > free[node, resource]:
                return False
    return True


def main_pass(
    tried: Tried,
    cluster: Cluster,
    now: int = 0,
    caps: Caps | None = None,
    stopping: tuple[Placed, Preemption] | None = None,
    closed: ClosedNodes | None = None,
) -> list[tuple[int, IntArray, IntArray]]:
    """Return which jobs the main scheduler starts now, with their nodes and their slots on each.

    What starts is taken off ``free``. The first job of a partition that does not fit takes the nodes of the partition
    away from all after it, and stops others if `stopping`, the table of running jobs and who gives way, lets it; one
    that `caps` holds back is passed over, and what starts is taken off them. Left out are nodes that are `closed`
    before the limit of a job that starts `now`, seconds since 1970, ends.
    """
    caps = caps or no_caps(len(tried.slots))
    taken = np.zeros(len(cluster.free), np.int64)
    usable = np.ones(len(cluster.free), np.bool_)
    since = None if closed is None else closed.since()
    gpus = cluster.gpu >= 0  # what is compiled asks too, but a call from here takes longer
    blocked: set[int] = set()
    starts: list[tuple[int, IntArray, IntArray]] = []
    for job, partition in enumerate(tried.partition.tolist()):
        asked = tried.slots[job] * tried.demand[job, cluster.primary]
        if partition in blocked or not may_be_tried(job, asked, caps):
            continue
        members = cluster.members[partition]
        own = usable & members if since is None else usable & members & (since >= now + tried.limit[job])
        if gpus:
            set_back(cluster, members)
        if fits(job, tried, cluster, own, taken):
            nodes = np.flatnonzero(taken)
            slots = taken[nodes]
            if not counted(job, slots.sum() * tried.demand[job, cluster.primary], caps):
                continue
            cluster.free[nodes] -= slots[:, None] * tried.demand[job] + (
                tried.by_node[job] if tried.by_node.size else 0
            )
            starts.append((job, nodes, slots))
            continue
        if gpus:
            note_ever(job, tried, cluster, own)
        if stopping is not None and may_stop(job, stopping[1]):
            stop_for(job, tried, cluster, own, *stopping, taken)
        blocked.add(partition)
        usable &= ~members
        if not usable.any():
            break
    return starts


@borrowing
def _note(row: int, start: int, table: Placed, taken: IntArray) -> None:
    at = table.counts[1]
    table.start[row], table.begin[row] = start, at
    for node in range(len(taken)):
        if taken[node]:
            table.node[at], table.slots[at] = node, taken[node]
            at += 1
    table.stop[row] = table.counts[1] = at


@borrowing
def _take(row: int, cluster: Cluster, table: Placed) -> None:
    for place in range(table.begin[row], table.stop[row]):
        node = table.node[place]
        for resource in range(cluster.free.shape[1]):
            cluster.free[node, resource] -= table.slots[place] * table.demand[row, resource]
        for resource in range(table.by_node.shape[1]):
            cluster.free[node, resource] -= table.by_node[row, resource]


@borrowing
def _run(row: int, end: int, table: Placed) -> None:
    """Let a job run from now on, which ends at its limit."""
    table.end[row] = end
    at = table.counts[0]
    while at:
        before = table.order[at - 1]
        if table.end[before] < end or (table.end[before] == end and table.place[before] <= table.place[row]):
            break
        table.order[at] = before
        at -= 1
    table.order[at] = row
    table.counts[0] += 1
