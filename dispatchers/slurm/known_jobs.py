"""What Slurm knows of the jobs, by their place in the trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...base import FloatArray, IntArray
from ...models import count_slots
from ...models.slurm import Association, Factors, Tried, Weights, job_size, note_submitted, priorities
from ...workloads import Machine
from ...workloads.formats.slots import MEMORY
from ...workloads.slurm_conf import APART, BY_CORE
from ..protocol import State, Waiting
from .account_usage import AccountUsage
from .known_partitions import KnownPartitions

_FEW = 1024


class KnownJobs:
    """Columns of the jobs that were met, indexed by their place in the trace.

    Attributes
    ----------
    partition, apart, priority, again
        Shape (room,); the last: from when on a job that gave way may start again, else 0.
    users
        Of the jobs that were met.
    ids
        Theirs, likewise.
    """

    def __init__(self, machine: Machine, partitions: KnownPartitions, weights: Weights, *, small: bool) -> None:
        self._machine, self._partitions, self._weights, self._small = machine, partitions, weights, small
        self._cores = int(machine.capacity[:, machine.primary].sum())
        self._whole = machine.resources.index(APART) if APART in machine.resources else -1
        self._by_core = machine.resources.index(BY_CORE) if {BY_CORE, MEMORY} <= set(machine.resources) else -1
        self.partition = np.zeros(_FEW, np.int64)
        self.apart = np.zeros(_FEW, np.bool_)
        self.priority = np.zeros(_FEW, np.int64)
        self.again = np.zeros(_FEW, np.int64)
        self._size = np.zeros(_FEW)
        self._since = np.full(_FEW, -1, dtype=np.int64)
        self.users: dict[int, tuple[tuple[str, str], Association]] = {}
        self.ids: dict[int, str] = {}
        self._room: dict[tuple[int, tuple[int, ...], bool], int] = {}

    def met(self, state: State, shares: AccountUsage, tick: int) -> list[Waiting]:
        """Note the jobs that have joined the queue, with priorities as of the last tick, and return them."""
        order, since = state.queue.order, state.queue.since
        if len(order) and order.max() >= len(self._since):
            self._grow(int(order.max()) + 1)
        rows = np.flatnonzero(self._since[order] != since)
        joined = [state.queue.entries[row] for row in rows.tolist()]
        for waiting in joined:
            self._note(waiting, shares)
        if joined:
            self._prioritize(order[rows], since[rows], tick)
        return joined

    def prioritize(self, state: State, tick: int) -> None:
        """Set the priorities of all waiting jobs anew, as of a tick."""
        self._prioritize(state.queue.order, state.queue.since, tick)

    def charged(self, state: State, shares: AccountUsage) -> list[tuple[tuple[str, str], int, int]]:
        """Return owner, start and CPUs of the running jobs."""
        primary, found = self._machine.primary, []
        for running in state.running:
            if running.order not in self.users:  # It ran when the simulation began.
                owner = (running.job.group, running.job.user)
                self.users[running.order] = owner, shares.user(*owner)
            found.append((self.users[running.order][0], running.start, running.nodes * running.demand[primary]))
        return found

    def priorities(self) -> dict[str, int]:
        """Return the priorities of the jobs that were met, by id."""
        return {id_: int(self.priority[order]) for order, id_ in self.ids.items()}

    def restore(self, state: State, known: Mapping[str, int]) -> None:
        """Give waiting jobs the priorities that they had, by id."""
        for waiting in state.queue:
            if waiting.id in known:
                self.priority[waiting.order] = known[waiting.id]

    def tried(self, state: State, rows: IntArray) -> Tried:
        """Return waiting jobs as they are tried, from their rows in the queue."""
        queue = state.queue
        order = queue.order[rows]
        partition = self.partition[order]
        limit = np.minimum(whole_minutes(queue.predicted[rows]), self._partitions.max_time[partition])
        demand = queue.demand[rows]
        per_cpu, by_node = self._per_cpu(demand), np.zeros((len(rows), 0), np.int64)
        return Tried(partition, queue.nodes[rows], self.apart[order], demand, limit, per_cpu, by_node, order)

    def submitted(self, state: State, joined: Sequence[Waiting]) -> None:
        """Test whether jobs that join the queue could ever run, which changes weights of nodes with GPUs."""
        if not self._partitions.gpus or not joined:
            return
        rows = np.flatnonzero(np.isin(state.queue.order, [waiting.order for waiting in joined]))
        tried, cluster = self.tried(state, rows), self._partitions.cluster(state.free, self._partitions.members)
        for job in range(len(rows)):
            note_submitted(job, tried, cluster)

    def by_priority(self, state: State) -> IntArray:
        """Return the rows of the queue by priority tier, priority, submission and place in the trace."""
        order = state.queue.order
        if len(order) < 2:
            return np.arange(len(order))
        tier = self._partitions.tier[self.partition[order]]
        submit = np.maximum(state.queue.submit, self.again[order])
        return np.lexsort((order, submit, -self.priority[order], -tier))

    def give_way(self, away: Mapping[int, int]) -> None:
        """Note from when on jobs that were stopped may start again, by their places in the trace."""
        if away and max(away) >= len(self._since):
            self._grow(max(away) + 1)
        for place, again in away.items():
            self.again[place] = again

    def could_run(self, waiting: Waiting) -> bool:
        """Tell whether the empty nodes of its partition have room for a job."""
        asks = int(self.partition[waiting.order]), waiting.demand, bool(self.apart[waiting.order])
        if asks not in self._room:
            room = count_slots(self._machine.capacity[self._partitions.members[asks[0]]], waiting.demand)
            self._room[asks] = int((room > 0).sum() if asks[2] else room.sum())
        return self._room[asks] >= waiting.nodes

    def _per_cpu(self, demand: IntArray) -> IntArray:
        """Return the memory a core of the jobs that ask for it so."""
        machine, found = self._machine, np.zeros_like(demand)
        if self._by_core >= 0:
            by_core = demand[:, self._by_core] > 0
            memory, cores = machine.resources.index(MEMORY), np.maximum(demand[by_core, machine.primary], 1)
            found[by_core, memory] = demand[by_core, memory] // cores
        return found

    def _note(self, waiting: Waiting, shares: AccountUsage) -> None:
        order, job = waiting.order, waiting.job
        unit = waiting.demand[self._machine.primary]
        apart = waiting.nodes == 1 or (self._whole >= 0 and waiting.demand[self._whole] > 0)
        nodes = waiting.nodes if apart else 1
        self.partition[order] = self._partitions.index(job.queue)
        self.apart[order] = apart
        cpus = waiting.nodes * unit / max(self._cores, 1)
        self._size[order] = job_size(nodes / self._machine.nodes, cpus, small=self._small)
        self._since[order] = waiting.since
        owner = (job.group, job.user)
        self.users[order] = owner, shares.user(*owner)
        self.ids[order] = waiting.id

    def _prioritize(self, order: IntArray, since: IntArray, tick: int) -> None:
        age = tick - np.maximum(since, self.again[order])
        factors: Sequence[FloatArray] = (
            np.maximum(age, 0).astype(np.float64),
            np.array([self.users[place][1].factor for place in order.tolist()]),
            self._size[order],
            self._partitions.factor[self.partition[order]],
        )
        self.priority[order] = priorities(self._weights, Factors(*factors))

    def _grow(self, least: int) -> None:
        room = max(least, 2 * len(self._since))
        for name in ("partition", "apart", "priority", "again", "_size", "_since"):
            empty = -1 if name == "_since" else 0
            column = getattr(self, name)
            grown = np.full(room, empty, dtype=column.dtype)
            grown[: len(column)] = column
            setattr(self, name, grown)


def whole_minutes(seconds: Any) -> Any:
    """Return limits as Slurm has them, in whole minutes, as seconds."""
    return -(-seconds // 60) * 60
