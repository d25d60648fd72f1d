"""One cycle of Slurm's backfill scheduler, and one of its main scheduler.

Rules as in Slurm 22.05, ``src/plugins/sched/backfill/backfill.c`` (``_attempt_backfill``) and
``src/slurmctld/job_scheduler.c`` (``_schedule``).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...base import BoolArray, IntArray
from ..compiled import compiled
from .jobs import Cluster, Placed, Tried
from .predicted_start import fits, predicted_start
from .reserved_nodes import ReservedNodes, is_open, nothing_reserved, open_nodes, reserve


class BackfillRules(NamedTuple):
    """The parameters of a cycle.

    Attributes
    ----------
    window
        ``bf_window``, seconds.
    resolution
        ``bf_resolution``, seconds.
    most
        ``bf_max_job_test``.
    kill_wait
        ``KillWait``, seconds.
    """

    window: int
    resolution: int
    most: int
    kill_wait: int


def backfill_pass(tried: Tried, cluster: Cluster, table: Placed, now: int, rules: BackfillRules) -> None:
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
    """
    jobs, nodes = min(len(tried.slots), rules.most), len(cluster.free)
    end = now + rules.window
    begin = now - now % rules.resolution
    reserved = nothing_reserved(begin, end - end % rules.resolution, nodes, jobs)
    _backfill(jobs, tried, cluster, table, now, rules, reserved)


@compiled
def _backfill(
    jobs: int, tried: Tried, cluster: Cluster, table: Placed, now: int, rules: BackfillRules, reserved: ReservedNodes
) -> None:
    taken = np.zeros(len(cluster.free), np.int64)
    usable = np.zeros(len(cluster.free), np.bool_)
    running = table.counts[0]
    for job in range(jobs):
        start = _plan(job, tried, cluster, table, now, rules, reserved, usable, taken)
        if start < 0:
            continue
        row = running + job
        _note(row, start, table, taken)
        if start <= now:
            _take(row, cluster, table)
            _run(row, now + tried.limit[job], table)


@compiled
def _plan(
    job: int, tried: Tried, cluster: Cluster, table: Placed, now: int, rules: BackfillRules, reserved: ReservedNodes,
    usable: BoolArray, taken: IntArray,
) -> int:  # fmt: skip
    """Return the start of a job, -1 if none is found, and reserve its nodes where that is later than now."""
    members, limit = cluster.members[tried.partition[job]], tried.limit[job]
    least = tried.slots[job] if tried.apart[job] else 1
    earliest, later = now - 1, now
    while later > earliest:
        earliest = later
        later = open_nodes(reserved, members, earliest, earliest + limit, usable)
        start = -1
        if _enough(usable, least):
            start = predicted_start(job, tried, cluster, usable, table, now, rules.kill_wait, taken)
        if start < 0:
            if not later:
                return -1
            continue
        start = max(start, earliest)
        if start <= now:
            return start
        if later and start > later:
            continue
        begin, end = start - start % rules.resolution, start + limit - (start + limit) % rules.resolution
        if start > now + rules.window:
            return start
        if is_open(reserved, taken, begin, end):
            reserve(reserved, taken, begin, end, rules.resolution)
            return start
        later = start
    return -1


@compiled
def _enough(usable: BoolArray, least: int) -> bool:
    count = 0
    for node in range(len(usable)):
        count += usable[node]
    return count >= least


def main_pass(tried: Tried, cluster: Cluster) -> list[tuple[int, IntArray, IntArray]]:
    """Return which jobs the main scheduler starts now, with their nodes and their slots on each.

    What starts is taken off ``free``. The first job of a partition that does not fit takes the nodes of the partition
    away from all after it.
    """
    taken = np.zeros(len(cluster.free), np.int64)
    usable = np.ones(len(cluster.free), np.bool_)
    blocked: set[int] = set()
    starts: list[tuple[int, IntArray, IntArray]] = []
    for job, partition in enumerate(tried.partition.tolist()):
        if partition in blocked:
            continue
        members = cluster.members[partition]
        if fits(job, tried, cluster, usable & members, taken):
            nodes = np.flatnonzero(taken)
            slots = taken[nodes]
            cluster.free[nodes] -= slots[:, None] * tried.demand[job]
            starts.append((job, nodes, slots))
            continue
        blocked.add(partition)
        usable &= ~members
        if not usable.any():
            break
    return starts


@compiled
def _note(row: int, start: int, table: Placed, taken: IntArray) -> None:
    at = table.counts[1]
    table.start[row], table.begin[row] = start, at
    for node in range(len(taken)):
        if taken[node]:
            table.node[at], table.slots[at] = node, taken[node]
            at += 1
    table.stop[row] = table.counts[1] = at


@compiled
def _take(row: int, cluster: Cluster, table: Placed) -> None:
    for place in range(table.begin[row], table.stop[row]):
        for resource in range(cluster.free.shape[1]):
            cluster.free[table.node[place], resource] -= table.slots[place] * table.demand[row, resource]


@compiled
def _run(row: int, end: int, table: Placed) -> None:
    """Let a job run from now on, which ends at its limit."""
    table.end[row] = end
    at = table.counts[0]
    while at and table.end[table.order[at - 1]] > end:
        table.order[at] = table.order[at - 1]
        at -= 1
    table.order[at] = row
    table.counts[0] += 1
