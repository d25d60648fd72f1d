"""A fixed partition of the machine for on-demand jobs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ...base import InputError, IntArray
from ...models import choose, count_slots, shift
from ...workloads import Machine
from ..protocol import Action, Reject, Start, State, Waiting


@dataclass(frozen=True, slots=True)
class Partition:
    """A machine in two parts, for batch jobs and for on-demand jobs.

    Attributes
    ----------
    rest
        Part of the batch jobs: all but the last nodes, or the only node with less of everything.
    apart
        Amounts for on-demand jobs, shape (nodes, resources).
    """

    rest: Machine
    apart: IntArray
    _room: dict[tuple[str, tuple[int, ...]], int] = field(default_factory=dict)

    @classmethod
    def of(cls, machine: Machine, reserve: int) -> Partition:
        """Reserve the last nodes, or a share of the only node.

        On one node, `reserve` units of its primary resource, and as large a share of the others.

        Raises
        ------
        InputError
            If nothing is left.
        """
        capacity = machine.capacity
        one = machine.nodes == 1
        room = int(capacity[0, machine.primary]) if one else machine.nodes
        if reserve >= room:
            unit = f"{machine.resources[machine.primary]} units" if one else "nodes"
            raise InputError(f"dispatcher evict: reserve must be below the {room} {unit} there are, got {reserve}")
        if one:
            apart = capacity * reserve // room
            return cls(replace(machine, capacity=capacity - apart), apart)
        apart = np.zeros_like(capacity)
        apart[-reserve:] = capacity[-reserve:]
        return cls(replace(machine, capacity=capacity[:-reserve]), apart)

    def serve(self, state: State) -> tuple[list[Action], State]:
        """Start on-demand jobs, first come, first served. Reject jobs that fit no part.

        Returns
        -------
        list of actions, State
            Actions, and the remaining state for the batch dispatcher.
        """
        free = self.apart.copy()
        for run in state.running:
            if run.job.kind != "batch":
                shift(free, run.placement, run.demand, -1)
        rest = state.free[: self.rest.nodes] - free[: self.rest.nodes]
        rest.flags.writeable = False
        actions: list[Action] = []
        queue: list[Waiting] = []
        for waiting in state.queue:
            reason = self._refusal(waiting)
            if reason:
                actions.append(Reject(waiting, reason))
            else:
                queue.append(waiting)
        for waiting in queue:
            if waiting.job.kind != "batch":
                counts = count_slots(free, waiting.demand)
                if int(counts.sum()) < waiting.nodes:
                    break
                placement = choose(free, state.machine.capacity, counts, waiting.nodes)
                shift(free, placement, waiting.demand, -1)
                actions.append(Start(waiting, placement))
        queue = [waiting for waiting in queue if waiting.job.kind == "batch"]
        running = [run for run in state.running if run.job.kind == "batch"]
        return actions, State(state.now, queue, running, rest, self.rest)

    def _refusal(self, waiting: Waiting) -> str:
        """Return why a job can never run in its part. Empty if it can."""
        part = "left to batch jobs" if waiting.job.kind == "batch" else "set apart for on-demand jobs"
        key = part, waiting.demand
        if key not in self._room:
            capacity = self.rest.capacity if waiting.job.kind == "batch" else self.apart
            self._room[key] = int(count_slots(capacity, waiting.demand).sum())
        room = self._room[key]
        return f"asks for {waiting.nodes} slots; the part {part} has room for {room}" if waiting.nodes > room else ""
