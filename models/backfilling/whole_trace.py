"""First come, first served and EASY over a whole trace, compiled: events, decisions and nodes without an object a job.

For simulations in which nobody else has a say, and what is free is one number, units of a pool or slots of one kind.
The queue is a stretch of the trace; blocks of it in which no job may start are passed over.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...base import IntArray
from ..compiled import borrowing
from .counting import reservation
from .queue_tree import NEVER

#: The rows of the jobs: when they come, how long they stay on the machine, how long they are predicted to, seconds;
#: what they take, at least 1; the same until they start, then :data:`.NEVER`; when they did; where their slots are.
_SUBMIT, _WORK, _LENGTH, _AMOUNT, _ASKS, STARTED, FIRST_SLOT = range(7)
#: The rows of the running jobs: when they will end and which they are, the latest first, and those that started first
#: last among these; when they are predicted to end and what is freed then, the latest first.
_END, _JOB, _EXPECTED, _HELD = range(4)
#: The numbers: how many jobs have come, the first of them that may still wait, how many wait and run, what is free, the
#: lowest node that may have a free slot, and how many slots were given out.
_ARRIVED, _FIRST, _WAITING, _RUNNING, _FREE, _LOWEST, _PLACED = range(7)
#: Jobs of a trace that are passed over together.
_BLOCK = 64


class WholeTrace(NamedTuple):
    """The jobs of a simulation, and how far it is.

    Attributes
    ----------
    jobs
        In order of their submission, shape (7, jobs), with the rows :data:`STARTED`, seconds, and :data:`FIRST_SLOT`.
    numbers
        How many jobs are where, and what is free.
    blocks
        What a job takes at least that has not started, and the least length of one, of each block; shape (2, blocks).
    running
        Shape (4, as many as may run at once).
    room
        Free slots of each node; of shape (0,) for a pool.
    placed
        The nodes of the slots that were given out.
    """

    jobs: IntArray
    numbers: IntArray
    blocks: IntArray
    running: IntArray
    room: IntArray
    placed: NDArray[np.int32]


def whole_trace(submit: IntArray, work: IntArray, length: IntArray, amount: IntArray, room: IntArray) -> WholeTrace:
    """Return a trace before its first instant.

    Parameters
    ----------
    submit, work, length, amount
        Of the jobs, in order of their submission: when they come, how long they stay on the machine, how long they are
        predicted to, seconds, and what they take, at least 1 and at most all there is; shape (jobs,).
    room
        The slots of each node, or the units of a pool.
    """
    free, later, blocks = int(room.sum()), np.zeros_like(submit), np.arange(0, len(submit), _BLOCK)
    nodes = len(room) > 1
    return WholeTrace(
        jobs=np.stack((submit, work, length, amount, amount, later, later)),
        numbers=np.array([0, 0, 0, 0, free, 0, 0], dtype=np.int64),
        blocks=np.stack([np.minimum.reduceat(column, blocks) for column in (amount, length)]),
        running=np.zeros((4, min(free, len(submit))), dtype=np.int64),
        room=room[: len(room) * nodes].copy(),
        placed=np.empty(int(amount.sum()) * nodes, dtype=np.int32),
    )


@borrowing
def go_on(trace: WholeTrace, decisions: IntArray, ended: IntArray, backfilling: bool) -> tuple[int, int]:
    """Go through instants: completions, then arrivals, then one decision if anybody waits.

    Parameters
    ----------
    trace
        Brought forward.
    decisions
        Filled: time, jobs that wait and run before it, and that it starts; shape (decisions, 4).
    ended
        Filled: the jobs that ended, in this order; longer than the number of jobs that may run at once.
    backfilling
        Whether jobs go ahead of the first that does not fit, as EASY backfilling has it.

    Returns
    -------
    How many decisions and ended jobs there are; nothing is left to come if there are none.
    """
    numbers, jobs, running, rows, gone = trace.numbers, trace.jobs, trace.running, 0, 0
    while rows < len(decisions) and gone + numbers[_RUNNING] < len(ended):
        now, some = NEVER, numbers[_RUNNING]
        if numbers[_ARRIVED] < jobs.shape[1]:
            now = jobs[_SUBMIT, numbers[_ARRIVED]]
        if some > 0 and running[_END, some - 1] < now:
            now = running[_END, some - 1]
        if now == NEVER:
            break
        while numbers[_RUNNING] > 0 and running[_END, numbers[_RUNNING] - 1] == now:
            ended[gone] = running[_JOB, numbers[_RUNNING] - 1]
            _end(trace, ended[gone])
            gone += 1
        while numbers[_ARRIVED] < jobs.shape[1] and jobs[_SUBMIT, numbers[_ARRIVED]] == now:
            numbers[_ARRIVED] += 1
            numbers[_WAITING] += 1
        if numbers[_WAITING] > 0:
            decisions[rows, 0], decisions[rows, 1], decisions[rows, 2] = now, numbers[_WAITING], numbers[_RUNNING]
            _decide(trace, now, backfilling)
            decisions[rows, 3] = decisions[rows, 1] - numbers[_WAITING]
            rows += 1
    return rows, gone


@borrowing
def _end(trace: WholeTrace, job: int) -> None:
    """Take the job that ends first off the machine."""
    numbers, jobs, running, amount = trace.numbers, trace.jobs, trace.running, trace.jobs[_AMOUNT, job]
    index = _place(running[_EXPECTED], numbers[_RUNNING], jobs[STARTED, job] + jobs[_LENGTH, job])
    while running[_HELD, index] != amount:
        index += 1
    numbers[_RUNNING] -= 1
    for later in range(index, numbers[_RUNNING]):
        running[_EXPECTED, later], running[_HELD, later] = running[_EXPECTED, later + 1], running[_HELD, later + 1]
    numbers[_FREE] += amount
    if len(trace.room):
        first = jobs[FIRST_SLOT, job]
        for slot in range(first, first + amount):
            trace.room[trace.placed[slot]] += 1
        numbers[_LOWEST] = min(numbers[_LOWEST], np.int64(trace.placed[first]))


@borrowing
def _decide(trace: WholeTrace, now: int, backfilling: bool) -> None:
    """Start from the head of the queue, then those behind the first job that does not fit that do not delay it."""
    numbers, jobs = trace.numbers, trace.jobs
    while numbers[_FIRST] < numbers[_ARRIVED]:
        asks = jobs[_ASKS, numbers[_FIRST]]
        if numbers[_FREE] < asks < NEVER:
            break
        if asks < NEVER:
            _start(trace, numbers[_FIRST], now)
        numbers[_FIRST] += 1
    if not backfilling or numbers[_FREE] == 0:
        return
    job = _next_allowed(trace, numbers[_FIRST] + 1, numbers[_FREE], now)
    if job == numbers[_ARRIVED]:
        return
    running = trace.running[:, : numbers[_RUNNING]][:, ::-1]
    spare = numbers[_FREE] - jobs[_ASKS, numbers[_FIRST]]
    shadow, spare = reservation(now, spare, running[_EXPECTED], running[_HELD])
    job = _next_allowed(trace, job, spare, shadow - now)
    while job < numbers[_ARRIVED]:
        spare -= jobs[_AMOUNT, job] if jobs[_LENGTH, job] > shadow - now else 0
        _start(trace, job, now)
        job = _next_allowed(trace, job + 1, spare, shadow - now)


@borrowing
def _next_allowed(trace: WholeTrace, first: int, spare: int, limit: int) -> int:
    """Return the first waiting job from `first` on that fits, and takes at most `spare` or is no longer than `limit`.

    As many as have come if there is none.
    """
    jobs, blocks, job, arrived, free = trace.jobs, trace.blocks, first, trace.numbers[_ARRIVED], trace.numbers[_FREE]
    while job < arrived:
        block = job // _BLOCK
        stop = min(arrived, (block + 1) * _BLOCK)
        if blocks[0, block] <= free and (blocks[0, block] <= spare or blocks[1, block] <= limit):
            for job in range(job, stop):  # noqa: B020 - it goes on from there
                if jobs[_ASKS, job] <= free and (jobs[_ASKS, job] <= spare or jobs[_LENGTH, job] <= limit):
                    return int(job)
        job = stop
    return int(arrived)


@borrowing
def _start(trace: WholeTrace, job: int, now: int) -> None:
    """Put a job on the machine, on the first nodes with free slots."""
    numbers, jobs, running, amount = trace.numbers, trace.jobs, trace.running, trace.jobs[_AMOUNT, job]
    _insert(running[_END], running[_JOB], numbers[_RUNNING], now + jobs[_WORK, job], job)
    _insert(running[_EXPECTED], running[_HELD], numbers[_RUNNING], now + jobs[_LENGTH, job], amount)
    numbers[_RUNNING] += 1
    numbers[_WAITING] -= 1
    numbers[_FREE] -= amount
    jobs[_ASKS, job], jobs[STARTED, job], jobs[FIRST_SLOT, job] = NEVER, now, numbers[_PLACED]
    first = job // _BLOCK * _BLOCK
    least = shortest = NEVER
    for other in range(first, min(first + _BLOCK, jobs.shape[1])):
        if jobs[_ASKS, other] < NEVER:
            least, shortest = min(least, jobs[_ASKS, other]), min(shortest, jobs[_LENGTH, other])
    trace.blocks[0, job // _BLOCK], trace.blocks[1, job // _BLOCK] = least, shortest
    if len(trace.room):
        for _ in range(amount):
            while trace.room[numbers[_LOWEST]] == 0:
                numbers[_LOWEST] += 1
            trace.room[numbers[_LOWEST]] -= 1
            trace.placed[numbers[_PLACED]] = numbers[_LOWEST]
            numbers[_PLACED] += 1


@borrowing
def _place(times: IntArray, count: int, time: int) -> int:
    """Return the first place of falling times, of which there are so many, that is not after a time."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if times[middle] > time:
            low = middle + 1
        else:
            high = middle
    return low


@borrowing
def _insert(times: IntArray, values: IntArray, count: int, time: int, value: int) -> None:
    """Insert a time into falling ones, before those that are the same, and a value in its place."""
    place = _place(times, count, time)
    for index in range(count, place, -1):
        times[index], values[index] = times[index - 1], values[index - 1]
    times[place], values[place] = time, value
