"""Who starts now on a pool under look-ahead, compiled: everybody if there is room, else who is planned to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...base import BoolArray, IntArray
from ..backfilling.job_queue import PREDICTED, SUBMIT, WALLTIME
from ..compiled import compiled
from ..events.events import Events, expected_end, running_rows
from ..scheduling.selection import fitting
from .guarantees import Queue, Running, Settings, Walltimes, doubts, told_apart
from .planning import plan

#: How a decision came about, see :meth:`.Lookahead.report`: nobody fits, all do, by a list, by the local search.
NOBODY, ALL, LISTED, SEARCHED = range(4)


class Choice(NamedTuple):
    """Who starts now, in order, by the places in the queue.

    Attributes
    ----------
    starts
        Shape (starts,).
    planned
        Jobs planned, amounts they ask for, jobs with a guarantee, how it came about, and whether requests counted in
        place of predictions.
    objective
        Of the plan.
    """

    starts: IntArray
    planned: tuple[int, int, int, int, bool]
    objective: float


@compiled
def look_ahead(events: Events, now: int, settings: Settings, waits: IntArray) -> Choice:
    """Start all waiting jobs if there is room, else those planned to start now; no plan if no job fits.

    Once predictions are not trusted, starts are guaranteed by walltimes, and no job starts that would delay one by
    them.

    Parameters
    ----------
    events, now, settings
        How far the simulation is, the time, seconds, and how to plan.
    waits
        Rows of the waiting jobs, shape (waiting,).
    """
    amount, nothing, columns = events.queue.amount[waits], np.zeros(0, dtype=np.int64), events.queue.columns
    literally = doubts(settings, now - columns[SUBMIT, waits[0]])
    fits, count, together = fitting(amount, events.amounts[0])
    if not count:
        return Choice(nothing, (0, 0, 0, NOBODY, literally), np.nan)
    if together:
        return Choice(np.arange(len(waits)), (len(waits), amount.sum(), 0, ALL, literally), 0.0)
    runs = running_rows(events)
    queue = Queue(now - columns[SUBMIT][waits], columns[PREDICTED][waits], amount, fits)
    running = Running(
        _ends(events, runs, now, False), events.queue.amount[runs], events.amounts[0].copy(), events.amounts[2]
    )
    walltimes = Walltimes(nothing, nothing, nothing)
    if literally:
        walltimes = told_apart(
            queue, running, Walltimes(columns[WALLTIME][waits], _ends(events, runs, now, True), nothing)
        )
    found, _ = plan(queue, running, settings, walltimes)
    starts = _with_room(found.start, amount, events.amounts[0].copy())
    if not len(starts) and not len(runs):
        # Nothing else will happen: the first that fits may not wait.
        starts = _first(fits)
    told = (
        found.candidates,
        int(found.requested),
        int(found.guarantees),
        SEARCHED if found.searched else LISTED,
        literally,
    )
    return Choice(starts, told, found.objective)


@compiled
def _ends(events: Events, runs: IntArray, now: int, literally: bool) -> IntArray:
    """Return when running jobs are expected to end, or have to by their walltimes, seconds from now."""
    ends = np.empty(len(runs), dtype=np.int64)
    for index in range(len(runs)):
        ends[index] = expected_end(events, runs[index], now, literally) - now
    return ends


@compiled
def _with_room(places: IntArray, amount: IntArray, free: IntArray) -> IntArray:
    """Return those for whom there is room, one after the other."""
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
