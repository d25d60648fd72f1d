"""Recorded backfill cycles decided again, each from the real state before it, and the priorities."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from .....base import BoolArray, InputError, IntArray
from .....dispatchers.slurm import AccountUsage, Charge, charges_ended
from .....models.slurm.backfill import BackfillRules, backfill_pass
from .....models.slurm.jobs import Cluster, JobTable, SlurmQueue, SlurmRun, job_table
from .....models.slurm.limits import no_limits
from .....models.slurm.main_scheduler import main_pass
from .....models.slurm.nodes import note_submitted, weights_below
from .....models.slurm.priorities import Factors, Weights, job_size, priorities
from .....workloads.formats.slots import GPU, MEMORY
from .....workloads.slurm_conf import GPU_TYPE, SlurmSite
from .....workloads.slurm_workload import met_by_some
from .controller_log import AccountedJob, Event, with_shares

#: What happens in a cycle.
_OF_CYCLES = ("tested", "planned", "backfilled", "evaluated", "limited", "skipped")
#: How far a planned start may be off (seconds), and a priority (points).
NEAR, POINTS = 2, 5


@dataclass(slots=True)
class _Cycle:
    """A recorded cycle: the state before it, and its outcome."""

    now: int
    free: IntArray
    running: list[str]
    order: list[str] = field(default_factory=list)
    planned: dict[str, Event] = field(default_factory=dict)
    started: dict[str, Event] = field(default_factory=dict)
    limited: set[str] = field(default_factory=set)


class RecordedDecisions:
    """Reads a log, keeps the state of the cluster, and decides each backfill cycle again.

    Parameters
    ----------
    site
        The configuration.
    jobs
        By id.
    rules
        Of backfill.
    weights
        Of the nodes where decisions are made again, shape (nodes,); the site's by default.

    Attributes
    ----------
    counts
        Number of starts that were ``planned``, of them ``near`` and on the ``same nodes``. Number of jobs that backfill
        ``started``, that were ``started here``, and on the same nodes (``start nodes``).
    """

    def __init__(
        self, site: SlurmSite, jobs: Mapping[str, AccountedJob], rules: BackfillRules, weights: IntArray | None = None
    ) -> None:
        self._jobs, self._rules = jobs, rules
        self._node = {name: place for place, name in enumerate(site.nodes)}
        self._partition = {each.name: row for row, each in enumerate(site.partitions)}
        self._members = np.zeros((len(site.partitions), len(site.nodes)), np.bool_)
        for row, each in enumerate(site.partitions):
            self._members[row, list(each.nodes)] = True
        machine = with_shares(site.machine(met_by_some(site, [job.constraint for job in jobs.values()])))
        names = machine.resources if any(job.demand for job in jobs.values()) else ("core",)
        self._total = machine.capacity[:, : len(names)].copy()
        first = sorted(jobs, key=lambda id_: (*map(int, re.findall(r"\d+", id_)), -1))
        self._place = {id_: place for place, id_ in enumerate(first)}
        self._tasks: dict[str, list[str]] = {}
        for id_ in first:
            if "_" in id_:
                self._tasks.setdefault(id_.partition("_")[0], []).append(id_)
        self._ran = set[str]()
        self._begun = dict[str, int]()
        self._gpu, self._memory = (names.index(name) if name in names else -1 for name in (GPU, MEMORY))
        self._types = sum(name.startswith(GPU_TYPE) for name in names)
        self._busy_first = "bf_busy_nodes" in site.scheduler_parameters
        self._free = self._total.copy()
        self._base = weights_below(np.array(site.weights))
        self._weights = self._base.copy() if weights is None else weights_below(weights)
        self._running: dict[str, tuple[IntArray, IntArray]] = {}
        self._cycle: _Cycle | None = None
        self.counts: Counter[str] = Counter()

    def follow(self, events: Iterable[Event]) -> None:
        """Go through a log.

        Raises
        ------
        InputError
            If it has jobs, partitions or nodes that the accounting or the configuration does not have.
        """
        for event in events:
            try:
                self._happen(event._replace(job=self._named(event)))
            except KeyError as error:
                where = f"log: {event.kind} at {event.time:.3f}: job {event.job or '-'}"
                wanted = "a job of the accounting on nodes and in a partition of the configuration"
                raise InputError(f"{where}: expected {wanted}, got {error}") from None
        self._decide()

    def _named(self, event: Event) -> str:
        """Return the job of an event. For an array that waits as a whole this is its next task."""
        array = event.job.partition("_")[0]
        if event.job in self._jobs or array not in self._tasks:
            return event.job
        order = self._cycle.order if self._cycle is not None else []
        left = [id_ for id_ in self._tasks[array] if id_ not in self._ran]
        tested = [id_ for id_ in left if id_ in order]
        if event.kind == "tested" and len(tested) < len(left):
            return left[len(tested)]
        return (tested or left or self._tasks[array])[-1 if tested else 0]

    def _happen(self, event: Event) -> None:
        if event.kind not in _OF_CYCLES or (event.kind == "evaluated" and self._cycle is None):
            self._decide()
        if event.kind == "submitted":
            note_submitted(0, self._tried([event.job]), self._cluster(self._free, self._members))
        elif event.kind == "evaluated" and self._cycle is None:
            self._evaluate(event.job)
        elif event.kind == "cycle":
            running = sorted(self._running, key=self._place.__getitem__)
            self._cycle = _Cycle(int(event.time), self._free.copy(), running)
        elif event.kind in ("completed", "requeued"):
            nodes, slots = self._running.pop(event.job)
            self._free[nodes] += self._held(event.job, slots)
            self._ran -= {event.job} if event.kind == "requeued" else set()
        elif event.kind in ("backfilled", "allocated"):
            self._begin(event)
        if self._cycle is not None:
            # Without the debug level, jobs are named when they are planned or started, in the same order.
            if event.kind == "skipped" and event.job in self._cycle.order:
                self._cycle.order.remove(event.job)
            self._cycle.limited |= {event.job} if event.kind == "limited" else set()
            looked_at = event.kind in ("tested", "planned", "backfilled") and event.job not in self._cycle.order
            self._cycle.order += [event.job] if looked_at else []
            self._cycle.planned |= {event.job: event} if event.kind == "planned" else {}
            self._cycle.started |= {event.job: event} if event.kind == "backfilled" else {}

    def _begin(self, event: Event) -> None:
        """Let a job run on its real nodes. Tasks are laid out on them as the model does."""
        own = np.zeros_like(self._members)
        own[:, [self._node[name] for name in event.nodes]] = True
        starts = main_pass(self._tried([event.job]), Cluster(self._free, own, 0, self._base.copy()))
        if starts:
            ((_, nodes, slots),) = starts
        else:  # Their layout there is unknown to the model: alike on all.
            nodes = np.flatnonzero(own[0])
            slots = np.full(len(nodes), -(-self._jobs[event.job].slots // len(nodes)))
            self._free[nodes] -= self._held(event.job, slots)
        self._running[event.job] = nodes, slots
        self._begun[event.job] = int(event.time)
        self._ran.add(event.job)

    def _evaluate(self, job: str) -> None:
        """Let the main scheduler test a job. Only the effect on weights is left of it."""
        main_pass(self._tried([job]), self._cluster(self._free.copy(), self._members))

    def _row(self, job: str) -> SlurmRun:
        accounted_job = self._jobs[job]
        end = self._begun[job] + accounted_job.limit
        place = self._place[job]
        return SlurmRun(end, *self._running[job], _demand(accounted_job), place, accounted_job.by_node)

    def _held(self, job: str, slots: IntArray) -> IntArray:
        """Return a job's amounts on each of its nodes."""
        accounted_job = self._jobs[job]
        return np.asarray(slots[:, None] * _demand(accounted_job) + (accounted_job.by_node or (0,)))

    def _cluster(self, free: IntArray, members: BoolArray) -> Cluster:
        idle = (free == self._total).all(axis=1) if self._busy_first else np.empty(0, np.bool_)
        return Cluster(free, members, 0, self._weights, self._total, self._gpu, self._memory, self._types, idle)

    def _decide(self) -> None:
        """Decide the last cycle once more, and compare."""
        cycle, self._cycle = self._cycle, None
        if cycle is None or not cycle.order:
            return
        rows = [self._row(job) for job in cycle.running]
        tried = self._tried(cycle.order)
        table = job_table(rows, tried, len(cycle.free))
        limits = no_limits(len(cycle.order))
        # A job that it neither plans nor starts is beyond a limit too, or lacks a licence.
        held = cycle.limited | (set(cycle.order) - set(cycle.planned) - set(cycle.started))
        limited = np.array([[0 if job in held else -1] for job in cycle.order])
        limits = limits._replace(of=limited, room=np.array([[1, 0]]), takes=np.ones((len(limited), 2), np.int64))
        backfill_pass(tried, self._cluster(cycle.free, self._members), table, cycle.now, self._rules, limits)
        for row, job in enumerate(cycle.order, len(rows)):
            self._compare(cycle, job, row, table)

    def _compare(self, cycle: _Cycle, job: str, row: int, table: JobTable) -> None:
        nodes = set(table.nodes_of(row).tolist())
        if event := cycle.started.get(job):
            counts = {"started": 1, "started here": table.start[row] == cycle.now}
            counts["start nodes"] = nodes == {self._node[name] for name in event.nodes}
        elif event := cycle.planned.get(job):
            counts = {"planned": 1, "near": abs(table.start[row] - event.start) <= NEAR}
            counts["same nodes"] = nodes == {self._node[name] for name in event.nodes}
        else:
            counts = {"not planned": 1}
        self.counts.update({name: int(value) for name, value in counts.items()})

    def _tried(self, ids: list[str]) -> SlurmQueue:
        jobs = [self._jobs[job] for job in ids]
        return SlurmQueue(
            np.array([self._partition[job.partition] for job in jobs]),
            np.array([job.slots for job in jobs]),
            np.array([job.apart for job in jobs]),
            np.array([_demand(job) for job in jobs]),
            np.array([job.limit for job in jobs]),
            np.array([job.per_cpu or (0,) for job in jobs]),
            np.array([job.by_node or (0,) for job in jobs]),
            np.array([self._place[job] for job in ids]),
        )


def _demand(job: AccountedJob) -> tuple[int, ...]:
    return job.demand or (job.cores,)


def compared_priorities(
    site: SlurmSite,
    jobs: Mapping[str, AccountedJob],
    events: Iterable[Event],
    began: float,
    tick: int,
    half_life: float,
    weights: Weights,
    shares: Mapping[str, int],
    *,
    small: bool = False,
) -> Counter[str]:
    """Return how many priorities are on record (``seen``), and how many are ``near`` to and ``equal`` with the model's.

    Usage is that of the real starts and ends.

    Parameters
    ----------
    site, jobs, events
        The record.
    began, tick, half_life
        When the first period of priorities began (seconds since 1970), ``PriorityCalcPeriod`` and
        ``PriorityDecayHalfLife``, seconds.
    weights, shares
        Of the factors, and of the accounts.
    small
        ``PriorityFavorSmall``.
    """
    known = _Priorities(site, jobs, weights, small=small)
    running = dict[str, int]()
    usage = AccountUsage(shares, half_life, int(began))
    for job in jobs.values():
        usage.user(job.account, job.user)
    due = began + tick
    ended: list[tuple[Charge, int]] = []
    counts: Counter[str] = Counter()
    for event in events:
        same = known.tasks_of(event.job)
        while event.time >= due:
            charges = [known.charged(name, running[name]) for name in sorted(running)]
            usage.tick(int(due), charges, ended if charges_ended(site) else [])
            ended.clear()
            known.set(usage, int(due))
            due += tick
        if event.kind == "submitted":
            for name in same:
                known.add(name, usage, int(event.time))
        elif event.kind in ("allocated", "backfilled"):
            running[event.job] = int(event.time)
            known.waiting.discard(event.job)
        elif event.kind in ("completed", "requeued"):
            ended.append((known.charged(event.job, running.pop(event.job)), int(event.time)))
            known.waiting |= {event.job} if event.kind == "requeued" else set()
        if event.kind in ("submitted", "tested"):
            waits = next((name for name in same if name in known.waiting), same[0])
            off = abs(known.now[waits] - event.priority)
            counts.update({"seen": 1, "near": int(off <= POINTS), "equal": int(not off)})
    return counts


class _Priorities:
    """The priorities of the jobs that wait."""

    def __init__(self, site: SlurmSite, jobs: Mapping[str, AccountedJob], weights: Weights, *, small: bool) -> None:
        most = max(each.factor for each in site.partitions)
        self._factor = {each.name: each.factor / most for each in site.partitions}
        self._whole = {each.name for each in site.partitions if each.exclusive}
        self._nodes = len(site.nodes)
        self._cores = int(site.capacity[:, 0].sum())
        self._jobs = jobs
        self._weights = weights
        self._small = small
        self._tasks: dict[str, list[str]] = {}
        for id_ in jobs:
            self._tasks.setdefault(id_.partition("_")[0], []).append(id_)
        self.waiting: set[str] = set()
        self.now: dict[str, int] = {}

    def tasks_of(self, name: str) -> list[str]:
        """Return the job that a log names, or the tasks of the array that it names."""
        return [name] if name in self._jobs else self._tasks.get(name.partition("_")[0], [name])

    def add(self, job: str, usage: AccountUsage, now: int) -> None:
        self.waiting.add(job)
        self._set(job, usage, now)

    def set(self, usage: AccountUsage, now: int) -> None:
        for job in self.waiting:
            self._set(job, usage, now)

    def charged(self, job: str, start: int) -> Charge:
        accounted_job = self._jobs[job]
        return (
            (accounted_job.account, accounted_job.user),
            start,
            accounted_job.cpus or accounted_job.slots * accounted_job.cores,
        )

    def _set(self, name: str, usage: AccountUsage, now: int) -> None:
        job = self._jobs[name]
        cpus = job.cpus if job.partition in self._whole else job.slots * job.cores
        parts = (job.slots if job.apart else 1) / self._nodes, cpus / self._cores
        size = job_size(*parts, small=self._small)
        factors = (
            max(now - job.submit, 0),
            usage.user(job.account, job.user).factor,
            size,
            self._factor[job.partition],
            job.qos,
        )
        self.now[name] = int(priorities(self._weights, Factors(*np.array(factors, dtype=np.float64)[:, None]))[0])
