"""Rigid jobs that come to a pool, wait, run and leave, compiled: without an object a job."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...base import IntArray
from ..compiled import borrowing, compiled

#: The rows of the jobs: when they come, how long they stay on the machine, how long they are expected to, seconds; and
#: when they started.
SUBMIT, WORK, LENGTH, STARTED = range(4)
#: The rows of the places: jobs that wait, in order of arrival; that run, by their end, last first, and by the expected
#: one.
_WAITS, _ENDING, _RUNS = range(3)
#: How many jobs have come, wait and run.
ARRIVED, _WAITING, RUNNING = range(3)
#: An instant that does not come.
NEVER = np.iinfo(np.int64).max


class PoolEvents(NamedTuple):
    """The jobs of a simulation, and how far it is.

    Attributes
    ----------
    jobs
        In order of their submission, shape (4, jobs), with the rows :data:`SUBMIT`, :data:`WORK`, :data:`LENGTH` and
        :data:`STARTED`, seconds.
    need
        Amounts, shape (jobs, resources).
    capacity, free
        Of the machine, at least 1, and what is free of it, shape (resources,).
    places
        Jobs by what they do, shape (3, jobs).
    counts
        How many jobs do what, shape (3,).
    """

    jobs: IntArray
    need: IntArray
    capacity: IntArray
    free: IntArray
    places: IntArray
    counts: IntArray


def pool_events(submit: IntArray, work: IntArray, length: IntArray, need: IntArray, capacity: IntArray) -> PoolEvents:
    """Return a simulation before its first instant.

    Parameters
    ----------
    submit, work, length
        Of the jobs, in order of their submission: when they come, how long they stay on the machine, how long they are
        expected to, seconds; shape (jobs,).
    need
        Amounts, at most all there is, shape (jobs, resources).
    capacity
        Of the pool, shape (resources,).
    """
    return PoolEvents(
        jobs=np.stack((submit, work, length, np.full(len(submit), -1))).astype(np.int64),
        need=np.ascontiguousarray(need),
        capacity=np.maximum(capacity, 1),
        free=capacity.copy(),
        places=np.zeros((3, len(submit)), dtype=np.int64),
        counts=np.zeros(3, dtype=np.int64),
    )


@borrowing
def next_instant(events: PoolEvents) -> int:
    """Return when the next job comes or ends, seconds; :data:`NEVER` if none does."""
    jobs, counts, now = events.jobs, events.counts, NEVER
    if counts[ARRIVED] < jobs.shape[1]:
        now = jobs[SUBMIT, counts[ARRIVED]]
    if counts[RUNNING] > 0:
        now = min(now, _end_of(jobs, events.places[_ENDING, counts[RUNNING] - 1]))
    return int(now)


@borrowing
def end_one(events: PoolEvents, now: int) -> int:
    """Take a job off the machine that ends now; return it, -1 if there is none."""
    counts, runs, index = events.counts, events.places[_RUNS], 0
    if counts[RUNNING] == 0:
        return -1
    job = events.places[_ENDING, counts[RUNNING] - 1]
    if _end_of(events.jobs, job) != now:
        return -1
    while runs[index] != job:
        index += 1
    counts[RUNNING] -= 1
    for later in range(index, counts[RUNNING]):
        runs[later] = runs[later + 1]
    for resource in range(len(events.free)):
        events.free[resource] += events.need[job, resource]
    return int(job)


@borrowing
def let_arrive(events: PoolEvents, now: int) -> None:
    """Let the jobs that come by now wait."""
    jobs, counts, waits = events.jobs, events.counts, events.places[_WAITS]
    while counts[ARRIVED] < jobs.shape[1] and jobs[SUBMIT, counts[ARRIVED]] <= now:
        if jobs[STARTED, counts[ARRIVED]] < 0:
            waits[counts[_WAITING]] = counts[ARRIVED]
            counts[_WAITING] += 1
        counts[ARRIVED] += 1


@borrowing
def start_one(events: PoolEvents, job: int, now: int) -> None:
    """Put a job on the machine that is no longer among those that wait."""
    jobs, counts = events.jobs, events.counts
    jobs[STARTED, job] = now
    end, expected, some = _end_of(jobs, job), expected_end(jobs, job), counts[RUNNING]
    ending, runs, later, at = events.places[_ENDING], events.places[_RUNS], some, some
    while later > 0 and _end_of(jobs, ending[later - 1]) <= end:
        ending[later] = ending[later - 1]
        later -= 1
    while at > 0 and expected_end(jobs, runs[at - 1]) > expected:
        runs[at] = runs[at - 1]
        at -= 1
    ending[later], runs[at] = job, job
    counts[RUNNING] += 1
    for resource in range(len(events.free)):
        events.free[resource] -= events.need[job, resource]


@borrowing
def expect_later(events: PoolEvents, at: int, length: int) -> None:
    """Expect a job that runs, by its place in their order, to stay for so many seconds in all, more than before."""
    jobs, runs = events.jobs, events.places[_RUNS]
    job = runs[at]
    jobs[LENGTH, job] = length
    while at + 1 < events.counts[RUNNING] and expected_end(jobs, runs[at + 1]) <= expected_end(jobs, job):
        runs[at] = runs[at + 1]
        at += 1
    runs[at] = job


@borrowing
def running_at(events: PoolEvents, at: int) -> int:
    """Return a job that runs by its place in the order of expected ends."""
    return int(events.places[_RUNS, at])


@compiled
def waiting_jobs(events: PoolEvents) -> IntArray:
    """Return the jobs that wait, in order of arrival."""
    return events.places[_WAITS, : events.counts[_WAITING]].copy()


@compiled
def running_jobs(events: PoolEvents) -> IntArray:
    """Return the jobs that run, by their expected ends."""
    return events.places[_RUNS, : events.counts[RUNNING]].copy()


@compiled
def start_of(events: PoolEvents, waits: IntArray, starts: IntArray, now: int) -> None:
    """Start some of those that wait, by their places among them, in this order."""
    left = np.ones(len(waits), dtype=np.bool_)
    for place in starts:
        left[place] = False
        start_one(events, waits[place], now)
    count = 0
    for place in range(len(waits)):
        if left[place]:
            events.places[_WAITS, count] = waits[place]
            count += 1
    events.counts[_WAITING] = count


@borrowing
def _end_of(jobs: IntArray, job: int) -> int:
    return int(jobs[STARTED, job] + jobs[WORK, job])


@borrowing
def expected_end(jobs: IntArray, job: int) -> int:
    """Return when a job that has started is expected to end, seconds."""
    return int(jobs[STARTED, job] + jobs[LENGTH, job])


@borrowing
def end_by(jobs: IntArray, job: int, asked: IntArray, now: int) -> int:
    """Return when a job that runs ends by its request, seconds, after `now`.

    As expected where no requests are given or the request has passed; the next second where that has passed, too.
    """
    end = int(jobs[STARTED, job] + asked[job]) if len(asked) else 0
    return end if end > now else max(expected_end(jobs, job), now + 1)
