"""Shadow schedule: what EASY would have done with the same jobs, as far as run times are known or expected."""

from typing import NamedTuple, cast

import numpy as np

from ...base import IntArray
from ..backfilling.easy import NEVER_CLOSED, Room, backfill
from ..backfilling.job_queue import (
    COUNT,
    HEAD,
    NEVER,
    PREDICTED,
    RUNTIME,
    SINCE,
    SUBMIT,
    WAITS,
    JobQueue,
    append,
    expect_length,
    leave,
    next_allowed,
    open_queue,
)
from ..compiled import compiled

#: Column after those of the queue: 1 if the job has ended in reality, so that its run time is known.
KNOWN = 6
#: Entries of `ShadowJobs.state`.
RUNNING, CLOCK, PEAK, PEAKS = range(4)
#: Begin of the free amounts in it.
HEADER = 4


class ShadowJobs(NamedTuple):
    """Jobs in order of arrival, and the state of the shadow schedule. Times are in seconds.

    Attributes
    ----------
    queue
        The jobs. Only jobs that have arrived in the shadow count. Its columns are:

        * Submission, when the wait begins.
        * First decision that included the job. It never falls.
        * Predicted run time, at least 1.
        * Run time if `known`, else a lower bound.
        * Start in the shadow.
    running
        Jobs that run in the shadow, by predicted end, in the first entries. Shape (jobs,).
    peaks
        Jobs that started in the shadow, in order, each with a longer wait than all later ones. In the entries from
        `PEAK` to `PEAKS` of `state`. Shape (jobs,), or (0,) if not needed.
    scratch
        Buffer for decisions, shape (3, jobs + 1).
    state
        Number of running jobs, clock, begin and end of the peaks, then the free amounts.
    closed
        Begin and end of the times when the whole machine is closed, seconds, by begin. Shape (windows, 2).
    """

    queue: JobQueue
    running: IntArray
    peaks: IntArray
    scratch: IntArray
    state: IntArray
    closed: IntArray

    @property
    def submit(self) -> IntArray:
        """Begin of each wait, shape (jobs,)."""
        return cast(IntArray, self.queue.columns[SUBMIT])

    @property
    def arrival(self) -> IntArray:
        """First decision that included each job, shape (jobs,)."""
        return cast(IntArray, self.queue.columns[SINCE])

    @property
    def duration(self) -> IntArray:
        """Predicted run times, shape (jobs,)."""
        return cast(IntArray, self.queue.columns[PREDICTED])

    @property
    def run(self) -> IntArray:
        """Run times or lower bounds, shape (jobs,)."""
        return cast(IntArray, self.queue.columns[RUNTIME])

    @property
    def known(self) -> IntArray:
        """Whether the run times are known, shape (jobs,)."""
        return cast(IntArray, self.queue.columns[KNOWN])


def open_shadow(capacity: IntArray, now: int, rows: int = 0) -> ShadowJobs:
    """Return a shadow that begins at `now`, with room for `rows` jobs, on a machine of this capacity."""
    state = np.zeros(HEADER + len(capacity), dtype=np.int64)
    state[CLOCK] = now
    state[HEADER:] = capacity
    queue = open_queue(rows, len(capacity), 1)
    none = np.zeros(rows, dtype=np.int64)
    queue.start[:] = WAITS
    return ShadowJobs(queue, none, none.copy(), np.zeros((3, rows + 1), dtype=np.int64), state, NEVER_CLOSED)


def begin_with(jobs: ShadowJobs, running: IntArray, start: IntArray) -> None:
    """Start an empty shadow with running jobs: their rows, shape (running,), and their starts."""
    count = len(running)
    jobs.queue.start[running] = start
    jobs.running[:count] = running
    jobs.queue.numbers[[COUNT, HEAD]] = jobs.state[RUNNING] = count
    jobs.state[HEADER:] -= jobs.queue.amount[running].sum(axis=0)


def lengthen(jobs: ShadowJobs, rows: int) -> ShadowJobs:
    """Return the same shadow with room for `rows` jobs."""
    made = open_shadow(jobs.state[HEADER:], 0, rows)
    before = len(jobs.running)
    for new, old in zip(made.queue[1:4], jobs.queue[1:4], strict=True):
        new[: len(old)] = old
    made.queue.columns[:, :before] = jobs.queue.columns
    made.queue.numbers[:] = jobs.queue.numbers
    made.running[:before] = jobs.running
    made.peaks[:before] = jobs.peaks
    return made._replace(state=jobs.state, closed=jobs.closed)


@compiled
def expect(jobs: ShadowJobs, row: int, duration: int) -> None:
    """Set a new predicted run time of a job."""
    jobs.queue.columns[PREDICTED, row] = duration
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
    queue = jobs.queue
    while True:
        time, unknown = next_event(jobs, arrived, guessed)
        if time > now or unknown <= time:
            return int(min(time, unknown))
        jobs.state[CLOCK] = time
        complete(jobs, time, guessed)
        while queue.numbers[COUNT] < arrived and queue.columns[SINCE, queue.numbers[COUNT]] <= time:
            append(queue)
        easy(jobs, time)


@compiled
def longest_since(jobs: ShadowJobs, since: int) -> int:
    """Return the longest wait in the shadow of jobs that wait or started since then, seconds.

    `since` must never fall between calls: jobs that started before are removed.
    """
    state = jobs.state
    peaks = jobs.peaks
    queue = jobs.queue
    longest = 0
    start = queue.start
    submit = queue.columns[SUBMIT]
    while state[PEAK] < state[PEAKS] and start[peaks[state[PEAK]]] < since:
        state[PEAK] += 1
    if state[PEAK] < state[PEAKS]:
        longest = start[peaks[state[PEAK]]] - submit[peaks[state[PEAK]]]
    if queue.numbers[HEAD] < queue.numbers[COUNT]:
        longest = max(longest, state[CLOCK] - submit[queue.numbers[HEAD]])
    return int(longest)


@compiled
def next_event(jobs: ShadowJobs, arrived: int, guessed: IntArray) -> tuple[int, int]:
    """Return the next arrival or end in the shadow, and the earliest end that is unknown."""
    queue = jobs.queue
    state = jobs.state
    running = jobs.running
    clock = state[CLOCK]
    time = NEVER
    unknown = NEVER
    if queue.numbers[COUNT] < arrived:
        time = queue.columns[SINCE, queue.numbers[COUNT]]
    window = _window(jobs, clock)
    if queue.numbers[HEAD] < queue.numbers[COUNT] and window < len(jobs.closed):
        time = min(time, jobs.closed[window, 1])
    for index in range(state[RUNNING]):
        row = running[index]
        end = max(queue.start[row] + _stay(queue.columns, row, guessed), clock)
        if queue.columns[KNOWN, row] or len(guessed) > 0:
            time = min(time, end)
        else:
            unknown = min(unknown, end)
    return time, unknown


@compiled
def _window(jobs: ShadowJobs, now: int) -> int:
    """Return the first closure that is not over, as a row of `closed`."""
    window = 0
    while window < len(jobs.closed) and jobs.closed[window, 1] <= now:
        window += 1
    return window


@compiled
def _stay(columns: IntArray, row: int, guessed: IntArray) -> int:
    """Return the run time of a job, or without guesses its lower bound, seconds."""
    run = columns[RUNTIME, row]
    duration = columns[PREDICTED, row]
    if columns[KNOWN, row] or len(guessed) == 0:
        return int(run)
    guess = guessed[row] if guessed[row] > 0 else duration
    if run < guess:
        return int(guess)
    return int(min(2 * run, duration) if run < duration else 2 * run)


@compiled
def complete(jobs: ShadowJobs, time: int, guessed: IntArray) -> None:
    """End the jobs that end by `time`."""
    queue = jobs.queue
    state = jobs.state
    running = jobs.running
    kept = 0
    for index in range(state[RUNNING]):
        row = running[index]
        certain = queue.columns[KNOWN, row] or len(guessed) > 0
        if certain and queue.start[row] + _stay(queue.columns, row, guessed) <= time:
            for resource in range(queue.amount.shape[1]):
                state[HEADER + resource] += queue.amount[row, resource]
        else:
            running[kept] = row
            kept += 1
    state[RUNNING] = kept


@compiled
def easy(jobs: ShadowJobs, now: int) -> None:
    """Start jobs from the head of the queue, then those that do not delay the first one that does not fit."""
    queue = jobs.queue
    state = jobs.state
    running = jobs.running
    scratch = jobs.scratch
    free = state[HEADER:].copy()
    if next_allowed(queue, queue.numbers[HEAD], free, free, NEVER, PREDICTED) == queue.numbers[COUNT]:
        return
    _sort(jobs)
    count = state[RUNNING]
    for index in range(count):
        row = running[index]
        scratch[0, count - 1 - index] = queue.start[row] + queue.columns[PREDICTED, row]
        scratch[1, count - 1 - index] = row
    nothing = queue.amount[:0]
    room = Room(free, scratch[0], scratch[1], nothing, np.empty_like(free), scratch[2], jobs.closed, _window(jobs, now))
    chosen = backfill(queue, room, count, now, False, PREDICTED)
    for index in range(chosen):
        _put_on_machine(jobs, scratch[2, index], now)


@compiled
def _sort(jobs: ShadowJobs) -> None:
    """Sort running jobs by predicted end. Only new predictions can be out of order."""
    running = jobs.running
    start = jobs.queue.start
    duration = jobs.queue.columns[PREDICTED]
    for index in range(1, jobs.state[RUNNING]):
        row = running[index]
        end, place = start[row] + duration[row], index
        while place > 0 and start[running[place - 1]] + duration[running[place - 1]] > end:
            running[place] = running[place - 1]
            place -= 1
        running[place] = row


@compiled
def start_job(jobs: ShadowJobs, row: int, now: int) -> None:
    """Start a waiting job that fits."""
    leave(jobs.queue, row, now)
    _put_on_machine(jobs, row, now)


@compiled
def _put_on_machine(jobs: ShadowJobs, row: int, now: int) -> None:
    """Run a job that has left the queue."""
    queue, state = jobs.queue, jobs.state
    queue.start[row] = now
    jobs.running[state[RUNNING]] = row
    state[RUNNING] += 1
    for resource in range(queue.amount.shape[1]):
        state[HEADER + resource] -= queue.amount[row, resource]
    if len(jobs.peaks):
        _rise(jobs, row)


@compiled
def _rise(jobs: ShadowJobs, row: int) -> None:
    """Append a starting job to the peaks, after removing those that did not wait longer."""
    state = jobs.state
    peaks = jobs.peaks
    start = jobs.queue.start
    submit = jobs.queue.columns[SUBMIT]
    wait = start[row] - submit[row]
    while state[PEAK] < state[PEAKS]:
        last = peaks[state[PEAKS] - 1]
        if start[last] - submit[last] > wait:
            break
        state[PEAKS] -= 1
    peaks[state[PEAKS]] = row
    state[PEAKS] += 1
