"""Look-ahead over a whole trace on a pool, compiled: events, history, plans and starts without an object a job.

For simulations in which nobody else has a say. What is seen, planned and started is as in
:class:`.dispatchers.lookahead.Lookahead`, by the same models.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...base import FloatArray, IntArray
from ..compiled import compiled
from ..scheduling.pool_events import (
    ARRIVED,
    LENGTH,
    NEVER,
    RUNNING,
    STARTED,
    PoolEvents,
    end_one,
    expected_end,
    let_arrive,
    next_instant,
    pool_events,
    running_jobs,
    start_of,
    waiting_jobs,
)
from .choosing import look_ahead
from .expected_shadow import ExpectedShadow, longest_wait, open_expected, predict
from .promises import Settings, settle
from .shadow import ShadowJobs, lengthen, open_shadow
from .sightings import RUNS, Seen, Sightings, see_jobs

#: The rows of the jobs when last seen: who waited and who ran.
_WAITED, _RAN = range(2)
#: The numbers: how many jobs waited and ran when last seen, how many of those were left waiting; the time of the last
#: decision, and how many there were.
_LAST_WAITING, _LAST_RUNNING, _STILL, _LAST, _DECISIONS = range(5)


class WholeLookahead(NamedTuple):
    """The jobs of a simulation, and how far it is.

    Attributes
    ----------
    events
        Who comes, waits and runs.
    asked
        Requested times, seconds, shape (jobs,).
    seen, numbers
        Who waited and ran at the last decision, shape (2, jobs), and how far the history is.
    shadow, expected, known
        The schedule of EASY beside this one, what is expected of it, and what was seen of the jobs.
    """

    events: PoolEvents
    asked: IntArray
    seen: IntArray
    numbers: IntArray
    shadow: ShadowJobs
    expected: ExpectedShadow
    known: Sightings


class Decided(NamedTuple):
    """What is told of decisions.

    Attributes
    ----------
    counts
        Time, jobs that wait and run before it, and that it starts; shape (decisions, 4).
    planned
        Jobs planned, amounts they ask for, amounts that are free, jobs with a promise, how it came about, and whether
        predictions were not trusted; shape (decisions, 6).
    values
        The objective, and the wait after which a job is to have started, seconds, below 0 for none; shape
        (decisions, 2).
    """

    counts: IntArray
    planned: IntArray
    values: FloatArray


def whole_lookahead(
    submit: IntArray, work: IntArray, length: IntArray, asked: IntArray, need: IntArray, capacity: IntArray
) -> WholeLookahead:
    """Return a trace before its first instant.

    Parameters
    ----------
    submit, work, length, asked
        Of the jobs, in order of their submission: when they come, how long they stay on the machine, how long they are
        predicted to, and what they request, seconds; shape (jobs,).
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
        events=pool_events(submit, work, length, need, capacity),
        asked=np.maximum(asked, 1),
        seen=np.zeros((2, count), dtype=np.int64),
        numbers=np.array([0, 0, 0, begin, 0], dtype=np.int64),
        shadow=shadow,
        expected=open_expected(shadow, capacity),
        known=Sightings(*(zeros.copy() for _ in range(4))),
    )


@compiled
def go_on_looking_ahead(
    trace: WholeLookahead, settings: Settings, patience: float, recent: int, decided: Decided, ended: IntArray
) -> tuple[int, int]:
    """Go through instants: completions, then arrivals, then one decision if anybody waits.

    Parameters
    ----------
    trace
        Brought forward.
    settings, patience
        How to plan, as for :func:`.settle`.
    recent
        For how long a long wait under EASY counts, as for :func:`.longest_wait`.
    decided
        Filled.
    ended
        Filled: the jobs that ended, in this order; longer than the number of jobs that may run at once.

    Returns
    -------
    How many decisions and ended jobs there are; nothing is left to come if there are none.
    """
    # A plain 0 would be a type of its own, for which what decides is compiled as well.
    events, rows, gone = trace.events, int(np.int64(0)), 0
    while rows < len(decided.counts) and gone + events.counts[RUNNING] < len(ended):
        now = next_instant(events)
        if now == NEVER:
            break
        job = end_one(events, now)
        while job >= 0:
            ended[gone] = job
            gone += 1
            job = end_one(events, now)
        let_arrive(events, now)
        waits = waiting_jobs(events)
        if len(waits):
            longest = _see(trace, now, waits, recent)
            _decide(trace, now, waits, settle(settings, patience, longest), decided, rows)
            rows += 1
    return rows, gone


@compiled
def _see(trace: WholeLookahead, now: int, waits: IntArray, recent: int) -> int:
    """Take note of who waits and runs; return the longest wait under EASY of late, known or expected, seconds."""
    numbers, jobs = trace.numbers, trace.events.jobs
    runs = running_jobs(trace.events)
    waited, ran = trace.seen[_WAITED, : numbers[_LAST_WAITING]], trace.seen[_RAN, : numbers[_LAST_RUNNING]]
    last = Seen(waited, ran, numbers[_LAST], numbers[_DECISIONS])
    numbers[_DECISIONS] += 1
    seen = Seen(waits, runs, now, numbers[_DECISIONS])
    predicted, start, length = jobs[LENGTH][waits], jobs[STARTED][runs], jobs[LENGTH][runs]
    see_jobs(trace.shadow, trace.known, last, seen, numbers[_STILL], predicted, start, start + length)
    numbers[_LAST_WAITING], numbers[_LAST_RUNNING], numbers[_LAST] = len(waits), len(runs), now
    trace.seen[_WAITED, : len(waits)] = waits
    trace.seen[_RAN, : len(runs)] = runs
    predict(trace.shadow, trace.expected, waits, predicted, trace.asked[waits])
    return longest_wait(trace.shadow, trace.expected, trace.events.counts[ARRIVED], now, recent)


@compiled
def _decide(trace: WholeLookahead, now: int, waits: IntArray, settings: Settings, decided: Decided, row: int) -> None:
    """Choose who starts, start them, take note of it, and tell of it."""
    events, numbers, known = trace.events, trace.numbers, trace.known
    counts, planned, values = decided.counts[row], decided.planned[row], decided.values[row]
    counts[0], counts[1], counts[2] = now, len(waits), events.counts[RUNNING]
    planned[2] = events.free.sum()
    choice = look_ahead(events, trace.asked, now, settings, waits)
    planned[0], planned[1], planned[3], planned[4], planned[5] = choice.planned
    values[0], values[1] = choice.objective, settings.due
    start_of(events, waits, choice.starts, now)
    for place in choice.starts:
        job = waits[place]
        known.status[job], known.start[job], known.end[job] = RUNS, now, expected_end(events.jobs, job)
        trace.seen[_RAN, numbers[_LAST_RUNNING]] = job
        numbers[_LAST_RUNNING] += 1
    numbers[_STILL] = len(waits) - len(choice.starts)
    counts[3] = len(choice.starts)
