"""Look-ahead over a whole trace on a pool, compiled: events, history, plans and starts without an object a job.

For simulations in which nobody else has a say. What is seen, planned and started is as in
:class:`.dispatchers.lookahead.Lookahead`, by the same models.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...base import FloatArray, IntArray
from ..backfilling.job_queue import COUNT, NEVER, PREDICTED, WAITING, WALLTIME, waiting_rows
from ..compiled import compiled
from ..events.events import (
    RUNNING,
    Events,
    advance,
    correct,
    next_instant,
    note,
    open_events,
    running_rows,
    start,
)
from .choosing import look_ahead
from .expected_shadow import ExpectedShadow, longest_wait, open_expected, predict
from .guarantees import Settings, settle
from .shadow import ShadowJobs, open_shadow
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
        The jobs that come, wait and run.
    seen, numbers
        Who waited and ran at the last decision, shape (2, jobs), and how far the history is.
    shadow, expected, known
        The schedule of EASY beside this one, what is expected of it, and what was seen of the jobs.
    """

    events: Events
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
        Jobs planned, amounts they ask for, amounts that are free, jobs with a guarantee, how it came about, and whether
        predictions were not trusted; shape (decisions, 6).
    values
        The objective, and the wait after which a job is to have started, seconds, below 0 for none; shape
        (decisions, 2).
    """

    counts: IntArray
    planned: IntArray
    values: FloatArray


def whole_lookahead(
    submit: IntArray, runtime: IntArray, predicted: IntArray, walltime: IntArray, amount: IntArray, capacity: IntArray
) -> WholeLookahead:
    """Return a trace before its first instant.

    Parameters
    ----------
    submit, runtime, predicted, walltime
        Of the jobs, in order of their submission: when they come, how long they stay on the machine, how long they are
        predicted to, and what they request, seconds; shape (jobs,).
    amount
        Amounts, at most all there is, shape (jobs, resources).
    capacity
        Of the pool, shape (resources,).
    """
    count = len(submit)
    begin = int(submit[0]) if count else 0
    shadow = open_shadow(capacity, begin, count)
    shadow.submit[:], shadow.arrival[:], shadow.duration[:] = submit, submit, predicted
    shadow.queue.amount[:], shadow.run[:] = amount, 1
    return WholeLookahead(
        events=open_events(submit, runtime, predicted, np.maximum(walltime, 1), amount, capacity),
        seen=np.zeros((2, count), dtype=np.int64),
        numbers=np.array([0, 0, 0, begin, 0], dtype=np.int64),
        shadow=shadow,
        expected=open_expected(shadow, capacity),
        known=Sightings(*np.zeros((4, count), dtype=np.int64)),
    )


@compiled
def run_look_ahead(
    events: Events, until: int, decisions: IntArray, ended: IntArray, settings: Settings
) -> tuple[int, int]:
    """Go through instants under look-ahead with settled settings; see :func:`.run_in_order`."""
    rows, gone, now, numbers = 0, 0, next_instant(events), events.queue.numbers
    while now < until and rows < len(decisions) and gone + numbers[RUNNING] < len(ended):
        gone = advance(events, now, ended, gone)
        if numbers[WAITING] > 0:
            correct(events, now)
            note(events, now, decisions[rows])
            waits = waiting_rows(events.queue)
            starts = look_ahead(events, now, settings, waits).starts
            for place in starts:
                start(events, waits[place], now)
            decisions[rows, 3] = len(starts)
            rows += 1
        now = next_instant(events)
    return rows, gone


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
    rows, gone, events = 0, 0, trace.events
    now, numbers = next_instant(events), events.queue.numbers
    while now < NEVER and rows < len(decided.counts) and gone + numbers[RUNNING] < len(ended):
        gone = advance(events, now, ended, gone)
        if numbers[WAITING] > 0:
            waits = waiting_rows(events.queue)
            longest = _see(trace, now, waits, recent)
            _decide(trace, now, waits, settle(settings, patience, longest), decided, rows)
            rows += 1
        now = next_instant(events)
    return rows, gone


@compiled
def _see(trace: WholeLookahead, now: int, waits: IntArray, recent: int) -> int:
    """Take note of who waits and runs; return the longest wait under EASY of late, known or expected, seconds."""
    numbers, columns = trace.numbers, trace.events.queue.columns
    runs = running_rows(trace.events)
    waited, ran = trace.seen[_WAITED, : numbers[_LAST_WAITING]], trace.seen[_RAN, : numbers[_LAST_RUNNING]]
    last = Seen(waited, ran, numbers[_LAST], numbers[_DECISIONS])
    numbers[_DECISIONS] += 1
    seen = Seen(waits, runs, now, numbers[_DECISIONS])
    begun, end = trace.events.queue.start[runs], trace.events.queue.start[runs] + columns[PREDICTED][runs]
    see_jobs(trace.shadow, trace.known, last, seen, numbers[_STILL], columns[PREDICTED][waits], begun, end)
    numbers[_LAST_WAITING], numbers[_LAST_RUNNING], numbers[_LAST] = len(waits), len(runs), now
    trace.seen[_WAITED, : len(waits)] = waits
    trace.seen[_RAN, : len(runs)] = runs
    predict(trace.shadow, trace.expected, waits, columns[PREDICTED][waits], columns[WALLTIME][waits])
    return longest_wait(trace.shadow, trace.expected, trace.events.queue.numbers[COUNT], now, recent)


@compiled
def _decide(trace: WholeLookahead, now: int, waits: IntArray, settings: Settings, decided: Decided, row: int) -> None:
    """Choose who starts, start them, take note of it, and tell of it."""
    events, numbers, known = trace.events, trace.numbers, trace.known
    counts, planned, values = decided.counts[row], decided.planned[row], decided.values[row]
    note(events, now, counts)
    planned[2] = events.amounts[0].sum()
    choice = look_ahead(events, now, settings, waits)
    planned[0], planned[1], planned[3], planned[4], planned[5] = choice.planned
    values[0], values[1] = choice.objective, settings.due
    for place in choice.starts:
        job = waits[place]
        start(events, job, now)
        known.status[job], known.start[job] = RUNS, now
        known.end[job] = now + events.queue.columns[PREDICTED, job]
        trace.seen[_RAN, numbers[_LAST_RUNNING]] = job
        numbers[_LAST_RUNNING] += 1
    numbers[_STILL] = len(waits) - len(choice.starts)
    counts[3] = len(choice.starts)
