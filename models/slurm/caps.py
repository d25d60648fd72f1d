"""How much may run at a time: limits of users, accounts, qualities of service, and of the tasks of arrays.

Rules after Slurm 22.05, ``src/slurmctld/acct_policy.c``: the main scheduler passes over a job that would be beyond a
limit; backfill only if it would be one job too many, so that it reserves nodes for one that asks for too many CPUs.
``src/plugins/sched/backfill/backfill.c``: while fewer tasks of an array run than may, nodes are reserved for others,
for more than those that may run, too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...base import IntArray
from ..compiled import borrowing

#: Columns of what is left.
JOBS, CPUS = range(2)
#: Columns of what is left of an array: tasks that may run, and that may have nodes reserved.
RUN, RESERVE = range(2)
#: More than anything.
UNLIMITED = 2**62


class Caps(NamedTuple):
    """Limits, and which of them hold for which job.

    Attributes
    ----------
    of
        The rows of `room` that a waiting job counts in, -1 for none, shape (jobs, most of one job).
    room
        How many jobs and CPUs are left, shape (limits, 2); what starts is taken off.
    array
        The row of `tasks` of a waiting job, -1 for none, shape (jobs,).
    tasks
        How many tasks of each array may still run, and have nodes reserved in this cycle, shape (arrays, 2).
    """

    of: IntArray
    room: IntArray
    array: IntArray
    tasks: IntArray


def no_caps(jobs: int) -> Caps:
    """Return that nothing is limited."""
    nothing = np.empty((0, 2), np.int64)
    return Caps(np.empty((jobs, 0), np.int64), nothing, np.full(jobs, -1), nothing)


@borrowing
def may_be_tried(job: int, cpus: int, caps: Caps) -> bool:
    """Return whether one more job of so many CPUs may run, as far as all that it counts in is concerned."""
    array = caps.array[job]
    if array >= 0 and (caps.tasks[array, RUN] < 1 or caps.tasks[array, RESERVE] < 1):
        return False
    return _has_room(job, cpus, caps)


@borrowing
def counted(job: int, cpus: int, caps: Caps) -> bool:
    """Take a job that is about to start off what is left; return whether there is room for it, else do nothing."""
    if not _has_room(job, cpus, caps):
        return False
    for column in range(caps.of.shape[1]):
        row = caps.of[job, column]
        if row >= 0:
            caps.room[row, JOBS] -= 1
            caps.room[row, CPUS] -= cpus
    if caps.array[job] >= 0:
        caps.tasks[caps.array[job], RUN] -= 1
    return True


@borrowing
def planned(job: int, reserved: bool, caps: Caps) -> None:
    """Count a task that does not start now; if nodes are not reserved for it, no other task of its array is tried."""
    array = caps.array[job]
    if array >= 0 and reserved:
        caps.tasks[array, RESERVE] -= 1
    elif array >= 0:
        caps.tasks[array, RESERVE] = 0


@borrowing
def _has_room(job: int, cpus: int, caps: Caps) -> bool:
    for column in range(caps.of.shape[1]):
        row = caps.of[job, column]
        if row >= 0 and (caps.room[row, JOBS] < 1 or caps.room[row, CPUS] < cpus):
            return False
    return True
