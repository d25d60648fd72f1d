"""Serial schedule generation on one pool, compiled: the earliest start at which a job fits until its end."""

from __future__ import annotations

from typing import NamedTuple

from ...base import IntArray
from ..compiled import compiled


class Pool(NamedTuple):
    """What a decoding reads, and a profile being filled: times and free amounts, with room for more steps."""

    duration: IntArray
    need: IntArray
    times: IntArray
    free: IntArray
    at: IntArray
    left: IntArray


@compiled
def open_pool(pool: Pool) -> None:
    """Begin with the profile beside what is held."""
    for step in range(len(pool.times)):
        pool.at[step] = pool.times[step]
        for resource in range(pool.free.shape[1]):
            pool.left[step, resource] = pool.free[step, resource]


@compiled
def earliest_on_pool(job: int, pool: Pool, steps: int) -> tuple[int, int]:
    """Return the first step at which a job fits until its end, and the first at or after that end; (-1, -1) if none."""
    first = 0
    while first < steps:
        if not _fits_pool(job, pool, first):
            first += 1
            continue
        end = pool.at[first] + pool.duration[job]
        last = first + 1
        while last < steps and pool.at[last] < end:
            if not _fits_pool(job, pool, last):
                break
            last += 1
        else:
            return first, last
        first = last + 1
    return -1, -1


@compiled
def _fits_pool(job: int, pool: Pool, step: int) -> bool:
    fits = True
    for resource in range(pool.need.shape[1]):
        fits = fits and pool.need[job, resource] <= max(pool.left[step, resource], 0)
    return fits


@compiled
def hold_on_pool(job: int, pool: Pool, steps: int, first: int, last: int) -> int:
    """Take a job's amounts out of the profile from a step until its end, before step `last`; return how many steps."""
    end = pool.at[first] + pool.duration[job]
    resources = pool.need.shape[1]
    if last == steps or pool.at[last] != end:
        for step in range(steps, last, -1):
            pool.at[step] = pool.at[step - 1]
            for resource in range(resources):
                pool.left[step, resource] = pool.left[step - 1, resource]
        pool.at[last] = end
        for resource in range(resources):
            pool.left[last, resource] = pool.left[last - 1, resource]
        steps += 1
    for step in range(first, last):
        for resource in range(resources):
            pool.left[step, resource] -= pool.need[job, resource]
    return steps
