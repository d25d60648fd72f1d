"""The limits of associations, qualities of service and arrays, for the jobs that have them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from ...base import IntArray
from ...models.slurm import UNLIMITED
from ...workloads.slurm_limits import NORMAL, Most, SlurmLimits
from ..protocol import JobView, State, Waiting

#: What is limited: a kind, and whose it is.
Group = tuple[str, ...]


class Limits:
    """Rows of limits, and which of them hold for which job.

    Parameters
    ----------
    limits
        What ``sacctmgr`` says; ``None``: nothing.
    qualities
        The quality of service of each partition that has one, which comes before that of the job.
    primary
        The resource that counts as CPUs.
    """

    def __init__(self, limits: SlurmLimits | None, qualities: Mapping[str, str], primary: int) -> None:
        self._limits, self._qualities, self._primary = limits, qualities, primary
        self._row: dict[Group, int] = {}
        self._most: list[Most] = []
        self._rows: dict[tuple[str, str, str], tuple[int, ...]] = {}

    def rows_of(self, job: JobView) -> tuple[int, ...]:
        """Return the limits that a job counts in."""
        key = job.group, job.user, job.queue
        if key not in self._rows:
            rows = []
            for group, most in self._groups(*key):
                if most != Most():
                    row = self._row.setdefault((*group, *map(str, most)), len(self._most))
                    self._most += [most] if row == len(self._most) else []
                    rows.append(row)
            self._rows[key] = tuple(rows)
        return self._rows[key]

    def room(self, state: State) -> IntArray:
        """Return how many jobs and CPUs are left of each limit that a job has, shape (limits, 2)."""
        if self._limits is None:
            return np.empty((0, 2), np.int64)
        amounts = [(self.rows_of(job.job), job.nodes * job.demand[self._primary]) for job in state.running]
        for waiting in state.queue:
            self.rows_of(waiting.job)
        left = np.array([[UNLIMITED if most is None else most for most in each] for each in self._most], np.int64)
        left = left.reshape(-1, 2)
        for rows, cpus in amounts:
            for row in rows:
                left[row] -= (1, cpus)
        return left

    def of(self, waiting: list[Waiting]) -> IntArray:
        """Return which limits hold for waiting jobs, shape (jobs, most of one job), -1 for none."""
        rows = [self.rows_of(each.job) for each in waiting]
        of = np.full((len(rows), max(map(len, rows), default=0)), -1, np.int64)
        for job, own in enumerate(rows):
            of[job, : len(own)] = own
        return of

    def never(self, waiting: Waiting) -> bool:
        """Return whether a job alone is beyond a limit."""
        if self._limits is None:
            return False
        cpus = waiting.nodes * waiting.demand[self._primary]
        most = (self._most[row] for row in self.rows_of(waiting.job))
        return any(each.jobs == 0 or (each.cpus is not None and each.cpus < cpus) for each in most)

    def _groups(self, account: str, user: str, queue: str) -> Iterator[tuple[Group, Most]]:
        limits, nothing = self._limits or SlurmLimits(), Most()
        yield ("association", account, user), limits.groups.get((account, user), nothing)
        yield ("user", account, user), limits.users.get((account, user), nothing)
        above, seen = account, set[str]()
        while above and above not in seen:
            seen.add(above)
            yield ("account", above), limits.groups.get((above, ""), nothing)
            above = limits.parents.get(above, "")
        names = [name for name in (self._qualities.get(queue, ""), NORMAL) if name]
        for kind, most_of in (("quality", limits.quality), ("quality user", limits.quality_users)):
            own = nothing
            for name in names:
                most = most_of.get(name, nothing)
                free = Most(*(None if taken is not None else value for taken, value in zip(own, most, strict=True)))
                yield (kind, name, user if "user" in kind else ""), free
                own = own.over(most)


class Arrays:
    """Rows of arrays, and of which array each job is a task.

    Parameters
    ----------
    reserved
        ``bf_max_job_array_resv``: for how many tasks of an array a cycle of backfill reserves nodes.
    """

    def __init__(self, reserved: int) -> None:
        self._reserved = reserved
        self._row: dict[str, int] = {}
        self._most: list[int] = []
        self._of: dict[int, int] = {}

    def add(self, order: int, job: JobView) -> int:
        """Add a task of an array by its place in the trace; return the row of the array."""
        if order not in self._of:
            array, _, most = job.array.partition("%")
            self._of[order] = self._row.setdefault(array, len(self._most))
            if self._of[order] == len(self._most):
                self._most.append(int(most) if most.isdecimal() and int(most) else UNLIMITED)
        return self._of[order]

    def of(self, order: IntArray) -> IntArray:
        """Return the array of each job by its place in the trace, -1: none."""
        return np.array([self._of.get(place, -1) for place in order.tolist()] if self._of else [-1] * len(order), int)

    def room(self, state: State) -> IntArray:
        """Return how many more tasks of each array may run, and may have nodes reserved, shape (arrays, 2)."""
        # A job that runs when a simulation begins has not joined the queue.
        running = [self.add(each.order, each.job) for each in state.running if each.job.array] if self._most else []
        left = np.empty((len(self._most), 2), np.int64)
        left[:, 0], left[:, 1] = self._most, self._reserved
        np.subtract.at(left[:, 0], running, 1)
        return left

    def first(self, order: IntArray, most: int) -> int:
        """Return how many of the jobs are the first `most`, if the tasks of an array count as one."""
        if not self._of or len(order) <= most:
            return most
        of = self.of(order)
        heads = of < 0
        _, places = np.unique(of, return_index=True)
        heads[places] = True
        return int(np.searchsorted(np.cumsum(heads), most, side="right"))
