"""The arrays whose tasks wait, and how many of these may still run, or have nodes reserved."""

from __future__ import annotations

import numpy as np

from ...base import IntArray
from ...models.slurm import UNLIMITED
from ..protocol import JobView, State, Waiting


class KnownArrays:
    """Rows of arrays, and of which array each job is a task.

    Parameters
    ----------
    reserved
        ``bf_max_job_array_resv``: for how many tasks of an array a cycle of backfill reserves nodes.
    """

    def __init__(self, reserved: int) -> None:
        self._reserved = reserved
        self._row: dict[str, int] = {}
        self._most: list[int] = []
        self._of: dict[int, int] = {}

    def met(self, joined: list[Waiting]) -> None:
        """Note the jobs that have joined the queue."""
        for waiting in joined:
            if waiting.job.array:
                self._note(waiting.order, waiting.job)

    def of(self, order: IntArray) -> IntArray:
        """Return the array of each job by its place in the trace, -1: none."""
        known = self._of
        return np.array([known.get(place, -1) for place in order.tolist()] if known else np.full(len(order), -1))

    def left(self, state: State) -> IntArray:
        """Return how many more tasks of each array may run, and may have nodes reserved, shape (arrays, 2)."""
        left = np.empty((len(self._most), 2), np.int64)
        left[:, 0], left[:, 1] = self._most, self._reserved
        if len(left):
            for running in state.running:
                if running.job.array:
                    left[self._note(running.order, running.job), 0] -= 1
        return left

    def first(self, order: IntArray, most: int) -> int:
        """Return how many of the jobs are the first `most`, if the tasks of an array count as one."""
        if not self._of or len(order) <= most:
            return most
        of = self.of(order)
        heads = of < 0
        _, places = np.unique(of, return_index=True)
        heads[places] = True
        return int(np.searchsorted(np.cumsum(heads), most, side="right"))

    def _note(self, order: int, job: JobView) -> int:
        row = self._of.get(order)
        if row is None:
            array, _, most = job.array.partition("%")
            row = self._of[order] = self._row.setdefault(array, len(self._most))
            if row == len(self._most):
                self._most.append(int(most) if most.isdecimal() and int(most) else UNLIMITED)
        return row
