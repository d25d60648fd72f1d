"""Compiled event loop under look-ahead on a pool: start all jobs if they fit, else those planned to start."""

from typing import NamedTuple

import numpy as np

from ...base import BoolArray, FloatArray, IntArray
from ..backfilling.job_queue import count_rows, count_waiting, counted_jobs, waiting_rows
from ..compiled import compiled
from ..events.events import (
    Events,
    advance,
    correct,
    count_running,
    counted_amounts,
    expected_end,
    next_instant,
    note,
    running_rows,
    start,
)
from ..scheduling.selection import fitting
from .expected_shadow import ExpectedShadow, longest_wait, open_expected, predict
from .guarantees import MachineRoom, PlanSettings, Queue, Walltimes, doubts, settle, told_apart
from .planning import plan
from .shadow import ShadowJobs, open_shadow
from .sightings import RUNS, Seen, Sightings, see_jobs

#: Columns of a report, see :meth:`.Lookahead.report`. Status and origin are one of the codes below.
REPORTED = (
    "candidates",
    "intervals",
    "requested",
    "available",
    "status",
    "objective",
    "used",
    "guarantees",
    "literally",
    "due_hours",
)
_PLANNED, _INTERVALS, _REQUESTED, _AVAILABLE, _STATUS, _OBJECTIVE, _USED, _GUARANTEES, _LITERALLY, _DUE = range(10)
#: No job fits, all fit, from the list, from the local search.
NOBODY, ALL, LISTED, SEARCHED = range(4)
#: Numbers of :class:`SimulatedHistory`: jobs that waited and ran at the last decision, jobs that it left waiting, its
#: time and its number.
_WAITED, _RAN, _STILL, _LAST, _NUMBER = range(5)


class SimulatedHistory(NamedTuple):
    """History of a whole simulation. Rows are jobs in order of submission.

    Attributes
    ----------
    waiting, running
        Jobs that waited and ran at the last decision, in the first entries. Shape (jobs,).
    numbers
        State of the history.
    shadow, expected, known
        EASY's schedule of the jobs, expectations about it, and the states of the jobs.
    """

    waiting: IntArray
    running: IntArray
    numbers: IntArray
    shadow: ShadowJobs
    expected: ExpectedShadow
    known: Sightings


def open_past(
    submit: IntArray, predicted: IntArray, walltime: IntArray, amount: IntArray, capacity: IntArray
) -> SimulatedHistory:
    """Return the history before the first job.

    Parameters
    ----------
    submit, predicted, walltime
        Submission, prediction and walltime of the jobs, by submission, seconds. Shape (jobs,).
    amount, capacity
        Amounts of the jobs and of the pool. Shapes (jobs, resources) and (resources,).
    """
    count = len(submit)
    begin = int(submit[0]) if count else 0
    shadow = open_shadow(capacity, begin, count)
    shadow.submit[:] = submit
    shadow.arrival[:] = submit
    shadow.duration[:] = predicted
    shadow.run[:] = 1
    shadow.queue.jobs.walltime[:] = walltime
    shadow.queue.amount[:] = amount
    rows = np.zeros((6, count), dtype=np.int64)
    numbers = np.array([0, 0, 0, begin, 0], dtype=np.int64)
    return SimulatedHistory(rows[0], rows[1], numbers, shadow, open_expected(shadow, capacity), Sightings(*rows[2:]))


@compiled
def run_look_ahead(
    events: Events,
    until: int,
    decisions: IntArray,
    ended: IntArray,
    settings: PlanSettings,
    patience: float,
    recent: int,
    past: SimulatedHistory,
    reports: FloatArray,
) -> tuple[int, int]:
    """Simulate instants under look-ahead. See :func:`.run_in_order` for the other parameters.

    Parameters
    ----------
    settings, patience
        As for :func:`settle`. With a patience of 0 the settings are those of each decision, and there is no history.
    recent
        As for :func:`.longest_wait`.
    past
        History, updated.
    reports
        Receives the report of each decision, shape (decisions, 10). Later ones overwrite the last row.
    """
    rows = 0
    gone = 0
    now = next_instant(events)
    while now < until and rows < len(decisions) and gone + count_running(events) < len(ended):
        gone = advance(events, now, ended, gone)
        if count_waiting(events.queue) > 0:
            correct(events, now)
            note(events, now, decisions[rows])
            waits = waiting_rows(events.queue)
            present = settings
            if patience > 0:
                present = settle(settings, patience, _see(events, past, waits, now, recent))
            starts = look_ahead(events, now, present, waits, reports[min(rows, len(reports) - 1)])
            for place in starts:
                start(events, waits[place], now)
            if patience > 0:
                _remember(past, waits[starts], now, len(waits))
            decisions[rows, 3] = len(starts)
            rows += 1
        now = next_instant(events)
    return rows, gone


@compiled
def _see(events: Events, past: SimulatedHistory, waits: IntArray, now: int, recent: int) -> int:
    """Record waiting and running jobs. Return the longest recent wait under EASY, known or expected, seconds."""
    numbers = past.numbers
    jobs = counted_jobs(events.queue)
    runs = running_rows(events)
    last = Seen(past.waiting[: numbers[_WAITED]], past.running[: numbers[_RAN]], numbers[_LAST], numbers[_NUMBER])
    numbers[_NUMBER] += 1
    begun = events.queue.start[runs]
    predicted = jobs.predicted[waits]
    seen = Seen(waits, runs, now, numbers[_NUMBER])
    see_jobs(past.shadow, past.known, last, seen, numbers[_STILL], predicted, begun, begun + jobs.predicted[runs])
    past.waiting[: len(waits)] = waits
    past.running[: len(runs)] = runs
    numbers[_WAITED] = len(waits)
    numbers[_RAN] = len(runs)
    numbers[_LAST] = now
    predict(past.shadow, past.expected, waits, predicted, jobs.walltime[waits])
    return longest_wait(past.shadow, past.expected, count_rows(events.queue), now, recent)


@compiled
def _remember(past: SimulatedHistory, starts: IntArray, now: int, waiting: int) -> None:
    """Record which of the waiting jobs start now."""
    numbers, known, predicted = past.numbers, past.known, counted_jobs(past.shadow.queue).predicted
    for job in starts:
        known.status[job], known.start[job], known.end[job] = RUNS, now, now + predicted[job]
        past.running[numbers[_RAN]] = job
        numbers[_RAN] += 1
    numbers[_STILL] = waiting - len(starts)


@compiled
def look_ahead(events: Events, now: int, settings: PlanSettings, waits: IntArray, report: FloatArray) -> IntArray:
    """Return all waiting jobs if they fit, else those planned to start now. No plan if no job fits.

    Once predictions are not trusted, guaranteed starts use walltimes. Then no job starts that would delay one of them.

    Parameters
    ----------
    events, now, settings
        State of the simulation, time in seconds, and settings of the plan.
    waits
        Rows of the waiting jobs, shape (waiting,).
    report
        Receives the report, shape (10,).

    Returns
    -------
    Starting jobs in order, as positions in the queue, shape (starts,).
    """
    amount = events.queue.amount[waits]
    nothing = np.zeros(0, dtype=np.int64)
    jobs, amounts = counted_jobs(events.queue), counted_amounts(events)
    literally = doubts(settings, now - jobs.submit[waits[0]])
    fits, count, together = fitting(amount, amounts.free)
    report[:] = 0
    report[_INTERVALS] = count_running(events)
    report[_AVAILABLE] = amounts.free.sum()
    report[_LITERALLY] = literally
    report[_DUE] = settings.due / 3600 if settings.due >= 0 else np.inf
    if not count:
        report[_OBJECTIVE] = np.nan
        return nothing
    if together:
        report[_PLANNED] = len(waits)
        report[_REQUESTED] = amount.sum()
        report[_INTERVALS] += len(waits)
        report[_STATUS] = report[_USED] = ALL
        return np.arange(len(waits))
    runs = running_rows(events)
    queue = Queue(now - jobs.submit[waits], jobs.predicted[waits], amount, fits)
    running = MachineRoom(
        _ends(events, runs, now, False),
        events.queue.amount[runs],
        amounts.free.copy(),
        np.maximum(amounts.capacity, 1),
        nothing,
        nothing,
        queue.amount[:0],
    )
    walltimes = Walltimes(nothing, nothing, nothing)
    if literally:
        walltimes = told_apart(queue, running, Walltimes(jobs.walltime[waits], _ends(events, runs, now, True), nothing))
    found, _ = plan(queue, running, settings, walltimes)
    report[_PLANNED] = found.candidates
    report[_REQUESTED] = found.requested
    report[_GUARANTEES] = found.guarantees
    report[_INTERVALS] += found.candidates
    report[_OBJECTIVE] = found.objective
    report[_STATUS] = report[_USED] = SEARCHED if found.searched else LISTED
    starts = _with_room(found.start, amount, amounts.free.copy())
    if not len(starts) and not len(runs):
        # Nothing else will happen, so the first job that fits must start.
        starts = _first(fits)
    return starts


@compiled
def _ends(events: Events, runs: IntArray, now: int, literally: bool) -> IntArray:
    """Return expected ends of running jobs, or ends of their walltimes if `literally`, seconds from now."""
    ends = np.empty(len(runs), dtype=np.int64)
    for index in range(len(runs)):
        ends[index] = expected_end(events, runs[index], now, literally) - now
    return ends


@compiled
def _with_room(places: IntArray, amount: IntArray, free: IntArray) -> IntArray:
    """Return the jobs that fit, one after the other."""
    kept = np.empty(len(places), dtype=np.int64)
    count = 0
    for place in places:
        if (amount[place] <= free).all():
            free -= amount[place]
            kept[count] = place
            count += 1
    return kept[:count]


@compiled
def _first(fits: BoolArray) -> IntArray:
    first = np.zeros(1, dtype=np.int64)
    first[0] = fits.argmax()
    return first
