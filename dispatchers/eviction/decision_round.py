"""One decision about on-demand jobs: what is free and runs while they are served, and what is left to show."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from operator import attrgetter

import numpy as np

from ...base import IntArray
from ...models import choose, count_slots, shift
from ..protocol import Action, Placement, Running, Start, State, Stop, Waiting

_by_end = attrgetter("predicted_end")


class Holds:
    """Nodes that are kept for on-demand jobs, in the guise of running jobs: the same one as long as it is the same."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, tuple[int, ...], bytes], Running] = {}
        self._count = 0

    def clear(self) -> None:
        """Forget them."""
        self._known.clear()

    def kept(self, wanted: Iterable[tuple[Waiting, Placement, tuple[int, ...], int]], now: int) -> list[Running]:
        """Return a running job for each job that is waited for, nodes, amounts kept on each, and predicted end."""
        found = {}
        for waiting, nodes, amounts, end in wanted:
            key = waiting.id, amounts, nodes.tobytes()
            run = self._known.get(key)
            if run is None:
                self._count += 1
                job = copy.copy(waiting.job)
                job.id = f"{waiting.id} (nodes kept, {self._count})"
                run = Running(job, now, nodes, amounts, waiting.order)
            run.predicted_end = end
            found[key] = run
        self._known = found
        return list(found.values())


class Round:
    """The system while the on-demand jobs that wait are served one after the other.

    Attributes
    ----------
    now
        Time, seconds.
    free
        Amounts that nobody has or is kept for, shape (nodes, resources).
    running
        By id, without those that were stopped at once.
    actions
        What was done.
    """

    def __init__(self, state: State) -> None:
        self.state = state
        self.now = state.now
        self.free: IntArray = state.free.copy()
        self.running = {run.id: run for run in state.running}
        self.actions: list[Action] = []
        self._kept: list[tuple[Waiting, Placement, tuple[int, ...], int]] = []

    def coming(self, leaving: Iterable[Running] = ()) -> IntArray:
        """Return what is free once some running jobs have left."""
        later = self.free.copy()
        for run in leaving:
            shift(later, run.placement, run.demand, 1)
        return later

    def lacking(self, waiting: Waiting, leaving: Iterable[Running] = ()) -> int:
        """Return how many slots of a job find no room once some running jobs have left; 0 or less if it fits."""
        return waiting.nodes - int(count_slots(self.coming(leaving), waiting.demand).sum())

    def start(self, waiting: Waiting) -> bool:
        """Start a job if it fits; return whether it did."""
        counts = count_slots(self.free, waiting.demand)
        if int(counts.sum()) < waiting.nodes:
            return False
        placement = choose(self.free, self.state.machine.capacity, counts, waiting.nodes)
        shift(self.free, placement, waiting.demand, -1)
        self.actions.append(Start(waiting, placement))
        run = Running(waiting.job, self.now, placement, waiting.demand, waiting.order)
        run.predicted_end = self.now + waiting.predicted
        self.running[run.id] = run
        return True

    def stop(self, run: Running, delay: int | None) -> None:
        """Kill a job, or checkpoint it within `delay` seconds."""
        self.actions.append(Stop(run) if delay is None else Stop(run, "checkpoint", delay))
        if not delay:
            shift(self.free, run.placement, run.demand, 1)
            del self.running[run.id]

    def keep(self, waiting: Waiting, leaving: Iterable[Running], due: int) -> None:
        """Keep what is free on the nodes that a job will get, once some running jobs have left.

        Nodes with most free slots come first, then those that will have most.

        Parameters
        ----------
        waiting
            The job.
        leaving
            Who gives way to it.
        due
            When it should start, seconds.
        """
        if not self.free.any():
            return
        counts = count_slots(self.free, waiting.demand)
        later = count_slots(self.coming(leaving), waiting.demand)
        if int(later.sum()) < waiting.nodes:
            later = count_slots(self.state.machine.capacity, waiting.demand)
        order = np.lexsort((np.arange(len(counts)), -later, -counts))
        enough = int(np.searchsorted(np.cumsum(later[order]), waiting.nodes)) + 1
        nodes = np.sort(order[:enough])
        nodes = nodes[self.free[nodes].any(axis=1)]
        end = max(due, self.now + 1) + waiting.predicted
        for row in dict.fromkeys(map(tuple, self.free[nodes].tolist())):
            self._kept.append((waiting, nodes[(self.free[nodes] == row).all(axis=1)], row, end))
        self.free[nodes] = 0

    def shown(self, queue: list[Waiting], holds: Holds) -> State:
        """Return what is left to a dispatcher that knows nothing of all this."""
        running = sorted([*self.running.values(), *holds.kept(self._kept, self.now)], key=_by_end)
        free = self.free.copy()
        free.flags.writeable = False
        return State(self.now, queue, running, free, self.state.machine)
