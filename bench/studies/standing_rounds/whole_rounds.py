"""Compiled simulation of rounds of fixed reservations: events, decisions and requests.

Rounds of Gainaru et al. (ICPP 2019, section 4.3) as in the authors' public simulator, on a pool of one resource.
Nothing else affects the simulation. A decision considers only what changed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....base import IntArray
from ....models.compiled import borrowing, within
from ....models.profiles.amount import NEVER, Amount, add, earliest, forget, open_amount
from .ranked_heap import RankedHeap, open_heap, pop, push
from .unreserved_jobs import UnreservedJobs, discard, largest, open_unreserved, put_in

#: A job of the rounds:
#:
#: * Arrival, and run time without a limit, seconds.
#: * Amount.
#: * First request, and number of requests.
#: * Position of the attempts, and the current request.
#: * End of the booked time, seconds, and number of that booking, 0 for none.
ROUND_JOB = np.dtype(
    [
        (name, np.int64)
        for name in ("submit", "work", "amount", "first", "requests", "attempts", "tried", "end", "booking")
    ]
)
#: Counters of the rounds:
#:
#: * Jobs that arrived, wait and run.
#: * Jobs with a reservation, and jobs booked as running.
#: * Bookings and starts so far.
#: * Whether some amount was freed.
#: * Jobs that arrived, and that ended, since the last decision.
#: * Timers.
#: * Most jobs of a batch.
ROUND_COUNTS = np.dtype(
    [
        (name, np.int64)
        for name in (
            *("arrived", "waiting", "running", "reserved", "held", "booked", "starts", "freed"),
            *("came", "gone", "timers", "batch"),
        )
    ]
)


class WholeRounds(NamedTuple):
    """Jobs and state of a simulation.

    Attributes
    ----------
    jobs
        Jobs in order of submission, of type :data:`ROUND_JOB`. Shape (jobs,).
    requests
        Walltimes of all jobs in sequence, seconds.
    starts
        Begin of each attempt. Those of a job begin where its `attempts` say.
    counts
        Counters of type :data:`ROUND_COUNTS`, shape (1,).
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

    jobs: NDArray[np.void]
    requests: IntArray
    starts: IntArray
    counts: NDArray[np.void]
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
    jobs = np.zeros(count, dtype=ROUND_JOB)
    for name, column in zip(ROUND_JOB.names or (), columns, strict=False):
        jobs[name] = column
    jobs["attempts"] = np.cumsum(columns[4]) - columns[4]
    counts = np.zeros(1, dtype=ROUND_COUNTS)
    counts["batch"] = -1 if batch is None else batch
    return WholeRounds(
        jobs=jobs,
        requests=requests,
        starts=np.empty(attempts, dtype=np.int64),
        counts=counts,
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
    counts = rounds.counts[0]
    jobs = rounds.jobs
    timers = rounds.timers
    rows = 0
    left = 0
    while rows < len(decisions) and left + counts.running < len(ended):
        now = _next_instant(rounds)
        if now == NEVER:
            break
        while counts.running > 0 and rounds.ends.rows[0, 0] == now:
            left += _end(rounds, ended, left)
        while counts.arrived < len(jobs) and jobs[counts.arrived].submit == now:
            _wait(rounds, counts.arrived)
            counts.arrived += 1
        asked = counts.waiting > 0
        if counts.timers > 0 and timers[counts.timers - 1] == now:
            counts.timers -= 1
            asked = True
        if asked:
            decisions[rows, 0] = now
            decisions[rows, 1] = counts.waiting
            decisions[rows, 2] = counts.running
            _decide(rounds, now)
            decisions[rows, 3] = decisions[rows, 1] - counts.waiting
            rows += 1
    return rows, left


@within
def _next_instant(rounds: WholeRounds) -> int:
    counts = rounds.counts[0]
    jobs = rounds.jobs
    now = NEVER
    if counts.arrived < len(jobs):
        now = jobs[counts.arrived].submit
    if counts.running > 0:
        now = min(now, rounds.ends.rows[0, 0])
    if counts.timers > 0:
        now = min(now, rounds.timers[counts.timers - 1])
    return int(now)


@within
def _end(rounds: WholeRounds, ended: IntArray, left: int) -> int:
    """Remove the job that ends first. Return 1 if it is done, 0 if it is resubmitted."""
    counts = rounds.counts[0]
    jobs = rounds.jobs
    job = pop(rounds.ends)
    counts.running -= 1
    rounds.gone[counts.gone] = job
    counts.gone += 1
    if jobs[job].work <= _request(rounds, job):
        ended[left] = job
        return 1
    jobs[job].tried += 1
    _wait(rounds, job)
    return 0


@within
def _wait(rounds: WholeRounds, job: int) -> None:
    rounds.came[rounds.counts[0].came] = job
    rounds.counts[0].came += 1
    rounds.counts[0].waiting += 1


@within
def _request(rounds: WholeRounds, job: int) -> int:
    return int(rounds.requests[rounds.jobs[job].first + rounds.jobs[job].tried])


@within
def _decide(rounds: WholeRounds, now: int) -> None:
    """Process changes and reserve for jobs without a reservation. Then start the jobs that are due."""
    counts = rounds.counts[0]
    forget(rounds.profile, now)
    for index in range(counts.gone):
        _release(rounds, rounds.gone[index], now)
    counts.gone = 0
    _sort(rounds.came, counts.came)
    if counts.reserved + counts.held == 0:
        _settle(rounds, now)
        for index in range(_choose(rounds)):
            _reserve(rounds, rounds.chosen[index], now, NEVER)
        counts.freed = 1
    if counts.reserved + counts.held > 0:
        _fill(rounds, now)
    while counts.reserved > 0 and rounds.due.rows[0, 0] <= now:
        _start(rounds, pop(rounds.due), now)
    if counts.reserved > 0:
        following = rounds.due.rows[0, 0]
        # Reservations are fixed, so earlier timers still apply. None of these comes before them.
        if counts.timers == 0 or rounds.timers[counts.timers - 1] > following:
            rounds.timers[counts.timers] = following
            counts.timers += 1


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
    if jobs[job].end > now:
        add(rounds.profile, now, jobs[job].end, jobs[job].amount)
        rounds.counts[0].freed = 1
    jobs[job].booking = 0
    rounds.counts[0].held -= 1


@within
def _settle(rounds: WholeRounds, now: int) -> None:
    """Add new jobs without a reservation to the waiting list."""
    counts, jobs = rounds.counts[0], rounds.jobs
    for index in range(counts.came):
        job = rounds.came[index]
        if jobs[job].booking == 0:
            put_in(rounds.unreserved, job, -jobs[job].amount * _request(rounds, job), now)
    counts.came = 0


@within
def _choose(rounds: WholeRounds) -> int:
    return largest(rounds.unreserved, rounds.counts[0].batch, rounds.sorting, rounds.chosen)


@within
def _reserve(rounds: WholeRounds, job: int, now: int, before: int) -> None:
    """Reserve the first start in [now, before) where a job fits, if any."""
    jobs = rounds.jobs
    counts = rounds.counts[0]
    seconds = _request(rounds, job)
    start = earliest(rounds.profile, jobs[job].amount, seconds, now, before, NEVER)
    if start < 0:
        return
    end = start + seconds
    add(rounds.profile, start, end, -jobs[job].amount)
    discard(rounds.unreserved, job)
    counts.booked += 1
    counts.reserved += 1
    jobs[job].end = end
    jobs[job].booking = counts.booked
    push(rounds.due, start, counts.booked, job)
    push(rounds.booked, -end, counts.booked, job)


@within
def _fill(rounds: WholeRounds, now: int) -> None:
    """Reserve for jobs without a reservation that end by the end of the last booking.

    If an amount was freed, the next batch of waiting jobs comes first. Then comes each new job.
    """
    counts = rounds.counts[0]
    booked = rounds.booked
    while rounds.jobs[booked.rows[2, 0]].booking != booked.rows[1, 0]:
        pop(booked)
    last = -booked.rows[0, 0]
    if counts.freed:
        for index in range(_choose(rounds)):
            job = rounds.chosen[index]
            _reserve(rounds, job, now, last - _request(rounds, job) + 1)
        counts.freed = 0
    for index in range(counts.came):
        job = rounds.came[index]
        _reserve(rounds, job, now, last - _request(rounds, job) + 1)
    _settle(rounds, now)


@within
def _start(rounds: WholeRounds, job: int, now: int) -> None:
    """Start a job."""
    counts, jobs = rounds.counts[0], rounds.jobs
    counts.reserved -= 1
    counts.held += 1
    counts.waiting -= 1
    counts.running += 1
    rounds.starts[jobs[job].attempts + jobs[job].tried] = now
    push(rounds.ends, now + min(jobs[job].work, _request(rounds, job)), counts.starts, job)
    counts.starts += 1
