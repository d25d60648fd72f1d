"""What EASY would have done with the same jobs: a second schedule, as far as run times are known or guessed."""

from __future__ import annotations

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

#: The column behind those of the queue: 1 where the job has ended in reality, so that its run time is known.
KNOWN = 6
#: Entries of `ShadowJobs.state`.
RUNNING, CLOCK, PEAK, PEAKS = range(4)
#: Where the free amounts begin in it.
HEADER = 4


class ShadowJobs(NamedTuple):
    """The jobs in the order in which they came, and where the shadow stands; times in seconds.

    Attributes
    ----------
    queue
        The jobs, of which as many count as have arrived in the shadow: submission, when the wait begins; when the job
        was first seen, which does not fall; predicted run time, at least 1; what is known of the run time: where
        `known`, the run time itself, else it is longer than this; and the start in the shadow.
    running
        Jobs that run in the shadow, in order of their predicted end, in the first entries, shape (jobs,).
    peaks
        Jobs that have started in the shadow, in this order, of which each has waited longer than all that started after
        it, shape (jobs,); or (0,) where they are not asked for. In the entries from `PEAK` to `PEAKS` of `state`.
    scratch
        Room to decide in, shape (3, jobs + 1).
    state
        How many run; the clock; where the peaks begin and end; then the free amounts.
    closed
        Begins and ends between which the whole machine is closed, by begin, seconds, shape (windows, 2).
    """

    queue: JobQueue
    running: IntArray
    peaks: IntArray
    scratch: IntArray
    state: IntArray
    closed: IntArray

    @property
    def submit(self) -> IntArray:
        """When the waits begin, shape (jobs,)."""
        return cast(IntArray, self.queue.columns[SUBMIT])

    @property
    def arrival(self) -> IntArray:
        """When the jobs were first seen, shape (jobs,)."""
        return cast(IntArray, self.queue.columns[SINCE])

    @property
    def duration(self) -> IntArray:
        """Predicted run times, shape (jobs,)."""
        return cast(IntArray, self.queue.columns[PREDICTED])

    @property
    def run(self) -> IntArray:
        """What is known of the run times, shape (jobs,)."""
        return cast(IntArray, self.queue.columns[RUNTIME])

    @property
    def known(self) -> IntArray:
        """Whether the run times are known, shape (jobs,)."""
        return cast(IntArray, self.queue.columns[KNOWN])


def open_shadow(capacity: IntArray, now: int, rows: int = 0) -> ShadowJobs:
    """Return a shadow that begins at `now`, with room for so many jobs, on a machine of these amounts."""
    state = np.zeros(HEADER + len(capacity), dtype=np.int64)
    state[CLOCK] = now
    state[HEADER:] = capacity
    queue, none = open_queue(rows, len(capacity), 1), np.zeros(rows, dtype=np.int64)
    queue.start[:] = WAITS
    return ShadowJobs(queue, none, none.copy(), np.zeros((3, rows + 1), dtype=np.int64), state, NEVER_CLOSED)


def begin_with(jobs: ShadowJobs, running: IntArray, start: IntArray) -> None:
    """Let a shadow without jobs begin with what runs: its first rows, shape (running,), and when they started."""
    count = len(running)
    jobs.queue.start[running], jobs.running[:count] = start, running
    jobs.queue.numbers[[COUNT, HEAD]] = jobs.state[RUNNING] = count
    jobs.state[HEADER:] -= jobs.queue.amount[running].sum(axis=0)


def lengthen(jobs: ShadowJobs, rows: int) -> ShadowJobs:
    """Return the same shadow with room for so many jobs."""
    made, before = open_shadow(jobs.state[HEADER:], 0, rows), len(jobs.running)
    for new, old in zip(made.queue[1:4], jobs.queue[1:4], strict=True):
        new[: len(old)] = old
    made.queue.columns[:, :before], made.queue.numbers[:] = jobs.queue.columns, jobs.queue.numbers
    made.running[:before], made.peaks[:before] = jobs.running, jobs.peaks
    return made._replace(state=jobs.state, closed=jobs.closed)


@compiled
def expect(jobs: ShadowJobs, row: int, duration: int) -> None:
    """Predict another run time of a job."""
    jobs.queue.columns[PREDICTED, row] = duration
    expect_length(jobs.queue, row)


@compiled
def replay(jobs: ShadowJobs, arrived: int, now: int) -> int:
    """Bring the shadow forward, to `now` at most; return when the next thing may happen.

    It goes on to the next arrival or end while that end is known: it stops at the first instant at which a job may have
    ended that in reality runs or waits. So what it says is exact, but may lag behind.
    """
    return go_on(jobs, arrived, now, jobs.running[:0])


@compiled
def go_on(jobs: ShadowJobs, arrived: int, now: int, guessed: IntArray) -> int:
    """Bring the shadow forward, and do not stop where run times are not known but guessed; as :func:`replay` else.

    Guesses say how long jobs run that have not ended in reality, seconds, shape (jobs,), 0 for as long as predicted;
    who has outlived a guess is taken to run as long again, but for the prediction. Without any, shape (0,), it stops.

    Returns
    -------
    When the next thing may happen: if that is later than now, the shadow is where EASY is.
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
    """Return the longest wait in the shadow of those that wait or have started since then, seconds.

    To be asked for times that do not fall: who started before is forgotten.
    """
    state, peaks, queue, longest = jobs.state, jobs.peaks, jobs.queue, 0
    start, submit = queue.start, queue.columns[SUBMIT]
    while state[PEAK] < state[PEAKS] and start[peaks[state[PEAK]]] < since:
        state[PEAK] += 1
    if state[PEAK] < state[PEAKS]:
        longest = start[peaks[state[PEAK]]] - submit[peaks[state[PEAK]]]
    if queue.numbers[HEAD] < queue.numbers[COUNT]:
        longest = max(longest, state[CLOCK] - submit[queue.numbers[HEAD]])
    return int(longest)


@compiled
def next_event(jobs: ShadowJobs, arrived: int, guessed: IntArray) -> tuple[int, int]:
    """Return the next arrival or end in the shadow, and when one that is not known may come at the earliest."""
    queue, state, running = jobs.queue, jobs.state, jobs.running
    clock, time, unknown = state[CLOCK], NEVER, NEVER
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
    """Return the first of the times at which all is closed that is not over."""
    window = 0
    while window < len(jobs.closed) and jobs.closed[window, 1] <= now:
        window += 1
    return window


@compiled
def _stay(columns: IntArray, row: int, guessed: IntArray) -> int:
    """Return how long a job runs, or at least runs where nothing is guessed, seconds."""
    run, duration = columns[RUNTIME, row], columns[PREDICTED, row]
    if columns[KNOWN, row] or len(guessed) == 0:
        return int(run)
    guess = guessed[row] if guessed[row] > 0 else duration
    if run < guess:
        return int(guess)
    return int(min(2 * run, duration) if run < duration else 2 * run)


@compiled
def complete(jobs: ShadowJobs, time: int, guessed: IntArray) -> None:
    """Let those end that do by then."""
    queue, state, running, kept = jobs.queue, jobs.state, jobs.running, 0
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
    """Start from the head of the queue, then those that do not delay the first job that does not fit."""
    queue, state, running, scratch = jobs.queue, jobs.state, jobs.running, jobs.scratch
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
    """Put those that run into the order of their predicted end: they are, but for what has been predicted anew."""
    running, start, duration = jobs.running, jobs.queue.start, jobs.queue.columns[PREDICTED]
    for index in range(1, jobs.state[RUNNING]):
        row = running[index]
        end, place = start[row] + duration[row], index
        while place > 0 and start[running[place - 1]] + duration[running[place - 1]] > end:
            running[place] = running[place - 1]
            place -= 1
        running[place] = row


@compiled
def start_job(jobs: ShadowJobs, row: int, now: int) -> None:
    """Start a waiting job for which there is room."""
    leave(jobs.queue, row, now)
    _put_on_machine(jobs, row, now)


@compiled
def _put_on_machine(jobs: ShadowJobs, row: int, now: int) -> None:
    """Let a job run that has left the queue."""
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
    """Put a job that starts behind those that have waited longer, in the place of those that have not."""
    state, peaks, start, submit = jobs.state, jobs.peaks, jobs.queue.start, jobs.queue.columns[SUBMIT]
    wait = start[row] - submit[row]
    while state[PEAK] < state[PEAKS]:
        last = peaks[state[PEAKS] - 1]
        if start[last] - submit[last] > wait:
            break
        state[PEAKS] -= 1
    peaks[state[PEAKS]] = row
    state[PEAKS] += 1
