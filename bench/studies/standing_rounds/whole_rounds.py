"""Batches of reservations that stand, over a whole simulation, compiled: events, decisions and requests.

The rounds of Gainaru et al. (ICPP 2019, section 4.3) as the authors' public simulator has them, on a pool of one
resource, in simulations in which nobody else has a say. A decision looks only at what changed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ....base import IntArray
from ....models.compiled import borrowing, within
from ....models.profiles.amount import NEVER, Amount, add, earliest, forget, open_amount
from .ranked_heap import RankedHeap, open_heap, pop, push
from .unreserved_jobs import UnreservedJobs, discard, largest, open_unreserved, put_in

#: The rows of the jobs: when they come, how long they run if they are let, seconds; what they take; the first of their
#: requests and how many these are; where their attempts are; which request they are at; when what is booked for them
#: ends, and the number of that booking, 0 for none.
_SUBMIT, _WORK, _AMOUNT, _REQUESTS, _COUNT, SLOT, TRIED, _END, _BOOKING = range(9)
_ROWS = 9
#: The numbers: how many jobs have come; how many wait and run; how many have a reservation, and how many are booked as
#: running; bookings and starts so far; whether something was freed; how many came, and how many ended, since the last
#: decision; how many timers there are; the most of a batch, and what is free.
(
    _ARRIVED, _WAITING, _RUNNING, _RESERVED, _HELD, _BOOKED, _STARTS, _FREED, _CAME, _GONE, _TIMERS, _BATCH,
) = range(12)  # fmt: skip


class WholeRounds(NamedTuple):
    """The jobs of a simulation, and how far it is.

    Attributes
    ----------
    jobs
        In order of their submission, shape (9, jobs).
    requests
        What is requested one after the other, of all jobs; seconds.
    starts
        When attempts began; those of a job from its :data:`SLOT` on.
    numbers
        How many jobs are where.
    came, gone
        The jobs that entered the queue and that left the machine since the last decision.
    timers
        When there is to be a decision, the latest first.
    ends, due, booked
        Running jobs by their end, reserved ones by their start, and booked ones by the end of that, latest first.
    unreserved
        The waiting jobs without a reservation.
    profile
        What is free beside what runs and is reserved.
    sorting, chosen
        Room to sort jobs in, empty between two uses, and for the jobs of a batch.
    """

    jobs: IntArray
    requests: IntArray
    starts: IntArray
    numbers: IntArray
    came: IntArray
    gone: IntArray
    timers: IntArray
    ends: RankedHeap
    due: RankedHeap
    booked: RankedHeap
    unreserved: UnreservedJobs
    profile: Amount
    sorting: RankedHeap
    chosen: IntArray


def whole_rounds(columns: IntArray, requests: IntArray, capacity: int, batch: int | None) -> WholeRounds:
    """Return a simulation before its first instant.

    Parameters
    ----------
    columns
        Of the jobs, in order of their submission: when they come, how long they run if they are let, seconds; what they
        take, at least 1 and at most all there is; the first of their requests, and how many these are, of which the
        last must be enough; shape (5, jobs).
    requests
        What is requested, rising for each job; jobs may share them.
    capacity
        The units of the pool.
    batch
        How many jobs a round has at most; ``None`` for all that wait when it begins.
    """
    count, attempts = columns.shape[1], int(columns[4].sum())
    jobs = np.zeros((_ROWS, count), dtype=np.int64)
    jobs[:5] = columns
    jobs[SLOT] = np.cumsum(columns[4]) - columns[4]
    numbers = np.zeros(12, dtype=np.int64)
    numbers[_BATCH] = -1 if batch is None else batch
    return WholeRounds(
        jobs=jobs, requests=requests, starts=np.empty(attempts, dtype=np.int64), numbers=numbers,
        came=np.empty(count, dtype=np.int64), gone=np.empty(count, dtype=np.int64),
        timers=np.empty(attempts + 1, dtype=np.int64), ends=open_heap(count), due=open_heap(count),
        booked=open_heap(attempts), unreserved=open_unreserved(count),
        profile=open_amount(capacity, 0, count), sorting=open_heap(count + 1),
        chosen=np.empty(count, dtype=np.int64),
    )  # fmt: skip


@borrowing
def go_on_in_rounds(rounds: WholeRounds, decisions: IntArray, ended: IntArray) -> tuple[int, int]:
    """Go through instants: completions, then arrivals, then one decision if anybody waits or a timer says so.

    Parameters
    ----------
    rounds
        Brought forward.
    decisions
        Filled: time, jobs that wait and run before it, and that it starts; shape (decisions, 4).
    ended
        Filled: the jobs that left for good, in this order; longer than the number of jobs that may run at once.

    Returns
    -------
    How many decisions and jobs there are; nothing is left to come if there are none.
    """
    numbers, jobs, timers, rows, left = rounds.numbers, rounds.jobs, rounds.timers, 0, 0
    while rows < len(decisions) and left + numbers[_RUNNING] < len(ended):
        now = _next_instant(rounds)
        if now == NEVER:
            break
        while numbers[_RUNNING] > 0 and rounds.ends.rows[0, 0] == now:
            left += _end(rounds, ended, left)
        while numbers[_ARRIVED] < jobs.shape[1] and jobs[_SUBMIT, numbers[_ARRIVED]] == now:
            _wait(rounds, numbers[_ARRIVED])
            numbers[_ARRIVED] += 1
        asked = numbers[_WAITING] > 0
        if numbers[_TIMERS] > 0 and timers[numbers[_TIMERS] - 1] == now:
            numbers[_TIMERS] -= 1
            asked = True
        if asked:
            decisions[rows, 0], decisions[rows, 1], decisions[rows, 2] = now, numbers[_WAITING], numbers[_RUNNING]
            _decide(rounds, now)
            decisions[rows, 3] = decisions[rows, 1] - numbers[_WAITING]
            rows += 1
    return rows, left


@within
def _next_instant(rounds: WholeRounds) -> int:
    numbers, jobs, now = rounds.numbers, rounds.jobs, NEVER
    if numbers[_ARRIVED] < jobs.shape[1]:
        now = jobs[_SUBMIT, numbers[_ARRIVED]]
    if numbers[_RUNNING] > 0:
        now = min(now, rounds.ends.rows[0, 0])
    if numbers[_TIMERS] > 0:
        now = min(now, rounds.timers[numbers[_TIMERS] - 1])
    return int(now)


@within
def _end(rounds: WholeRounds, ended: IntArray, left: int) -> int:
    """Take the job that ends first off the machine; return 1 if it leaves for good, 0 if it comes back."""
    numbers, jobs, job = rounds.numbers, rounds.jobs, pop(rounds.ends)
    numbers[_RUNNING] -= 1
    rounds.gone[numbers[_GONE]] = job
    numbers[_GONE] += 1
    if jobs[_WORK, job] <= _request(rounds, job):
        ended[left] = job
        return 1
    jobs[TRIED, job] += 1
    _wait(rounds, job)
    return 0


@within
def _wait(rounds: WholeRounds, job: int) -> None:
    rounds.came[rounds.numbers[_CAME]] = job
    rounds.numbers[_CAME] += 1
    rounds.numbers[_WAITING] += 1


@within
def _request(rounds: WholeRounds, job: int) -> int:
    return int(rounds.requests[rounds.jobs[_REQUESTS, job] + rounds.jobs[TRIED, job]])


@within
def _decide(rounds: WholeRounds, now: int) -> None:
    """Follow what changed, reserve for those that have no reservation, and start those whose time has come."""
    numbers = rounds.numbers
    forget(rounds.profile, now)
    for index in range(numbers[_GONE]):
        _release(rounds, rounds.gone[index], now)
    numbers[_GONE] = 0
    _sort(rounds.came, numbers[_CAME])
    if numbers[_RESERVED] + numbers[_HELD] == 0:
        _settle(rounds, now)
        for index in range(_choose(rounds)):
            _reserve(rounds, rounds.chosen[index], now, NEVER)
        numbers[_FREED] = 1
    if numbers[_RESERVED] + numbers[_HELD] > 0:
        _fill(rounds, now)
    while numbers[_RESERVED] > 0 and rounds.due.rows[0, 0] <= now:
        _start(rounds, pop(rounds.due), now)
    if numbers[_RESERVED] > 0:
        following = rounds.due.rows[0, 0]
        # Reservations stand, so that those for which timers were set are there still: none of these comes before.
        if numbers[_TIMERS] == 0 or rounds.timers[numbers[_TIMERS] - 1] > following:
            rounds.timers[numbers[_TIMERS]] = following
            numbers[_TIMERS] += 1


@within
def _sort(jobs: IntArray, count: int) -> None:
    """Sort the first of some jobs by their place in the trace."""
    for index in range(1, count):
        job, place = jobs[index], index
        while place > 0 and jobs[place - 1] > job:
            jobs[place] = jobs[place - 1]
            place -= 1
        jobs[place] = job


@within
def _release(rounds: WholeRounds, job: int, now: int) -> None:
    """Give back what is booked for a job that ended, from now on."""
    jobs = rounds.jobs
    if jobs[_END, job] > now:
        add(rounds.profile, now, jobs[_END, job], jobs[_AMOUNT, job])
        rounds.numbers[_FREED] = 1
    jobs[_BOOKING, job] = 0
    rounds.numbers[_HELD] -= 1


@within
def _settle(rounds: WholeRounds, now: int) -> None:
    """Let those that came and have no reservation wait as the others do."""
    numbers, jobs = rounds.numbers, rounds.jobs
    for index in range(numbers[_CAME]):
        job = rounds.came[index]
        if jobs[_BOOKING, job] == 0:
            put_in(rounds.unreserved, job, -jobs[_AMOUNT, job] * _request(rounds, job), now)
    numbers[_CAME] = 0


@within
def _choose(rounds: WholeRounds) -> int:
    return largest(rounds.unreserved, rounds.numbers[_BATCH], rounds.sorting, rounds.chosen)


@within
def _reserve(rounds: WholeRounds, job: int, now: int, before: int) -> None:
    """Reserve the first start in [now, before) at which a job fits, if there is one."""
    jobs, numbers, seconds = rounds.jobs, rounds.numbers, _request(rounds, job)
    start = earliest(rounds.profile, jobs[_AMOUNT, job], seconds, now, before, NEVER)
    if start < 0:
        return
    end = start + seconds
    add(rounds.profile, start, end, -jobs[_AMOUNT, job])
    discard(rounds.unreserved, job)
    numbers[_BOOKED] += 1
    numbers[_RESERVED] += 1
    jobs[_END, job], jobs[_BOOKING, job] = end, numbers[_BOOKED]
    push(rounds.due, start, numbers[_BOOKED], job)
    push(rounds.booked, -end, numbers[_BOOKED], job)


@within
def _fill(rounds: WholeRounds, now: int) -> None:
    """Reserve for jobs that have no reservation what they fit before the last one ends.

    Where something was freed, for the next batch of those that wait already; then for each that has come.
    """
    numbers, booked = rounds.numbers, rounds.booked
    while rounds.jobs[_BOOKING, booked.rows[2, 0]] != booked.rows[1, 0]:
        pop(booked)
    last = -booked.rows[0, 0]
    if numbers[_FREED]:
        for index in range(_choose(rounds)):
            job = rounds.chosen[index]
            _reserve(rounds, job, now, last - _request(rounds, job) + 1)
        numbers[_FREED] = 0
    for index in range(numbers[_CAME]):
        job = rounds.came[index]
        _reserve(rounds, job, now, last - _request(rounds, job) + 1)
    _settle(rounds, now)


@within
def _start(rounds: WholeRounds, job: int, now: int) -> None:
    """Put a job on the machine."""
    numbers, jobs = rounds.numbers, rounds.jobs
    numbers[_RESERVED] -= 1
    numbers[_HELD] += 1
    numbers[_WAITING] -= 1
    numbers[_RUNNING] += 1
    rounds.starts[jobs[SLOT, job] + jobs[TRIED, job]] = now
    push(rounds.ends, now + min(jobs[_WORK, job], _request(rounds, job)), numbers[_STARTS], job)
    numbers[_STARTS] += 1
