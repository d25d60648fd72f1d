"""Compiled event loop under look-ahead on a pool."""

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
from .planning import TO_PLAN, LookaheadPlan, first_to_start, plan, without_plan
from .shadow import ShadowJobs, open_shadow
from .sightings import RUNS, Seen, Sightings, see_jobs


class LookaheadReports(NamedTuple):
    """Reports of decisions, see :meth:`.Lookahead.report`. One entry per decision.

    Attributes
    ----------
    candidates
        Jobs in the plan.
    intervals
        Jobs in the plan and running jobs.
    requested, available
        Amounts of the jobs in the plan, and free amounts, summed over resources.
    status, used
        Origin of the starts, see :class:`.LookaheadPlan`.
    objective
        Objective of the plan.
    guarantees
        Guaranteed starts.
    literally
        1 if guarantees use walltimes, otherwise 0.
    due_hours
        Bound of waits, hours.
    """

    candidates: FloatArray
    intervals: FloatArray
    requested: FloatArray
    available: FloatArray
    status: FloatArray
    objective: FloatArray
    used: FloatArray
    guarantees: FloatArray
    literally: FloatArray
    due_hours: FloatArray


class HistoryCounts(NamedTuple):
    """State of a history, each of shape (1,).

    Attributes
    ----------
    waited, ran
        Jobs that waited, and that ran after the last decision.
    still
        Jobs that it left waiting.
    last
        Its time, seconds.
    number
        Its number.
    """

    waited: IntArray
    ran: IntArray
    still: IntArray
    last: IntArray
    number: IntArray


class SimulatedHistory(NamedTuple):
    """History of a whole simulation. Rows are jobs in order of submission.

    Attributes
    ----------
    waiting, running
        Jobs that waited and ran at the last decision, in the first entries. Shape (jobs,).
    numbers
        Block of :class:`HistoryCounts`, shape (5, 1).
    shadow, expected, known
        EASY's schedule of the jobs, expectations about it, and the states of the jobs.
    """

    waiting: IntArray
    running: IntArray
    numbers: IntArray
    shadow: ShadowJobs
    expected: ExpectedShadow
    known: Sightings


@compiled
def _counts(past: SimulatedHistory) -> HistoryCounts:
    block = past.numbers
    return HistoryCounts(block[0], block[1], block[2], block[3], block[4])


@compiled
def reports_of(block: FloatArray) -> LookaheadReports:
    """Return the reports in a block, shape (10, decisions), by name."""
    return LookaheadReports(
        block[0], block[1], block[2], block[3], block[4], block[5], block[6], block[7], block[8], block[9]
    )


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
    numbers = np.zeros((len(HistoryCounts._fields), 1), dtype=np.int64)
    HistoryCounts(*numbers).last[0] = begin
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
        Block of :class:`LookaheadReports` that receives the report of each decision, shape (10, decisions). Later ones
        overwrite the last.
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
            starts = look_ahead(events, now, present, waits, reports, min(rows, reports.shape[1] - 1))
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
    counts = _counts(past)
    jobs = counted_jobs(events.queue)
    runs = running_rows(events)
    last = Seen(past.waiting[: counts.waited[0]], past.running[: counts.ran[0]], counts.last[0], counts.number[0])
    counts.number[0] += 1
    begun = events.queue.start[runs]
    predicted = jobs.predicted[waits]
    seen = Seen(waits, runs, now, counts.number[0])
    see_jobs(past.shadow, past.known, last, seen, counts.still[0], predicted, begun, begun + jobs.predicted[runs])
    past.waiting[: len(waits)] = waits
    past.running[: len(runs)] = runs
    counts.waited[0], counts.ran[0], counts.last[0] = len(waits), len(runs), now
    predict(past.shadow, past.expected, waits, predicted, jobs.walltime[waits])
    return longest_wait(past.shadow, past.expected, count_rows(events.queue), now, recent)


@compiled
def _remember(past: SimulatedHistory, starts: IntArray, now: int, waiting: int) -> None:
    """Record which of the waiting jobs start now."""
    counts, known, predicted = _counts(past), past.known, counted_jobs(past.shadow.queue).predicted
    for job in starts:
        known.status[job], known.start[job], known.end[job] = RUNS, now, now + predicted[job]
        past.running[counts.ran[0]] = job
        counts.ran[0] += 1
    counts.still[0] = waiting - len(starts)


@compiled
def look_ahead(
    events: Events, now: int, settings: PlanSettings, waits: IntArray, reports: FloatArray, decision: int
) -> IntArray:
    """Return the jobs that start now, see :func:`.without_plan` and :func:`.plan`.

    Once predictions are not trusted, guaranteed starts use walltimes. Then no job starts that would delay one of them.

    Parameters
    ----------
    events, now, settings
        State of the simulation, time in seconds, and settings of the plan.
    waits
        Rows of the waiting jobs, shape (waiting,).
    reports, decision
        Block of :class:`LookaheadReports`, shape (10, decisions), and the entry that receives the report.

    Returns
    -------
    Starting jobs in order, as positions in the queue, shape (starts,).
    """
    amount = events.queue.amount[waits]
    amounts = counted_amounts(events)
    literally = doubts(settings, now - counted_jobs(events.queue).submit[waits[0]])
    fits, _, together = fitting(amount, amounts.free)
    planned = without_plan(amount, fits, together)
    starts = planned.start
    if planned.origin == TO_PLAN:
        planned = _planned(events, now, settings, waits, amount, fits, literally)
        starts = _with_room(planned.start, amount, amounts.free.copy())
        if not len(starts) and count_running(events) == 0:
            starts = np.full(1, first_to_start(fits, waits[:0]))
    report = reports_of(reports)
    report.candidates[decision] = planned.candidates
    report.intervals[decision] = planned.candidates + count_running(events)
    report.requested[decision] = planned.requested
    report.available[decision] = amounts.free.sum()
    report.status[decision] = report.used[decision] = planned.origin
    report.objective[decision] = planned.objective
    report.guarantees[decision] = planned.guarantees
    report.literally[decision] = literally
    report.due_hours[decision] = settings.due / 3600 if settings.due >= 0 else np.inf
    return starts


@compiled
def _planned(
    events: Events,
    now: int,
    settings: PlanSettings,
    waits: IntArray,
    amount: IntArray,
    fits: BoolArray,
    literally: bool,
) -> LookaheadPlan:
    """Plan the waiting jobs beside the running ones. With `literally`, guarantees use walltimes."""
    nothing = np.zeros(0, dtype=np.int64)
    jobs, amounts, runs = counted_jobs(events.queue), counted_amounts(events), running_rows(events)
    queue = Queue(now - jobs.submit[waits], jobs.predicted[waits], amount, fits)
    running = MachineRoom(
        _ends(events, runs, now, False),
        events.queue.amount[runs],
        amounts.free.copy(),
        np.maximum(amounts.capacity, 1),
        nothing,
        nothing,
        amount[:0],
    )
    walltimes = Walltimes(nothing, nothing, nothing)
    if literally:
        walltimes = told_apart(queue, running, Walltimes(jobs.walltime[waits], _ends(events, runs, now, True), nothing))
    return plan(queue, running, settings, walltimes)[0]


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
