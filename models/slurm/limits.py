"""Limits on running jobs: of users, accounts, QOS and array tasks.

Rules of Slurm 22.05, ``src/slurmctld/acct_policy.c``: the main scheduler skips each job beyond a limit. Backfill skips
it only for a limit on the number of jobs. So backfill reserves nodes for a job that needs too much.

Rules of ``src/plugins/sched/backfill/backfill.c``: while fewer tasks of an array run than allowed, backfill reserves
nodes for others. It may reserve for more tasks than may run.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...base import BoolArray, IntArray
from ..compiled import borrowing

#: Column of `room` that counts jobs. The others count resources.
JOBS = 0
#: How many more tasks of an array may run, and may reserve nodes in this cycle.
ARRAY_TASKS = np.dtype([("run", np.int64), ("reserve", np.int64)])
#: A value for no limit.
UNLIMITED = 2**62


class JobLimits(NamedTuple):
    """Limits, and the jobs that each applies to.

    Attributes
    ----------
    of
        Rows of `room` for each waiting job, -1 for none. Shape (jobs, most of one job).
    room
        Free number of jobs and free amount of each limited resource. Shape (limits, kinds). Starts reduce it.
    takes
        Amounts of each waiting job, shape (jobs, kinds).
    array
        Row of `tasks` for each waiting job, -1 for none. Shape (jobs,).
    tasks
        Each array, of type :data:`ARRAY_TASKS`. Shape (arrays,).
    tested
        Rows of `tests` for each waiting job, -1 for none. Shape (jobs, most of one job).
    tests
        How many more jobs of a user, partition or association backfill considers. Shape (rows,).
    reserves
        Whether backfill reserves nodes for a waiting job, shape (jobs,).
    """

    of: IntArray
    room: IntArray
    takes: IntArray
    array: IntArray
    tasks: NDArray[np.void]
    tested: IntArray
    tests: IntArray
    reserves: BoolArray


def no_limits(jobs: int) -> JobLimits:
    """Return limits that never apply."""
    none = np.empty((jobs, 0), np.int64)
    return JobLimits(
        none,
        np.empty((0, 1), np.int64),
        np.ones((jobs, 1), np.int64),
        np.full(jobs, -1),
        np.empty(0, ARRAY_TASKS),
        none,
        np.empty(0, np.int64),
        np.ones(jobs, np.bool_),
    )


@borrowing
def may_run(job: int, kinds: int, limits: JobLimits) -> bool:
    """Return whether a waiting job is within the first `kinds` columns of its limits. One column counts jobs only."""
    array = limits.array[job]
    if array >= 0 and (limits.tasks[array].run < 1 or limits.tasks[array].reserve < 1):
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
    """Return whether backfill may consider one more job of its user, partition and association. Count it."""
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
    """Subtract a started job from the limits."""
    for column in range(limits.of.shape[1]):
        row = limits.of[job, column]
        if row >= 0:
            for kind in range(limits.room.shape[1]):
                limits.room[row, kind] -= limits.takes[job, kind]
    if limits.array[job] >= 0:
        limits.tasks[limits.array[job]].run -= 1
