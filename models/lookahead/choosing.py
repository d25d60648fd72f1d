"""Who starts now on a pool under look-ahead, compiled: everybody if there is room, else who is planned to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...base import BoolArray, IntArray
from ..compiled import compiled
from ..scheduling.pool_events import LENGTH, SUBMIT, PoolEvents, end_by, running_jobs
from ..scheduling.selection import fitting
from .kept_promises import Asked, foretold, plan_by_requests
from .planning import plan
from .promises import Queue, Running, Settings, doubts

#: How a decision came about, see :meth:`.Lookahead.report`: nobody fits, all do, by a list, by the local search.
NOBODY, ALL, LISTED, SEARCHED = range(4)


class Choice(NamedTuple):
    """Who starts now, in order, by the places in the queue.

    Attributes
    ----------
    starts
        Shape (starts,).
    planned
        Jobs planned, amounts they ask for, jobs with a promise, how it came about, and whether requests counted in
        place of predictions.
    objective
        Of the plan.
    """

    starts: IntArray
    planned: tuple[int, int, int, int, bool]
    objective: float


@compiled
def look_ahead(events: PoolEvents, asked: IntArray, now: int, settings: Settings, waits: IntArray) -> Choice:
    """Start everybody if there is room, else who is planned to start now; no plan if nobody fits.

    Once predictions are not trusted, starts are promised by the requested times `asked`, seconds, shape (all jobs,),
    and nobody starts who would delay one by them.
    """
    need, nothing = events.need[waits], np.zeros(0, dtype=np.int64)
    literally = doubts(settings, now - events.jobs[SUBMIT, waits[0]])
    fits, count, together = fitting(need, events.free)
    if not count:
        return Choice(nothing, (0, 0, 0, NOBODY, literally), np.nan)
    if together:
        return Choice(np.arange(len(waits)), (len(waits), need.sum(), 0, ALL, literally), 0.0)
    runs = running_jobs(events)
    ends = _ends(events, runs, asked[:0], now)
    queue = Queue(now - events.jobs[SUBMIT][waits], events.jobs[LENGTH][waits], need, fits)
    running = Running(ends, events.need[runs], events.free.copy(), events.capacity)
    by_requests = Asked(nothing, nothing, nothing)
    if literally:
        by_requests = Asked(asked[waits], _ends(events, runs, asked, now), nothing)
    if literally and not foretold(queue, running, by_requests):
        found = plan_by_requests(queue, running, settings, by_requests)[0]
    else:
        found = plan(queue, running, settings)
    starts = _with_room(found.start, need, events.free.copy())
    if not len(starts) and not len(runs):
        # Nothing else will happen: the first that fits may not wait.
        starts = _first(fits)
    told = (
        found.candidates,
        int(found.requested),
        int(found.promises),
        SEARCHED if found.searched else LISTED,
        literally,
    )
    return Choice(starts, told, found.objective)


@compiled
def _ends(events: PoolEvents, runs: IntArray, asked: IntArray, now: int) -> IntArray:
    """Return when those that run end by their requests, or as expected if none are given, seconds from now."""
    ends = np.empty(len(runs), dtype=np.int64)
    for index in range(len(runs)):
        ends[index] = end_by(events.jobs, runs[index], asked, now) - now
    return ends


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
