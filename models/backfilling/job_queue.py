"""Compiled queue with a block index, to find waiting jobs that fit without reading all others.

Every job has a row, in queue order. Rows stay when their jobs leave, so that they identify jobs. A block of rows stores
the least amounts and durations of its waiting jobs. A search skips blocks in which no job can start.
"""

from typing import NamedTuple

import numpy as np

from ...base import IntArray
from ..compiled import borrowing, compiled, within

#: More than any amount, and later than any time.
NEVER = int(np.iinfo(np.int64).max)
#: Start of a waiting job.
WAITS = -NEVER - 1
#: Rows per block.
BLOCK = 64
#: Orders of :func:`best_allowed`: shortest prediction, longest prediction, largest expansion factor.
SHORTEST, LONGEST, EXPANSION = range(3)


class QueuedJobs(NamedTuple):
    """Jobs of a queue, one entry per row. Times are seconds.

    Attributes
    ----------
    order
        Position in the trace.
    submit
        Submission.
    since
        Entry into the queue.
    predicted
        Predicted run time.
    walltime
        Walltime.
    runtime
        Run time.
    """

    order: IntArray
    submit: IntArray
    since: IntArray
    predicted: IntArray
    walltime: IntArray
    runtime: IntArray


class QueueCounts(NamedTuple):
    """Counters of a queue, each of shape (1,).

    Attributes
    ----------
    head
        No job before this row waits.
    rows
        Rows in use.
    waiting
        Waiting jobs.
    """

    head: IntArray
    rows: IntArray
    waiting: IntArray


class LeastTimes(NamedTuple):
    """Least times of the waiting jobs of each block, seconds, :data:`NEVER` without any. Shape (blocks,).

    Attributes
    ----------
    predicted
        Predicted run time.
    walltime
        Walltime.
    negated
        Negated predicted run time, so that the longest prediction counts.
    submit
        Submission.
    """

    predicted: IntArray
    walltime: IntArray
    negated: IntArray
    submit: IntArray


#: Columns of a queue without those of its user.
COLUMNS = len(QueuedJobs._fields)


class JobQueue(NamedTuple):
    """Jobs in queue order, including those that have left.

    Blocks of memory have the fields of a tuple as rows. Compiled code reads them by name, as in
    ``jobs_in(queue).predicted``. A call with one array per field would take longer than a short decision.

    Attributes
    ----------
    columns
        Block of :class:`QueuedJobs`, then columns of the queue's user. Shape (6 or more, rows).
    amount
        Amounts of the whole job, shape (rows, resources).
    start
        Start of the job, seconds, or :data:`WAITS`. Shape (rows,).
    least_amount
        Least amounts of the waiting jobs of each block, :data:`NEVER` without any. Shape (blocks, resources).
    least_times
        Block of :class:`LeastTimes`, shape (4, blocks).
    numbers
        Block of :class:`QueueCounts`, shape (3, 1).
    """

    columns: IntArray
    amount: IntArray
    start: IntArray
    least_amount: IntArray
    least_times: IntArray
    numbers: IntArray

    @property
    def jobs(self) -> QueuedJobs:
        """The jobs by name, for callers in Python."""
        return QueuedJobs(*self.columns[:COLUMNS])

    @property
    def counts(self) -> QueueCounts:
        """The counters by name, for callers in Python."""
        return QueueCounts(*self.numbers)


def _jobs_in(queue: JobQueue) -> QueuedJobs:
    block = queue.columns
    return QueuedJobs(block[0], block[1], block[2], block[3], block[4], block[5])


#: The jobs of a queue by name: for compiled callers that :func:`.borrowing` compiles, and, with reference counts, for
#: those that create arrays.
jobs_in, counted_jobs = within(_jobs_in), compiled(_jobs_in)


@within
def counts_of(queue: JobQueue) -> QueueCounts:
    """Return the counters by name, for compiled callers that :func:`.borrowing` compiles."""
    return QueueCounts(queue.numbers[0], queue.numbers[1], queue.numbers[2])


@within
def _least_times(queue: JobQueue) -> LeastTimes:
    block = queue.least_times
    return LeastTimes(block[0], block[1], block[2], block[3])


def open_queue(rows: int, resources: int, columns: int = 0) -> JobQueue:
    """Return an empty queue with room for `rows` rows, and with `columns` columns for its user."""
    blocks = rows // BLOCK + 1
    return JobQueue(
        columns=np.zeros((COLUMNS + columns, rows), dtype=np.int64),
        amount=np.zeros((rows, resources), dtype=np.int64),
        start=np.zeros(rows, dtype=np.int64),
        least_amount=np.full((blocks, resources), NEVER, dtype=np.int64),
        least_times=np.full((len(LeastTimes._fields), blocks), NEVER, dtype=np.int64),
        numbers=np.zeros((len(QueueCounts._fields), 1), dtype=np.int64),
    )


def enlarged(queue: JobQueue, rows: int) -> JobQueue:
    """Return a queue with room for `rows` rows, with the waiting jobs of another one."""
    made = open_queue(rows, queue.amount.shape[1])
    waits = np.flatnonzero(queue.start[: queue.counts.rows[0]] == WAITS)
    count = len(waits)
    made.columns[:, :count] = queue.columns[:, waits]
    made.amount[:count] = queue.amount[waits]
    made.start[:count] = WAITS
    counts = made.counts
    counts.head[0], counts.rows[0], counts.waiting[0] = 0, count, count
    for block in range(len(made.least_amount)):
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
    counts = counts_of(queue)
    row = counts.rows[0]
    counts.rows[0] += 1
    counts.waiting[0] += 1
    queue.start[row] = WAITS
    if row % BLOCK == 0:
        queue.least_amount[row // BLOCK, :] = NEVER
        queue.least_times[:, row // BLOCK] = NEVER
    _include(queue, row)
    return int(row)


@borrowing
def settle(queue: JobQueue, row: int) -> None:
    """Move the job in the last row to its position by entry time, then by trace order.

    Rows of jobs that have left do not move.
    """
    columns, jobs = queue.columns, jobs_in(queue)
    amount = queue.amount
    before = row - 1
    last = row // BLOCK
    while before >= 0 and _precedes(jobs, row, before):
        if queue.start[before] == WAITS:
            for column in range(len(columns)):
                columns[column, row], columns[column, before] = columns[column, before], columns[column, row]
            for resource in range(amount.shape[1]):
                amount[row, resource], amount[before, resource] = amount[before, resource], amount[row, resource]
            row = before
        before -= 1
    head = counts_of(queue).head
    head[0] = min(head[0], row)
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
        In order: 1 for an arrival, 0 for a departure, then :class:`QueuedJobs` and amounts. Shape (changes, 7 +
        resources).
    """
    counts = counts_of(queue)
    for index in range(len(changes)):
        if changes[index, 0] == 0:
            order, since = changes[index, 1], changes[index, 3]
            remove(queue, since, order)
            continue
        row = counts.rows[0]
        for column in range(COLUMNS):
            queue.columns[column, row] = changes[index, 1 + column]
        for resource in range(queue.amount.shape[1]):
            queue.amount[row, resource] = changes[index, 1 + COLUMNS + resource]
        settle(queue, append(queue))


@borrowing
def _precedes(jobs: QueuedJobs, row: int, other: int) -> bool:
    if jobs.since[row] != jobs.since[other]:
        return bool(jobs.since[row] < jobs.since[other])
    return bool(jobs.order[row] < jobs.order[other])


@borrowing
def remove(queue: JobQueue, since: int, order: int) -> None:
    """Remove a waiting job, by its entry time and position in the trace."""
    jobs = jobs_in(queue)
    low = 0
    high = counts_of(queue).rows[0]
    while low < high:
        middle = (low + high) // 2
        before = jobs.since[middle] - since
        if before < 0 or (before == 0 and jobs.order[middle] < order):
            low = middle + 1
        else:
            high = middle
    while queue.start[low] != WAITS or jobs.order[low] != order:
        low += 1
    leave(queue, low, 0)


@borrowing
def leave(queue: JobQueue, row: int, now: int) -> None:
    """Record that a waiting job has started or left."""
    start, counts = queue.start, counts_of(queue)
    start[row] = now
    counts.waiting[0] -= 1
    while counts.head[0] < counts.rows[0] and start[counts.head[0]] != WAITS:
        counts.head[0] += 1
    if _counts(queue, row):
        refresh(queue, row // BLOCK)


@borrowing
def _counts(queue: JobQueue, row: int) -> bool:
    """Return whether any value of a job is the least of its block."""
    jobs, least, block = jobs_in(queue), _least_times(queue), row // BLOCK
    for resource in range(queue.amount.shape[1]):
        if queue.amount[row, resource] == queue.least_amount[block, resource]:
            return True
    return bool(
        jobs.predicted[row] == least.predicted[block]
        or jobs.walltime[row] == least.walltime[block]
        or -jobs.predicted[row] == least.negated[block]
        or jobs.submit[row] == least.submit[block]
    )


@borrowing
def put_back(queue: JobQueue, row: int) -> None:
    """Return a job to the queue, in its row."""
    counts = counts_of(queue)
    queue.start[row] = WAITS
    counts.waiting[0] += 1
    counts.head[0] = min(counts.head[0], row)
    _include(queue, row)


@borrowing
def _include(queue: JobQueue, row: int) -> None:
    """Add a row to the index of its block."""
    jobs, least, block = jobs_in(queue), _least_times(queue), row // BLOCK
    least_amount = queue.least_amount
    for resource in range(queue.amount.shape[1]):
        least_amount[block, resource] = min(least_amount[block, resource], queue.amount[row, resource])
    least.predicted[block] = min(least.predicted[block], jobs.predicted[row])
    least.walltime[block] = min(least.walltime[block], jobs.walltime[row])
    least.negated[block] = min(least.negated[block], -jobs.predicted[row])
    least.submit[block] = min(least.submit[block], jobs.submit[row])


@borrowing
def expect_length(queue: JobQueue, row: int) -> None:
    """Update the index of a block for a new prediction of a job."""
    least, block, predicted = _least_times(queue), row // BLOCK, jobs_in(queue).predicted[row]
    least.predicted[block] = min(least.predicted[block], predicted)
    least.negated[block] = min(least.negated[block], -predicted)


@borrowing
def refresh(queue: JobQueue, block: int) -> None:
    """Compute the index of a block anew."""
    jobs, least, counts = jobs_in(queue), _least_times(queue), counts_of(queue)
    amount = queue.amount
    start = queue.start
    first = max(block * BLOCK, counts.head[0])
    stop = min((block + 1) * BLOCK, counts.rows[0])
    for resource in range(amount.shape[1]):
        lowest = NEVER
        for row in range(first, stop):
            if start[row] == WAITS:
                lowest = min(lowest, amount[row, resource])
        queue.least_amount[block, resource] = lowest
    shortest = walltime = negated = submit = NEVER
    for row in range(first, stop):
        if start[row] == WAITS:
            shortest = min(shortest, jobs.predicted[row])
            negated = min(negated, -jobs.predicted[row])
            walltime = min(walltime, jobs.walltime[row])
            submit = min(submit, jobs.submit[row])
    least.predicted[block], least.walltime[block] = shortest, walltime
    least.negated[block], least.submit[block] = negated, submit


@compiled
def waiting_rows(queue: JobQueue) -> IntArray:
    """Return the rows of the waiting jobs, in queue order."""
    rows = np.empty(count_waiting(queue), dtype=np.int64)
    _list_waiting(queue, rows)
    return rows


@within
def count_waiting(queue: JobQueue) -> int:
    """Return the number of waiting jobs, for compiled callers."""
    return int(counts_of(queue).waiting[0])


@within
def count_rows(queue: JobQueue) -> int:
    """Return the number of rows in use, for compiled callers."""
    return int(counts_of(queue).rows[0])


@within
def _list_waiting(queue: JobQueue, rows: IntArray) -> None:
    """Fill in the rows of the waiting jobs, in queue order."""
    counts, count = counts_of(queue), 0
    for row in range(counts.head[0], counts.rows[0]):
        if queue.start[row] == WAITS:
            rows[count] = row
            count += 1


@borrowing
def next_allowed(queue: JobQueue, first: int, free: IntArray, spare: IntArray, limit: int, by_walltime: bool) -> int:
    """Return the row of the first allowed waiting job from `first` on. The number of rows if there is none.

    A job is allowed if it needs at most `free`. It must also need at most `spare`, or run at most `limit` seconds.

    Parameters
    ----------
    queue, first
        The jobs, and the first row to consider.
    free, spare
        Amounts, shape (resources,).
    limit, by_walltime
        Seconds, and whether they bound walltimes instead of predicted run times.
    """
    amount, least_amount = queue.amount, queue.least_amount
    start = queue.start
    jobs, least = jobs_in(queue), _least_times(queue)
    durations = jobs.walltime if by_walltime else jobs.predicted
    shortest = least.walltime if by_walltime else least.predicted
    row = first
    count = counts_of(queue).rows[0]
    while row < count:
        block = row // BLOCK
        stop = min(count, (block + 1) * BLOCK)
        if fits(least_amount, block, free) and (shortest[block] <= limit or fits(least_amount, block, spare)):
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
    queue: JobQueue, first: int, free: IntArray, spare: IntArray, limit: int, by_walltime: bool, order: int, now: int
) -> int:
    """Return the row of the best allowed job by an order, ties by row. The number of rows if there is none.

    Parameters
    ----------
    queue, first, free, spare, limit, by_walltime
        As for :func:`next_allowed`.
    order, now
        :data:`SHORTEST`, :data:`LONGEST` or :data:`EXPANSION`. The last one uses the time, seconds.
    """
    amount, least_amount = queue.amount, queue.least_amount
    start = queue.start
    jobs, least = jobs_in(queue), _least_times(queue)
    durations = jobs.walltime if by_walltime else jobs.predicted
    shortest = least.walltime if by_walltime else least.predicted
    count = counts_of(queue).rows[0]
    least_key = np.inf
    best = count
    row = first
    while row < count:
        block = row // BLOCK
        stop = min(count, (block + 1) * BLOCK)
        if (
            fits(least_amount, block, free)
            and _bound(least, block, order, now) < least_key
            and (shortest[block] <= limit or fits(least_amount, block, spare))
        ):
            for at in range(row, stop):
                if (
                    start[at] == WAITS
                    and fits(amount, at, free)
                    and (durations[at] <= limit or fits(amount, at, spare))
                ):
                    key = _key(jobs.submit[at], jobs.predicted[at], order, now)
                    if key < least_key:
                        least_key, best = key, at
        row = stop
    return int(best)


@borrowing
def _key(submit: int, predicted: int, order: int, now: int) -> float:
    if order == EXPANSION:
        return float((submit - now) / predicted)
    return -float(predicted) if order == LONGEST else float(predicted)


@borrowing
def _bound(least: LeastTimes, block: int, order: int, now: int) -> float:
    """Return a lower bound on the keys of a block."""
    if order == LONGEST:
        return float(least.negated[block])
    return _key(least.submit[block], least.predicted[block], order, now)
