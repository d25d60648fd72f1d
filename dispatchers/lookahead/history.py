"""What a dispatcher has seen of the jobs, as arrays that the compiled models read, and the shadow schedule on them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...base import IntArray
from ...models.lookahead.shadow import lengthen, open_shadow, replay
from ...workloads import Machine
from ..protocol import Running, State, Waiting


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
        self._capacity = np.maximum(capacity, 1)
        self._row: dict[str, int] = {}
        self._began: dict[int, tuple[int, int]] = {}
        self._waiting: set[int] = set()
        self._seen = now
        self.share: NDArray[np.float64] = np.zeros(0)
        self.jobs = open_shadow(capacity, now)

    def update(self, state: State) -> tuple[IntArray, IntArray]:
        """Take note of a state; return the rows of its queue and of what runs."""
        now = state.now
        running, queue = self._rows(state.running, now), self._rows(state.queue, now)
        alive, waiting = set(running), set(queue)
        for row in self._began.keys() & waiting:
            del self._began[row]
        for row in self._began.keys() - alive:
            start, predicted_end = self._began.pop(row)
            unseen = now > self._seen and not self._waiting  # Nothing waited: nothing was dispatched when it ended.
            self._end(row, (min(now, max(self._seen + 1, predicted_end)) if unseen else now) - start)
        for row in self._waiting - waiting - alive:
            if not self.jobs.known[row]:
                self._end(row, 0)
        for row, run in zip(running, state.running, strict=True):
            if row not in self._began:
                self._began[row] = run.start, run.predicted_end
        self._waiting, self._seen = waiting, now
        waits, runs = np.array(queue, dtype=np.int64), np.array(running, dtype=np.int64)
        self.jobs.duration[waits] = [entry.predicted for entry in state.queue]
        self.jobs.run[runs] = np.maximum(now - np.array([run.start for run in state.running], dtype=np.int64), 1)
        return waits, runs

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
