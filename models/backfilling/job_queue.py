"""Compiled queue with a block index, to find waiting jobs that fit without reading all others.

Every job has a row, in queue order. Rows stay when their jobs leave, so that they identify jobs. A block of rows stores
the least amounts and durations of its waiting jobs. A search skips blocks in which no job can start.
"""

from typing import NamedTuple

import numpy as np

from ...base import IntArray
from ..compiled import borrowing, compiled

#: More than any amount, and later than any time.
NEVER = int(np.iinfo(np.int64).max)
#: Columns: position in the trace, submission, entry into the queue, predicted run time, walltime, run time, seconds.
ORDER, SUBMIT, SINCE, PREDICTED, WALLTIME, RUNTIME = range(6)
COLUMNS = 6
#: Counters: no job before `HEAD` waits, rows in use, waiting jobs.
HEAD, COUNT, WAITING = range(3)
#: Start of a waiting job.
WAITS = -NEVER - 1
#: Rows per block.
BLOCK = 64
#: Block data after the least amounts: least predicted run time and walltime, negated longest prediction, earliest
#: submission.
_PREDICTED, _WALLTIME, _LONGEST, _SUBMIT = range(4)
#: Orders of :func:`best_allowed`: shortest prediction, longest prediction, largest expansion factor.
SHORTEST, LONGEST, EXPANSION = range(3)


class JobQueue(NamedTuple):
    """Jobs in queue order, including those that have left.

    Attributes
    ----------
    columns
        Shape (6, rows), see :data:`ORDER` and the following.
    amount
        Amounts of the whole job, shape (rows, resources).
    start
        Start of the job, seconds, or :data:`WAITS`. Shape (rows,).
    least
        Least values of the waiting jobs of each block, :data:`NEVER` without any. Shape (blocks, resources + 4).
    numbers
        Counters, see :data:`HEAD` and the following.
    """

    columns: IntArray
    amount: IntArray
    start: IntArray
    least: IntArray
    numbers: IntArray


def open_queue(rows: int, resources: int, columns: int = 0, numbers: int = 0) -> JobQueue:
    """Return an empty queue with room for `rows` rows, and with extra columns and counters for its user."""
    return JobQueue(
        columns=np.zeros((COLUMNS + columns, rows), dtype=np.int64),
        amount=np.zeros((rows, resources), dtype=np.int64),
        start=np.zeros(rows, dtype=np.int64),
        least=np.full((rows // BLOCK + 1, resources + 4), NEVER, dtype=np.int64),
        numbers=np.zeros(3 + numbers, dtype=np.int64),
    )


def enlarged(queue: JobQueue, rows: int) -> JobQueue:
    """Return a queue with room for `rows` rows, with the waiting jobs of another one."""
    made = open_queue(rows, queue.amount.shape[1])
    waits = np.flatnonzero(queue.start[: queue.numbers[COUNT]] == WAITS)
    count = len(waits)
    made.columns[:, :count] = queue.columns[:, waits]
    made.amount[:count] = queue.amount[waits]
    made.start[:count] = WAITS
    made.numbers[:3] = 0, count, count
    for block in range(len(made.least)):
        refresh(made, block)
    return made


@borrowing
def fits(amount: IntArray, row: int, amounts: IntArray) -> bool:
    """Return whether the amounts of a row are at most `amounts`."""
    if amount[row, 0] > amounts[0]:
        return False
    more = False
    for resource in range(1, len(amounts)):
        more = more or amount[row, resource] > amounts[resource]
    return not more


@borrowing
def append(queue: JobQueue) -> int:
    """Add the job in the first unused row to the end of the queue. Return its row."""
    row = queue.numbers[COUNT]
    queue.numbers[COUNT] += 1
    queue.numbers[WAITING] += 1
    queue.start[row] = WAITS
    if row % BLOCK == 0:
        queue.least[row // BLOCK, :] = NEVER
    _include(queue, row)
    return int(row)


@borrowing
def settle(queue: JobQueue, row: int) -> None:
    """Move the job in the last row to its position by entry time, then by trace order.

    Rows of jobs that have left do not move.
    """
    columns = queue.columns
    amount = queue.amount
    before = row - 1
    last = row // BLOCK
    while before >= 0 and _precedes(columns, row, before):
        if queue.start[before] == WAITS:
            for column in range(len(columns)):
                columns[column, row], columns[column, before] = columns[column, before], columns[column, row]
            for resource in range(amount.shape[1]):
                amount[row, resource], amount[before, resource] = amount[before, resource], amount[row, resource]
            row = before
        before -= 1
    queue.numbers[HEAD] = min(queue.numbers[HEAD], row)
    for block in range(row // BLOCK, last + 1):
        refresh(queue, block)


@borrowing
def follow(queue: JobQueue, changes: IntArray) -> None:
    """Apply arrivals and departures.

    Parameters
    ----------
    queue
        With room for the arriving jobs.
    changes
        In order: 1 for an arrival, 0 for a departure, then columns and amounts. Shape (changes, 7 + resources).
    """
    for index in range(len(changes)):
        if changes[index, 0] == 0:
            remove(queue, changes[index, 1 + SINCE], changes[index, 1 + ORDER])
            continue
        row = queue.numbers[COUNT]
        for column in range(COLUMNS):
            queue.columns[column, row] = changes[index, 1 + column]
        for resource in range(queue.amount.shape[1]):
            queue.amount[row, resource] = changes[index, 1 + COLUMNS + resource]
        settle(queue, append(queue))


@borrowing
def _precedes(columns: IntArray, row: int, other: int) -> bool:
    if columns[SINCE, row] != columns[SINCE, other]:
        return bool(columns[SINCE, row] < columns[SINCE, other])
    return bool(columns[ORDER, row] < columns[ORDER, other])


@borrowing
def remove(queue: JobQueue, since: int, order: int) -> None:
    """Remove a waiting job, by its entry time and position in the trace."""
    columns = queue.columns
    low = 0
    high = queue.numbers[COUNT]
    while low < high:
        middle = (low + high) // 2
        before = columns[SINCE, middle] - since
        if before < 0 or (before == 0 and columns[ORDER, middle] < order):
            low = middle + 1
        else:
            high = middle
    while queue.start[low] != WAITS or columns[ORDER, low] != order:
        low += 1
    leave(queue, low, 0)


@borrowing
def leave(queue: JobQueue, row: int, now: int) -> None:
    """Record that a waiting job has started or left."""
    queue.start[row] = now
    queue.numbers[WAITING] -= 1
    start, numbers = queue.start, queue.numbers
    while numbers[HEAD] < numbers[COUNT] and start[numbers[HEAD]] != WAITS:
        numbers[HEAD] += 1
    if _counts(queue, row):
        refresh(queue, row // BLOCK)


@borrowing
def _counts(queue: JobQueue, row: int) -> bool:
    """Return whether any value of a job is the least of its block."""
    least = queue.least[row // BLOCK]
    amount = queue.amount
    columns = queue.columns
    resources = queue.amount.shape[1]
    for resource in range(resources):
        if amount[row, resource] == least[resource]:
            return True
    predicted = columns[PREDICTED, row]
    walltime = columns[WALLTIME, row]
    return bool(
        predicted == least[resources + _PREDICTED]
        or walltime == least[resources + _WALLTIME]
        or -predicted == least[resources + _LONGEST]
        or columns[SUBMIT, row] == least[resources + _SUBMIT]
    )


@borrowing
def put_back(queue: JobQueue, row: int) -> None:
    """Return a job to the queue, in its row."""
    queue.start[row] = WAITS
    queue.numbers[WAITING] += 1
    queue.numbers[HEAD] = min(queue.numbers[HEAD], row)
    _include(queue, row)


@borrowing
def _include(queue: JobQueue, row: int) -> None:
    """Add a row to the index of its block."""
    least = queue.least[row // BLOCK]
    amount = queue.amount
    columns = queue.columns
    resources = queue.amount.shape[1]
    for resource in range(resources):
        least[resource] = min(least[resource], amount[row, resource])
    least[resources + _PREDICTED] = min(least[resources + _PREDICTED], columns[PREDICTED, row])
    least[resources + _WALLTIME] = min(least[resources + _WALLTIME], columns[WALLTIME, row])
    least[resources + _LONGEST] = min(least[resources + _LONGEST], -columns[PREDICTED, row])
    least[resources + _SUBMIT] = min(least[resources + _SUBMIT], columns[SUBMIT, row])


@borrowing
def expect_length(queue: JobQueue, row: int) -> None:
    """Update the index of a block for a new prediction of a job."""
    least = queue.least[row // BLOCK]
    predicted = queue.columns[PREDICTED, row]
    resources = queue.amount.shape[1]
    least[resources + _PREDICTED] = min(least[resources + _PREDICTED], predicted)
    least[resources + _LONGEST] = min(least[resources + _LONGEST], -predicted)


@borrowing
def refresh(queue: JobQueue, block: int) -> None:
    """Compute the index of a block anew."""
    least = queue.least[block]
    amount = queue.amount
    columns = queue.columns
    start = queue.start
    resources = amount.shape[1]
    first = max(block * BLOCK, queue.numbers[HEAD])
    stop = min((block + 1) * BLOCK, queue.numbers[COUNT])
    for resource in range(resources):
        lowest = NEVER
        for row in range(first, stop):
            if start[row] == WAITS:
                lowest = min(lowest, amount[row, resource])
        least[resource] = lowest
    shortest = walltime = longest = submit = NEVER
    for row in range(first, stop):
        if start[row] == WAITS:
            shortest = min(shortest, columns[PREDICTED, row])
            longest = min(longest, -columns[PREDICTED, row])
            walltime = min(walltime, columns[WALLTIME, row])
            submit = min(submit, columns[SUBMIT, row])
    least[resources + _PREDICTED] = shortest
    least[resources + _WALLTIME] = walltime
    least[resources + _LONGEST] = longest
    least[resources + _SUBMIT] = submit


@compiled
def waiting_rows(queue: JobQueue) -> IntArray:
    """Return the rows of the waiting jobs, in queue order."""
    rows = np.empty(queue.numbers[WAITING], dtype=np.int64)
    count = 0
    for row in range(queue.numbers[HEAD], queue.numbers[COUNT]):
        if queue.start[row] == WAITS:
            rows[count] = row
            count += 1
    return rows


@borrowing
def next_allowed(queue: JobQueue, first: int, free: IntArray, spare: IntArray, limit: int, column: int) -> int:
    """Return the row of the first allowed waiting job from `first` on. The number of rows if there is none.

    A job is allowed if it needs at most `free`. It must also need at most `spare`, or run at most `limit` seconds.

    Parameters
    ----------
    queue, first
        The jobs, and the first row to consider.
    free, spare
        Amounts, shape (resources,).
    limit, column
        Seconds, and what they bound: :data:`PREDICTED` or :data:`WALLTIME`.
    """
    least = queue.least
    amount = queue.amount
    start = queue.start
    durations = queue.columns[column]
    row = first
    index = len(free) + (_WALLTIME if column == WALLTIME else _PREDICTED)
    count = queue.numbers[COUNT]
    while row < count:
        block = row // BLOCK
        stop = min(count, (block + 1) * BLOCK)
        if fits(least, block, free) and (least[block, index] <= limit or fits(least, block, spare)):
            for at in range(row, stop):
                if (
                    start[at] == WAITS
                    and fits(amount, at, free)
                    and (durations[at] <= limit or fits(amount, at, spare))
                ):
                    return int(at)
        row = stop
    return int(count)


@borrowing
def best_allowed(
    queue: JobQueue, first: int, free: IntArray, spare: IntArray, limit: int, column: int, order: int, now: int
) -> int:
    """Return the row of the best allowed job by an order, ties by row. The number of rows if there is none.

    Parameters
    ----------
    queue, first, free, spare, limit, column
        As for :func:`next_allowed`.
    order, now
        :data:`SHORTEST`, :data:`LONGEST` or :data:`EXPANSION`. The last one uses the time, seconds.
    """
    least = queue.least
    amount = queue.amount
    start = queue.start
    columns = queue.columns
    resources = len(free)
    index = resources + (_WALLTIME if column == WALLTIME else _PREDICTED)
    count = queue.numbers[COUNT]
    durations = columns[column]
    best = np.inf
    found = count
    row = first
    while row < count:
        block = row // BLOCK
        stop = min(count, (block + 1) * BLOCK)
        if (
            fits(least, block, free)
            and _bound(least, block, resources, order, now) < best
            and (least[block, index] <= limit or fits(least, block, spare))
        ):
            for at in range(row, stop):
                if (
                    start[at] == WAITS
                    and fits(amount, at, free)
                    and (durations[at] <= limit or fits(amount, at, spare))
                ):
                    key = _key(columns[SUBMIT, at], columns[PREDICTED, at], order, now)
                    if key < best:
                        best, found = key, at
        row = stop
    return int(found)


@borrowing
def _key(submit: int, predicted: int, order: int, now: int) -> float:
    if order == EXPANSION:
        return float((submit - now) / predicted)
    return -float(predicted) if order == LONGEST else float(predicted)


@borrowing
def _bound(least: IntArray, block: int, resources: int, order: int, now: int) -> float:
    """Return a lower bound on the keys of a block."""
    if order == LONGEST:
        return float(least[block, resources + _LONGEST])
    return _key(least[block, resources + _SUBMIT], least[block, resources + _PREDICTED], order, now)
