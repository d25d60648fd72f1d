"""Compiled EASY backfilling and list scheduling on a pool.

The functions make one decision each. The engine, whole traces and EASY's shadow schedule use them. Chosen jobs leave
the queue at once. Their rows are returned in starting order.
"""

from typing import NamedTuple

import numpy as np

from ...base import IntArray
from ..compiled import borrowing
from .job_queue import (
    NEVER,
    SHORTEST,
    JobQueue,
    best_allowed,
    counts_of,
    fits,
    jobs_in,
    leave,
    next_allowed,
    put_back,
)

#: Order of the queue, beside the orders of :func:`.best_allowed`.
SUBMISSION = -1
#: No closed times.
NEVER_CLOSED = np.zeros((0, 2), dtype=np.int64)


class Room(NamedTuple):
    """Free amounts, ends of running jobs, and buffers for a decision.

    Attributes
    ----------
    free
        Free amounts, shape (resources,). A decision subtracts chosen jobs.
    ends, rows
        Expected ends of running jobs, latest first, seconds, and their rows. Shape (most,). A decision adds chosen
        jobs. A row is one of the queue, or -1 - r for row r of `held`.
    held
        Amounts of running jobs without a row in the queue. Shape (held, resources).
    spare
        Buffer for extra amounts, shape (resources,).
    chosen
        Receives the rows of starting jobs, shape (rows,).
    closed, window
        Begins and ends of closed times, in order, seconds. Shape (windows, 2). And the first that is not over. A job
        starts only if its walltime ends before the next one. None by default.
    """

    free: IntArray
    ends: IntArray
    rows: IntArray
    held: IntArray
    spare: IntArray
    chosen: IntArray
    closed: IntArray = NEVER_CLOSED
    window: int = 0


@borrowing
def insert_end(ends: IntArray, rows: IntArray, count: int, end: int, row: int) -> None:
    """Insert an end among `count` falling ends, after all later ones."""
    place = first_by(ends, count, end)
    for index in range(count, place, -1):
        ends[index], rows[index] = ends[index - 1], rows[index - 1]
    ends[place], rows[place] = end, row


@borrowing
def first_by(ends: IntArray, count: int, end: int) -> int:
    """Return the first position of `count` falling ends that is at or before `end`."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if ends[middle] > end:
            low = middle + 1
        else:
            high = middle
    return low


@borrowing
def _choose(queue: JobQueue, room: Room, count: int, running: int, row: int, end: int) -> None:
    """Start a job: it leaves the queue, occupies its amounts, and gets an expected end."""
    leave(queue, row, 0)
    for resource in range(len(room.free)):
        room.free[resource] -= queue.amount[row, resource]
    insert_end(room.ends, room.rows, running + count, end, row)
    room.chosen[count] = row


@borrowing
def fill(queue: JobQueue, room: Room, running: int, now: int, order: int, skip: bool) -> int:
    """Choose jobs in an order, each if it fits. Return how many.

    Parameters
    ----------
    queue, room
        Waiting jobs and free amounts.
    running
        Number of running jobs.
    now
        Seconds.
    order
        :data:`SUBMISSION`, or an order of :func:`.best_allowed`.
    skip
        Whether to try jobs behind one that does not fit. Otherwise they wait.
    """
    free = room.free
    spare = room.spare
    count = 0
    counts = counts_of(queue)
    row = counts.head[0]
    durations = jobs_in(queue).predicted
    while True:
        for resource in range(len(spare)):
            spare[resource] = free[resource] if skip else NEVER
        if order == SUBMISSION:
            row = next_allowed(queue, row, spare, spare, NEVER, False)
        else:
            row = best_allowed(queue, counts.head[0], spare, spare, NEVER, False, order, now)
        if row == counts.rows[0] or not fits(queue.amount, row, free):
            return count
        _choose(queue, room, count, running, row, now + durations[row])
        count += 1


@borrowing
def backfill(queue: JobQueue, room: Room, running: int, now: int, shortest_first: bool, by_walltime: bool) -> int:
    """Choose jobs from the head of the queue, then backfill. Return how many.

    Backfilled jobs do not delay the first job that does not fit. Lifka, JSSPP 1995. Mu'alem and Feitelson, TPDS 2001.
    Shortest first: Tsafrir, Etsion and Feitelson, TPDS 2007.

    Parameters
    ----------
    queue, room
        Waiting jobs and free amounts.
    running
        Number of running jobs.
    now
        Seconds.
    shortest_first
        Whether to try jobs behind the blocked one by predicted run time, not in queue order.
    by_walltime
        Whether walltimes bound the run times, not predictions. Closed times require queue order.
    """
    jobs, counts = jobs_in(queue), counts_of(queue)
    durations = jobs.walltime if by_walltime else jobs.predicted
    count = 0
    open_for = _open_for(room, now)
    while counts.head[0] < counts.rows[0] and fits(queue.amount, counts.head[0], room.free):
        row = counts.head[0]
        if jobs.walltime[row] > open_for:
            break
        _choose(queue, room, count, running, row, now + durations[row])
        count += 1
    blocked = counts.head[0]
    return backfill_behind(queue, room, running, count, blocked, blocked + 1, now, shortest_first, by_walltime)


@borrowing
def _open_for(room: Room, now: int) -> int:
    """Return the seconds until the next closure. :data:`.NEVER` if there is none."""
    if room.window < len(room.closed):
        return int(max(0, room.closed[room.window, 0] - now))
    return NEVER


@borrowing
def backfill_behind(
    queue: JobQueue,
    room: Room,
    running: int,
    count: int,
    blocked: int,
    first: int,
    now: int,
    shortest_first: bool,
    by_walltime: bool,
) -> int:
    """Choose jobs that do not delay a blocked job. Return the number of chosen jobs, with earlier ones.

    Parameters
    ----------
    queue, room, running, now, shortest_first, by_walltime
        As for :func:`backfill`.
    count
        Number of jobs chosen earlier.
    blocked, first
        Rows of the job that gets the reservation, and of the first job to try.
    """
    free = room.free
    spare = room.spare
    jobs, rows = jobs_in(queue), counts_of(queue).rows
    durations = jobs.walltime if by_walltime else jobs.predicted
    open_for = _open_for(room, now)
    row = next_allowed(queue, first, free, free, NEVER, by_walltime)
    if row >= rows[0]:
        return count
    shadow = reserve(queue, room, blocked, running + count, now, now)
    for window in range(room.window, len(room.closed)):
        if shadow == NEVER or shadow + durations[blocked] <= room.closed[window, 0]:
            break
        if shadow < room.closed[window, 1]:
            shadow = reserve(queue, room, blocked, running + count, now, room.closed[window, 1])
    limit = shadow - now if shadow < NEVER else NEVER
    while True:
        if shortest_first:
            row = best_allowed(queue, first, free, spare, limit, by_walltime, SHORTEST, now)
        else:
            row = next_allowed(queue, row, free, spare, limit, by_walltime)
        if row == rows[0]:
            return count
        if jobs.walltime[row] > open_for:
            row += 1
            continue
        if durations[row] > limit:
            for resource in range(len(spare)):
                spare[resource] -= queue.amount[row, resource]
        _choose(queue, room, count, running, row, now + durations[row])
        count += 1


@borrowing
def reserve(queue: JobQueue, room: Room, blocked: int, running: int, now: int, after: int) -> int:
    """Return the shadow time of the blocked job, not before `after`, seconds. Set `spare` to the extra amounts then.

    A job past its expected end is expected to end in the next second. If the job does not fit after all ends, because
    capacity is missing, the result is :data:`.NEVER`.
    """
    spare, shadow = room.spare, after
    for resource in range(len(spare)):
        spare[resource] = room.free[resource] - queue.amount[blocked, resource]
    for at in range(running - 1, -1, -1):
        end = max(room.ends[at], now + 1)
        if end > shadow:
            if _suffices(spare):
                break
            shadow = end
        row = room.rows[at]
        for resource in range(len(spare)):
            spare[resource] += queue.amount[row, resource] if row >= 0 else room.held[-1 - row, resource]
    return int(shadow) if _suffices(spare) else NEVER


@borrowing
def _suffices(spare: IntArray) -> bool:
    enough = True
    for resource in range(len(spare)):
        enough = enough and spare[resource] >= 0
    return enough


@borrowing
def chosen_in_order(queue: JobQueue, room: Room, now: int, order: int, skip: bool) -> int:
    """Return how many jobs :func:`fill` chooses. They stay in the queue."""
    count = fill(queue, room, 0, now, order, skip)
    for index in range(count):
        put_back(queue, room.chosen[index])
    return count


@borrowing
def chosen_by_easy(queue: JobQueue, room: Room, ends: IntArray, now: int, shortest_first: bool) -> int:
    """Return how many jobs :func:`backfill` chooses by predicted run times. They stay in the queue.

    `ends` are the rising expected ends of running jobs, in the order of `held`, seconds. Shape (running,).
    """
    running = len(ends)
    for index in range(running):
        room.ends[running - 1 - index] = ends[index]
        room.rows[running - 1 - index] = -1 - index
    count = backfill(queue, room, running, now, shortest_first, False)
    for index in range(count):
        put_back(queue, room.chosen[index])
    return count
