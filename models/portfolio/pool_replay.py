"""Compiled replay of rigid jobs on a pool under another dispatcher."""

from typing import NamedTuple

import numpy as np

from ...base import IntArray
from ..backfilling.job_queue import WAITS
from ..events.events import Events, enter, open_events, start
from ..events.runs import Run


class PoolPast(NamedTuple):
    """Jobs of a past period, in order of submission.

    Attributes
    ----------
    submit, runtime, predicted, walltime
        Submission, run time, predicted run time and walltime, at least 1, seconds. Shape (jobs,).
    amount
        Amounts, at most the capacity, shape (jobs, resources).
    start
        Start of jobs that run when the period begins, seconds, at least 0. -1 for others. Shape (jobs,).
    first, corrected
        Successive predictions of jobs that overrun. Those of job `j` are `corrected` from `first[j]` to `first[j + 1]`.
        Shapes (jobs + 1,) and (corrections,).
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
    """A replay from the beginning of a period. :meth:`go_on` continues it.

    Parameters
    ----------
    past
        The jobs.
    capacity
        Capacity of the pool, shape (resources,).
    begin
        Begin of the period, seconds.
    """

    def __init__(self, past: PoolPast, capacity: IntArray, begin: int) -> None:
        self._submit = past.submit
        eligible = np.maximum(past.submit, begin)
        self._events: Events = open_events(
            past.submit,
            past.runtime,
            past.predicted,
            past.walltime,
            past.amount,
            capacity,
            eligible=eligible,
            corrections=(past.first, past.corrected),
        )
        for job in np.flatnonzero(past.start >= 0).tolist():
            start(self._events, enter(self._events, job, int(past.submit[job])), int(past.start[job]))
        self._ended = np.empty(2 * len(past.submit) + 2, dtype=np.int64)

    @property
    def has_room(self) -> bool:
        """Whether the running jobs fit into the capacity."""
        return bool((self._events.machine.free >= 0).all())

    def go_on(self, run: Run, end: int, most: int) -> tuple[int, bool]:
        """Simulate a part of the period.

        Parameters
        ----------
        run
            Event loop of the policy.
        end
            End of the period, seconds.
        most
            Number of decisions after which to return.

        Returns
        -------
        Number of decisions, and whether the period has ended.
        """
        taken, _ = run(self._events, end, np.empty((most, 4), dtype=np.int64), self._ended)
        return taken, taken < most

    def waits_until(self, end: int) -> IntArray:
        """Return the waits of the jobs up to a time, seconds. Shape (jobs,)."""
        queue, jobs = self._events.queue, self._events.queue.jobs
        waits: IntArray = end - self._submit
        rows = np.flatnonzero(queue.start != WAITS)
        rows = rows[rows < queue.counts.rows[0]]
        waits[jobs.order[rows]] = queue.start[rows] - jobs.submit[rows]
        return waits
