"""What a dispatcher has seen of the jobs, as arrays that the compiled models read, and the shadow schedule on them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...models import PlacementRule
from ...models.lookahead import Queue, lengthen, open_shadow, replay
from ...workloads import Machine
from ..protocol import Running, State, Waiting
from ..space import NodeSpace, space_of
from .instant import Instant


class History:
    """A row for every job, in the order in which they came, and what is known of its run time.

    A run time shows when the job vanishes. If nothing was dispatched for a while before, it is taken to have ended as
    predicted, or just after it was last seen.

    Parameters
    ----------
    machine
        What the jobs run on.
    now
        When the history begins, seconds.
    """

    def __init__(self, machine: Machine, now: int) -> None:
        capacity = machine.capacity.sum(axis=0)
        self.machine = machine
        self._capacity = np.maximum(capacity, 1)
        self._row: dict[str, int] = {}
        self._began: dict[int, tuple[int, int]] = {}
        self._waiting: set[int] = set()
        self._seen = now
        self.share: NDArray[np.float64] = np.zeros(0)
        self.jobs = open_shadow(capacity, now)

    def see(self, state: State, rule: PlacementRule) -> Instant:
        """Take note of a state; return what there is to decide, with nodes to be chosen by `rule`."""
        now = state.now
        running, queue = self._rows(state.running, now), self._rows(state.queue, now)
        self._learn(set(running), set(queue), now)
        for row, run in zip(running, state.running, strict=True):
            if row not in self._began:
                self._began[row] = run.start, run.predicted_end
        self._waiting, self._seen = set(queue), now
        jobs, rows, runs = self.jobs, np.array(queue, dtype=np.int64), np.array(running, dtype=np.int64)
        jobs.duration[rows] = [entry.predicted for entry in state.queue]
        jobs.run[runs] = np.maximum(now - np.array([run.start for run in state.running], dtype=np.int64), 1)
        space, free = space_of(state, rule), state.free.sum(axis=0)
        fits = (jobs.need[rows] <= free).all(axis=1)
        if isinstance(space, NodeSpace):
            fits &= [space.room(entry.demand, entry.nodes) >= entry.nodes for entry in state.queue]
        waiting = Queue(now - jobs.submit[rows], jobs.duration[rows], jobs.need[rows], self.share[rows], fits)
        return Instant(now, state.machine, state.queue, state.running, rows, waiting, free, space)

    def _learn(self, alive: set[int], waiting: set[int], now: int) -> None:
        """Note the run time of jobs that have vanished."""
        for row in self._began.keys() & waiting:
            del self._began[row]
        for row in self._began.keys() - alive:
            start, predicted_end = self._began.pop(row)
            unseen = now > self._seen and not self._waiting  # Nothing waited: nothing was dispatched when it ended.
            self._end(row, (min(now, max(self._seen + 1, predicted_end)) if unseen else now) - start)
        for row in self._waiting - waiting - alive:
            if not self.jobs.known[row]:
                self._end(row, 0)

    def start(self, row: int, now: int, predicted: int) -> None:
        """Take note that a job starts."""
        self._began[row] = now, now + predicted
        self._waiting.discard(row)

    def longest_wait(self, now: int) -> int:
        """Return the longest wait under EASY so far, as far as that is known."""
        return int(replay(self.jobs, len(self._row), now))

    def _end(self, row: int, run: int) -> None:
        self.jobs.run[row] = run
        self.jobs.known[row] = 1

    def _rows(self, entries: Sequence[Waiting | Running], now: int) -> list[int]:
        """Return the row of each job; new ones get one."""
        found = self._row.get
        rows = [found(entry.job.id, -1) for entry in entries]
        if -1 in rows:
            rows = [self._add(entry, now) if row < 0 else row for row, entry in zip(rows, entries, strict=True)]
        return rows

    def _add(self, entry: Waiting | Running, now: int) -> int:
        row = self._row[entry.id] = len(self._row)
        if row == len(self.jobs.submit):
            self.jobs = lengthen(self.jobs, max(1024, 2 * row))
            self.share = np.concatenate((self.share, np.zeros(len(self.jobs.submit) - row)))
        need = np.array([entry.nodes * amount for amount in entry.demand], dtype=np.int64)
        predicted = entry.predicted if isinstance(entry, Waiting) else entry.expected_end(now) - entry.start
        self.jobs.submit[row] = min(entry.job.submit, now)
        self.jobs.arrival[row] = now
        self.jobs.duration[row] = predicted
        self.jobs.need[row] = need
        self.jobs.run[row] = 1
        self.jobs.start[row] = -1
        self.share[row] = float((need / self._capacity).mean())
        return row
