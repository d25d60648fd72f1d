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
    COLUMNS,
    NEVER,
    JobQueue,
    append,
    counts_of,
    jobs_in,
    leave,
    open_queue,
    settle,
)
from ..compiled import borrowing, compiled, within

#: Value instead of blockers, for a job that already has a row.
_ENTERED = -1


class EventJobs(NamedTuple):
    """Input of the jobs, in order of eligibility. One entry per job, and one more. Times are seconds.

    Attributes
    ----------
    eligible, submit
        When the job may enter the queue, and its submission.
    predicted, walltime, runtime
        Predicted run time, walltime and run time.
    blockers
        Number of jobs that it waits for.
    successors, corrections
        Begins in :attr:`Events.lists` of its successors, and of the corrections of its prediction.
    """

    eligible: IntArray
    submit: IntArray
    predicted: IntArray
    walltime: IntArray
    runtime: IntArray
    blockers: IntArray
    successors: IntArray
    corrections: IntArray


class RowsOfEvents(NamedTuple):
    """Columns of the queue after those of :class:`.QueuedJobs`, one entry per row.

    Attributes
    ----------
    first_slot
        Begin of the job's slots in :attr:`Events.placed`.
    correction
        Its next correction, as a position in :attr:`Events.lists`.
    """

    first_slot: IntArray
    correction: IntArray


class RunningRows(NamedTuple):
    """Running jobs, latest end first. Ends are in seconds, rows are those of the queue.

    Attributes
    ----------
    end, row
        By ends.
    expected_end, expected_row
        By expected ends.
    walltime_end, walltime_row
        By walltimes, see :func:`literal_room_of`.
    """

    end: IntArray
    row: IntArray
    expected_end: IntArray
    expected_row: IntArray
    walltime_end: IntArray
    walltime_row: IntArray


class Amounts(NamedTuple):
    """Amounts of the machine, shape (resources,).

    Attributes
    ----------
    free
        Free amounts.
    extra
        Buffer of a decision.
    capacity
        Capacity.
    """

    free: IntArray
    extra: IntArray
    capacity: IntArray


class EventCounts(NamedTuple):
    """Counters of a simulation, each of shape (1,).

    Attributes
    ----------
    arrived
        Eligible jobs.
    running
        Running jobs.
    window
        Closed times that are over.
    lowest
        The lowest node that may have a free slot.
    placed
        Placed slots.
    wake
        Time of the next forced decision, seconds, 0 for none.
    """

    arrived: IntArray
    running: IntArray
    window: IntArray
    lowest: IntArray
    placed: IntArray
    wake: IntArray


class Events(NamedTuple):
    """Jobs and state of a simulation.

    Blocks of memory have the fields of a tuple as rows, see :class:`.JobQueue`.

    Attributes
    ----------
    jobs
        Block of :class:`EventJobs`, shape (8, jobs + 1).
    amount
        Amounts of the whole job, shape (jobs, resources).
    lists
        Jobs that wait for another job's end, and successive predictions of a job that overruns, seconds. Those of job
        `j` begin where `jobs` says and end where those of job `j + 1` begin.
    closed
        Begins and ends of times when no job runs, in order, seconds. Shape (windows, 2).
    queue
        All jobs that have entered the queue, in this order. Its last columns are a block of :class:`RowsOfEvents`.
    running
        Block of :class:`RunningRows`, shape (6, most).
    amounts
        Block of :class:`Amounts`, shape (3, resources).
    chosen
        Rows of the jobs that start at a decision, shape (most,).
    slots
        Free slots of each node. Shape (0,) on a pool.
    placed
        Nodes of the placed slots.
    numbers
        Block of :class:`EventCounts`, shape (6, 1).
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
    numbers: IntArray

    @property
    def machine(self) -> Amounts:
        """The amounts by name, for callers in Python."""
        return Amounts(*self.amounts)

    @property
    def counts(self) -> EventCounts:
        """The counters by name, for callers in Python."""
        return EventCounts(*self.numbers)

    @property
    def rows(self) -> RowsOfEvents:
        """The own columns of the queue by name, for callers in Python."""
        return RowsOfEvents(*self.queue.columns[COLUMNS:])


@within
def _jobs(events: Events) -> EventJobs:
    block = events.jobs
    return EventJobs(block[0], block[1], block[2], block[3], block[4], block[5], block[6], block[7])


@within
def _rows(events: Events) -> RowsOfEvents:
    block = events.queue.columns
    return RowsOfEvents(block[COLUMNS], block[COLUMNS + 1])


@within
def _running(events: Events) -> RunningRows:
    block = events.running
    return RunningRows(block[0], block[1], block[2], block[3], block[4], block[5])


def _amounts_of(events: Events) -> Amounts:
    return Amounts(events.amounts[0], events.amounts[1], events.amounts[2])


#: The amounts of the machine by name: for compiled callers that :func:`.borrowing` compiles, and, with reference
#: counts, for those that create arrays.
amounts_of, counted_amounts = within(_amounts_of), compiled(_amounts_of)


@within
def event_counts(events: Events) -> EventCounts:
    """Return the counters by name, for compiled callers that :func:`.borrowing` compiles."""
    block = events.numbers
    return EventCounts(block[0], block[1], block[2], block[3], block[4], block[5])


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
    block = np.zeros((len(EventJobs._fields), count + 1), dtype=np.int64)
    jobs = EventJobs(*block)
    block[:5, :count] = submit if eligible is None else eligible, submit, predicted, walltime, work
    jobs.blockers[:count] = np.bincount(following, minlength=count)
    jobs.successors[:] = first
    jobs.corrections[:] = corrected_first + len(following)
    queue = open_queue(count, resources, len(RowsOfEvents._fields))
    at_once = min(int(capacity.min()), count) if amount.all() else count
    return Events(
        jobs=block,
        amount=np.array(amount, dtype=np.int64, order="C"),  # read-only arrays are another type to the compiler
        lists=np.concatenate((following, corrected)).astype(np.int64),
        closed=NEVER_CLOSED if closed is None else closed,
        queue=queue,
        running=np.zeros((len(RunningRows._fields), at_once + 1), dtype=np.int64),
        amounts=np.stack((capacity, capacity, capacity)).astype(np.int64),
        chosen=np.zeros(at_once + 1, dtype=np.int64),
        slots=np.zeros(0, dtype=np.int64) if slots is None else slots.astype(np.int64),
        placed=np.empty(0 if slots is None else int(amount.sum()), dtype=np.int32),
        numbers=np.zeros((len(EventCounts._fields), 1), dtype=np.int64),
    )


@borrowing
def next_instant(events: Events) -> int:
    """Return the time of the next event, seconds, or :data:`.NEVER`."""
    counts, now = event_counts(events), NEVER
    if counts.arrived[0] < len(events.amount):
        now = _jobs(events).eligible[counts.arrived[0]]
    if counts.running[0] > 0:
        now = min(now, _running(events).end[counts.running[0] - 1])
    if counts.wake[0] > 0 and (now < NEVER or counts_of(events.queue).waiting[0] > 0):
        now = min(now, counts.wake[0])
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
    jobs, running, counts = _jobs(events), _running(events), event_counts(events)
    orders = jobs_in(events.queue).order
    ordered = jobs.successors[len(events.amount)] == 0
    while counts.running[0] > 0 and running.end[counts.running[0] - 1] <= now:
        row = running.row[counts.running[0] - 1]
        job = orders[row]
        _end(events, row)
        for place in range(jobs.successors[job], jobs.successors[job + 1]):
            successor = events.lists[place]
            jobs.blockers[successor] -= 1
            if jobs.blockers[successor] == 0 and successor < counts.arrived[0]:
                jobs.submit[successor] = now
                settle(events.queue, enter(events, successor, now))
        ended[gone] = job
        gone += 1
    while counts.window[0] < len(events.closed) and events.closed[counts.window[0], 1] <= now:
        counts.window[0] += 1
    while counts.arrived[0] < len(events.amount) and jobs.eligible[counts.arrived[0]] <= now:
        job = counts.arrived[0]
        if jobs.blockers[job] == 0:
            row = enter(events, job, jobs.eligible[job])
            if not ordered:
                settle(events.queue, row)
        counts.arrived[0] += 1
    return gone


@borrowing
def advance_once(events: Events, now: int, ended: IntArray, gone: int) -> int:
    """Let one job end now, or else one enter the queue, as for ``same_instant="sequence"``.

    Jobs that end exactly as predicted end together, before the first other one. There are no successors and no closed
    times. Parameters and result are those of :func:`advance`.
    """
    queued, running, counts = jobs_in(events.queue), _running(events), event_counts(events)
    rows = running.row
    if counts.running[0] == 0 or running.end[counts.running[0] - 1] > now:
        enter(events, counts.arrived[0], _jobs(events).eligible[counts.arrived[0]])
        counts.arrived[0] += 1
        return gone
    ending = first_by(running.end, counts.running[0], now)
    foreseen = counts.running[0]  # Jobs from here on end as predicted. They keep their order, and so do the others.
    for at in range(counts.running[0] - 1, ending - 1, -1):
        row = rows[at]
        if events.queue.start[row] + queued.predicted[row] == now:
            foreseen -= 1
            for later in range(at, foreseen):
                rows[later] = rows[later + 1]
            rows[foreseen] = row
    for _ in range(max(counts.running[0] - foreseen + (foreseen > ending), 1)):
        row = rows[counts.running[0] - 1]
        ended[gone] = queued.order[row]
        _end(events, row)
        gone += 1
    return gone


@borrowing
def enter(events: Events, job: int, now: int) -> int:
    """Add a job to the end of the queue. Return its row."""
    jobs = _jobs(events)
    queue = events.queue
    queued = jobs_in(queue)
    row = counts_of(queue).rows[0]
    queued.order[row] = job
    queued.submit[row] = jobs.submit[job]
    queued.since[row] = now
    queued.predicted[row] = jobs.predicted[job]
    queued.walltime[row] = jobs.walltime[job]
    queued.runtime[row] = jobs.runtime[job]
    _rows(events).correction[row] = jobs.corrections[job]
    for resource in range(events.amount.shape[1]):
        queue.amount[row, resource] = events.amount[job, resource]
    jobs.blockers[job] = _ENTERED
    return append(queue)


@borrowing
def enter_early(events: Events, job: int) -> None:
    """Add the next job to the queue, at the time when it may enter."""
    enter(events, job, _jobs(events).eligible[job])
    event_counts(events).arrived[0] += 1


@borrowing
def _end(events: Events, row: int) -> None:
    """Remove the job that ends first from the machine."""
    queue, running, counts = events.queue, _running(events), event_counts(events)
    free = amounts_of(events).free
    ends, rows = running.expected_end, running.expected_row
    at = first_by(ends, counts.running[0], queue.start[row] + jobs_in(queue).predicted[row])
    while rows[at] != row:
        at += 1
    counts.running[0] -= 1
    for later in range(at, counts.running[0]):
        ends[later], rows[later] = ends[later + 1], rows[later + 1]
    for resource in range(len(free)):
        free[resource] += queue.amount[row, resource]
    if len(events.slots):
        first = _rows(events).first_slot[row]
        for slot in range(first, first + queue.amount[row, 0]):
            events.slots[events.placed[slot]] += 1
        counts.lowest[0] = min(counts.lowest[0], np.int64(events.placed[first]))


@borrowing
def room_of(events: Events) -> Room:
    """Return the free amounts and the expected ends, for a decision."""
    running = _running(events)
    return _room(events, running.expected_end, running.expected_row)


@borrowing
def literal_room_of(events: Events, now: int) -> Room:
    """Return the free amounts and the ends by walltimes.

    If a walltime has passed, the expected end, or the next second.
    """
    running = _running(events)
    for at in range(event_counts(events).running[0]):
        row = running.expected_row[at]
        insert_end(running.walltime_end, running.walltime_row, at, expected_end(events, row, now, True), row)
    return _room(events, running.walltime_end, running.walltime_row)


@within
def _room(events: Events, ends: IntArray, rows: IntArray) -> Room:
    """Return the room with the running jobs in this order."""
    amounts, held = amounts_of(events), events.amount[:0]
    window = event_counts(events).window[0]
    return Room(amounts.free, ends, rows, held, amounts.extra, events.chosen, events.closed, window)


@borrowing
def expect(events: Events, row: int, now: int) -> None:
    """Record the expected end of a starting job, before :func:`put_on_machine`."""
    end = now + jobs_in(events.queue).predicted[row]
    running = _running(events)
    insert_end(running.expected_end, running.expected_row, event_counts(events).running[0], end, row)


@borrowing
def put_on_machine(events: Events, row: int, now: int) -> None:
    """Start a chosen job, on the first free slots.

    It has left the queue already, and its expected end is recorded.
    """
    queue, running, counts = events.queue, _running(events), event_counts(events)
    queue.start[row] = now
    insert_end(running.end, running.row, counts.running[0], now + jobs_in(queue).runtime[row], row)
    counts.running[0] += 1
    if len(events.slots):
        _rows(events).first_slot[row] = counts.placed[0]
        for _ in range(queue.amount[row, 0]):
            while events.slots[counts.lowest[0]] == 0:
                counts.lowest[0] += 1
            events.slots[counts.lowest[0]] -= 1
            events.placed[counts.placed[0]] = counts.lowest[0]
            counts.placed[0] += 1


@borrowing
def start(events: Events, row: int, now: int) -> None:
    """Start a waiting job: it leaves the queue and reduces the free amounts."""
    leave(events.queue, row, now)
    free = amounts_of(events).free
    for resource in range(len(free)):
        free[resource] -= events.queue.amount[row, resource]
    expect(events, row, now)
    put_on_machine(events, row, now)


@borrowing
def correct(events: Events, now: int) -> None:
    """Replace the predictions of running jobs that overran them, repeatedly if needed."""
    queued, running = jobs_in(events.queue), _running(events)
    following, last = _rows(events).correction, _jobs(events).corrections
    at = event_counts(events).running[0] - 1
    ends, rows = running.expected_end, running.expected_row
    while at >= 0 and ends[at] <= now:
        row = rows[at]
        if following[row] == last[queued.order[row] + 1]:
            at -= 1
            continue
        queued.predicted[row] = events.lists[following[row]]
        following[row] += 1
        end = events.queue.start[row] + queued.predicted[row]
        place = at
        while place > 0 and ends[place - 1] <= end:
            ends[place], rows[place] = ends[place - 1], rows[place - 1]
            place -= 1
        ends[place], rows[place] = end, row


@compiled
def running_rows(events: Events) -> IntArray:
    """Return the rows of the running jobs, by expected end."""
    rows = np.empty(count_running(events), dtype=np.int64)
    _list_running(events, rows)
    return rows


@within
def count_running(events: Events) -> int:
    """Return the number of running jobs, for compiled callers."""
    return int(event_counts(events).running[0])


@within
def _list_running(events: Events, rows: IntArray) -> None:
    """Fill in the rows of the running jobs, by expected end."""
    latest_first = _running(events).expected_row
    for at in range(len(rows)):
        rows[len(rows) - 1 - at] = latest_first[at]


@borrowing
def expected_end(events: Events, row: int, now: int, literally: bool) -> int:
    """Return the expected end of a running job after `now`, seconds.

    If `literally`, the end of its walltime, until that passes.
    """
    queued = jobs_in(events.queue)
    begun = events.queue.start[row]
    end = begun + queued.walltime[row] if literally else now
    return int(end if end > now else max(begun + queued.predicted[row], now + 1))


@borrowing
def note(events: Events, now: int, decision: IntArray) -> None:
    """Record the time, and the waiting and running jobs before a decision. Shape (4,)."""
    decision[0] = now
    decision[1] = counts_of(events.queue).waiting[0]
    decision[2] = event_counts(events).running[0]
