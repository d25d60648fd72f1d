"""Replays of EASY with several plans on the same jobs, to compare waits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ...base import IntArray
from ...models.lookahead.shadow import ShadowJobs, lengthen, open_shadow, replay
from ...workloads import Machine
from ..protocol import State, Waiting

#: Number of compared jobs, the last that started in every replay. And the least for a result.
WINDOW, LEAST = 1000, 100
#: Number of new jobs between updates of the replays.
STEP = 25


class PlanTrials:
    """One replay of EASY per plan, as far as run times are known.

    Parameters
    ----------
    machine
        Machine of the jobs, as a pool.
    now
        Begin, seconds.
    plans
        Number of plans.
    """

    def __init__(self, machine: Machine, now: int, plans: int) -> None:
        capacity = machine.capacity.sum(axis=0)
        self._replays: list[ShadowJobs] = [open_shadow(capacity, now) for _ in range(plans)]
        self._rows: dict[str, int] = {}
        self._running: dict[str, tuple[int, int]] = {}
        self._compared = 0

    def see(self, state: State) -> list[Waiting]:
        """Record ended jobs. Return the new jobs.

        The dispatcher is not called when the queue is empty. A job that ended then is taken to have ended now, or at
        its walltime if earlier.
        """
        running = {run.id for run in state.running}
        for id_ in [id_ for id_ in self._running if id_ not in running]:
            row, (start, most) = self._rows[id_], self._running.pop(id_)
            for each in self._replays:
                each.run[row], each.known[row] = max(1, min(state.now - start, most)), 1
        # New jobs may be anywhere in the queue, because machine rules hide jobs for a time.
        return [entry for entry in state.queue if entry.id not in self._rows]

    def start(self, ids: Iterable[str], state: State) -> None:
        """Record starting jobs."""
        waiting = {entry.id: entry.job.walltime for entry in state.queue}
        for id_ in ids:
            self._running[id_] = state.now, waiting[id_]

    def add(self, entry: Waiting, now: int, plans: Sequence[int]) -> None:
        """Add a new job, with its run time by each plan, seconds."""
        row = self._rows[entry.id] = len(self._rows)
        if row == len(self._replays[0].running):
            self._replays = [lengthen(each, max(1024, 2 * row)) for each in self._replays]
        for each, plan in zip(self._replays, plans, strict=True):
            each.submit[row], each.arrival[row], each.duration[row] = min(entry.job.submit, now), now, plan
            each.queue.amount[row] = [entry.nodes * amount for amount in entry.demand]
            each.run[row] = 1

    def starts(self) -> IntArray:
        """Return the start of each job in each replay, -1 for none. Shape (plans, jobs)."""
        return np.maximum([each.queue.start[: len(self._rows)] for each in self._replays], -1)

    def best(self, now: int) -> int | None:
        """Return the plan with the least mean wait of the last jobs, the first of ties.

        ``None`` if the replays were not updated, or there are too few jobs.
        """
        arrived = len(self._rows)
        if arrived < self._compared + STEP:
            return None
        self._compared = arrived
        for each in self._replays:
            for id_, (start, _) in self._running.items():
                each.run[self._rows[id_]] = max(1, now - start)
            replay(each, arrived, now)
        starts = self.starts()
        started = np.flatnonzero((starts >= 0).all(axis=0))[-WINDOW:]
        if len(started) < LEAST:
            return None
        return int(np.argmin(starts[:, started].sum(axis=1)))
