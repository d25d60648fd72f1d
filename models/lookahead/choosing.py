"""Compiled event loop under look-ahead on a pool: start all jobs if they fit, else those planned to start."""

import numpy as np

from ...base import BoolArray, IntArray
from ..backfilling.job_queue import PREDICTED, SUBMIT, WAITING, WALLTIME, waiting_rows
from ..compiled import compiled
from ..events.events import RUNNING, Events, advance, correct, expected_end, next_instant, note, running_rows, start
from ..scheduling.selection import fitting
from .guarantees import Queue, Running, Settings, Walltimes, doubts, told_apart
from .planning import plan


@compiled
def run_look_ahead(
    events: Events, until: int, decisions: IntArray, ended: IntArray, settings: Settings
) -> tuple[int, int]:
    """Simulate instants under look-ahead with settled settings. See :func:`.run_in_order`."""
    rows, gone, now, numbers = 0, 0, next_instant(events), events.queue.numbers
    while now < until and rows < len(decisions) and gone + numbers[RUNNING] < len(ended):
        gone = advance(events, now, ended, gone)
        if numbers[WAITING] > 0:
            correct(events, now)
            note(events, now, decisions[rows])
            waits = waiting_rows(events.queue)
            starts = look_ahead(events, now, settings, waits)
            for place in starts:
                start(events, waits[place], now)
            decisions[rows, 3] = len(starts)
            rows += 1
        now = next_instant(events)
    return rows, gone


@compiled
def look_ahead(events: Events, now: int, settings: Settings, waits: IntArray) -> IntArray:
    """Return all waiting jobs if they fit, else those planned to start now. No plan if no job fits.

    Once predictions are not trusted, guaranteed starts use walltimes. Then no job starts that would delay one of them.

    Parameters
    ----------
    events, now, settings
        State of the simulation, time in seconds, and settings of the plan.
    waits
        Rows of the waiting jobs, shape (waiting,).

    Returns
    -------
    Starting jobs in order, as positions in the queue, shape (starts,).
    """
    amount, nothing, columns = events.queue.amount[waits], np.zeros(0, dtype=np.int64), events.queue.columns
    fits, count, together = fitting(amount, events.amounts[0])
    if not count:
        return nothing
    if together:
        return np.arange(len(waits))
    runs = running_rows(events)
    queue = Queue(now - columns[SUBMIT][waits], columns[PREDICTED][waits], amount, fits)
    running = Running(
        _ends(events, runs, now, False), events.queue.amount[runs], events.amounts[0].copy(),
        np.maximum(events.amounts[2], 1), nothing, nothing, queue.amount[:0],
    )  # fmt: skip
    walltimes = Walltimes(nothing, nothing, nothing)
    if doubts(settings, now - columns[SUBMIT, waits[0]]):
        walltimes = told_apart(
            queue, running, Walltimes(columns[WALLTIME][waits], _ends(events, runs, now, True), nothing)
        )
    found, _ = plan(queue, running, settings, walltimes)
    starts = _with_room(found.start, amount, events.amounts[0].copy())
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
