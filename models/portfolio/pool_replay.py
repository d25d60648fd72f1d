"""What would have become of rigid jobs on a pool under another dispatcher, compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...base import IntArray
from ..backfilling.job_queue import COUNT, ORDER, SUBMIT, WAITS
from ..events.events import Events, enter, open_events, start

#: The event loop under a policy, see :func:`.run_easy`.
Run = Callable[[Events, int, IntArray, IntArray], tuple[int, int]]


class PoolPast(NamedTuple):
    """What is known of the jobs of a stretch of the past, in order of their submission.

    Attributes
    ----------
    submit, runtime, predicted, walltime
        When they come, how long they stay on the machine, how long they are predicted to, and their walltimes, at
        least 1, seconds; shape (jobs,).
    amount
        Amounts, at most all there is, shape (jobs, resources).
    start
        When those started that run as the stretch begins, seconds, at least 0; -1 of the others; shape (jobs,).
    first, corrected
        Predicted run times of jobs that outlive one prediction after the other: those of job `j` are `corrected` from
        `first[j]` to `first[j + 1]`; shapes (jobs + 1,) and (corrections,).
    """

    submit: IntArray
    runtime: IntArray
    predicted: IntArray
    walltime: IntArray
    amount: IntArray
    start: IntArray
    first: IntArray
    corrected: IntArray


class PoolReplay:
    """A replay from the beginning of a stretch, brought forward by :meth:`go_on`.

    Parameters
    ----------
    past
        The jobs.
    capacity
        Of the pool, shape (resources,).
    begin
        When the stretch begins, seconds.
    """

    def __init__(self, past: PoolPast, capacity: IntArray, begin: int) -> None:
        self._submit = past.submit
        eligible = np.maximum(past.submit, begin)
        self._events: Events = open_events(
            past.submit, past.runtime, past.predicted, past.walltime, past.amount, capacity, eligible=eligible,
            corrections=(past.first, past.corrected),
        )  # fmt: skip
        for job in np.flatnonzero(past.start >= 0).tolist():
            start(self._events, enter(self._events, job, int(past.submit[job])), int(past.start[job]))
        self._ended = np.empty(2 * len(past.submit) + 2, dtype=np.int64)

    @property
    def has_room(self) -> bool:
        """Whether there is room for what runs."""
        return bool((self._events.amounts[0] >= 0).all())

    def go_on(self, run: Run, end: int, most: int) -> tuple[int, bool]:
        """Go through the instants of a stretch.

        Parameters
        ----------
        run
            The event loop under the policy.
        end
            Of the stretch, seconds.
        most
            After how many decisions to come back.

        Returns
        -------
        How many decisions were taken, and whether the stretch has ended.
        """
        taken, _ = run(self._events, end, np.empty((most, 4), dtype=np.int64), self._ended)
        return taken, taken < most

    def waits_until(self, end: int) -> IntArray:
        """Return how long jobs have waited until a time, seconds, shape (jobs,)."""
        queue = self._events.queue
        waits: IntArray = end - self._submit
        rows = np.flatnonzero(queue.start != WAITS)
        rows = rows[rows < queue.numbers[COUNT]]
        waits[queue.columns[ORDER, rows]] = queue.start[rows] - queue.columns[SUBMIT, rows]
        return waits
