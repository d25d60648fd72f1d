"""Plans by predictions between promises by requests, which stand once they are given."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...base import BoolArray, IntArray
from ..compiled import compiled
from ..profiles.amounts import Steps, copy_steps, earliest, hold, make_steps, release
from .planning import Plan, plan_between
from .promises import Promises, Queue, Running, Settings, keep_promises


class Asked(NamedTuple):
    """What is known beside the predictions.

    Attributes
    ----------
    duration
        Requested times of the waiting jobs, seconds, shape (jobs,).
    end
        When the running ones have to end, seconds from now, at least 1, shape (running,).
    promised
        What was promised to the waiting ones, seconds from now, :data:`.NO_PROMISE` for nothing, shape (jobs,).
    """

    duration: IntArray
    end: IntArray
    promised: IntArray


@compiled
def foretold(queue: Queue, running: Running, asked: Asked) -> bool:
    """Return whether nothing but requests is predicted."""
    return bool((queue.duration == asked.duration).all() and (running.end == asked.end).all())


@compiled
def plan_by_requests(queue: Queue, running: Running, settings: Settings, asked: Asked) -> tuple[Plan, IntArray]:
    """Plan the queue by predictions and say who starts now, so that all promises are kept where requests hold.

    Starts are promised by the requested times, see :func:`.keep_promises`. The plan is that of :func:`.plan` with the
    predictions, none of which counts for more than its request. Of those it starts now a job may only if it fits, for
    all of its request, beside what runs, what has started before it and what is promised to others; a promise of its
    own it gives back for that. So all promised starts stay free at once, whatever run times turn out to be, up to the
    requests. Where one of them may not, whoever else does fit so starts in its place, the oldest first.

    Returns
    -------
    The plan, and the promised starts, seconds from now, -1 for none, shape (guards,).
    """
    literally = Queue(queue.wait, asked.duration, queue.need, queue.fits)
    until = Running(asked.end, running.need, running.free, running.capacity)
    promises = keep_promises(literally, until, settings, asked.promised)
    ends = np.minimum(running.end, asked.end)
    predicted = Queue(queue.wait, np.minimum(queue.duration, asked.duration), queue.need, queue.fits)
    free = _beside(predicted, Running(ends, running.need, running.free, running.capacity), promises.start)
    found = plan_between(predicted, running, settings, Promises(free, promises.start, promises.overdue))
    begin = _that_keep_promises(found.start, literally, promises)
    if len(begin) < len(found.start):
        begin = _that_keep_promises(np.append(begin, _others(found.start, queue.fits)), literally, promises)
    return Plan(
        begin, found.candidates, found.requested, found.promises, found.objective, found.searched, found.overdue
    ), promises.start


@compiled
def _beside(queue: Queue, running: Running, start: IntArray) -> Steps:
    """Return what is free beside what runs and what is promised, by the predictions."""
    steps = make_steps(len(running.end) + 1 + 2 * len(start), len(running.free))
    count = release(running.free, running.end, running.need, steps)
    for job in range(len(start)):
        if start[job] >= 0:
            count = hold(steps, count, start[job], start[job] + queue.duration[job], queue.need[job], 1)
    return Steps(steps.at[:count], steps.free[:count])


@compiled
def _others(begin: IntArray, fits: BoolArray) -> IntArray:
    """Return who fits now beside those that were to start."""
    left = fits.copy()
    left[begin] = False
    return np.flatnonzero(left)


@compiled
def _that_keep_promises(begin: IntArray, queue: Queue, promises: Promises) -> IntArray:
    """Return who of those that are to start delays nobody who was promised a start, in their order."""
    count, kept = len(promises.free.at), 0
    steps, chosen = make_steps(count + 6 * len(begin), queue.need.shape[1]), np.empty(len(begin), dtype=np.int64)
    copy_steps(promises.free, count, steps)
    for job in begin:
        need, duration = queue.need[job], queue.duration[job]
        own = promises.start[job] if job < len(promises.start) else -1
        if own >= 0:
            count = hold(steps, count, own, own + duration, need, -1)
        if earliest(steps, count, need, duration, 0) == 0:
            own = 0
            chosen[kept] = job
            kept += 1
        if own >= 0:
            count = hold(steps, count, own, own + duration, need, 1)
    return chosen[:kept]
