"""Learn run times from the waiting and running jobs of successive decisions."""

from typing import NamedTuple

from ...base import IntArray
from ..backfilling.job_queue import jobs_in
from ..compiled import borrowing
from .shadow import ShadowJobs, expect

#: State of a job at the last decision that included it.
GONE, WAITS, RUNS = range(3)


class Sightings(NamedTuple):
    """States of jobs. Rows as in :class:`.ShadowJobs`.

    Attributes
    ----------
    status
        `GONE`, `WAITS` or `RUNS`, shape (jobs,).
    start, end
        Start and predicted end of a running job, as first reported, seconds. Shape (jobs,).
    seen
        Number of the last decision that included the job, shape (jobs,).
    """

    status: IntArray
    start: IntArray
    end: IntArray
    seen: IntArray


class Seen(NamedTuple):
    """One decision: rows of waiting and of running jobs, shapes (waiting,) and (running,), time and number."""

    waiting: IntArray
    running: IntArray
    now: int
    number: int


@borrowing
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
    """Record waiting and running jobs, and the run times of jobs that ended since the last decision.

    A job that is missing has ended, which reveals its run time. If the dispatcher was not called for a while, the end
    is estimated: as predicted, or just after the last decision.

    Parameters
    ----------
    jobs, known
        Data of the jobs, updated.
    last, seen
        The last decision, with all jobs that ran after it, and this one.
    still
        Number of jobs that the last decision left waiting.
    predicted
        Predicted run times of the waiting jobs, seconds.
    start, end
        Starts and predicted ends of the running jobs, seconds.
    """
    queued = jobs_in(jobs.queue)
    quiet = still == 0 and seen.now > last.now
    for index in range(len(seen.waiting)):
        row = seen.waiting[index]
        still -= known.status[row] == WAITS
        known.status[row] = WAITS
        known.seen[row] = seen.number
        if queued.predicted[row] != predicted[index]:
            expect(jobs, row, predicted[index])
    for index in range(len(seen.running)):
        row = seen.running[index]
        still -= known.status[row] == WAITS and known.seen[row] != seen.number
        if known.status[row] != RUNS:
            known.status[row] = RUNS
            known.start[row] = start[index]
            known.end[row] = end[index]
        known.seen[row] = seen.number
        queued.runtime[row] = max(seen.now - start[index], 1)
    _end_vanished(jobs, known, last, seen, quiet, still > 0)


@borrowing
def _end_vanished(jobs: ShadowJobs, known: Sightings, last: Seen, seen: Seen, quiet: bool, withdrawn: bool) -> None:
    runtime = jobs_in(jobs.queue).runtime
    for row in last.running:
        if known.status[row] == RUNS and known.seen[row] != seen.number:
            end = min(seen.now, max(last.now + 1, known.end[row])) if quiet else seen.now
            known.status[row], runtime[row], jobs.known[row] = GONE, end - known.start[row], 1
    if withdrawn:
        for row in last.waiting:
            if known.status[row] == WAITS and known.seen[row] != seen.number:
                known.status[row] = GONE
                if not jobs.known[row]:
                    runtime[row] = 0
                    jobs.known[row] = 1
