"""EASY with several plans beside one another, on the jobs that came: what their waits would have been."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ...base import IntArray
from ...models.lookahead import ShadowJobs, lengthen, open_shadow, replay
from ...workloads import Machine
from ..protocol import State, Waiting

#: Jobs that are compared, the last that have started in every replay; and so many before anything is concluded.
WINDOW, LEAST = 1000, 100
#: After so many more jobs the replays go on.
STEP = 25


class PlanTrials:
    """A replay of EASY for each way of planning, as far as run times are known.

    Parameters
    ----------
    machine
        What the jobs run on, as a pool.
    now
        When it begins, seconds.
    plans
        How many ways of planning there are.
    """

    def __init__(self, machine: Machine, now: int, plans: int) -> None:
        capacity = machine.capacity.sum(axis=0)
        self._replays: list[ShadowJobs] = [open_shadow(capacity, now) for _ in range(plans)]
        self._rows: dict[str, int] = {}
        self._running: dict[str, tuple[int, int]] = {}
        self._compared = 0

    def see(self, state: State) -> list[Waiting]:
        """Take note of who ended; return the jobs that are new.

        A job that ended while nobody waited is taken to have ended now, or at its request if that was before.
        """
        running = {run.id for run in state.running}
        for id_ in [id_ for id_ in self._running if id_ not in running]:
            row, (start, most) = self._rows[id_], self._running.pop(id_)
            for each in self._replays:
                each.run[row], each.known[row] = max(1, min(state.now - start, most)), 1
        # New ones may stand anywhere: rules of the machine hide jobs for a time.
        return [entry for entry in state.queue if entry.id not in self._rows]

    def start(self, ids: Iterable[str], state: State) -> None:
        """Take note of who starts."""
        waiting = {entry.id: entry.job.walltime for entry in state.queue}
        for id_ in ids:
            self._running[id_] = state.now, waiting[id_]

    def add(self, entry: Waiting, now: int, plans: Sequence[int]) -> None:
        """Add a job that has come, with the run time that each way of planning has of it, seconds."""
        row = self._rows[entry.id] = len(self._rows)
        if row == len(self._replays[0].running):
            self._replays = [lengthen(each, max(1024, 2 * row)) for each in self._replays]
        for each, plan in zip(self._replays, plans, strict=True):
            each.submit[row], each.arrival[row], each.duration[row] = min(entry.job.submit, now), now, plan
            each.queue.amount[row] = [entry.nodes * amount for amount in entry.demand]
            each.run[row] = 1

    def starts(self) -> IntArray:
        """Return when each job started in each replay, -1 where it has not, shape (plans, jobs)."""
        return np.maximum([each.queue.start[: len(self._rows)] for each in self._replays], -1)

    def best(self, now: int) -> int | None:
        """Return which way of planning has the least mean wait of the last jobs, the first of those that are as good.

        ``None`` if it was not looked at again, or there are too few jobs.
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
