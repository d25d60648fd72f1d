"""State of one decision about on-demand jobs: free amounts, running jobs, and what the batch dispatcher sees."""

import copy
from collections.abc import Iterable

import numpy as np

from ...base import IntArray
from ...models import choose, count_slots, shift
from ..protocol import Action, Placement, Running, Start, State, Stop, Waiting, by_end


class Holds:
    """Nodes reserved for on-demand jobs, shown as running jobs. An unchanged hold keeps its entry."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, tuple[int, ...], bytes], Running] = {}
        self._count = 0

    def clear(self) -> None:
        """Drop all holds."""
        self._known.clear()

    def kept(self, wanted: Iterable[tuple[Waiting, Placement, tuple[int, ...], int]], now: int) -> list[Running]:
        """Return a running job per hold. A hold has the on-demand job, nodes, amounts per node, and predicted end."""
        runs = {}
        for waiting, nodes, amounts, end in wanted:
            key = waiting.id, amounts, nodes.tobytes()
            run = self._known.get(key)
            if run is None:
                self._count += 1
                job = copy.copy(waiting.job)
                job.id = f"{waiting.id} (nodes kept, {self._count})"
                run = Running(job, now, nodes, amounts, waiting.order)
            run.predicted_end = end
            runs[key] = run
        self._known = runs
        return list(runs.values())


class Round:
    """State of the system while waiting on-demand jobs are served one after another.

    Attributes
    ----------
    now
        Time, seconds.
    free
        Amounts neither used nor reserved, shape (nodes, resources).
    running
        Running jobs by id, without those stopped at once.
    actions
        Actions so far.
    """

    def __init__(self, state: State) -> None:
        self.state = state
        self.now = state.now
        self.free: IntArray = state.free.copy()
        self.running = {run.id: run for run in state.running}
        self.actions: list[Action] = []
        self._kept: list[tuple[Waiting, Placement, tuple[int, ...], int]] = []

    def coming(self, leaving: Iterable[Running] = ()) -> IntArray:
        """Return the free amounts after some running jobs end."""
        later = self.free.copy()
        for run in leaving:
            shift(later, run.placement, run.demand, 1)
        return later

    def lacking(self, waiting: Waiting, leaving: Iterable[Running] = ()) -> int:
        """Return how many slots of a job do not fit after some running jobs end. 0 or less if it fits."""
        return waiting.nodes - int(count_slots(self.coming(leaving), waiting.demand).sum())

    def start(self, waiting: Waiting) -> bool:
        """Start a job if it fits. Return whether it started."""
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
        """Reserve the free amounts on the nodes for a job that waits for some running jobs to end.

        Nodes with most free slots come first, then those with most slots later.

        Parameters
        ----------
        waiting
            The job.
        leaving
            Jobs evicted for it.
        due
            Its latest start, seconds.
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
        """Return the remaining state for a dispatcher without knowledge of evictions."""
        running = sorted([*self.running.values(), *holds.kept(self._kept, self.now)], key=by_end)
        free = self.free.copy()
        free.flags.writeable = False
        return State(self.now, queue, running, free, self.state.machine)
