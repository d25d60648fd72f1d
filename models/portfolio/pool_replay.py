"""What would have become of rigid jobs on a pool under another dispatcher, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...base import IntArray
from ..backfilling.pool_choice import backfill_on_pool
from ..compiled import compiled
from ..lookahead.choosing import look_ahead
from ..lookahead.promises import Settings
from ..scheduling.pool_events import (
    NEVER,
    RUNNING,
    STARTED,
    SUBMIT,
    PoolEvents,
    end_one,
    expect_later,
    expected_end,
    let_arrive,
    next_instant,
    pool_events,
    running_at,
    start_of,
    start_one,
    waiting_jobs,
)

#: Who decides: EASY, EASY that backfills the shortest first, look-ahead.
EASY_FIRST_COME, EASY_SHORTEST_FIRST, LOOKAHEAD = range(3)


class Decider(NamedTuple):
    """Who decides, and how.

    Attributes
    ----------
    kind
        :data:`EASY_FIRST_COME`, :data:`EASY_SHORTEST_FIRST` or :data:`LOOKAHEAD`.
    by_requests
        Whether EASY reserves by the requested times, and not by the expected ones.
    settings
        Of look-ahead, settled.
    """

    kind: int
    by_requests: bool
    settings: Settings


class PoolPast(NamedTuple):
    """What is known of the jobs of a stretch of the past, in order of their submission.

    Attributes
    ----------
    submit, work, length, asked
        When they come, how long they stay on the machine, how long they are predicted to, and what they request, at
        least 1, seconds; shape (jobs,).
    need
        Amounts, at most all there is, shape (jobs, resources).
    start
        When those started that run as the stretch begins, seconds, at least 0; -1 of the others; shape (jobs,).
    first, corrected
        How long jobs are expected to stay in all that outlive what was expected before, seconds: those of job `j` are
        `corrected` from `first[j]` to `first[j + 1]`; shapes (jobs + 1,) and (corrections,).
    """

    submit: IntArray
    work: IntArray
    length: IntArray
    asked: IntArray
    need: IntArray
    start: IntArray
    first: IntArray
    corrected: IntArray


class PoolReplay(NamedTuple):
    """A replay, and how far it is: the events, the requests, the corrections, and which comes next, shape (jobs,)."""

    events: PoolEvents
    asked: IntArray
    first: IntArray
    corrected: IntArray
    following: IntArray


def pool_replay(past: PoolPast, capacity: IntArray) -> PoolReplay | None:
    """Return a replay at the beginning of a stretch; ``None`` if there is no room for what ran then.

    Parameters
    ----------
    past
        The jobs.
    capacity
        Of the pool, shape (resources,).
    """
    events = pool_events(past.submit, past.work, past.length, past.need, capacity)
    for job in np.flatnonzero(past.start >= 0).tolist():
        start_one(events, job, int(past.start[job]))
    if (events.free < 0).any():
        return None
    return PoolReplay(events, past.asked, past.first, past.corrected, past.first[:-1].copy())


@compiled
def go_on_replaying(replay: PoolReplay, decider: Decider, begin: int, end: int, most: int) -> tuple[int, bool]:
    """Go through the instants of a stretch: completions, arrivals, corrections, then a decision if anybody waits.

    Parameters
    ----------
    replay
        Brought forward.
    decider
        Who decides.
    begin, end
        Of the stretch, seconds.
    most
        After how many decisions to come back.

    Returns
    -------
    How many decisions were taken, and whether the stretch has ended.
    """
    events, decisions = replay.events, 0
    while decisions < most:
        now = max(next_instant(events), begin)
        if now >= end or now == NEVER:
            return decisions, True
        while end_one(events, now) >= 0:
            pass
        let_arrive(events, now)
        waits = waiting_jobs(events)
        if len(waits):
            _correct(replay, now)
            start_of(events, waits, _chosen(replay, now, decider, waits), now)
            decisions += 1
    return decisions, False


@compiled
def _chosen(replay: PoolReplay, now: int, decider: Decider, waits: IntArray) -> IntArray:
    events, asked = replay.events, replay.asked
    if decider.kind == LOOKAHEAD:
        return look_ahead(events, asked, now, decider.settings, waits).starts
    promised = asked if decider.by_requests else asked[:0]
    return backfill_on_pool(events, now, waits, promised, decider.kind == EASY_SHORTEST_FIRST)


@compiled
def _correct(replay: PoolReplay, now: int) -> None:
    """Expect those to stay for longer that have outlived what was expected, as often as they have."""
    events, at = replay.events, 0
    while at < events.counts[RUNNING]:
        job = running_at(events, at)
        if expected_end(events.jobs, job) > now:
            return
        if replay.following[job] < replay.first[job + 1]:
            expect_later(events, at, replay.corrected[replay.following[job]])
            replay.following[job] += 1
        else:
            at += 1


def waits_until(replay: PoolReplay, end: int) -> IntArray:
    """Return how long jobs have waited until a time, seconds, shape (jobs,)."""
    submit, start = replay.events.jobs[SUBMIT], replay.events.jobs[STARTED]
    waits: IntArray = np.where(start < 0, end, start) - submit
    return waits
