"""Jobs by position in the trace: columns, priorities, and nodes while they run."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ...base import IntArray
from ...models import count_slots
from ...models.slurm.jobs import SlurmQueue, SlurmRun
from ...models.slurm.nodes import note_submitted
from ...models.slurm.priorities import Association, Factors, Weights, job_size, priorities
from ...workloads import Machine
from ...workloads.formats.slots import MEMORY
from ...workloads.slurm_conf import APART, BY_CORE
from ..protocol import Running, State, Waiting
from .limits import Limits
from .partitions import Partitions
from .usage import AccountUsage, Charge, restored

_COLUMNS = np.dtype(
    [
        ("partition", np.int64),
        ("apart", np.bool_),
        ("priority", np.int64),
        ("again", np.int64),
        ("size", np.float64),
        ("joined", np.int64),
        ("place", np.int64),
        ("qos", np.float64),
        ("further", np.float64),
        ("least", np.int64),
        ("wanted", np.int64),
        ("most", np.int64),
        ("together", np.int64),
    ]
)
#: Number of ended jobs with cached nodes.
_MANY = 1_000


class SlurmJobs:
    """Jobs that have joined the queue or run.

    Parameters
    ----------
    machine, partitions, limits, weights
        Machine, partitions, QOS limits, and priority weights.
    small
        ``PriorityFavorSmall``.
    tres
        ``PriorityWeightTRES`` by name.
    epoch
        Seconds since 1970 at time 0.

    Attributes
    ----------
    columns
        By position in the trace. `again`: when a preempted job may start again, else 0. `joined`: one second after the
        job joined the queue, 0 before that.
    owners
        Account and user, and their association, by position.
    ids
        Ids by position, of jobs that joined the queue and of those that ran when the simulation began.
    """

    def __init__(
        self,
        machine: Machine,
        partitions: Partitions,
        limits: Limits,
        weights: Weights,
        *,
        small: bool,
        tres: Mapping[str, float],
        epoch: int,
    ) -> None:
        self._machine = machine
        self._partitions = partitions
        self._weights = weights
        self._small = small
        self._tres = tres
        self._limits = limits
        self._epoch = epoch
        self._cores = int(machine.capacity[:, machine.primary].sum())
        self._index = {name: index for index, name in enumerate(machine.resources)}
        self.columns = np.zeros(0, _COLUMNS)
        self.owners: dict[int, tuple[tuple[str, str], Association]] = {}
        self.ids: dict[int, str] = {}
        self._together: dict[str, int] = {}
        self._charged: dict[tuple[int, int], Charge] = {}
        self._room: dict[tuple[int, tuple[int, ...], bool], int] = {}
        self._nodes: dict[int, tuple[int, IntArray, IntArray]] = {}

    def begin(self, running: Sequence[Running]) -> None:
        """Note the jobs that run when the simulation begins. They never join the queue."""
        self.ids |= {each.order: each.id for each in running}

    def joining(self, state: State) -> list[Waiting]:
        """Return the waiting jobs that were not added yet, or joined the queue again."""
        order = state.queue.order
        self._grow(int(order.max(initial=-1)))
        rows = np.flatnonzero(self.columns["joined"][order] != state.queue.since + 1)
        return [state.queue.entries[row] for row in rows.tolist()]

    def add(self, joined: Sequence[Waiting], usage: AccountUsage, tick: int) -> None:
        """Add jobs that joined the queue, with priorities as of the last tick."""
        for waiting in joined:
            self._add(waiting, usage)
        if joined:
            self.prioritize(*entries(joined), tick)

    def charges(self, state: State, usage: AccountUsage) -> list[Charge]:
        """Return owner, start and CPUs of running jobs. CPUs are multiplied by the factor of their QOS."""
        return [self._charge(running, usage) for running in state.running]

    def gone(self, state: State, usage: AccountUsage) -> list[tuple[Charge, int]]:
        """Return the charges of jobs that ended since the last call, with the present time as their end."""
        before = self._charged
        keys = [(running.order, running.start) for running in state.running]
        self._charged = {
            key: before.get(key) or self._charge(running, usage)
            for key, running in zip(keys, state.running, strict=True)
        }
        return [(charge, state.now) for key, charge in before.items() if key not in self._charged]

    def charged(self) -> list[tuple[str, int, Charge]]:
        """Return id, start and charge of each job that ran at the last call of :meth:`gone`."""
        return [(self.ids[order], start, charge) for (order, start), charge in self._charged.items()]

    def restore_charged(self, charged: Iterable[tuple[str, int, Charge]], places: Mapping[str, int]) -> None:
        """Restore what :meth:`charged` returned. `places` has the positions of the jobs that still run, by id."""
        # A job that ended since gets a position of its own, which none that runs has.
        self._charged = {
            (places.get(id_, -1 - row), start): restored(charge) for row, (id_, start, charge) in enumerate(charged)
        }

    def _charge(self, running: Running, usage: AccountUsage) -> Charge:
        if running.order not in self.owners:  # The job ran when the simulation began.
            owner = usage.owner(running.job.group, running.job.user, running.job.queue)
            self.owners[running.order] = owner, usage.user(*owner)
        return self.owners[running.order][0], running.start, self._limits.charged(running)

    def priorities(self) -> dict[str, int]:
        """Return the priorities of jobs that joined the queue, by id."""
        joined = self.columns["joined"]
        return {
            id_: int(self.columns["priority"][order])
            for order, id_ in self.ids.items()
            if order < len(joined) and joined[order]
        }

    def restore(self, state: State, priorities: Mapping[str, int]) -> None:
        """Restore earlier priorities of waiting jobs, by id."""
        for waiting in state.queue:
            if waiting.id in priorities:
                self.columns["priority"][waiting.order] = priorities[waiting.id]

    def waiting(self, state: State, rows: IntArray) -> SlurmQueue:
        """Return waiting jobs in scheduling order, from their rows in the queue."""
        queue, machine = state.queue, self._machine
        order = queue.order[rows]
        demand = queue.demand[rows]
        partition, apart = (self.columns[name][order] for name in ("partition", "apart"))
        limit = queue.predicted[rows]
        if not machine.rules.closing:  # Closures of the machine are checked in seconds.
            limit = whole_minutes(limit)
        limit = np.minimum(limit, self._partitions.max_time[partition])
        per_cpu, per_node = np.zeros((2, *demand.shape), np.int64)
        if {BY_CORE, MEMORY} <= self._index.keys():
            by_core = demand[:, self._index[BY_CORE]] > 0
            memory = self._index[MEMORY]
            cores = np.maximum(demand[by_core, machine.primary], 1)
            per_cpu[by_core, memory] = demand[by_core, memory] // cores
        slots = queue.nodes[rows]
        least, wanted, most = (self.columns[name][order] for name in ("least", "wanted", "most"))
        together = self.columns["together"][order]
        together = together if (together >= 0).any() else together[:0]
        return SlurmQueue(
            partition, slots, apart, demand, limit, per_cpu, per_node, order, least, wanted, most, together
        )

    def test_submitted(self, state: State, joined: Sequence[Waiting]) -> None:
        """Test whether new jobs could ever run. This changes weights of nodes with GPUs."""
        if not self._partitions.gpus or not joined:
            return
        rows = np.flatnonzero(np.isin(state.queue.order, [waiting.order for waiting in joined]))
        jobs = self.waiting(state, rows)
        cluster = self._partitions.cluster(state.free, self._partitions.members)
        for job in range(len(rows)):
            note_submitted(job, jobs, cluster)

    def by_priority(self, state: State) -> IntArray:
        """Return the queue rows by priority tier, Slurm's priority, submission, job priority and trace order."""
        order = state.queue.order
        columns = self.columns[order]
        submit = np.maximum(state.queue.submit, columns["again"])
        tier = self._partitions.tier[columns["partition"]]
        return np.lexsort((columns["place"], submit, -columns["priority"], -tier))

    def give_way(self, away: Mapping[int, int]) -> None:
        """Record when preempted jobs may start again, by position in the trace."""
        self._grow(max(away, default=-1))
        for place, again in away.items():
            self.columns["again"][place] = again

    def components(self, state: State) -> Mapping[int, int]:
        """Return the number of waiting components of each heterogeneous job."""
        return Counter(self.columns["together"][state.queue.order].tolist())

    def could_run(self, waiting: Waiting) -> bool:
        """Return whether a job fits on the empty nodes of its partition."""
        partition, apart = (self.columns[name][waiting.order].item() for name in ("partition", "apart"))
        key = partition, waiting.demand, apart
        if key not in self._room:
            room = count_slots(self._machine.capacity[self._partitions.members[partition]], waiting.demand)
            self._room[key] = int((room > 0).sum() if apart else room.sum())
        most = self._partitions.most_nodes[partition] if apart else waiting.nodes
        return min(self._room[key], most) >= waiting.nodes

    def running(self, state: State) -> list[SlurmRun]:
        """Return the running jobs by position in the trace, with the ends of their walltimes in whole minutes."""
        jobs = state.running
        start = np.array([each.start for each in jobs.entries], dtype=np.int64)
        ends = start + whole_minutes(jobs.predicted_end - start) + self._epoch
        places = np.argsort(jobs.order)
        ordered = [jobs.entries[place] for place in places.tolist()]
        return [
            SlurmRun(end, *self._placement(job), job.demand, job.order)
            for end, job in zip(ends[places].tolist(), ordered, strict=True)
        ]

    def start(self, order: int, now: int, nodes: IntArray, slots: IntArray) -> None:
        """Record the nodes of a starting job."""
        self._nodes[order] = now, nodes, slots

    def forget(self, running: IntArray) -> None:
        """Drop cached nodes of jobs that do not run, once they are many."""
        if len(self._nodes) > 4 * len(running) + _MANY:
            self._nodes = {order: self._nodes[order] for order in running.tolist() if order in self._nodes}

    def _placement(self, running: Running) -> tuple[IntArray, IntArray]:
        """Return the nodes of a running job, and its slots on each."""
        known = self._nodes.get(running.order)
        if known is None or known[0] != running.start:
            nodes, slots = np.unique(running.placement, return_counts=True)
            known = self._nodes[running.order] = running.start, nodes, slots
        return known[1:]

    def _add(self, waiting: Waiting, usage: AccountUsage) -> None:
        order, job = waiting.order, waiting.job
        apart = waiting.nodes == 1 or (APART in self._index and waiting.demand[self._index[APART]] > 0)
        cpus = waiting.nodes * waiting.demand[self._machine.primary]
        if self._partitions.whole(job.queue):  # With only --exclusive, the requested CPUs count.
            cpus = self._limits.cpus(waiting)
        least = job.spread[0] if apart and job.spread else self._nodes_of(waiting, apart)[0]
        parts = least / self._machine.nodes, cpus / max(self._cores, 1)
        size = job_size(*parts, small=self._small)
        again = self.columns["again"][order]
        self.columns[order] = (
            self._partitions.index(job.queue),
            apart,
            0,
            again,
            size,
            waiting.since + 1,
            waiting.tie,
            self._limits.factor(job),
            self._limits.relative(waiting, self._tres) + job.priority,
            *self._nodes_of(waiting, apart),
            self._together.setdefault(job.together, len(self._together)) if job.together else -1,
        )
        owner = usage.owner(job.group, job.user, job.queue)
        self.owners[order] = owner, usage.user(*owner)
        self.ids[order] = waiting.id

    def _nodes_of(self, waiting: Waiting, apart: bool) -> tuple[int, int, int]:
        """Return the least, the wanted and the largest number of nodes of a job."""
        if apart:
            return waiting.nodes, waiting.nodes, waiting.nodes
        partition = self._partitions.index(waiting.job.queue)
        least, most = waiting.job.spread or (1, waiting.nodes)
        most = min(most, waiting.nodes, self._partitions.most_nodes[partition].item())
        least = max(least, self._partitions.least_nodes[partition].item())
        wanted = most if waiting.job.spread else least
        return least, max(wanted, least), max(most, least)

    def prioritize(self, order: IntArray, since: IntArray, tick: int) -> None:
        """Update the priorities of jobs, as of a tick."""
        columns = self.columns[order]
        age = np.maximum(tick - np.maximum(since, columns["again"]), 0).astype(np.float64)
        fair_share = np.array([self.owners[place][1].factor for place in order.tolist()])
        partition = self._partitions.factor[columns["partition"]]
        factors = Factors(age, fair_share, columns["size"], partition, columns["qos"], columns["further"])
        self.columns["priority"][order] = priorities(self._weights, factors)

    def _grow(self, last: int) -> None:
        """Make room for positions up to `last`."""
        if last >= len(self.columns):
            more = np.zeros(last + 1024, _COLUMNS)
            more["together"] = -1
            self.columns = np.concatenate([self.columns, more])


def entries(jobs: Sequence[Waiting]) -> tuple[IntArray, IntArray]:
    """Return the position of each job in the trace, and when it entered the queue."""
    return np.array([each.order for each in jobs], np.int64), np.array([each.since for each in jobs], np.int64)


def running_by_place(state: State) -> list[Running]:
    """Return the running jobs by position in the trace."""
    return sorted(state.running, key=lambda job: job.order)


def whole_minutes(seconds: Any) -> Any:
    """Return walltimes rounded up to whole minutes as in Slurm, in seconds."""
    return -(-seconds // 60) * 60
