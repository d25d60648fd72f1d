"""Compiled events of a simulation: rigid jobs that arrive, wait, run and end, without an object per job.

On a pool, or on nodes where all jobs demand the same amounts per slot. At one instant, completions come first, then
arrivals, then one decision. Jobs get rows in order of their entry into the queue.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...base import IntArray
from ..backfilling.easy import NEVER_CLOSED, Room, first_by, insert_end
from ..backfilling.job_queue import (
    COUNT,
    NEVER,
    ORDER,
    PREDICTED,
    RUNTIME,
    SINCE,
    SUBMIT,
    WAITING,
    WALLTIME,
    JobQueue,
    append,
    leave,
    open_queue,
    settle,
)
from ..compiled import borrowing, compiled

#: Rows of the input of jobs: eligibility, submission, predicted run time, walltime and run time, seconds. Then the
#: number of jobs that it waits for. Then the begin in `lists` of its successors, and of the corrections of its
#: prediction.
ELIGIBLE, _SUBMIT, _PREDICTED, _WALLTIME, _WORK, _BLOCKERS, _SUCCESSORS, _CORRECTIONS = range(8)
#: Value instead of blockers, for a job that already has a row.
_ENTERED = -1
#: Columns after those of the queue: begin of the row's slots in `placed`, and its next correction.
FIRST_SLOT, _CORRECTION = 6, 7
#: Counters after those of the queue: eligible jobs, running jobs, closed times that are over. Then the lowest node that
#: may have a free slot, and the number of placed slots. Then the time of the next forced decision, seconds, 0 for none.
ARRIVED, RUNNING, WINDOW, _LOWEST, _PLACED, WAKE = range(3, 9)
#: Rows of the running jobs, latest end first: the end and the row. The same by expected ends, and by walltimes, see
#: :func:`literal_room_of`.
_END, _ROW, _EXPECTED, _EXPECTED_ROW, _LITERAL, _LITERAL_ROW = range(6)


class Events(NamedTuple):
    """Jobs and state of a simulation.

    Attributes
    ----------
    jobs
        Input of the jobs, in order of eligibility. Shape (8, jobs + 1).
    amount
        Amounts of the whole job, shape (jobs, resources).
    lists
        Jobs that wait for another job's end, and successive predictions of a job that overruns, seconds. Those of job
        `j` begin where `jobs` says and end where those of job `j + 1` begin.
    closed
        Begins and ends of times when no job runs, in order, seconds. Shape (windows, 2).
    queue
        All jobs that have entered the queue, in this order.
    running
        Shape (6, most).
    amounts
        Free amounts, buffer for a decision, and capacity. Shape (3, resources).
    chosen
        Rows of the jobs that start at a decision, shape (most,).
    slots
        Free slots of each node. Shape (0,) on a pool.
    placed
        Nodes of the placed slots.
    """

    jobs: IntArray
    amount: IntArray
    lists: IntArray
    closed: IntArray
    queue: JobQueue
    running: IntArray
    amounts: IntArray
    chosen: IntArray
    slots: IntArray
    placed: NDArray[np.int32]


def open_events(
    submit: IntArray,
    work: IntArray,
    predicted: IntArray,
    walltime: IntArray,
    amount: IntArray,
    capacity: IntArray,
    *,
    slots: IntArray | None = None,
    eligible: IntArray | None = None,
    successors: tuple[IntArray, IntArray] | None = None,
    closed: IntArray | None = None,
    corrections: tuple[IntArray, IntArray] | None = None,
) -> Events:
    """Return a simulation before its first instant.

    Parameters
    ----------
    submit, work, predicted, walltime
        Submission, run time, predicted run time and walltime of the jobs, seconds. In order of eligibility, shape
        (jobs,).
    amount
        Amounts, at most the capacity, or slots on nodes. Shape (jobs, resources).
    capacity
        Capacity of the pool, or all slots. Shape (resources,).
    slots
        Slots of each node, shape (nodes,). ``None`` on a pool.
    eligible
        When jobs may enter the queue, rising, seconds, shape (jobs,). By default at submission.
    successors, corrections
        Begin of each job's values, shape (jobs + 1,), and the values. Successors enter the queue once all jobs that
        they wait for have ended. Corrections are predicted run times, seconds. None by default.
    closed
        As in :class:`Events`. Only :func:`.run_easy` uses it. None by default.
    """
    count = len(submit)
    resources = amount.shape[1]
    nothing = np.zeros(count + 1, dtype=np.int64), np.zeros(0, dtype=np.int64)
    first, following = nothing if successors is None else successors
    corrected_first, corrected = nothing if corrections is None else corrections
    jobs = np.zeros((8, count + 1), dtype=np.int64)
    jobs[:5, :count] = submit if eligible is None else eligible, submit, predicted, walltime, work
    jobs[_BLOCKERS, :count] = np.bincount(following, minlength=count)
    jobs[_SUCCESSORS] = first
    jobs[_CORRECTIONS] = corrected_first + len(following)
    queue = open_queue(count, resources, 2, 6)
    at_once = min(int(capacity.min()), count) if amount.all() else count
    return Events(
        jobs=jobs,
        amount=np.ascontiguousarray(amount, dtype=np.int64),
        lists=np.concatenate((following, corrected)).astype(np.int64),
        closed=NEVER_CLOSED if closed is None else closed,
        queue=queue,
        running=np.zeros((6, at_once + 1), dtype=np.int64),
        amounts=np.stack((capacity, capacity, capacity)).astype(np.int64),
        chosen=np.zeros(at_once + 1, dtype=np.int64),
        slots=np.zeros(0, dtype=np.int64) if slots is None else slots.astype(np.int64),
        placed=np.empty(0 if slots is None else int(amount.sum()), dtype=np.int32),
    )


@borrowing
def next_instant(events: Events) -> int:
    """Return the time of the next event, seconds, or :data:`.NEVER`."""
    numbers, now = events.queue.numbers, NEVER
    if numbers[ARRIVED] < len(events.amount):
        now = events.jobs[ELIGIBLE, numbers[ARRIVED]]
    if numbers[RUNNING] > 0:
        now = min(now, events.running[_END, numbers[RUNNING] - 1])
    if numbers[WAKE] > 0 and (now < NEVER or numbers[WAITING] > 0):
        now = min(now, numbers[WAKE])
    return int(now)


@borrowing
def advance(events: Events, now: int, ended: IntArray, gone: int) -> int:
    """Let jobs end and enter the queue up to now.

    Parameters
    ----------
    events, now
        The simulation, and the time to reach, seconds.
    ended, gone
        Receives the ended jobs, from position `gone` on.

    Returns
    -------
    Number of jobs in `ended`.
    """
    jobs = events.jobs
    numbers = events.queue.numbers
    running = events.running
    ordered = jobs[_SUCCESSORS, len(events.amount)] == 0
    while numbers[RUNNING] > 0 and running[_END, numbers[RUNNING] - 1] <= now:
        row = running[_ROW, numbers[RUNNING] - 1]
        job = events.queue.columns[ORDER, row]
        _end(events, row)
        for place in range(jobs[_SUCCESSORS, job], jobs[_SUCCESSORS, job + 1]):
            successor = events.lists[place]
            jobs[_BLOCKERS, successor] -= 1
            if jobs[_BLOCKERS, successor] == 0 and successor < numbers[ARRIVED]:
                jobs[_SUBMIT, successor] = now
                settle(events.queue, enter(events, successor, now))
        ended[gone] = job
        gone += 1
    while numbers[WINDOW] < len(events.closed) and events.closed[numbers[WINDOW], 1] <= now:
        numbers[WINDOW] += 1
    while numbers[ARRIVED] < len(events.amount) and jobs[ELIGIBLE, numbers[ARRIVED]] <= now:
        job = numbers[ARRIVED]
        if jobs[_BLOCKERS, job] == 0:
            row = enter(events, job, jobs[ELIGIBLE, job])
            if not ordered:
                settle(events.queue, row)
        numbers[ARRIVED] += 1
    return gone


@borrowing
def advance_once(events: Events, now: int, ended: IntArray, gone: int) -> int:
    """Let one job end now, or else one enter the queue, as for ``same_instant="sequence"``.

    Jobs that end exactly as predicted end together, before the first other one. There are no successors and no closed
    times. Parameters and result are those of :func:`advance`.
    """
    numbers = events.queue.numbers
    rows = events.running[_ROW]
    if numbers[RUNNING] == 0 or events.running[_END, numbers[RUNNING] - 1] > now:
        enter(events, numbers[ARRIVED], events.jobs[ELIGIBLE, numbers[ARRIVED]])
        numbers[ARRIVED] += 1
        return gone
    ending = first_by(events.running[_END], numbers[RUNNING], now)
    foreseen = numbers[RUNNING]  # Jobs from here on end as predicted. They keep their order, and so do the others.
    for at in range(numbers[RUNNING] - 1, ending - 1, -1):
        row = rows[at]
        if events.queue.start[row] + events.queue.columns[PREDICTED, row] == now:
            foreseen -= 1
            for later in range(at, foreseen):
                rows[later] = rows[later + 1]
            rows[foreseen] = row
    for _ in range(max(numbers[RUNNING] - foreseen + (foreseen > ending), 1)):
        row = rows[numbers[RUNNING] - 1]
        ended[gone] = events.queue.columns[ORDER, row]
        _end(events, row)
        gone += 1
    return gone


@borrowing
def enter(events: Events, job: int, now: int) -> int:
    """Add a job to the end of the queue. Return its row."""
    jobs = events.jobs
    queue = events.queue
    row = events.queue.numbers[COUNT]
    columns = queue.columns
    columns[ORDER, row] = job
    columns[SUBMIT, row] = jobs[_SUBMIT, job]
    columns[SINCE, row] = now
    columns[PREDICTED, row] = jobs[_PREDICTED, job]
    columns[WALLTIME, row] = jobs[_WALLTIME, job]
    columns[RUNTIME, row] = jobs[_WORK, job]
    columns[_CORRECTION, row] = jobs[_CORRECTIONS, job]
    for resource in range(events.amount.shape[1]):
        queue.amount[row, resource] = events.amount[job, resource]
    jobs[_BLOCKERS, job] = _ENTERED
    return append(queue)


@borrowing
def _end(events: Events, row: int) -> None:
    """Remove the job that ends first from the machine."""
    queue = events.queue
    numbers = events.queue.numbers
    ends = events.running[_EXPECTED]
    rows = events.running[_EXPECTED_ROW]
    at = first_by(ends, numbers[RUNNING], queue.start[row] + queue.columns[PREDICTED, row])
    while rows[at] != row:
        at += 1
    numbers[RUNNING] -= 1
    for later in range(at, numbers[RUNNING]):
        ends[later], rows[later] = ends[later + 1], rows[later + 1]
    for resource in range(events.amounts.shape[1]):
        events.amounts[0, resource] += queue.amount[row, resource]
    if len(events.slots):
        first = queue.columns[FIRST_SLOT, row]
        for slot in range(first, first + queue.amount[row, 0]):
            events.slots[events.placed[slot]] += 1
        numbers[_LOWEST] = min(numbers[_LOWEST], np.int64(events.placed[first]))


@borrowing
def room_of(events: Events) -> Room:
    """Return the free amounts and the expected ends, for a decision."""
    running = events.running
    amounts = events.amounts
    held = events.amount[:0]
    return Room(
        amounts[0],
        running[_EXPECTED],
        running[_EXPECTED_ROW],
        held,
        amounts[1],
        events.chosen,
        events.closed,
        events.queue.numbers[WINDOW],
    )


@borrowing
def literal_room_of(events: Events, now: int) -> Room:
    """Return the free amounts and the ends by walltimes.

    If a walltime has passed, the expected end, or the next second.
    """
    running = events.running
    amounts = events.amounts
    for at in range(events.queue.numbers[RUNNING]):
        row = running[_EXPECTED_ROW, at]
        insert_end(running[_LITERAL], running[_LITERAL_ROW], at, expected_end(events, row, now, True), row)
    held = events.amount[:0]
    return Room(
        amounts[0],
        running[_LITERAL],
        running[_LITERAL_ROW],
        held,
        amounts[1],
        events.chosen,
        events.closed,
        events.queue.numbers[WINDOW],
    )


@borrowing
def expect(events: Events, row: int, now: int) -> None:
    """Record the expected end of a starting job, before :func:`put_on_machine`."""
    end = now + events.queue.columns[PREDICTED, row]
    running = events.running
    insert_end(running[_EXPECTED], running[_EXPECTED_ROW], events.queue.numbers[RUNNING], end, row)


@borrowing
def put_on_machine(events: Events, row: int, now: int) -> None:
    """Start a chosen job, on the first free slots.

    It has left the queue already, and its expected end is recorded.
    """
    queue = events.queue
    numbers = events.queue.numbers
    queue.start[row] = now
    insert_end(events.running[_END], events.running[_ROW], numbers[RUNNING], now + queue.columns[RUNTIME, row], row)
    numbers[RUNNING] += 1
    if len(events.slots):
        queue.columns[FIRST_SLOT, row] = numbers[_PLACED]
        for _ in range(queue.amount[row, 0]):
            while events.slots[numbers[_LOWEST]] == 0:
                numbers[_LOWEST] += 1
            events.slots[numbers[_LOWEST]] -= 1
            events.placed[numbers[_PLACED]] = numbers[_LOWEST]
            numbers[_PLACED] += 1


@borrowing
def start(events: Events, row: int, now: int) -> None:
    """Start a waiting job: it leaves the queue and reduces the free amounts."""
    leave(events.queue, row, now)
    for resource in range(events.amounts.shape[1]):
        events.amounts[0, resource] -= events.queue.amount[row, resource]
    expect(events, row, now)
    put_on_machine(events, row, now)


@borrowing
def correct(events: Events, now: int) -> None:
    """Replace the predictions of running jobs that overran them, repeatedly if needed."""
    columns = events.queue.columns
    jobs = events.jobs
    at = events.queue.numbers[RUNNING] - 1
    ends = events.running[_EXPECTED]
    rows = events.running[_EXPECTED_ROW]
    while at >= 0 and ends[at] <= now:
        row = rows[at]
        if columns[_CORRECTION, row] == jobs[_CORRECTIONS, columns[ORDER, row] + 1]:
            at -= 1
            continue
        columns[PREDICTED, row] = events.lists[columns[_CORRECTION, row]]
        columns[_CORRECTION, row] += 1
        end = events.queue.start[row] + columns[PREDICTED, row]
        place = at
        while place > 0 and ends[place - 1] <= end:
            ends[place], rows[place] = ends[place - 1], rows[place - 1]
            place -= 1
        ends[place], rows[place] = end, row


@compiled
def running_rows(events: Events) -> IntArray:
    """Return the rows of the running jobs, by expected end."""
    count = events.queue.numbers[RUNNING]
    rows = np.empty(count, dtype=np.int64)
    for at in range(count):
        rows[count - 1 - at] = events.running[_EXPECTED_ROW, at]
    return rows


@borrowing
def expected_end(events: Events, row: int, now: int, literally: bool) -> int:
    """Return the expected end of a running job after `now`, seconds.

    If `literally`, the end of its walltime, until that passes.
    """
    columns = events.queue.columns
    begun = events.queue.start[row]
    end = begun + columns[WALLTIME, row] if literally else now
    return int(end if end > now else max(begun + columns[PREDICTED, row], now + 1))


@borrowing
def note(events: Events, now: int, decision: IntArray) -> None:
    """Record the time, and the waiting and running jobs before a decision. Shape (4,)."""
    decision[0] = now
    decision[1] = events.queue.numbers[WAITING]
    decision[2] = events.queue.numbers[RUNNING]
