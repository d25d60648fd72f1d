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


class JobLimits(NamedTuple):
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


def no_limits(jobs: int) -> JobLimits:
    """Return that nothing is limited."""
    nothing = np.empty((0, 2), np.int64)
    return JobLimits(np.empty((jobs, 0), np.int64), nothing, np.full(jobs, -1), nothing)


@borrowing
def may_run(job: int, cpus: int, limits: JobLimits) -> bool:
    """Return whether one more job of so many CPUs may run under the limits of a waiting job."""
    array = limits.array[job]
    if array >= 0 and (limits.tasks[array, RUN] < 1 or limits.tasks[array, RESERVE] < 1):
        return False
    for column in range(limits.of.shape[1]):
        row = limits.of[job, column]
        if row >= 0 and (limits.room[row, JOBS] < 1 or limits.room[row, CPUS] < cpus):
            return False
    return True


@borrowing
def count_start(job: int, cpus: int, limits: JobLimits) -> None:
    """Take a job that starts off what is left."""
    for column in range(limits.of.shape[1]):
        row = limits.of[job, column]
        if row >= 0:
            limits.room[row, JOBS] -= 1
            limits.room[row, CPUS] -= cpus
    if limits.array[job] >= 0:
        limits.tasks[limits.array[job], RUN] -= 1
