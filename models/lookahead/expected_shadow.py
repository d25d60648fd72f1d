"""Expected schedule under EASY up to now, beyond the end of its exact schedule.

A job may have started in EASY's schedule while it waits in reality. Its run time is unknown until it has ended, days
later in a backlog. The exact schedule stops there. The expected schedule continues from that point to now, with
expected run times of such jobs.
"""

from typing import NamedTuple

import numpy as np

from ...base import FloatArray, IntArray
from ..backfilling.job_queue import BLOCK, counts_of, expect_length, jobs_in
from ..compiled import borrowing, compiled, within
from ..scheduling.selection import copy_range
from .shadow import ShadowJobs, counted_state, go_on, lengthen, longest_since, replay, state_of

#: When the expected schedule restarts from the exact one. After at least so many seconds, or after this share of the
#: exact schedule's lag. So the repeated work is a bounded multiple of the new work.
_OFTEN, _PART = 3600, 0.25


class ExpectedCounts(NamedTuple):
    """State of an expected schedule, each of shape (1,).

    Attributes
    ----------
    anew
        1 if it restarts at the next call, otherwise 0.
    begun
        When it last restarted, seconds.
    apart
        First job with a start that may differ from the exact schedule.
    uncounted
        First job with an uncounted run time.
    """

    anew: IntArray
    begun: IntArray
    apart: IntArray
    uncounted: IntArray


class EndedTimes(NamedTuple):
    """Sums over ended jobs, weighted by share of the machine: those with predictions below their walltimes, the others.

    Attributes
    ----------
    predicted, ran
        Predicted run times and run times, seconds. Shape (2,).
    """

    predicted: FloatArray
    ran: FloatArray


class ExpectedShadow(NamedTuple):
    """Expectations about the jobs of a :class:`.ShadowJobs`, and their schedule.

    Attributes
    ----------
    predicted, walltime
        Prediction of each job when it last waited, 0 if it never did, and its walltime, seconds. Shape (jobs,).
    guessed
        Expected run time, seconds, shape (jobs,). It is at most the walltime. It is the prediction, times the ratio of
        run times to predictions of ended jobs. 0 for the prediction in the schedule.
    counted
        1 if the run time is in `sums`, shape (jobs,).
    jobs
        The expected schedule. It shares the jobs and known run times of the exact one.
    capacity
        Capacity of the machine, shape (resources,).
    sums
        Block of :class:`EndedTimes`, shape (2, 2).
    numbers
        Block of :class:`ExpectedCounts`, shape (4, 1).
    """

    predicted: IntArray
    walltime: IntArray
    guessed: IntArray
    counted: IntArray
    jobs: ShadowJobs
    capacity: IntArray
    sums: FloatArray
    numbers: IntArray


@within
def _counts(expected: ExpectedShadow) -> ExpectedCounts:
    block = expected.numbers
    return ExpectedCounts(block[0], block[1], block[2], block[3])


@within
def _sums(expected: ExpectedShadow) -> EndedTimes:
    return EndedTimes(expected.sums[0], expected.sums[1])


@within
def starts_anew(expected: ExpectedShadow) -> bool:
    """Return whether the expected schedule restarts at the next call, for compiled callers."""
    return bool(_counts(expected).anew[0])


def open_expected(jobs: ShadowJobs, capacity: IntArray) -> ExpectedShadow:
    """Return the expectations before any prediction, for a machine of this capacity."""
    predicted, walltime, guessed, counted = np.zeros((4, len(jobs.running)), dtype=np.int64)
    sums = np.zeros((len(EndedTimes._fields), 2))
    numbers = np.zeros((len(ExpectedCounts._fields), 1), dtype=np.int64)
    ExpectedCounts(*numbers).anew[0] = 1
    schedule = _sharing(lengthen(jobs, len(jobs.running))._replace(state=jobs.state.copy()), jobs)
    return ExpectedShadow(predicted, walltime, guessed, counted, schedule, np.maximum(capacity, 1), sums, numbers)


def lengthen_expected(expected: ExpectedShadow, jobs: ShadowJobs) -> ExpectedShadow:
    """Return the expectations with room for as many jobs as a shadow has."""
    rows = len(jobs.running)
    made = np.zeros((4, rows), dtype=np.int64)
    for new, old in zip(made, expected[:4], strict=True):
        new[: len(old)] = old
    schedule = _sharing(lengthen(expected.jobs, rows), jobs)
    predicted, walltime, guessed, counted = made
    return expected._replace(predicted=predicted, walltime=walltime, guessed=guessed, counted=counted, jobs=schedule)


def _sharing(schedule: ShadowJobs, jobs: ShadowJobs) -> ShadowJobs:
    """Return a schedule that shares the jobs and known run times of another one."""
    queue = schedule.queue._replace(columns=jobs.queue.columns, amount=jobs.queue.amount)
    return schedule._replace(queue=queue, known=jobs.known)


@borrowing
def predict(
    jobs: ShadowJobs, expected: ExpectedShadow, rows: IntArray, predicted: IntArray, walltime: IntArray
) -> None:
    """Record predictions and walltimes of waiting jobs, seconds, each of shape (waiting,)."""
    sums = _sums(expected)
    below = sums.ran[0] / sums.predicted[0] if sums.predicted[0] > 0 else 1.0
    others = sums.ran[1] / sums.predicted[1] if sums.predicted[1] > 0 else 1.0
    for index in range(len(rows)):
        row = rows[index]
        expected.predicted[row] = predicted[index]
        expected.walltime[row] = walltime[index]
        guess = round((others if predicted[index] >= walltime[index] else below) * predicted[index])
        expected.guessed[row] = min(max(int(guess), 1), walltime[index])
        # The block index of this schedule is separate, so it needs the new duration too.
        expect_length(expected.jobs.queue, row)


@compiled
def longest_wait(jobs: ShadowJobs, expected: ExpectedShadow, arrived: int, now: int, recent: int) -> int:
    """Advance both schedules. Return the longest recent wait under EASY, known or expected, seconds.

    Parameters
    ----------
    jobs, expected
        Schedules, updated in place.
    arrived
        Number of jobs that have arrived.
    now
        Time to reach, seconds.
    recent
        A wait counts if the job still waits or started at most this many seconds ago. The same at each call.
    """
    until = replay(jobs, arrived, now)
    exact = longest_since(jobs, now - recent)
    if until > now:
        _restart_at_next_call(expected)
        return exact
    if _restarts(expected, now, counted_state(jobs).clock[0]):
        _learn(jobs, expected, arrived)
        _begin(jobs, expected, now)
    go_on(expected.jobs, arrived, now, expected.guessed)
    return max(exact, longest_since(expected.jobs, now - recent))


@borrowing
def _restart_at_next_call(expected: ExpectedShadow) -> None:
    _counts(expected).anew[0] = 1


@borrowing
def _restarts(expected: ExpectedShadow, now: int, exact: int) -> bool:
    """Return whether the expected schedule restarts, given the time that the exact schedule has reached."""
    counts = _counts(expected)
    return bool(counts.anew[0] or now - counts.begun[0] > max(_OFTEN, _PART * (now - exact)))


@borrowing
def _learn(jobs: ShadowJobs, expected: ExpectedShadow, arrived: int) -> None:
    """Add newly ended jobs to the sums."""
    counted = expected.counted
    predicted = expected.predicted
    sums, uncounted = _sums(expected), _counts(expected).uncounted
    runtime = jobs_in(jobs.queue).runtime
    for job in range(uncounted[0], arrived):
        if not jobs.known[job] or counted[job]:
            continue
        counted[job] = 1
        if runtime[job] > 0 and predicted[job] > 0:
            part = 0.0
            for resource in range(len(expected.capacity)):
                part = max(part, jobs.queue.amount[job, resource] / expected.capacity[resource])
            kind = int(predicted[job] >= expected.walltime[job])
            sums.predicted[kind] += part * predicted[job]
            sums.ran[kind] += part * runtime[job]
    while uncounted[0] < arrived and counted[uncounted[0]]:
        uncounted[0] += 1


@borrowing
def _begin(jobs: ShadowJobs, expected: ExpectedShadow, now: int) -> None:
    """Restart the expected schedule from the exact one. Copies only what may differ."""
    counts, state = _counts(expected), state_of(jobs)
    first = counts.apart[0]
    queue = jobs.queue
    schedule = expected.jobs
    last = max(counts_of(queue).rows[0], counts_of(schedule.queue).rows[0])
    copy_range(queue.start, schedule.queue.start, first, last)
    copy_range(jobs.running, schedule.running, 0, state.running[0])
    copy_range(jobs.peaks, schedule.peaks, state.first_peak[0], state.end_of_peaks[0])
    for block in range(first // BLOCK, last // BLOCK + 1):
        for resource in range(queue.least_amount.shape[1]):
            schedule.queue.least_amount[block, resource] = queue.least_amount[block, resource]
        for kind in range(len(queue.least_times)):
            schedule.queue.least_times[kind, block] = queue.least_times[kind, block]
    copy_range(jobs.state, schedule.state, 0, len(jobs.state))
    for counter in range(len(queue.numbers)):
        schedule.queue.numbers[counter, 0] = queue.numbers[counter, 0]
    counts.apart[0] = counts_of(queue).head[0]
    counts.anew[0], counts.begun[0] = 0, now
