"""Compiled simulation of rounds of fixed reservations: events, decisions and requests.

Rounds of Gainaru et al. (ICPP 2019, section 4.3) as in the authors' public simulator, on a pool of one resource.
Nothing else affects the simulation. A decision considers only what changed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ....base import IntArray
from ....models.compiled import borrowing, within
from ....models.profiles.amount import NEVER, Amount, add, earliest, forget, open_amount
from .ranked_heap import RankedHeap, open_heap, pop, push
from .unreserved_jobs import UnreservedJobs, discard, largest, open_unreserved, put_in

#: Rows of the jobs:
#:
#: * Arrival, seconds.
#: * Run time without a limit, seconds.
#: * Amount.
#: * First request, and number of requests.
#: * Position of the attempts.
#: * Current request.
#: * End of the booked time, and number of that booking, 0 for none.
_SUBMIT, _WORK, _AMOUNT, _REQUESTS, _COUNT, SLOT, TRIED, _END, _BOOKING = range(9)
_ROWS = 9
#: Counters:
#:
#: * Jobs that arrived, wait and run.
#: * Jobs with a reservation, and jobs booked as running.
#: * Bookings and starts so far.
#: * Whether some amount was freed.
#: * Jobs that arrived, and that ended, since the last decision.
#: * Timers.
#: * Most jobs of a batch.
(
    _ARRIVED,
    _WAITING,
    _RUNNING,
    _RESERVED,
    _HELD,
    _BOOKED,
    _STARTS,
    _FREED,
    _CAME,
    _GONE,
    _TIMERS,
    _BATCH,
) = range(12)


class WholeRounds(NamedTuple):
    """Jobs and state of a simulation.

    Attributes
    ----------
    jobs
        Jobs in order of submission, shape (9, jobs).
    requests
        Walltimes of all jobs in sequence, seconds.
    starts
        Begin of each attempt. Those of a job begin at its :data:`SLOT`.
    numbers
        Counters.
    came, gone
        Jobs that arrived, and that ended, since the last decision.
    timers
        Times of future decisions, latest first.
    ends, due, booked
        Running jobs by end, reserved jobs by start, and booked jobs by end of booking, latest first.
    unreserved
        Waiting jobs without a reservation.
    profile
        Free amounts beside running jobs and reservations.
    sorting, chosen
        Buffer to sort jobs in, empty between uses, and buffer for the jobs of a batch.
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
        Jobs in order of submission, shape (5, jobs). The rows:

        * Arrival, seconds.
        * Run time without a limit, seconds.
        * Amount, at least 1 and at most the capacity.
        * First request.
        * Number of requests. The last must suffice.
    requests
        Walltimes, rising for each job. Jobs may share them.
    capacity
        Units of the pool.
    batch
        Most jobs of a round. ``None`` for all that wait when it begins.
    """
    count = columns.shape[1]
    attempts = int(columns[4].sum())
    jobs = np.zeros((_ROWS, count), dtype=np.int64)
    jobs[:5] = columns
    jobs[SLOT] = np.cumsum(columns[4]) - columns[4]
    numbers = np.zeros(12, dtype=np.int64)
    numbers[_BATCH] = -1 if batch is None else batch
    return WholeRounds(
        jobs=jobs,
        requests=requests,
        starts=np.empty(attempts, dtype=np.int64),
        numbers=numbers,
        came=np.empty(count, dtype=np.int64),
        gone=np.empty(count, dtype=np.int64),
        timers=np.empty(attempts + 1, dtype=np.int64),
        ends=open_heap(count),
        due=open_heap(count),
        booked=open_heap(attempts),
        unreserved=open_unreserved(count),
        profile=open_amount(capacity, 0, count),
        sorting=open_heap(count + 1),
        chosen=np.empty(count, dtype=np.int64),
    )


@borrowing
def go_on_in_rounds(rounds: WholeRounds, decisions: IntArray, ended: IntArray) -> tuple[int, int]:
    """Simulate instants: completions, arrivals, then one decision if a job waits or a timer is due.

    Parameters
    ----------
    rounds
        Updated in place.
    decisions
        Receives time, waiting and running jobs before it, and started jobs. Shape (decisions, 4).
    ended
        Receives the jobs that ended for good, in order. Longer than the number of jobs that can run at once.

    Returns
    -------
    Number of decisions and of ended jobs. The simulation is over if there are no decisions.
    """
    numbers = rounds.numbers
    jobs = rounds.jobs
    timers = rounds.timers
    rows = 0
    left = 0
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
            decisions[rows, 0] = now
            decisions[rows, 1] = numbers[_WAITING]
            decisions[rows, 2] = numbers[_RUNNING]
            _decide(rounds, now)
            decisions[rows, 3] = decisions[rows, 1] - numbers[_WAITING]
            rows += 1
    return rows, left


@within
def _next_instant(rounds: WholeRounds) -> int:
    numbers = rounds.numbers
    jobs = rounds.jobs
    now = NEVER
    if numbers[_ARRIVED] < jobs.shape[1]:
        now = jobs[_SUBMIT, numbers[_ARRIVED]]
    if numbers[_RUNNING] > 0:
        now = min(now, rounds.ends.rows[0, 0])
    if numbers[_TIMERS] > 0:
        now = min(now, rounds.timers[numbers[_TIMERS] - 1])
    return int(now)


@within
def _end(rounds: WholeRounds, ended: IntArray, left: int) -> int:
    """Remove the job that ends first. Return 1 if it is done, 0 if it is resubmitted."""
    numbers = rounds.numbers
    jobs = rounds.jobs
    job = pop(rounds.ends)
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
    """Process changes and reserve for jobs without a reservation. Then start the jobs that are due."""
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
        # Reservations are fixed, so earlier timers still apply. None of these comes before them.
        if numbers[_TIMERS] == 0 or rounds.timers[numbers[_TIMERS] - 1] > following:
            rounds.timers[numbers[_TIMERS]] = following
            numbers[_TIMERS] += 1


@within
def _sort(jobs: IntArray, count: int) -> None:
    """Sort the first `count` jobs by their position in the trace."""
    for index in range(1, count):
        job, place = jobs[index], index
        while place > 0 and jobs[place - 1] > job:
            jobs[place] = jobs[place - 1]
            place -= 1
        jobs[place] = job


@within
def _release(rounds: WholeRounds, job: int, now: int) -> None:
    """Free the booked amounts of a job that ended, from now on."""
    jobs = rounds.jobs
    if jobs[_END, job] > now:
        add(rounds.profile, now, jobs[_END, job], jobs[_AMOUNT, job])
        rounds.numbers[_FREED] = 1
    jobs[_BOOKING, job] = 0
    rounds.numbers[_HELD] -= 1


@within
def _settle(rounds: WholeRounds, now: int) -> None:
    """Add new jobs without a reservation to the waiting list."""
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
    """Reserve the first start in [now, before) where a job fits, if any."""
    jobs = rounds.jobs
    numbers = rounds.numbers
    seconds = _request(rounds, job)
    start = earliest(rounds.profile, jobs[_AMOUNT, job], seconds, now, before, NEVER)
    if start < 0:
        return
    end = start + seconds
    add(rounds.profile, start, end, -jobs[_AMOUNT, job])
    discard(rounds.unreserved, job)
    numbers[_BOOKED] += 1
    numbers[_RESERVED] += 1
    jobs[_END, job] = end
    jobs[_BOOKING, job] = numbers[_BOOKED]
    push(rounds.due, start, numbers[_BOOKED], job)
    push(rounds.booked, -end, numbers[_BOOKED], job)


@within
def _fill(rounds: WholeRounds, now: int) -> None:
    """Reserve for jobs without a reservation that end by the end of the last booking.

    If an amount was freed, the next batch of waiting jobs comes first. Then comes each new job.
    """
    numbers = rounds.numbers
    booked = rounds.booked
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
    """Start a job."""
    numbers, jobs = rounds.numbers, rounds.jobs
    numbers[_RESERVED] -= 1
    numbers[_HELD] += 1
    numbers[_WAITING] -= 1
    numbers[_RUNNING] += 1
    rounds.starts[jobs[SLOT, job] + jobs[TRIED, job]] = now
    push(rounds.ends, now + min(jobs[_WORK, job], _request(rounds, job)), numbers[_STARTS], job)
    numbers[_STARTS] += 1
