"""State of one decision about on-demand jobs: free amounts, running jobs, and what the batch dispatcher sees."""

import copy
from collections.abc import Iterable, Sequence

import numpy as np

from ...base import IntArray
from ...models import choose, count_slots, shift
from ..problems import closed_amounts
from ..profile import Profile
from ..protocol import Action, Placement, Running, Start, State, Stop, Waiting, by_end
from ..rule_book import has_rules


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
                job.nodes = 0  # It uses no licence, power or limit.
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
    ruled
        Whether rules of the machine limit the jobs.
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
        self.ruled = has_rules(state)
        self.free: IntArray = state.free.copy()
        self.running = {run.id: run for run in state.running}
        self.actions: list[Action] = []
        self._kept: list[tuple[Waiting, Placement, tuple[int, ...], int]] = []

    def coming(self, waiting: Waiting, leaving: Iterable[Running] = ()) -> IntArray:
        """Return the free amounts after some running jobs end, less what closes within the walltime of a job.

        They may be negative.
        """
        later = self._freed(leaving)
        return later - self._closed(waiting) if self.ruled else later

    def slots(self, waiting: Waiting, leaving: Iterable[Running] = ()) -> IntArray:
        """Return how many slots of a job fit on each node after some running jobs end. Shape (nodes,)."""
        return count_slots(np.maximum(self.coming(waiting, leaving), 0), waiting.demand)

    def lacking(self, waiting: Waiting, leaving: Iterable[Running] = ()) -> int:
        """Return how many slots of a job do not fit after some running jobs end. 0 or less if it fits."""
        return waiting.nodes - int(self.slots(waiting, leaving).sum())

    def admits(self, waiting: Waiting, leaving: Iterable[Running], at: int) -> bool:
        """Return whether a job could start at a time by the rules of the machine, if some running jobs leave."""
        if not self.ruled:
            return True
        return self._profile([waiting], leaving).earliest(waiting, after=at, before=at + 1) is not None

    def could_start(self, waiting: Waiting, beside: Sequence[Waiting]) -> bool:
        """Return whether a job could start by the rules of the machine if its nodes were free.

        So it lacks no licence, power or limit, and the jobs `beside` it keep none that it needs.
        """
        if not self.ruled:
            return True
        jobs = [*beside, waiting]
        return self.admits(waiting, self.running.values(), self.now) and not self._profile(jobs).held_back(jobs)[0][-1]

    def start(self, waiting: Waiting) -> bool:
        """Start a job if it fits. Return whether it started."""
        placement = self._nodes_for(waiting)
        if placement is None:
            return False
        shift(self.free, placement, waiting.demand, -1)
        self.actions.append(Start(waiting, placement))
        run = Running(waiting.job, self.now, placement, waiting.demand, waiting.order)
        run.predicted_end = self.now + waiting.predicted
        self.running[run.id] = run
        return True

    def _nodes_for(self, waiting: Waiting) -> Placement | None:
        """Return nodes on which a job may start now, ``None`` if there are none."""
        if self.ruled:
            fit = self._profile([waiting]).earliest(waiting, before=self.now + 1)
            return None if fit is None else fit[1]
        counts = count_slots(self.free, waiting.demand)
        if int(counts.sum()) < waiting.nodes:
            return None
        return choose(self.free, self.state.machine.capacity, counts, waiting.nodes)

    def _freed(self, leaving: Iterable[Running]) -> IntArray:
        """Return the free amounts after some running jobs end."""
        later = self.free.copy()
        for run in leaving:
            shift(later, run.placement, run.demand, 1)
        return later

    def _profile(self, queue: Sequence[Waiting], leaving: Iterable[Running] = ()) -> Profile:
        """Return what is free for some waiting jobs, if some running jobs leave at once."""
        left = {run.id for run in leaving}
        running = sorted((run for run in self.running.values() if run.id not in left), key=by_end)
        free = self._freed(self.running[id_] for id_ in left)
        return self.state.showing(queue, running, free).profile("best-fit")

    def _closed(self, waiting: Waiting) -> IntArray:
        """Return the most that is closed on each node at any time of a job's walltime from now on."""
        closures = self.state.profile().closures(self.now + waiting.job.walltime)
        most = np.zeros_like(self.free)
        for time in {self.now, *(closure.begin for closure in closures if closure.begin > self.now)}:
            np.maximum(most, closed_amounts(closures, time, self.state.machine), out=most)
        return most

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
        counts = self.slots(waiting)
        later = self.slots(waiting, leaving)
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
        return self.state.showing(queue, running, free)
