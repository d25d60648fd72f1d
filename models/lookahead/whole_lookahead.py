"""Look-ahead over a whole trace on a pool, compiled: events, history, plans and starts without an object a job.

For simulations in which nobody else has a say. What is seen, planned and started is as in
:class:`.dispatchers.lookahead.Lookahead`, by the same models.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...base import BoolArray, FloatArray, IntArray
from ..compiled import borrowing, compiled
from ..scheduling.selection import fitting
from .planning import plan
from .promises import Queue, Running, Settings, settle
from .shadow import NEVER, ShadowJobs, lengthen, open_shadow, replay
from .sightings import RUNS, Seen, Sightings, see_jobs

#: The rows of the jobs: when they come, how long they stay on the machine, how long they are predicted to, seconds; and
#: when they started.
_SUBMIT, _WORK, _LENGTH, STARTED = range(4)
#: The rows of the places: jobs that wait, in order of arrival; that run, by their end and by the predicted one; and who
#: waited and ran when last seen.
_WAITS, _ENDING, _RUNS, _WAITED, _RAN = range(5)
#: The numbers: how many jobs have come, wait and run; how many waited and ran when last seen, how many of those were
#: left waiting; the time of the last decision, and how many there were.
_ARRIVED, _WAITING, _RUNNING, _LAST_WAITING, _LAST_RUNNING, _STILL, _LAST, _DECISIONS = range(8)
#: How a decision came about, see :meth:`.Lookahead.report`: nobody fits, all do, by a list, by the local search.
NOBODY, ALL, LISTED, SEARCHED = range(4)


class WholeLookahead(NamedTuple):
    """The jobs of a simulation, and how far it is.

    Attributes
    ----------
    jobs
        In order of their submission, shape (4, jobs), with the row :data:`STARTED`, seconds.
    need
        Amounts, shape (jobs, resources).
    capacity, free
        Of the machine, and what is free of it, shape (resources,).
    places
        Jobs by what they do, shape (5, jobs).
    numbers
        How many jobs are where, and how far the history is.
    shadow, known
        The schedule of EASY beside this one, and what was seen of the jobs.
    """

    jobs: IntArray
    need: IntArray
    capacity: IntArray
    free: IntArray
    places: IntArray
    numbers: IntArray
    shadow: ShadowJobs
    known: Sightings


class Decided(NamedTuple):
    """What is told of decisions.

    Attributes
    ----------
    counts
        Time, jobs that wait and run before it, and that it starts; shape (decisions, 4).
    planned
        Jobs planned, amounts they ask for, amounts that are free, jobs with a promise, and how it came about; shape
        (decisions, 5).
    values
        The objective, and the wait after which a job is to have started, seconds, below 0 for none; shape
        (decisions, 2).
    """

    counts: IntArray
    planned: IntArray
    values: FloatArray


class Choice(NamedTuple):
    """Who starts now, in order, by the places in the queue, and what is told of it."""

    starts: IntArray
    planned: tuple[int, int, int, int]
    objective: float


def whole_lookahead(
    submit: IntArray, work: IntArray, length: IntArray, need: IntArray, capacity: IntArray
) -> WholeLookahead:
    """Return a trace before its first instant.

    Parameters
    ----------
    submit, work, length
        Of the jobs, in order of their submission: when they come, how long they stay on the machine, how long they are
        predicted to, seconds; shape (jobs,).
    need
        Amounts, at most all there is, shape (jobs, resources).
    capacity
        Of the pool, shape (resources,).
    """
    count, zeros = len(submit), np.zeros(len(submit), dtype=np.int64)
    begin = int(submit[0]) if count else 0
    shadow = lengthen(open_shadow(capacity, begin), count)
    for kept, given in zip(shadow[:4], (submit, submit, length, need), strict=True):
        kept[:] = given
    shadow.run[:], shadow.start[:] = 1, -1
    return WholeLookahead(
        jobs=np.stack((submit, work, length, zeros)),
        need=np.ascontiguousarray(need),
        capacity=np.maximum(capacity, 1),
        free=capacity.copy(),
        places=np.zeros((5, count), dtype=np.int64),
        numbers=np.array([0, 0, 0, 0, 0, 0, begin, 0], dtype=np.int64),
        shadow=shadow,
        known=Sightings(*(zeros.copy() for _ in range(4))),
    )


@compiled
def go_on_looking_ahead(
    trace: WholeLookahead, settings: Settings, patience: float, decided: Decided, ended: IntArray
) -> tuple[int, int]:
    """Go through instants: completions, then arrivals, then one decision if anybody waits.

    Parameters
    ----------
    trace
        Brought forward.
    settings, patience
        How to plan, as for :func:`.settle`.
    decided
        Filled.
    ended
        Filled: the jobs that ended, in this order; longer than the number of jobs that may run at once.

    Returns
    -------
    How many decisions and ended jobs there are; nothing is left to come if there are none.
    """
    numbers, jobs, places, rows, gone = trace.numbers, trace.jobs, trace.places, 0, 0
    while rows < len(decided.counts) and gone + numbers[_RUNNING] < len(ended):
        now = NEVER
        if numbers[_ARRIVED] < jobs.shape[1]:
            now = jobs[_SUBMIT, numbers[_ARRIVED]]
        if numbers[_RUNNING] > 0:
            now = min(now, _end_of(jobs, places[_ENDING, numbers[_RUNNING] - 1]))
        if now == NEVER:
            break
        while numbers[_RUNNING] > 0 and _end_of(jobs, places[_ENDING, numbers[_RUNNING] - 1]) == now:
            ended[gone] = places[_ENDING, numbers[_RUNNING] - 1]
            _end(trace, ended[gone])
            gone += 1
        while numbers[_ARRIVED] < jobs.shape[1] and jobs[_SUBMIT, numbers[_ARRIVED]] == now:
            places[_WAITS, numbers[_WAITING]] = numbers[_ARRIVED]
            numbers[_ARRIVED] += 1
            numbers[_WAITING] += 1
        if numbers[_WAITING] > 0:
            _decide(trace, now, settings, patience, decided, rows)
            rows += 1
    return rows, gone


@borrowing
def _end_of(jobs: IntArray, job: int) -> int:
    return int(jobs[STARTED, job] + jobs[_WORK, job])


@borrowing
def _expected_end(jobs: IntArray, job: int) -> int:
    return int(jobs[STARTED, job] + jobs[_LENGTH, job])


@borrowing
def _end(trace: WholeLookahead, job: int) -> None:
    """Take the job that ends first off the machine."""
    numbers, runs, index = trace.numbers, trace.places[_RUNS], 0
    while runs[index] != job:
        index += 1
    numbers[_RUNNING] -= 1
    for later in range(index, numbers[_RUNNING]):
        runs[later] = runs[later + 1]
    for resource in range(len(trace.free)):
        trace.free[resource] += trace.need[job, resource]


@compiled
def _decide(trace: WholeLookahead, now: int, settings: Settings, patience: float, decided: Decided, row: int) -> None:
    """See who waits and runs, choose who starts, start them, and tell of it."""
    numbers, waits = trace.numbers, trace.places[_WAITS, : trace.numbers[_WAITING]].copy()
    _see(trace, now, waits)
    settings = settle(settings, patience, replay(trace.shadow, numbers[_ARRIVED], now))
    counts, planned, values = decided.counts[row], decided.planned[row], decided.values[row]
    counts[0], counts[1], counts[2] = now, numbers[_WAITING], numbers[_RUNNING]
    planned[2] = trace.free.sum()
    choice = _choose(trace, now, settings, waits)
    planned[0], planned[1], planned[3], planned[4] = choice.planned
    values[0], values[1] = choice.objective, settings.due
    left = np.ones(len(waits), dtype=np.bool_)
    for place in choice.starts:
        left[place] = False
        _start(trace, waits[place], now)
    numbers[_WAITING] = 0
    for place in range(len(waits)):
        if left[place]:
            trace.places[_WAITS, numbers[_WAITING]] = waits[place]
            numbers[_WAITING] += 1
    numbers[_STILL] = numbers[_WAITING]
    counts[3] = len(choice.starts)


@compiled
def _see(trace: WholeLookahead, now: int, waits: IntArray) -> None:
    """Take note of who waits and runs."""
    numbers, places, jobs = trace.numbers, trace.places, trace.jobs
    runs = places[_RUNS, : numbers[_RUNNING]].copy()
    waited, ran = places[_WAITED, : numbers[_LAST_WAITING]], places[_RAN, : numbers[_LAST_RUNNING]]
    last = Seen(waited, ran, numbers[_LAST], numbers[_DECISIONS])
    numbers[_DECISIONS] += 1
    seen = Seen(waits, runs, now, numbers[_DECISIONS])
    start, length = jobs[STARTED][runs], jobs[_LENGTH][runs]
    see_jobs(trace.shadow, trace.known, last, seen, numbers[_STILL], jobs[_LENGTH][waits], start, start + length)
    numbers[_LAST_WAITING], numbers[_LAST_RUNNING], numbers[_LAST] = len(waits), len(runs), now
    places[_WAITED, : len(waits)] = waits
    places[_RAN, : len(runs)] = runs


@compiled
def _choose(trace: WholeLookahead, now: int, settings: Settings, waits: IntArray) -> Choice:
    """Start everybody if there is room, else who is planned to start now; no plan if nobody fits."""
    need, nothing = trace.need[waits], np.zeros(0, dtype=np.int64)
    fits, count, together = fitting(need, trace.free)
    if not count:
        return Choice(nothing, (0, 0, 0, NOBODY), np.nan)
    if together:
        return Choice(np.arange(len(waits)), (len(waits), need.sum(), 0, ALL), 0.0)
    runs = trace.places[_RUNS, : trace.numbers[_RUNNING]]
    ends = np.empty(len(runs), dtype=np.int64)
    for index in range(len(runs)):
        ends[index] = max(_expected_end(trace.jobs, runs[index]) - now, 1)
    queue = Queue(now - trace.jobs[_SUBMIT][waits], trace.jobs[_LENGTH][waits], need, fits)
    found = plan(queue, Running(ends, trace.need[runs], trace.free.copy(), trace.capacity), settings)
    starts = _with_room(found.start, need, trace.free.copy())
    if not len(starts) and not len(runs):
        # Nothing else will happen: the first that fits may not wait.
        starts = _first(fits)
    told = found.candidates, int(found.requested), int(found.promises), SEARCHED if found.searched else LISTED
    return Choice(starts, told, found.objective)


@compiled
def _with_room(places: IntArray, need: IntArray, free: IntArray) -> IntArray:
    """Return those for whom there is room, one after the other."""
    kept = np.empty(len(places), dtype=np.int64)
    count = 0
    for place in places:
        if (need[place] <= free).all():
            free -= need[place]
            kept[count] = place
            count += 1
    return kept[:count]


@compiled
def _first(fits: BoolArray) -> IntArray:
    first = np.zeros(1, dtype=np.int64)
    first[0] = fits.argmax()
    return first


@borrowing
def _start(trace: WholeLookahead, job: int, now: int) -> None:
    """Put a job on the machine, and take note of it."""
    numbers, places, known, jobs = trace.numbers, trace.places, trace.known, trace.jobs
    jobs[STARTED, job] = now
    end, expected, some = _end_of(jobs, job), _expected_end(jobs, job), numbers[_RUNNING]
    ending, runs, later, at = places[_ENDING], places[_RUNS], some, some
    while later > 0 and _end_of(jobs, ending[later - 1]) <= end:
        ending[later] = ending[later - 1]
        later -= 1
    while at > 0 and _expected_end(jobs, runs[at - 1]) > expected:
        runs[at] = runs[at - 1]
        at -= 1
    ending[later], runs[at] = job, job
    numbers[_RUNNING] += 1
    for resource in range(len(trace.free)):
        trace.free[resource] -= trace.need[job, resource]
    known.status[job], known.start[job], known.end[job] = RUNS, now, expected
    places[_RAN, numbers[_LAST_RUNNING]] = job
    numbers[_LAST_RUNNING] += 1
