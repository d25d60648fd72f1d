"""Shadow schedule: what EASY would have done with the same jobs, as far as run times are known or expected."""

from typing import NamedTuple

import numpy as np

from ...base import IntArray
from ..backfilling.easy import NEVER_CLOSED, Room, backfill
from ..backfilling.job_queue import (
    NEVER,
    WAITS,
    JobQueue,
    append,
    counts_of,
    expect_length,
    jobs_in,
    leave,
    next_allowed,
    open_queue,
)
from ..compiled import borrowing, compiled, within


class ShadowState(NamedTuple):
    """State of a shadow: counters, each of shape (1,), and amounts.

    Attributes
    ----------
    running
        Running jobs.
    clock
        Time that the shadow has reached, seconds.
    first_peak, end_of_peaks
        The entries of :attr:`ShadowJobs.peaks` in use, half-open.
    free
        Free amounts, shape (resources,).
    """

    running: IntArray
    clock: IntArray
    first_peak: IntArray
    end_of_peaks: IntArray
    free: IntArray


#: Counters of :class:`ShadowState`.
_COUNTERS = len(ShadowState._fields) - 1


class ShadowJobs(NamedTuple):
    """Jobs in order of arrival, and the state of the shadow schedule. Times are in seconds.

    Attributes
    ----------
    queue
        The jobs. Only jobs that have arrived in the shadow count. Its fields are:

        * Submission, when the wait begins.
        * First decision that included the job. It never falls.
        * Predicted run time, at least 1.
        * Run time if `known`, else a lower bound.
        * Start in the shadow.
    known
        1 if the job has ended in reality, so that its run time is known. Otherwise 0. Shape (jobs,).
    running
        Jobs that run in the shadow, by predicted end, in the first entries. Shape (jobs,).
    peaks
        Jobs that started in the shadow, in order, each with a longer wait than all later ones, in the entries that
        :class:`ShadowState` names. Shape (jobs,), or (0,) if not needed.
    scratch
        Buffer for decisions, shape (3, jobs + 1).
    state
        Block of :class:`ShadowState`, one entry per counter, then the free amounts. Shape (4 + resources,).
    closed
        Begin and end of the times when the whole machine is closed, seconds, by begin. Shape (windows, 2).
    """

    queue: JobQueue
    known: IntArray
    running: IntArray
    peaks: IntArray
    scratch: IntArray
    state: IntArray
    closed: IntArray

    @property
    def now(self) -> ShadowState:
        """The state by name, for callers in Python."""
        return _state_of(self)

    @property
    def submit(self) -> IntArray:
        """Begin of each wait, shape (jobs,)."""
        return self.queue.jobs.submit

    @property
    def arrival(self) -> IntArray:
        """First decision that included each job, shape (jobs,)."""
        return self.queue.jobs.since

    @property
    def duration(self) -> IntArray:
        """Predicted run times, shape (jobs,)."""
        return self.queue.jobs.predicted

    @property
    def run(self) -> IntArray:
        """Run times or lower bounds, shape (jobs,)."""
        return self.queue.jobs.runtime


def _state_of(jobs: ShadowJobs) -> ShadowState:
    block = jobs.state
    return ShadowState(block[:1], block[1:2], block[2:3], block[3:4], block[4:])


#: The state of a shadow by name: for compiled callers that :func:`.borrowing` compiles, and, with reference counts, for
#: those that create arrays.
state_of, counted_state = within(_state_of), compiled(_state_of)


def open_shadow(capacity: IntArray, now: int, rows: int = 0) -> ShadowJobs:
    """Return a shadow that begins at `now`, with room for `rows` jobs, on a machine of this capacity."""
    state = np.concatenate((np.zeros(_COUNTERS, dtype=np.int64), capacity))
    queue = open_queue(rows, len(capacity))
    known, running, peaks = np.zeros((3, rows), dtype=np.int64)
    queue.start[:] = WAITS
    made = ShadowJobs(queue, known, running, peaks, np.zeros((3, rows + 1), dtype=np.int64), state, NEVER_CLOSED)
    made.now.clock[0] = now
    return made


def begin_with(jobs: ShadowJobs, running: IntArray, start: IntArray) -> None:
    """Start an empty shadow with running jobs: their rows, shape (running,), and their starts."""
    count = len(running)
    jobs.queue.start[running] = start
    jobs.running[:count] = running
    counts = jobs.queue.counts
    counts.rows[0] = counts.head[0] = jobs.now.running[0] = count
    jobs.now.free[:] -= jobs.queue.amount[running].sum(axis=0)


def lengthen(jobs: ShadowJobs, rows: int) -> ShadowJobs:
    """Return the same shadow with room for `rows` jobs."""
    made = open_shadow(jobs.now.free, 0, rows)
    before = len(jobs.running)
    blocks = len(jobs.queue.least_amount)
    made.queue.columns[:, :before] = jobs.queue.columns
    made.queue.amount[:before] = jobs.queue.amount
    made.queue.start[:before] = jobs.queue.start
    made.queue.least_amount[:blocks] = jobs.queue.least_amount
    made.queue.least_times[:, :blocks] = jobs.queue.least_times
    made.queue.numbers[:] = jobs.queue.numbers
    made.known[:before] = jobs.known
    made.running[:before] = jobs.running
    made.peaks[:before] = jobs.peaks
    return made._replace(state=jobs.state, closed=jobs.closed)


@borrowing
def expect(jobs: ShadowJobs, row: int, duration: int) -> None:
    """Set a new predicted run time of a job."""
    jobs_in(jobs.queue).predicted[row] = duration
    expect_length(jobs.queue, row)


@compiled
def replay(jobs: ShadowJobs, arrived: int, now: int) -> int:
    """Advance the shadow to `now` at most. Return the time of its next possible event.

    It continues to the next arrival or end, while ends are known. It stops at the first instant at which a job may have
    ended that still runs or waits in reality. So its result is exact, but may lag behind.
    """
    return go_on(jobs, arrived, now, jobs.running[:0])


@compiled
def go_on(jobs: ShadowJobs, arrived: int, now: int, guessed: IntArray) -> int:
    """Advance the shadow as :func:`replay` does, with guessed run times instead of stops.

    `guessed` holds run times of jobs that have not ended in reality, seconds. Shape (jobs,). 0 stands for the
    prediction. A job that overruns its guess is assumed to run twice its time so far. Before its prediction has
    passed, that is at most the prediction. Without guesses, shape (0,), the shadow stops.

    Returns
    -------
    Time of the next possible event. If it is later than now, the shadow is up to date.
    """
    clock = counted_state(jobs).clock
    while True:
        time, unknown = next_event(jobs, arrived, guessed)
        if time > now or unknown <= time:
            return int(min(time, unknown))
        clock[0] = time
        complete(jobs, time, guessed)
        _arrive(jobs, arrived, time)
        easy(jobs, time)


@borrowing
def _arrive(jobs: ShadowJobs, arrived: int, time: int) -> None:
    """Let jobs enter the queue up to `time`."""
    rows, since = counts_of(jobs.queue).rows, jobs_in(jobs.queue).since
    while rows[0] < arrived and since[rows[0]] <= time:
        append(jobs.queue)


@borrowing
def longest_since(jobs: ShadowJobs, since: int) -> int:
    """Return the longest wait in the shadow of jobs that wait or started since then, seconds.

    `since` must never fall between calls: jobs that started before are removed.
    """
    state = state_of(jobs)
    first = state.first_peak
    peaks = jobs.peaks
    counts = counts_of(jobs.queue)
    longest = 0
    start = jobs.queue.start
    submit = jobs_in(jobs.queue).submit
    while first[0] < state.end_of_peaks[0] and start[peaks[first[0]]] < since:
        first[0] += 1
    if first[0] < state.end_of_peaks[0]:
        longest = start[peaks[first[0]]] - submit[peaks[first[0]]]
    if counts.head[0] < counts.rows[0]:
        longest = max(longest, state.clock[0] - submit[counts.head[0]])
    return int(longest)


@borrowing
def next_event(jobs: ShadowJobs, arrived: int, guessed: IntArray) -> tuple[int, int]:
    """Return the next arrival or end in the shadow, and the earliest end that is unknown."""
    queued, counts = jobs_in(jobs.queue), counts_of(jobs.queue)
    start = jobs.queue.start
    state = state_of(jobs)
    running = jobs.running
    clock = state.clock[0]
    time = NEVER
    unknown = NEVER
    if counts.rows[0] < arrived:
        time = queued.since[counts.rows[0]]
    window = _window(jobs, clock)
    if counts.head[0] < counts.rows[0] and window < len(jobs.closed):
        time = min(time, jobs.closed[window, 1])
    for index in range(state.running[0]):
        row = running[index]
        end = max(start[row] + _stay(jobs, row, guessed), clock)
        if jobs.known[row] or len(guessed) > 0:
            time = min(time, end)
        else:
            unknown = min(unknown, end)
    return time, unknown


@borrowing
def _window(jobs: ShadowJobs, now: int) -> int:
    """Return the first closure that is not over, as a row of `closed`."""
    window = 0
    while window < len(jobs.closed) and jobs.closed[window, 1] <= now:
        window += 1
    return window


@borrowing
def _stay(jobs: ShadowJobs, row: int, guessed: IntArray) -> int:
    """Return the run time of a job, or without guesses its lower bound, seconds."""
    queued = jobs_in(jobs.queue)
    run = queued.runtime[row]
    duration = queued.predicted[row]
    if jobs.known[row] or len(guessed) == 0:
        return int(run)
    guess = guessed[row] if guessed[row] > 0 else duration
    if run < guess:
        return int(guess)
    return int(min(2 * run, duration) if run < duration else 2 * run)


@borrowing
def complete(jobs: ShadowJobs, time: int, guessed: IntArray) -> None:
    """End the jobs that end by `time`."""
    queue = jobs.queue
    state = state_of(jobs)
    running = jobs.running
    kept = 0
    for index in range(state.running[0]):
        row = running[index]
        certain = jobs.known[row] or len(guessed) > 0
        if certain and queue.start[row] + _stay(jobs, row, guessed) <= time:
            for resource in range(queue.amount.shape[1]):
                state.free[resource] += queue.amount[row, resource]
        else:
            running[kept] = row
            kept += 1
    state.running[0] = kept


@compiled
def easy(jobs: ShadowJobs, now: int) -> None:
    """Start jobs from the head of the queue, then those that do not delay the first one that does not fit."""
    queue = jobs.queue
    scratch = jobs.scratch
    state = counted_state(jobs)
    free = state.free.copy()
    if not _any_fits(queue, free):
        return
    _sort(jobs)
    _list_ends(jobs)
    count = state.running[0]
    nothing = queue.amount[:0]
    room = Room(free, scratch[0], scratch[1], nothing, np.empty_like(free), scratch[2], jobs.closed, _window(jobs, now))
    chosen = backfill(queue, room, count, now, False, False)
    for index in range(chosen):
        _put_on_machine(jobs, scratch[2, index], now)


@borrowing
def _any_fits(queue: JobQueue, free: IntArray) -> bool:
    """Return whether a waiting job needs at most the free amounts."""
    counts = counts_of(queue)
    return bool(next_allowed(queue, counts.head[0], free, free, NEVER, False) < counts.rows[0])


@borrowing
def _list_ends(jobs: ShadowJobs) -> None:
    """Write the predicted ends of running jobs to the buffer, latest first, and their rows."""
    predicted, scratch = jobs_in(jobs.queue).predicted, jobs.scratch
    count = state_of(jobs).running[0]
    for index in range(count):
        row = jobs.running[index]
        scratch[0, count - 1 - index] = jobs.queue.start[row] + predicted[row]
        scratch[1, count - 1 - index] = row


@borrowing
def _sort(jobs: ShadowJobs) -> None:
    """Sort running jobs by predicted end. Only new predictions can be out of order."""
    running = jobs.running
    start = jobs.queue.start
    duration = jobs_in(jobs.queue).predicted
    for index in range(1, state_of(jobs).running[0]):
        row = running[index]
        end, place = start[row] + duration[row], index
        while place > 0 and start[running[place - 1]] + duration[running[place - 1]] > end:
            running[place] = running[place - 1]
            place -= 1
        running[place] = row


@borrowing
def start_job(jobs: ShadowJobs, row: int, now: int) -> None:
    """Start a waiting job that fits."""
    leave(jobs.queue, row, now)
    _put_on_machine(jobs, row, now)


@borrowing
def _put_on_machine(jobs: ShadowJobs, row: int, now: int) -> None:
    """Run a job that has left the queue."""
    queue, state = jobs.queue, state_of(jobs)
    queue.start[row] = now
    jobs.running[state.running[0]] = row
    state.running[0] += 1
    for resource in range(queue.amount.shape[1]):
        state.free[resource] -= queue.amount[row, resource]
    if len(jobs.peaks):
        _rise(jobs, row)


@borrowing
def _rise(jobs: ShadowJobs, row: int) -> None:
    """Append a starting job to the peaks, after removing those that did not wait longer."""
    state = state_of(jobs)
    end = state.end_of_peaks
    peaks = jobs.peaks
    start = jobs.queue.start
    submit = jobs_in(jobs.queue).submit
    wait = start[row] - submit[row]
    while state.first_peak[0] < end[0]:
        last = peaks[end[0] - 1]
        if start[last] - submit[last] > wait:
            break
        end[0] -= 1
    peaks[end[0]] = row
    end[0] += 1
