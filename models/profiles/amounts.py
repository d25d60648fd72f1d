"""Compiled step profile of several free amounts: occupy amounts, and find the first or last start that fits."""

from typing import NamedTuple

import numpy as np

from ...base import IntArray
from ..compiled import compiled
from ..scheduling.selection import stable_order


class AmountSteps(NamedTuple):
    """Free amounts over time, with room for more steps.

    Attributes
    ----------
    at
        Times of changes, seconds, rising, shape (most,).
    free
        Free amounts from then on, shape (most, resources). The last step lasts for ever.
    """

    at: IntArray
    free: IntArray


@compiled
def make_steps(most: int, resources: int) -> AmountSteps:
    """Return a profile with room for `most` steps, all unset."""
    return AmountSteps(np.empty(most, dtype=np.int64), np.empty((most, resources), dtype=np.int64))


@compiled
def release(free: IntArray, end: IntArray, need: IntArray, steps: AmountSteps) -> int:
    """Set the free amounts as running jobs end, `free` from 0 on. Return the number of steps.

    Parameters
    ----------
    free
        Shape (resources,).
    end, need
        End of each job, after 0, shape (jobs,), and its amounts. Shape (jobs, resources).
    steps
        Output, with room for one step more than jobs.
    """
    steps.at[0] = 0
    for resource in range(len(free)):
        steps.free[0, resource] = free[resource]
    last = 0
    order = stable_order(end)
    for job in order:
        if steps.at[last] != end[job]:
            last += 1
            steps.at[last] = end[job]
            for resource in range(len(free)):
                steps.free[last, resource] = steps.free[last - 1, resource]
        for resource in range(len(free)):
            steps.free[last, resource] += need[job, resource]
    return last + 1


@compiled
def copy_steps(source: AmountSteps, count: int, target: AmountSteps) -> None:
    """Copy the first `count` steps."""
    for step in range(count):
        target.at[step] = source.at[step]
        for resource in range(source.free.shape[1]):
            target.free[step, resource] = source.free[step, resource]


@compiled
def hold(steps: AmountSteps, count: int, start: int, end: int, need: IntArray, sign: int) -> int:
    """Subtract `sign` times `need` in [`start`, `end`). Return the number of steps.

    `start` must not be before the first step.
    """
    if end <= start:
        return count
    first = _step_of(steps, count, start)
    if steps.at[first] != start:
        first += 1
        count = _split(steps, count, first, start)
    last = first
    while last < count and steps.at[last] < end:
        last += 1
    if last == count or steps.at[last] != end:
        count = _split(steps, count, last, end)
    for step in range(first, last):
        for resource in range(len(need)):
            steps.free[step, resource] -= sign * need[resource]
    return count


@compiled
def earliest(steps: AmountSteps, count: int, need: IntArray, duration: int, after: int) -> int:
    """Return the first start at or after `after` that fits, -1 if none.

    `after` must not be before the first step.
    """
    step = _step_of(steps, count, after)
    while True:
        while step < count and not _fits(steps, step, need):
            step += 1
        if step == count:
            return -1
        start = max(after, int(steps.at[step]))
        step += 1
        while step < count and steps.at[step] < start + duration and _fits(steps, step, need):
            step += 1
        if step == count or steps.at[step] >= start + duration:
            return start


@compiled
def latest(steps: AmountSteps, count: int, need: IntArray, duration: int, after: int, by: int) -> int:
    """Return the last start in [`after`, `by`] that fits, -1 if none.

    `after` must not be before the first step.
    """
    start = by
    while start >= after:
        step = _step_of(steps, count, start)
        while step < count and steps.at[step] < start + duration and _fits(steps, step, need):
            step += 1
        if step == count or steps.at[step] >= start + duration:
            return start
        start = int(steps.at[step]) - duration
    return -1


@compiled
def _step_of(steps: AmountSteps, count: int, time: int) -> int:
    low, high = 0, count
    while high - low > 1:
        middle = (low + high) // 2
        if steps.at[middle] <= time:
            low = middle
        else:
            high = middle
    return low


@compiled
def _split(steps: AmountSteps, count: int, where: int, time: int) -> int:
    """Insert a step at `time`, with the amounts of the step before."""
    for step in range(count, where, -1):
        steps.at[step] = steps.at[step - 1]
        for resource in range(steps.free.shape[1]):
            steps.free[step, resource] = steps.free[step - 1, resource]
    steps.at[where] = time
    for resource in range(steps.free.shape[1]):
        steps.free[where, resource] = steps.free[where - 1, resource]
    return count + 1


@compiled
def _fits(steps: AmountSteps, step: int, need: IntArray) -> bool:
    for resource in range(len(need)):
        if need[resource] > 0 and steps.free[step, resource] < need[resource]:
            return False
    return True
