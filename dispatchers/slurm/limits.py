"""Limits of associations, QOS and arrays, and the jobs that they apply to."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ...base import IntArray
from ...models.slurm.limits import ARRAY_TASKS, UNLIMITED
from ...workloads import Job, Machine
from ...workloads.slurm_conf import SlurmSite
from ...workloads.slurm_limits import JOBS, MINUTES, SiteLimits, SlurmLimits
from ..protocol import JobView, Running, State, Waiting

#: A kind of limit, and its owner.
Group = tuple[str, ...]
#: Number of ended jobs with cached amounts.
_MANY = 10_000


class Limits:
    """Rows of limits, and the jobs that they apply to.

    Parameters
    ----------
    limits
        Output of ``sacctmgr``, or ``None``.
    site
        Configuration, or ``None``. Its partitions may have a QOS.
    machine
        The machine.
    """

    def __init__(self, limits: SlurmLimits | None, site: SlurmSite | None, machine: Machine) -> None:
        slurm_limits = limits or SlurmLimits()
        self.associations = slurm_limits.associations
        self.qualities = slurm_limits.qualities
        self._given = limits is not None
        self.site = SiteLimits(slurm_limits, site, machine)
        each = [one for qos in slurm_limits.qualities.values() for one in (qos.all, qos.users, qos.accounts)]
        each += [association.all for association in slurm_limits.associations.values()]
        names = dict.fromkeys(name for most in each for name in most)
        self._kinds = [JOBS, *(name for name in names if name != JOBS)]
        self._row: dict[Group, int] = {}
        self._most: list[list[int]] = []
        self._rows: dict[tuple[str, str, str, str], tuple[int, ...]] = {}
        self._amounts: dict[tuple[int, int], dict[str, int]] = {}
        self._asked: dict[tuple[int, int], list[int]] = {}
        self._totals: dict[str, dict[str, int]] = {}
        self._highest = max((qos.priority for qos in slurm_limits.qualities.values()), default=0)

    def factor(self, job: JobView) -> float:
        """Return the QOS factor of a job's priority, from 0 to 1."""
        return self.site.quality(job).priority / self._highest if self._highest else 0.0

    def unreserved(self, job: JobView) -> bool:
        """Return whether backfill never reserves nodes for a job (flag ``NoReserve``)."""
        return "noreserve" in self.site.quality(job).flags

    def cpus(self, waiting: Waiting) -> int:
        """Return the CPUs that a waiting job will use."""
        return self._amounts_of(waiting)["cpu"]

    def relative(self, waiting: Waiting, weights: Mapping[str, float]) -> float:
        """Return the points of a waiting job for what it requests, relative to what its partition has."""
        if not weights:
            return 0.0
        queue = waiting.job.queue
        if queue not in self._totals:
            self._totals[queue] = self.site.total(queue)
        total, amounts = self._totals[queue], self.site.amounts(waiting.job, whole=False)
        return sum(
            weight * amounts.get(name, 0) / total[name] for name, weight in weights.items() if total.get(name, 0) > 0
        )

    def charged(self, running: Running) -> float:
        """Return the CPUs of a running job, times the ``UsageFactor`` of its QOS."""
        return self._amounts_of(running)["cpu"] * self.site.quality(running.job).usage_factor

    def charged_then(self, job: Job) -> float:
        """Return the CPUs of a job that has ended, times the ``UsageFactor`` of its QOS."""
        return self.site.amounts(job)["cpu"] * self.site.quality(job).usage_factor

    def rows_of(self, job: JobView) -> tuple[int, ...]:
        """Return the rows of a job's limits."""
        key = job.group, job.user, job.queue, job.qos
        if key not in self._rows:
            rows = []
            for group, most in self.site.groups(job):
                if most:
                    named = (*group, *(f"{name}={amount}" for name, amount in most.items()))
                    row = self._row.setdefault(named, len(self._most))
                    if row == len(self._most):
                        self._most.append([most.get(kind, UNLIMITED) for kind in self._kinds])
                    rows.append(row)
            self._rows[key] = tuple(rows)
        return self._rows[key]

    def know(self, waiting: Iterable[Waiting]) -> None:
        """Add the rows of limits of jobs that joined the queue."""
        for each in waiting if self._given else ():
            self.rows_of(each.job)

    def room(self, state: State) -> IntArray:
        """Return the free jobs and amounts of each limit. Shape (limits, kinds)."""
        if not self._given:
            return np.empty((0, 1), np.int64)
        bound = [(running, self.rows_of(running.job)) for running in state.running]
        left = np.array(self._most, np.int64).reshape(-1, len(self._kinds))
        if not len(left):
            return left
        taken = [[0] * len(self._kinds) for _ in self._most]
        for running, rows in bound:
            if not rows:
                continue
            minutes = -(-max(running.predicted_end - state.now, 0) // 60)
            takes = self._takes(self._amounts_of(running), minutes)
            for row in rows:
                taken[row] = [sum(pair) for pair in zip(taken[row], takes, strict=True)]
        if len(self._amounts) > 4 * len(bound) + _MANY:
            self._amounts.clear()
        return left - np.array(taken, np.int64)

    def of(self, waiting: Sequence[Waiting]) -> tuple[IntArray, IntArray]:
        """Return the limits of waiting jobs, shape (jobs, most of one job), -1 for none, and their amounts."""
        rows = [self.rows_of(each.job) for each in waiting]
        longest = max(map(len, rows), default=0)
        nothing = [0] * len(self._kinds)
        of = [[*own, *(-1,) * (longest - len(own))] for own in rows]
        takes = [self._asks(each) if own else nothing for own, each in zip(rows, waiting, strict=True)]
        if len(self._asked) > 4 * len(rows) + _MANY:
            self._asked.clear()
        return np.array(of, np.int64).reshape(len(rows), longest), np.array(takes, np.int64).reshape(
            len(rows), len(nothing)
        )

    def _asks(self, waiting: Waiting) -> list[int]:
        """Return the amount of each kind that a waiting job will take."""
        key = waiting.order, waiting.predicted
        if key not in self._asked:
            self._asked[key] = self._takes(self._amounts_of(waiting), -(-waiting.predicted // 60))
        return self._asked[key]

    def forbids(self, waiting: Waiting) -> bool:
        """Return whether a job alone exceeds a limit, so that it would wait for ever."""
        return self._given and bool(self.site.over(waiting.job))

    def _takes(self, amounts: dict[str, int], minutes: int) -> list[int]:
        """Return a job's amount of each kind. Some kinds count its minutes."""
        return [
            1
            if kind == JOBS
            else amounts.get(kind.removeprefix(MINUTES), 0) * (minutes if kind.startswith(MINUTES) else 1)
            for kind in self._kinds
        ]

    def _amounts_of(self, job: Waiting | Running) -> dict[str, int]:
        """Return a job's total amounts by Slurm's names. An exclusive job uses all cores of its nodes."""
        if not isinstance(job, Running):
            return self.site.amounts(job.job)
        key = job.order, job.start
        if key not in self._amounts:
            self._amounts[key] = self.site.amounts(job.job, np.unique(job.placement))
        return self._amounts[key]


class Tests:
    """Number of waiting jobs that a backfill cycle considers, per user, partition and association.

    Parameters
    ----------
    most
        ``bf_max_job_user``, ``bf_max_job_part``, ``bf_max_job_assoc`` and ``bf_max_job_user_part``. 0 for no limit.
    """

    def __init__(self, most: Sequence[int]) -> None:
        self._most = most
        self._row: dict[Group, int] = {}
        self._limits: list[int] = []

    def of(self, waiting: Sequence[Waiting]) -> IntArray:
        """Return the rows of waiting jobs, shape (jobs, limits)."""
        rows = np.full((len(waiting), sum(most > 0 for most in self._most)), -1, np.int64)
        for at, each in enumerate(waiting):
            job = each.job
            keys = (job.user,), (job.queue,), (job.group, job.user), (job.user, job.queue)
            pairs = ((place, most, key) for place, (most, key) in enumerate(zip(self._most, keys, strict=True)) if most)
            for column, (place, most, key) in enumerate(pairs):
                row = rows[at, column] = self._row.setdefault((str(place), *key), len(self._limits))
                self._limits += [most] if row == len(self._limits) else []
        return rows

    def room(self) -> IntArray:
        """Return the number of jobs left in each row, shape (rows,)."""
        return np.array(self._limits, np.int64)


class Arrays:
    """Job arrays as rows, and the array of each task.

    Parameters
    ----------
    reserved
        ``bf_max_job_array_resv``: tasks per array for which a backfill cycle reserves nodes.
    """

    def __init__(self, reserved: int) -> None:
        self._reserved = reserved
        self._row: dict[str, int] = {}
        self._most: list[int] = []
        self._of: dict[int, int] = {}

    def add(self, order: int, job: JobView) -> int:
        """Add a task by its position in the trace. Return the row of its array."""
        if order not in self._of:
            array, _, most = job.array.partition("%")
            self._of[order] = self._row.setdefault(array, len(self._most))
            if self._of[order] == len(self._most):
                self._most.append(int(most) if most.isdecimal() and int(most) else UNLIMITED)
        return self._of[order]

    def of(self, order: IntArray) -> IntArray:
        """Return the array of each job by position in the trace, -1 for none."""
        return np.array([self._of.get(place, -1) for place in order.tolist()] if self._of else [-1] * len(order), int)

    def room(self, state: State) -> NDArray[np.void]:
        """Return how many more tasks of each array may run and may reserve nodes, of type :data:`.ARRAY_TASKS`."""
        # A job that runs when the simulation begins has never joined the queue.
        running = [self.add(each.order, each.job) for each in state.running if each.job.array] if self._most else []
        left = np.empty(len(self._most), ARRAY_TASKS)
        left["run"] = self._most
        left["reserve"] = self._reserved
        np.subtract.at(left["run"], running, 1)
        return left

    def first(self, order: IntArray, most: int) -> int:
        """Return how many jobs the first `most` are, if all tasks of an array count as one."""
        if not self._of or len(order) <= most:
            return most
        of = self.of(order)
        heads = of < 0
        _, places = np.unique(of, return_index=True)
        heads[places] = True
        return int(np.searchsorted(np.cumsum(heads), most, side="right"))
