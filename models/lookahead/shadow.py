"""What EASY would have done with the same jobs: a second schedule, replayed as far as the run times are known."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...base import IntArray
from ..compiled import compiled

NEVER = np.iinfo(np.int64).max
#: Entries of `ShadowJobs.state`.
COUNTED, QUEUED, RUNNING, LONGEST, CLOCK = range(5)
#: Where the free amounts begin in it.
HEADER = 5


class ShadowJobs(NamedTuple):
    """The jobs in the order in which they came, and where the shadow stands; times in seconds.

    Attributes
    ----------
    submit, arrival
        When the wait begins, and when the job was first seen, which does not fall; shape (jobs,).
    duration
        Predicted run time, at least 1, shape (jobs,).
    need
        Amounts the whole job asks for, shape (jobs, resources).
    run
        What is known of the run time, shape (jobs,): where `known`, the run time itself, else it is longer than this.
    known
        1 where the job has ended in reality, shape (jobs,).
    start
        When the job started in the shadow, -1 if it has not, shape (jobs,).
    queue, running
        Jobs that wait and run in the shadow, in their first entries, shape (jobs,).
    state
        How many have arrived, wait, run in the shadow; the longest wait so far; the clock; then the free amounts.
    """

    submit: IntArray
    arrival: IntArray
    duration: IntArray
    need: IntArray
    run: IntArray
    known: IntArray
    start: IntArray
    queue: IntArray
    running: IntArray
    state: IntArray


def open_shadow(capacity: IntArray, now: int) -> ShadowJobs:
    """Return a shadow that begins at `now`, without jobs, on a machine of these amounts, shape (resources,)."""
    none = np.zeros(0, dtype=np.int64)
    state = np.zeros(HEADER + len(capacity), dtype=np.int64)
    state[CLOCK] = now
    state[HEADER:] = capacity
    need = np.zeros((0, len(capacity)), dtype=np.int64)
    return ShadowJobs(none, none, none, need, none, none, none, none, none, state)


def lengthen(jobs: ShadowJobs, rows: int) -> ShadowJobs:
    """Return the same shadow with room for so many jobs."""

    def longer(column: IntArray) -> IntArray:
        made = np.zeros((rows, *column.shape[1:]), dtype=column.dtype)
        made[: len(column)] = column
        return made

    return ShadowJobs(
        longer(jobs.submit), longer(jobs.arrival), longer(jobs.duration), longer(jobs.need), longer(jobs.run),
        longer(jobs.known), longer(jobs.start), longer(jobs.queue), longer(jobs.running), jobs.state,
    )  # fmt: skip


@compiled
def replay(jobs: ShadowJobs, arrived: int, now: int) -> int:
    """Bring the shadow forward, to `now` at most; return the longest wait in it so far.

    It goes on to the next arrival or end while that end is known: it stops at the first instant at which a job may have
    ended that in reality runs or waits. So what it says is exact, but may lag behind.
    """
    state = jobs.state
    while True:
        time, certain = _next_event(jobs, arrived)
        if time > now or not certain:
            return int(state[LONGEST])
        state[CLOCK] = time
        _complete(jobs, time)
        while state[COUNTED] < arrived and jobs.arrival[state[COUNTED]] <= time:
            jobs.queue[state[QUEUED]] = state[COUNTED]
            state[QUEUED] += 1
            state[COUNTED] += 1
        if state[QUEUED]:
            _easy(jobs, time)
        if state[QUEUED]:
            state[LONGEST] = max(state[LONGEST], time - jobs.submit[jobs.queue[0]])


@compiled
def _next_event(jobs: ShadowJobs, arrived: int) -> tuple[int, bool]:
    """Return the next arrival or end in the shadow, and whether no unknown end can come before or with it."""
    state = jobs.state
    time, unknown = NEVER, NEVER
    if state[COUNTED] < arrived:
        time = jobs.arrival[state[COUNTED]]
    for index in range(state[RUNNING]):
        job = jobs.running[index]
        end = max(jobs.start[job] + jobs.run[job], state[CLOCK])
        if jobs.known[job]:
            time = min(time, end)
        else:
            unknown = min(unknown, end)
    return time, time < unknown or unknown == NEVER


@compiled
def _complete(jobs: ShadowJobs, time: int) -> None:
    kept = 0
    for index in range(jobs.state[RUNNING]):
        job = jobs.running[index]
        if jobs.known[job] and jobs.start[job] + jobs.run[job] <= time:
            for resource in range(jobs.need.shape[1]):
                jobs.state[HEADER + resource] += jobs.need[job, resource]
        else:
            jobs.running[kept] = job
            kept += 1
    jobs.state[RUNNING] = kept


@compiled
def _easy(jobs: ShadowJobs, now: int) -> None:
    """Start from the head of the queue, then those that do not delay the first job that does not fit."""
    state = jobs.state
    free = state[HEADER:]
    head = 0
    while head < state[QUEUED] and _fits(jobs.need[jobs.queue[head]], free):
        _start(jobs, jobs.queue[head], now)
        head += 1
    if head < state[QUEUED]:
        blocked = jobs.queue[head]
        reserved, spare = _reserve(jobs, blocked, now)
        for index in range(head + 1, state[QUEUED]):
            job = jobs.queue[index]
            need = jobs.need[job]
            if _fits(need, free):
                if now + jobs.duration[job] > reserved:
                    if not _fits(need, spare):
                        continue
                    spare -= need
                _start(jobs, job, now)
    kept = 0
    for index in range(state[QUEUED]):
        if jobs.start[jobs.queue[index]] < 0:
            jobs.queue[kept] = jobs.queue[index]
            kept += 1
    state[QUEUED] = kept


@compiled
def _reserve(jobs: ShadowJobs, blocked: int, now: int) -> tuple[int, IntArray]:
    """Return when, by the predictions, the blocked job will fit, and what is free then beside it."""
    count = jobs.state[RUNNING]
    ends = np.empty(count, dtype=np.int64)
    for index in range(count):
        job = jobs.running[index]
        ends[index] = max(jobs.start[job] + jobs.duration[job], now + 1)
    spare = jobs.state[HEADER:] - jobs.need[blocked]
    reserved = now
    for index in np.argsort(ends, kind="mergesort"):
        if ends[index] > reserved and spare.min() >= 0:
            break
        reserved = ends[index]
        spare += jobs.need[jobs.running[index]]
    return reserved, spare


@compiled
def _start(jobs: ShadowJobs, job: int, now: int) -> None:
    state = jobs.state
    jobs.start[job] = now
    jobs.running[state[RUNNING]] = job
    state[RUNNING] += 1
    state[LONGEST] = max(state[LONGEST], now - jobs.submit[job])
    for resource in range(jobs.need.shape[1]):
        state[HEADER + resource] -= jobs.need[job, resource]


@compiled
def _fits(need: IntArray, free: IntArray) -> bool:
    return bool((need <= free).all())
