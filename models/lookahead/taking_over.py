"""Check whether EASY could still take over: how long waiting jobs would wait if it decided from now on.

EASY's own schedule and the real one are compared. Both use the same expected run times and no further arrivals. Only
the oldest waiting jobs count, up to :data:`MOST_AHEAD`.
"""

from typing import NamedTuple

import numpy as np

from ...base import IntArray
from ..backfilling.job_queue import (
    BLOCK,
    NEVER,
    WAITS,
    JobQueue,
    append,
    count_rows,
    counts_of,
    jobs_in,
    waiting_rows,
)
from ..compiled import borrowing, compiled
from ..scheduling.selection import copy_range
from .expected_shadow import ExpectedShadow, starts_anew
from .shadow import ShadowJobs, complete, counted_state, easy, next_event, start_job

#: Number of oldest waiting jobs to simulate until they start.
MOST_AHEAD = 64


class Standing(NamedTuple):
    """A schedule at one instant.

    Attributes
    ----------
    jobs
        Waiting jobs, oldest first, then running jobs.
    guessed, predicted
        Expected and predicted run time of each, as in :class:`.ExpectedShadow`, seconds. Shape (jobs,).
    """

    jobs: ShadowJobs
    guessed: IntArray
    predicted: IntArray


@compiled
def standing(
    jobs: ShadowJobs,
    expected: ExpectedShadow,
    waits: IntArray,
    runs: IntArray,
    started: IntArray,
    free: IntArray,
    now: int,
) -> Standing:
    """Return the state of a schedule.

    Parameters
    ----------
    jobs, expected
        All jobs, and expectations about them.
    waits, runs
        Rows of its waiting jobs, oldest first, and of its running jobs.
    started
        Starts of the running jobs, seconds, shape (running,).
    free
        Free amounts, shape (resources,).
    now
        Seconds.
    """
    waiting, resources = len(waits), len(free)
    rows = np.empty(waiting + len(runs), dtype=np.int64)
    copy_range(waits, rows, 0, waiting)
    start = np.full(len(rows), WAITS, dtype=np.int64)
    running = np.zeros(len(rows), dtype=np.int64)
    for place in range(len(runs)):
        row = waiting + place
        rows[row] = runs[place]
        start[row] = started[place]
        running[place] = row
    nobody = np.zeros(0, dtype=np.int64)
    columns = np.zeros((len(jobs.queue.columns), len(rows)), dtype=np.int64)
    for column in range(len(columns)):
        columns[column] = jobs.queue.columns[column][rows]
    blocks, least_times = waiting // BLOCK + 1, len(jobs.queue.least_times)
    queue = JobQueue(
        columns,
        jobs.queue.amount[rows],
        start,
        np.zeros((blocks, resources), dtype=np.int64),
        np.zeros((least_times, blocks), dtype=np.int64),
        np.zeros(jobs.queue.numbers.shape, dtype=np.int64),
    )
    _enter(queue, waiting)
    made = ShadowJobs(
        queue,
        jobs.known[rows],
        running,
        nobody,
        np.zeros((3, len(rows) + 1), dtype=np.int64),
        np.zeros(len(jobs.state), dtype=np.int64),
        jobs.closed,
    )
    state = counted_state(made)
    state.running[0], state.clock[0] = len(runs), now
    for resource in range(resources):
        state.free[resource] = free[resource]
    return Standing(made, expected.guessed[rows], expected.predicted[rows])


@borrowing
def _enter(queue: JobQueue, waiting: int) -> None:
    """Let the first jobs wait. All have entered the queue at their submission."""
    jobs = jobs_in(queue)
    for row in range(len(jobs.since)):
        jobs.since[row] = jobs.submit[row]
    for _ in range(waiting):
        append(queue)


@compiled
def longest_ahead(jobs: ShadowJobs, expected: ExpectedShadow, now: int) -> int:
    """Return the longest expected wait of the jobs that wait in EASY's schedule, seconds.

    The schedules must have been advanced to `now`, as by :func:`.longest_wait`.
    """
    schedule = jobs if starts_anew(expected) else expected.jobs
    queue, state = schedule.queue, counted_state(schedule)
    runs = schedule.running[: state.running[0]]
    stands = standing(jobs, expected, waiting_rows(queue), runs, queue.start[runs], state.free, now)
    return _longest(stands, NEVER)


@compiled
def all_safe(stands: Standing, starts: IntArray, bound: int) -> bool:
    """Return whether EASY could still take over after all these starts. See :func:`safe_starts`."""
    tried, now = _copied(stands), _now(stands.jobs)
    for place in starts:
        start_job(tried.jobs, place, now)
    return _longest(tried, bound) <= bound


@compiled
def safe_starts(stands: Standing, starts: IntArray, bound: int) -> IntArray:
    """Return the proposed starts after which EASY could still take over, and EASY's further starts.

    If EASY keeps every wait within the bound after all starts, all are returned. Otherwise each start in turn is kept
    if EASY still could. Then EASY adds its own starts. If EASY alone exceeds the bound, its own longest wait becomes
    the bound. In that case starting jobs are taken to run as long as predicted.

    Parameters
    ----------
    stands
        The real schedule.
    starts
        Proposed starts in order, as positions in the queue. They fit together.
    bound
        Seconds.

    Returns
    -------
    Positions in the queue, in order.
    """
    jobs = stands.jobs
    now = _now(jobs)
    if all_safe(stands, starts, bound):
        return starts
    longest = _at_once(stands, NEVER)
    late = longest > bound
    bound = max(longest, bound)
    chosen = np.empty(count_rows(jobs.queue), dtype=np.int64)
    count = 0
    for place in starts:
        tried = _copied(stands)
        start_job(tried.jobs, place, now)
        if late:
            tried.guessed[place] = stands.predicted[place]
        if _at_once(tried, bound) <= bound:
            start_job(jobs, place, now)
            stands.guessed[place] = tried.guessed[place]
            chosen[count] = place
            count += 1
    before = jobs.queue.start.copy()
    easy(jobs, now)
    for place in range(count_rows(jobs.queue)):
        if jobs.queue.start[place] != before[place]:
            chosen[count] = place
            count += 1
    return chosen[:count]


@compiled
def _now(jobs: ShadowJobs) -> int:
    """Return the time that a schedule has reached, seconds."""
    return int(counted_state(jobs).clock[0])


@compiled
def _at_once(stands: Standing, bound: int) -> int:
    """Return the longest wait if EASY takes over now, before the next event. Or the first wait above the bound."""
    tried = _copied(stands)
    easy(tried.jobs, _now(tried.jobs))
    return _longest(tried, bound)


@compiled
def _copied(stands: Standing) -> Standing:
    """Return the same with a copy of everything that changes."""
    jobs, queue = stands.jobs, stands.jobs.queue
    copied = JobQueue(
        queue.columns,
        queue.amount,
        queue.start.copy(),
        queue.least_amount.copy(),
        queue.least_times.copy(),
        queue.numbers.copy(),
    )
    made = ShadowJobs(copied, jobs.known, jobs.running.copy(), jobs.peaks, jobs.scratch, jobs.state.copy(), jobs.closed)
    return Standing(made, stands.guessed.copy(), stands.predicted)


@compiled
def _longest(stands: Standing, bound: int) -> int:
    """Run EASY until the oldest jobs have started. Return their longest wait, or the first above the bound."""
    jobs = stands.jobs
    queue = stands.jobs.queue
    clock = counted_state(jobs).clock
    longest = 0
    _shorten(queue)
    while True:
        if _all_left(queue) or longest > bound:
            return int(longest)
        time = next_event(jobs, count_rows(queue), stands.guessed)[0]
        if time == NEVER:
            return int(NEVER)  # No job runs or starts, so nothing would ever change.
        longest = max(longest, time - _oldest_submit(queue))
        clock[0] = time
        complete(jobs, time, stands.guessed)
        easy(jobs, time)


@borrowing
def _shorten(queue: JobQueue) -> None:
    """Forget all but the oldest jobs."""
    rows = counts_of(queue).rows
    rows[0] = min(rows[0], MOST_AHEAD)


@borrowing
def _all_left(queue: JobQueue) -> bool:
    counts = counts_of(queue)
    return bool(counts.head[0] >= counts.rows[0])


@borrowing
def _oldest_submit(queue: JobQueue) -> int:
    """Return the submission of the oldest waiting job, seconds."""
    return int(jobs_in(queue).submit[counts_of(queue).head[0]])
