"""Who starts now on a pool under EASY backfilling, compiled."""

from __future__ import annotations

import numpy as np

from ...base import IntArray
from ..compiled import compiled
from ..scheduling.pool_events import LENGTH, PoolEvents, end_by, running_jobs


@compiled
def backfill_on_pool(
    events: PoolEvents, now: int, waits: IntArray, promised: IntArray, shortest_first: bool
) -> IntArray:
    """Return who starts, in order, by the places in the queue: the first ones, and who does not delay the next.

    Parameters
    ----------
    events
        Who runs, and what is free.
    now
        Seconds.
    waits
        The queue, shape (waiting,).
    promised
        By which run times the start of the first blocked job is reserved, seconds, shape (jobs,); empty for those that
        are expected.
    shortest_first
        Whether the jobs behind it are tried by their expected run times, and not in the order of the queue.
    """
    need, free = events.need[waits], events.free.copy()
    starts, ahead = np.empty(len(waits), dtype=np.int64), 0
    while ahead < len(waits) and (need[ahead] <= free).all():
        free -= need[ahead]
        starts[ahead] = ahead
        ahead += 1
    if ahead >= len(waits) - 1 or not free.any():
        return starts[:ahead]
    length = promised[waits] if len(promised) else events.jobs[LENGTH][waits]
    shadow, later = _reservation(events, now, waits[: ahead + 1], length, free, promised)
    count = ahead
    for place in _behind(events, waits, need, free, ahead, shortest_first):
        if (need[place] > free).any():
            continue
        if now + length[place] > shadow:
            if (later - need[place] < need[ahead]).any():
                continue
            later -= need[place]
        free -= need[place]
        starts[count] = place
        count += 1
    return starts[:count]


@compiled
def _behind(
    events: PoolEvents, waits: IntArray, need: IntArray, free: IntArray, ahead: int, shortest_first: bool
) -> IntArray:
    """Return who fits behind the blocked job, in the order in which they are tried."""
    behind, count = np.empty(len(waits), dtype=np.int64), 0
    for place in range(ahead + 1, len(waits)):
        if (need[place] <= free).all():
            behind[count] = place
            count += 1
    behind = behind[:count]
    if not shortest_first:
        return behind
    # Real, so that no other sort is compiled.
    return behind[np.argsort(events.jobs[LENGTH][waits[behind]].astype(np.float64), kind="mergesort")]


@compiled
def _reservation(
    events: PoolEvents, now: int, first: IntArray, length: IntArray, free: IntArray, promised: IntArray
) -> tuple[int, IntArray]:
    """Return when the last of the first jobs can start at the earliest, as the others do now, and what is free then."""
    runs, ahead = running_jobs(events), len(first) - 1
    jobs = np.concatenate((runs, first[:ahead]))
    end = np.empty(len(jobs), dtype=np.int64)
    for index in range(len(runs)):
        end[index] = end_by(events.jobs, runs[index], promised, now)
    for index in range(ahead):
        end[len(runs) + index] = now + max(length[index], 1)
    shadow, later = now, free.copy()
    for index in np.argsort(end.astype(np.float64), kind="mergesort"):
        if end[index] > shadow:
            if (later >= events.need[first[ahead]]).all():
                break
            shadow = end[index]
        later += events.need[jobs[index]]
    return shadow, later
