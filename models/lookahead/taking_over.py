"""Whether EASY could still take over: how long those that wait would wait if it decided from now on.

The schedule that EASY would have made of the same jobs and the real one are looked at alike, with the same guesses of
run times and nobody else to come. Only the oldest that wait count, up to :data:`MOST_AHEAD`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...base import IntArray
from ..backfilling.job_queue import (
    BLOCK,
    COUNT,
    HEAD,
    NEVER,
    PREDICTED,
    RUNTIME,
    SINCE,
    SUBMIT,
    WAITS,
    WALLTIME,
    JobQueue,
    append,
    waiting_rows,
)
from ..compiled import compiled
from .expected_shadow import ANEW, ExpectedShadow
from .shadow import CLOCK, HEADER, KNOWN, RUNNING, ShadowJobs, complete, easy, next_event, start_job

#: So many of the oldest that wait are followed until they have started.
MOST_AHEAD = 64


class Standing(NamedTuple):
    """A schedule at one instant.

    Attributes
    ----------
    jobs
        Those that wait, oldest first, and behind them those that run.
    guessed, predicted
        How long each is expected to run, and was predicted to, as in :class:`.ExpectedShadow`, seconds, shape (jobs,).
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
    """Return how a schedule stands.

    Parameters
    ----------
    jobs, expected
        All jobs, and what is expected of them.
    waits, runs
        The rows of those that wait in it, oldest first, and of those that run.
    started
        When these started, seconds, shape (running,).
    free
        Amounts, shape (resources,).
    now
        Seconds.
    """
    rows, waiting, resources = np.concatenate((waits, runs)), len(waits), len(free)
    start, running = np.full(len(rows), WAITS, dtype=np.int64), np.zeros(len(rows), dtype=np.int64)
    start[waiting:] = started
    running[: len(runs)] = np.arange(waiting, len(rows))
    state, nobody = np.zeros(HEADER + resources, dtype=np.int64), np.zeros(0, dtype=np.int64)
    state[RUNNING], state[CLOCK] = len(runs), now
    state[HEADER:] = free
    columns, amount = np.zeros((KNOWN + 1, len(rows)), dtype=np.int64), jobs.queue.amount[rows]
    for column in (SUBMIT, PREDICTED, WALLTIME, RUNTIME, KNOWN):
        columns[column] = jobs.queue.columns[column][rows]
    columns[SINCE] = columns[SUBMIT]
    least = np.zeros((waiting // BLOCK + 1, jobs.queue.least.shape[1]), dtype=np.int64)
    queue = JobQueue(columns, amount, start, least, np.zeros(3, dtype=np.int64))
    for _ in range(waiting):
        append(queue)
    made = ShadowJobs(queue, running, nobody, np.zeros((3, len(rows) + 1), dtype=np.int64), state, jobs.closed)
    return Standing(made, expected.guessed[rows], expected.predicted[rows])


@compiled
def longest_ahead(jobs: ShadowJobs, expected: ExpectedShadow, now: int) -> int:
    """Return how long those that wait in EASY's schedule wait there at most, by what is expected, seconds.

    The schedules are to have been brought forward to `now`, as :func:`.longest_wait` does.
    """
    schedule = jobs if expected.numbers[ANEW] else expected.jobs
    queue, state = schedule.queue, schedule.state
    runs = schedule.running[: state[RUNNING]]
    stands = standing(jobs, expected, waiting_rows(queue), runs, queue.start[runs], state[HEADER:], now)
    return _longest(stands, NEVER)


@compiled
def all_safe(stands: Standing, starts: IntArray, bound: int) -> bool:
    """Return whether EASY could still take over with all of those that are to start, see :func:`safe_starts`."""
    tried = _copied(stands)
    for place in starts:
        start_job(tried.jobs, place, stands.jobs.state[CLOCK])
    return _longest(tried, bound) <= bound


@compiled
def safe_starts(stands: Standing, starts: IntArray, bound: int) -> IntArray:
    """Return who of those that are to start may, so that EASY could still take over, and whom it would start beside.

    If with all of them it could keep every wait within the bound, all may. Else each in turn may with whom it could
    still, and after them EASY starts whom it would. If it could not even by itself, what it can do then is the bound,
    and who starts is taken to run for as long as predicted.

    Parameters
    ----------
    stands
        The real schedule.
    starts
        Places in the queue of those that are to start, in order, for whom there is room together.
    bound
        Seconds.

    Returns
    -------
    Places in the queue, in order.
    """
    jobs, now = stands.jobs, stands.jobs.state[CLOCK]
    if all_safe(stands, starts, bound):
        return starts
    longest = _at_once(stands, NEVER)
    late, bound = longest > bound, max(longest, bound)
    chosen, count = np.empty(jobs.queue.numbers[COUNT], dtype=np.int64), 0
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
    for place in range(jobs.queue.numbers[COUNT]):
        if jobs.queue.start[place] != before[place]:
            chosen[count] = place
            count += 1
    return chosen[:count]


@compiled
def _at_once(stands: Standing, bound: int) -> int:
    """Return the longest wait if EASY takes over now, and not at the next event, or the first above the bound."""
    tried = _copied(stands)
    easy(tried.jobs, tried.jobs.state[CLOCK])
    return _longest(tried, bound)


@compiled
def _copied(stands: Standing) -> Standing:
    """Return the same, of which what changes is a copy."""
    jobs, queue = stands.jobs, stands.jobs.queue
    copied = JobQueue(queue.columns, queue.amount, queue.start.copy(), queue.least.copy(), queue.numbers.copy())
    made = ShadowJobs(copied, jobs.running.copy(), jobs.peaks, jobs.scratch, jobs.state.copy(), jobs.closed)
    return Standing(made, stands.guessed.copy(), stands.predicted)


@compiled
def _longest(stands: Standing, bound: int) -> int:
    """Let EASY go on until the oldest have started; return the longest wait of them, or the first above the bound."""
    jobs, numbers, state, longest = stands.jobs, stands.jobs.queue.numbers, stands.jobs.state, 0
    numbers[COUNT] = min(numbers[COUNT], MOST_AHEAD)
    while True:
        if numbers[HEAD] >= numbers[COUNT] or longest > bound:
            return int(longest)
        time = next_event(jobs, numbers[COUNT], stands.guessed)[0]
        if time == NEVER:
            return int(NEVER)  # Nothing runs, and nothing was started: that would go on for ever.
        longest = max(longest, time - jobs.queue.columns[SUBMIT, numbers[HEAD]])
        state[CLOCK] = time
        complete(jobs, time, stands.guessed)
        easy(jobs, time)
