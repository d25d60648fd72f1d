"""What is learnt of run times from who waits and who runs at one decision after the other."""

from __future__ import annotations

from typing import NamedTuple

from ...base import IntArray
from ..backfilling.job_queue import PREDICTED, RUNTIME
from ..compiled import compiled
from .shadow import KNOWN, ShadowJobs, expect

#: What a job did when it was last seen.
GONE, WAITS, RUNS = range(3)


class Sightings(NamedTuple):
    """Rows of jobs as in :class:`.ShadowJobs`.

    Attributes
    ----------
    status
        `GONE`, `WAITS` or `RUNS`, shape (jobs,).
    start, end
        When a job that runs was first seen to have begun, and to be predicted to end, seconds; shape (jobs,).
    seen
        The number of the decision at which it was last seen, shape (jobs,).
    """

    status: IntArray
    start: IntArray
    end: IntArray
    seen: IntArray


class Seen(NamedTuple):
    """One decision: the rows of who waits, shape (waiting,), and runs, shape (running,), its time and its number."""

    waiting: IntArray
    running: IntArray
    now: int
    number: int


@compiled
def see_jobs(
    jobs: ShadowJobs,
    known: Sightings,
    last: Seen,
    seen: Seen,
    still: int,
    predicted: IntArray,
    start: IntArray,
    end: IntArray,
) -> None:
    """Take note of who waits and runs, and of the run times of those that have vanished since the last decision.

    A run time shows when the job vanishes. If nothing was dispatched for a while before, it is taken to have ended as
    predicted, or just after it was last seen.

    Parameters
    ----------
    jobs, known
        What is known of the jobs; changed.
    last, seen
        The last decision, with all who ran when it was carried out, and this one.
    still
        How many of those who waited were left waiting.
    predicted
        Run times of those who wait, seconds.
    start, end
        Of those who run: when they began and are predicted to end, seconds.
    """
    quiet = still == 0 and seen.now > last.now
    for index in range(len(seen.waiting)):
        row = seen.waiting[index]
        still -= known.status[row] == WAITS
        known.status[row], known.seen[row] = WAITS, seen.number
        if jobs.queue.columns[PREDICTED, row] != predicted[index]:
            expect(jobs, row, predicted[index])
    for index in range(len(seen.running)):
        row = seen.running[index]
        still -= known.status[row] == WAITS and known.seen[row] != seen.number
        if known.status[row] != RUNS:
            known.status[row], known.start[row], known.end[row] = RUNS, start[index], end[index]
        known.seen[row] = seen.number
        jobs.queue.columns[RUNTIME, row] = max(seen.now - start[index], 1)
    _end_vanished(jobs, known, last, seen, quiet, still > 0)


@compiled
def _end_vanished(jobs: ShadowJobs, known: Sightings, last: Seen, seen: Seen, quiet: bool, withdrawn: bool) -> None:
    columns = jobs.queue.columns
    for row in last.running:
        if known.status[row] == RUNS and known.seen[row] != seen.number:
            end = min(seen.now, max(last.now + 1, known.end[row])) if quiet else seen.now
            known.status[row], columns[RUNTIME, row], columns[KNOWN, row] = GONE, end - known.start[row], 1
    if withdrawn:
        for row in last.waiting:
            if known.status[row] == WAITS and known.seen[row] != seen.number:
                known.status[row] = GONE
                if not columns[KNOWN, row]:
                    columns[RUNTIME, row], columns[KNOWN, row] = 0, 1
