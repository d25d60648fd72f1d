"""What EASY would have done with the same jobs: a second schedule, as far as run times are known or guessed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...base import IntArray
from ..compiled import compiled
from ..scheduling.pool_events import NEVER

#: Entries of `ShadowJobs.state`.
COUNTED, HEAD, RUNNING, CLOCK, PEAK, PEAKS = range(6)
#: Where the free amounts begin in it.
HEADER = 6
#: Jobs of which the least duration and the least amounts are known together.
BLOCK = 64


class ShadowJobs(NamedTuple):
    """The jobs in the order in which they came, and where the shadow stands; times in seconds.

    Attributes
    ----------
    submit, arrival
        When the wait begins, and when the job was first seen, which does not fall; shape (jobs,).
    duration
        Predicted run time, at least 1, shape (jobs,).
    need
        Amounts the whole job asks for, shape (jobs, resources).
    run
        What is known of the run time, shape (jobs,): where `known`, the run time itself, else it is longer than this.
    known
        1 where the job has ended in reality, shape (jobs,).
    start
        When the job started in the shadow, -1 if it has not, shape (jobs,).
    running
        Jobs that run in the shadow, in order of their predicted end, in the first entries, shape (jobs,).
    peaks
        Jobs that have started in the shadow, in this order, of which each has waited longer than all that started after
        it, shape (jobs,); or (0,) where nobody asks for them. In the entries from `PEAK` to `PEAKS` of `state`.
    least
        No job of a block that waits asks for less, nor is predicted to run for less, shape (blocks, resources + 1).
    state
        How many have arrived; the first one that waits; how many run; the clock; where the peaks begin and end; then
        the free amounts.
    """

    submit: IntArray
    arrival: IntArray
    duration: IntArray
    need: IntArray
    run: IntArray
    known: IntArray
    start: IntArray
    running: IntArray
    peaks: IntArray
    least: IntArray
    state: IntArray


def open_shadow(capacity: IntArray, now: int) -> ShadowJobs:
    """Return a shadow that begins at `now`, without jobs, on a machine of these amounts, shape (resources,)."""
    none = np.zeros(0, dtype=np.int64)
    state = np.zeros(HEADER + len(capacity), dtype=np.int64)
    state[CLOCK] = now
    state[HEADER:] = capacity
    need, least = (np.zeros((0, width), dtype=np.int64) for width in (len(capacity), len(capacity) + 1))
    return ShadowJobs(none, none, none, need, none, none, none, none, none, least, state)


def begin_with(jobs: ShadowJobs, running: IntArray, start: IntArray) -> None:
    """Let a shadow without jobs begin with what runs: its first rows, shape (running,), and when they started."""
    count = len(running)
    jobs.start[running], jobs.running[:count] = start, running
    jobs.state[[COUNTED, HEAD, RUNNING]] = count
    jobs.state[HEADER:] -= jobs.need[running].sum(axis=0)


def lengthen(jobs: ShadowJobs, rows: int) -> ShadowJobs:
    """Return the same shadow with room for so many jobs."""
    submit, arrival, duration, need, run, known, start, running, peaks = (longer(column, rows) for column in jobs[:9])
    least = longer(jobs.least, rows // BLOCK + 1)
    return ShadowJobs(submit, arrival, duration, need, run, known, start, running, peaks, least, jobs.state)


def longer(column: IntArray, rows: int) -> IntArray:
    """Return a column with so many rows, zeros behind those that it has."""
    made = np.zeros((rows, *column.shape[1:]), dtype=column.dtype)
    made[: len(column)] = column
    return made


@compiled
def expect(jobs: ShadowJobs, job: int, duration: int) -> None:
    """Predict another run time of a job."""
    jobs.duration[job] = duration
    jobs.least[job // BLOCK, -1] = min(jobs.least[job // BLOCK, -1], duration)


@compiled
def replay(jobs: ShadowJobs, arrived: int, now: int) -> int:
    """Bring the shadow forward, to `now` at most; return when the next thing may happen.

    It goes on to the next arrival or end while that end is known: it stops at the first instant at which a job may have
    ended that in reality runs or waits. So what it says is exact, but may lag behind.
    """
    return go_on(jobs, arrived, now, jobs.run[:0])


@compiled
def go_on(jobs: ShadowJobs, arrived: int, now: int, guessed: IntArray) -> int:
    """Bring the shadow forward, and do not stop where run times are not known but guessed; as :func:`replay` else.

    Guesses say how long jobs run that have not ended in reality, seconds, shape (jobs,), 0 for as long as predicted;
    who has outlived a guess is taken to run as long again, but for the prediction. Without any, shape (0,), it stops.

    Returns
    -------
    When the next thing may happen: if that is later than now, the shadow is where EASY is.
    """
    state = jobs.state
    while True:
        time, unknown = next_event(jobs, arrived, guessed)
        if time > now or unknown <= time:
            return int(min(time, unknown))
        state[CLOCK] = time
        complete(jobs, time, guessed)
        while state[COUNTED] < arrived and jobs.arrival[state[COUNTED]] <= time:
            arrive(jobs, state[COUNTED])
            state[COUNTED] += 1
        easy(jobs, time)


@compiled
def longest_since(jobs: ShadowJobs, since: int) -> int:
    """Return the longest wait in the shadow of those that wait or have started since then, seconds.

    To be asked for times that do not fall: who started before is forgotten.
    """
    state, peaks, start, longest = jobs.state, jobs.peaks, jobs.start, 0
    while state[PEAK] < state[PEAKS] and start[peaks[state[PEAK]]] < since:
        state[PEAK] += 1
    if state[PEAK] < state[PEAKS]:
        longest = start[peaks[state[PEAK]]] - jobs.submit[peaks[state[PEAK]]]
    if state[HEAD] < state[COUNTED]:
        longest = max(longest, state[CLOCK] - jobs.submit[state[HEAD]])
    return int(longest)


@compiled
def next_event(jobs: ShadowJobs, arrived: int, guessed: IntArray) -> tuple[int, int]:
    """Return the next arrival or end in the shadow, and when one that is not known may come at the earliest."""
    state, start, known, running = jobs.state, jobs.start, jobs.known, jobs.running
    clock, time, unknown = state[CLOCK], NEVER, NEVER
    if state[COUNTED] < arrived:
        time = jobs.arrival[state[COUNTED]]
    for index in range(state[RUNNING]):
        job = running[index]
        end = max(start[job] + _stay(jobs, job, guessed), clock)
        if known[job] or len(guessed) > 0:
            time = min(time, end)
        else:
            unknown = min(unknown, end)
    return time, unknown


@compiled
def _stay(jobs: ShadowJobs, job: int, guessed: IntArray) -> int:
    """Return how long a job runs, or at least runs where nothing is guessed, seconds."""
    run, duration = jobs.run[job], jobs.duration[job]
    if jobs.known[job] or len(guessed) == 0:
        return int(run)
    guess = guessed[job] if guessed[job] > 0 else duration
    if run < guess:
        return int(guess)
    return int(min(2 * run, duration) if run < duration else 2 * run)


@compiled
def complete(jobs: ShadowJobs, time: int, guessed: IntArray) -> None:
    """Let those end that do by then."""
    state, running, kept = jobs.state, jobs.running, 0
    for index in range(state[RUNNING]):
        job = running[index]
        certain = jobs.known[job] or len(guessed) > 0
        if certain and jobs.start[job] + _stay(jobs, job, guessed) <= time:
            for resource in range(jobs.need.shape[1]):
                state[HEADER + resource] += jobs.need[job, resource]
        else:
            running[kept] = job
            kept += 1
    state[RUNNING] = kept


@compiled
def arrive(jobs: ShadowJobs, job: int) -> None:
    """Let a job wait, the last of those that have come: only what its block asks for at least is noted."""
    least, need = jobs.least[job // BLOCK], jobs.need
    if job % BLOCK == 0:
        least[:] = NEVER
    least[-1] = min(least[-1], jobs.duration[job])
    for resource in range(need.shape[1]):
        least[resource] = min(least[resource], need[job, resource])


@compiled
def easy(jobs: ShadowJobs, now: int) -> None:
    """Start from the head of the queue, then those that do not delay the first job that does not fit."""
    state = jobs.state
    free = state[HEADER:]
    while state[HEAD] < state[COUNTED]:
        job = state[HEAD]
        if jobs.start[job] < 0:
            if not _fits(jobs.need, job, free):
                break
            start_job(jobs, job, now)
        state[HEAD] += 1
    block, blocks = state[HEAD] // BLOCK, (state[COUNTED] - 1) // BLOCK + 1
    while block < blocks and not _fits(jobs.least, block, free):
        block += 1
    if state[HEAD] < state[COUNTED] and block < blocks:
        reserved, spare = _reserve(jobs, state[HEAD], now)
        for later in range(block, blocks):
            late = now + jobs.least[later, -1] > reserved
            if _fits(jobs.least, later, free) and (not late or _fits(jobs.least, later, spare)):
                _backfill(jobs, later, now, reserved, spare)


@compiled
def _backfill(jobs: ShadowJobs, block: int, now: int, reserved: int, spare: IntArray) -> None:
    """Start the jobs of a block that do not delay the head, and look anew what the others ask for at least."""
    state, start, duration, need, least = jobs.state, jobs.start, jobs.duration, jobs.need, jobs.least[block]
    free = state[HEADER:]
    least[:] = NEVER
    for job in range(block * BLOCK, min((block + 1) * BLOCK, state[COUNTED])):
        if start[job] >= 0:
            continue
        late = now + duration[job] > reserved
        if job > state[HEAD] and _fits(need, job, free) and (not late or _fits(need, job, spare)):
            if late:
                for resource in range(len(spare)):
                    spare[resource] -= need[job, resource]
            start_job(jobs, job, now)
            continue
        least[-1] = min(least[-1], duration[job])
        for resource in range(len(free)):
            least[resource] = min(least[resource], need[job, resource])


@compiled
def _reserve(jobs: ShadowJobs, blocked: int, now: int) -> tuple[int, IntArray]:
    """Return when, by the predictions, the blocked job will fit, and what is free then beside it."""
    need, running, resources = jobs.need, jobs.running, jobs.need.shape[1]
    _sort(jobs)
    spare = np.empty(resources, dtype=np.int64)
    for resource in range(resources):
        spare[resource] = jobs.state[HEADER + resource] - need[blocked, resource]
    reserved = now
    for index in range(jobs.state[RUNNING]):
        job = running[index]
        end = max(jobs.start[job] + jobs.duration[job], now + 1)
        if end > reserved and spare.min() >= 0:
            break
        reserved = end
        for resource in range(resources):
            spare[resource] += need[job, resource]
    return reserved, spare


@compiled
def _sort(jobs: ShadowJobs) -> None:
    """Put those that run into the order of their predicted end: they are, but for what has been predicted anew."""
    running, start, duration = jobs.running, jobs.start, jobs.duration
    for index in range(1, jobs.state[RUNNING]):
        job = running[index]
        end, place = start[job] + duration[job], index
        while place > 0 and start[running[place - 1]] + duration[running[place - 1]] > end:
            running[place] = running[place - 1]
            place -= 1
        running[place] = job


@compiled
def start_job(jobs: ShadowJobs, job: int, now: int) -> None:
    """Start a job for which there is room."""
    state = jobs.state
    jobs.start[job] = now
    jobs.running[state[RUNNING]] = job
    state[RUNNING] += 1
    for resource in range(jobs.need.shape[1]):
        state[HEADER + resource] -= jobs.need[job, resource]
    if len(jobs.peaks):
        _rise(jobs, job)


@compiled
def _rise(jobs: ShadowJobs, job: int) -> None:
    """Put a job that starts behind those that have waited longer, in the place of those that have not."""
    state, peaks, start, submit = jobs.state, jobs.peaks, jobs.start, jobs.submit
    wait = start[job] - submit[job]
    while state[PEAK] < state[PEAKS]:
        last = peaks[state[PEAKS] - 1]
        if start[last] - submit[last] > wait:
            break
        state[PEAKS] -= 1
    peaks[state[PEAKS]] = job
    state[PEAKS] += 1


@compiled
def _fits(need: IntArray, job: int, free: IntArray) -> bool:
    fits = True
    for resource in range(len(free)):
        fits = fits and need[job, resource] <= free[resource]
    return fits
