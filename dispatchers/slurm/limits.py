"""The limits of associations, qualities of service and arrays, for the jobs that have them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...base import IntArray
from ...models.slurm import UNLIMITED
from ...workloads import Machine
from ...workloads.formats.slots import GPU, MEMORY
from ...workloads.slurm_conf import APART, GPU_TYPE, SlurmSite
from ...workloads.slurm_limits import JOBS, MINUTES, WALL, Most, SlurmLimits, SlurmQos
from ..protocol import JobView, Running, State, Waiting

#: What is limited: a kind, and whose it is.
Group = tuple[str, ...]
#: Jobs whose amounts are kept after they have ended.
_MANY = 10_000


class Limits:
    """Rows of limits, and which of them hold for which job.

    Parameters
    ----------
    limits
        What ``sacctmgr`` says; ``None``: nothing.
    site
        The configuration, whose partitions may have a quality of service; ``None``: none.
    machine
        The machine.
    """

    def __init__(self, limits: SlurmLimits | None, site: SlurmSite | None, machine: Machine) -> None:
        self._limits, self._machine = limits or SlurmLimits(), machine
        self._given = limits is not None
        self._of_partition = {each.name: each.quality for each in site.partitions} if site else {}
        self._members = {each.name: list(each.nodes) for each in site.partitions} if site else {}
        found = self._limits
        each = [one for qos in found.qualities.values() for one in (qos.all, qos.users, qos.accounts)]
        each += [association.all for association in found.associations.values()]
        names = dict.fromkeys(name for most in each for name in most)
        self._kinds = [JOBS, *(name for name in names if name != JOBS)]
        self._row: dict[Group, int] = {}
        self._most: list[list[int]] = []
        self._rows: dict[tuple[str, str, str, str], tuple[int, ...]] = {}
        self._amounts: dict[tuple[int, int], dict[str, int]] = {}
        self._priority = {name: qos.priority for name, qos in found.qualities.items()}
        self._highest = max(self._priority.values(), default=0)

    def quality(self, job: JobView) -> SlurmQos:
        """Return the quality of service of a job."""
        return self._limits.qualities.get(self.name_of(job), SlurmQos())

    def name_of(self, job: JobView) -> str:
        """Return the name of the quality of service of a job."""
        return self._limits.quality_of(job.qos, job.group, job.user)

    def factor(self, job: JobView) -> float:
        """Return the part of a job's priority that its quality of service has, from 0 to 1."""
        return self.quality(job).priority / self._highest if self._highest else 0.0

    def shares(self) -> dict[str, int]:
        """Return the shares of accounts and users that the associations say."""
        found = self._limits.associations.items()
        return {user or account: each.shares for (account, user), each in found if each.shares is not None}

    def unreserved(self, job: JobView) -> bool:
        """Return whether backfill reserves no nodes for a job (the flag ``NoReserve``)."""
        return "noreserve" in self.quality(job).flags

    def charged(self, running: Running) -> float:
        """Return the CPUs of a running job, times the ``UsageFactor`` of its quality of service."""
        return self._amounts_of(running)["cpu"] * self.quality(running.job).usage_factor

    def rows_of(self, job: JobView) -> tuple[int, ...]:
        """Return the limits that a job counts in."""
        key = job.group, job.user, job.queue, job.qos
        if key not in self._rows:
            rows = []
            for group, most in self._groups(job):
                if most:
                    named = (*group, *(f"{name}={amount}" for name, amount in most.items()))
                    row = self._row.setdefault(named, len(self._most))
                    if row == len(self._most):
                        self._most.append([most.get(kind, UNLIMITED) for kind in self._kinds])
                    rows.append(row)
            self._rows[key] = tuple(rows)
        return self._rows[key]

    def room(self, state: State) -> IntArray:
        """Return how many jobs and how much of each resource is left of the limits, shape (limits, kinds)."""
        if not self._given:
            return np.empty((0, 1), np.int64)
        for each in (*state.running, *state.queue):
            self.rows_of(each.job)
        left = np.array(self._most, np.int64).reshape(-1, len(self._kinds))
        if len(left):
            for running in state.running:
                if rows := self.rows_of(running.job):
                    minutes = max(running.predicted_end - state.now, 0) // 60
                    left[list(rows)] -= self._takes(self._amounts_of(running), minutes)
            if len(self._amounts) > 4 * len(state.running) + _MANY:
                self._amounts.clear()
        return left

    def of(self, waiting: Sequence[Waiting]) -> tuple[IntArray, IntArray]:
        """Return which limits hold for waiting jobs, shape (jobs, most of one job), -1 for none, and what they take."""
        rows = [self.rows_of(each.job) for each in waiting]
        of = np.full((len(rows), max(map(len, rows), default=0)), -1, np.int64)
        takes = np.zeros((len(rows), len(self._kinds)), np.int64)
        for job, (own, each) in enumerate(zip(rows, waiting, strict=True)):
            of[job, : len(own)] = own
            if own:
                takes[job] = self._takes(self._amounts_of(each), -(-each.predicted // 60))
        return of, takes

    def never(self, waiting: Waiting) -> bool:
        """Return whether a job alone is beyond a limit."""
        if not self._given:
            return False
        job, quality = waiting.job, self.quality(waiting.job)
        amounts = self._amounts_of(waiting)
        minutes = -(-job.walltime // 60)
        amounts |= {f"{MINUTES}{name}": amount * minutes for name, amount in amounts.items()} | {WALL: 60 * minutes}
        partition = self._limits.qualities.get(self._of_partition.get(job.queue, ""), SlurmQos())
        above = [each.job for each in self._limits.associated(job.group, job.user)]
        most = [most for _, most in self._groups(job)] + [{**quality.job, **partition.job}, *above]
        least = [least for each in (quality, partition) for least in each.least.items()]
        amounts[JOBS] = 1
        return any(amounts.get(name, 0) > amount for each in most for name, amount in each.items()) or any(
            amounts.get(name, 0) < amount for name, amount in least
        )

    def _takes(self, amounts: dict[str, int], minutes: int) -> list[int]:
        """Return how much a job takes of each kind, of which some count its minutes."""
        return [
            1 if kind == JOBS
            else amounts.get(kind.removeprefix(MINUTES), 0) * (minutes if kind.startswith(MINUTES) else 1)
            for kind in self._kinds
        ]  # fmt: skip

    def _amounts_of(self, job: Waiting | Running) -> dict[str, int]:
        """Return what a job takes in all, by Slurm's names: of an exclusive one all cores of its nodes."""
        view, capacity = job.job, self._machine.capacity
        key = (job.order, job.start) if isinstance(job, Running) else (-1, -1)
        if key in self._amounts:
            return self._amounts[key]
        placed = np.unique(job.placement) if isinstance(job, Running) else None
        nodes = job.nodes if APART in view.per_node else 1
        names = {MEMORY: "mem", GPU: "gres/gpu"}
        found = {
            names.get(name, name.replace(GPU_TYPE, "gres/gpu:")): job.nodes * amount
            for name, amount in view.per_node.items()
        }
        found["cpu"] = job.nodes * job.demand[self._machine.primary]
        if view.exclusive:
            cores = capacity[self._members.get(view.queue) or slice(None), self._machine.primary]
            found["cpu"] = (
                int(cores.min()) * nodes if placed is None else int(capacity[placed, self._machine.primary].sum())
            )
        if placed is not None:
            nodes = len(placed)
            self._count_types(found, placed)
        found |= {"node": nodes, "billing": found["cpu"]}
        found |= {f"license/{name}": count for name, count in view.licences.items()}
        if placed is not None:
            self._amounts[key] = found
        return found

    def _count_types(self, found: dict[str, int], placed: IntArray) -> None:
        """Count the GPUs of a job that named no type as those of the type that its nodes have."""
        resources = self._machine.resources
        typed = [at for at, name in enumerate(resources) if name.startswith(GPU_TYPE)]
        if found.get("gres/gpu") and not any(name.startswith("gres/gpu:") for name in found):
            for at in typed:
                if (self._machine.capacity[placed, at] > 0).all():
                    found[f"gres/gpu:{resources[at].removeprefix(GPU_TYPE)}"] = found["gres/gpu"]

    def _groups(self, job: JobView) -> Iterator[tuple[Group, Most]]:
        """Yield the limits that a job counts in: of its association and those above, and of qualities of service.

        Of two qualities of service, that of the partition comes first where both limit the same, unless the job's own
        has the flag ``OverPartQOS``.
        """
        limits, account, user = self._limits, job.group, job.user
        associations = limits.associations
        most_jobs = [each.most_jobs for each in limits.associated(account, user) if each.most_jobs is not None]
        if most_jobs:
            yield ("user", account, user), {JOBS: most_jobs[0]}
        for key in ((account, user), *((above, "") for above in limits.above(account))):
            if key in associations:
                yield ("association", *key), associations[key].all
        own, partition = self.name_of(job), self._of_partition.get(job.queue, "")
        names = [own, partition] if "overpartqos" in self.quality(job).flags else [partition, own]
        pair = [(name, limits.qualities.get(name, SlurmQos())) for name in dict.fromkeys(names) if name]
        before = SlurmQos()
        for name, quality in pair:
            for kind, most, taken in (
                (("quality", name), quality.all, before.all),
                (("quality user", name, user), quality.users, before.users),
                (("quality account", name, account), quality.accounts, before.accounts),
            ):
                yield kind, {each: amount for each, amount in most.items() if each not in taken}
            before = quality


class Tests:
    """How many waiting jobs of a user, a partition and an association a cycle of backfill looks at.

    Parameters
    ----------
    most
        ``bf_max_job_user``, ``bf_max_job_part``, ``bf_max_job_assoc`` and ``bf_max_job_user_part``; 0: no limit.
    """

    def __init__(self, most: Sequence[int]) -> None:
        self._most = most
        self._row: dict[Group, int] = {}
        self._limits: list[int] = []

    def of(self, waiting: Sequence[Waiting]) -> IntArray:
        """Return the rows that waiting jobs count in, shape (jobs, limits)."""
        found = np.full((len(waiting), sum(most > 0 for most in self._most)), -1, np.int64)
        for at, each in enumerate(waiting):
            job = each.job
            keys = (job.user,), (job.queue,), (job.group, job.user), (job.user, job.queue)
            pairs = ((place, most, key) for place, (most, key) in enumerate(zip(self._most, keys, strict=True)) if most)
            for column, (place, most, key) in enumerate(pairs):
                row = found[at, column] = self._row.setdefault((str(place), *key), len(self._limits))
                self._limits += [most] if row == len(self._limits) else []
        return found

    def room(self) -> IntArray:
        """Return how many jobs are left of each row, shape (rows,)."""
        return np.array(self._limits, np.int64)


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
        left = np.empty((len(self._most), 2), np.int64)
        left[:, 0], left[:, 1] = self._most, self._reserved
        if len(left):
            for running in state.running:
                if running.job.array:
                    left[self.add(running.order, running.job), 0] -= 1
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
