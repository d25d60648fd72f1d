"""How much may run at a time: limits of users, accounts, qualities of service, and of the tasks of arrays.

Rules after Slurm 22.05, ``src/slurmctld/acct_policy.c``: the main scheduler passes over a job that would be beyond a
limit; backfill only if it would be one job too many, so that it reserves nodes for one that asks for too much.
``src/plugins/sched/backfill/backfill.c``: while fewer tasks of an array run than may, nodes are reserved for others,
for more than those that may run, too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...base import BoolArray, IntArray
from ..compiled import borrowing

#: The column of what is left that counts jobs; the others count resources.
JOBS = 0
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
        How many jobs and how much of each limited resource is left, shape (limits, kinds); what starts is taken off.
    takes
        How much of it a waiting job takes, shape (jobs, kinds).
    array
        The row of `tasks` of a waiting job, -1 for none, shape (jobs,).
    tasks
        How many tasks of each array may still run, and have nodes reserved in this cycle, shape (arrays, 2).
    tested
        The rows of `tests` that a waiting job counts in, -1 for none, shape (jobs, most of one job).
    tests
        How many more jobs backfill looks at, shape (rows,): of a user, a partition, an association.
    reserves
        Whether backfill reserves nodes for a waiting job, shape (jobs,).
    """

    of: IntArray
    room: IntArray
    takes: IntArray
    array: IntArray
    tasks: IntArray
    tested: IntArray
    tests: IntArray
    reserves: BoolArray


def no_limits(jobs: int) -> JobLimits:
    """Return that nothing is limited."""
    none, nothing = np.empty((jobs, 0), np.int64), np.empty((0, 2), np.int64)
    return JobLimits(
        none, np.empty((0, 1), np.int64), np.ones((jobs, 1), np.int64), np.full(jobs, -1), nothing, none,
        np.empty(0, np.int64), np.ones(jobs, np.bool_),
    )  # fmt: skip


@borrowing
def may_run(job: int, kinds: int, limits: JobLimits) -> bool:
    """Return whether a waiting job may run under the first kinds of its limits: one counts jobs alone."""
    array = limits.array[job]
    if array >= 0 and (limits.tasks[array, RUN] < 1 or limits.tasks[array, RESERVE] < 1):
        return False
    for column in range(limits.of.shape[1]):
        row = limits.of[job, column]
        if row >= 0:
            for kind in range(kinds):
                if limits.takes[job, kind] > 0 and limits.room[row, kind] < limits.takes[job, kind]:
                    return False
    return True


@borrowing
def may_test(job: int, limits: JobLimits) -> bool:
    """Return whether backfill looks at one more job of its user, partition and association, and count that."""
    for column in range(limits.tested.shape[1]):
        row = limits.tested[job, column]
        if row >= 0 and limits.tests[row] < 1:
            return False
    for column in range(limits.tested.shape[1]):
        row = limits.tested[job, column]
        if row >= 0:
            limits.tests[row] -= 1
    return True


@borrowing
def count_start(job: int, limits: JobLimits) -> None:
    """Take a job that starts off what is left."""
    for column in range(limits.of.shape[1]):
        row = limits.of[job, column]
        if row >= 0:
            for kind in range(limits.room.shape[1]):
                limits.room[row, kind] -= limits.takes[job, kind]
    if limits.array[job] >= 0:
        limits.tasks[limits.array[job], RUN] -= 1
