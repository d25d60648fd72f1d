"""Which resources of a pool can be short, and when that changes: nothing else need be looked at."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...base import IntArray


class Shortage(NamedTuple):
    """What is asked for and free of the resources that can be short.

    Attributes
    ----------
    need
        Amounts that each job asks for, shape (jobs, resources).
    times, free
        When what is free changes as far as it matters, shape (steps,), and up to what all jobs together ask for, shape
        (steps, resources).
    """

    need: IntArray
    times: IntArray
    free: IntArray


def shortage(need: IntArray, times: IntArray, free: IntArray) -> Shortage:
    """Return what can be short of what jobs need, shape (jobs, resources), of what is free from `times` on."""
    short = binding(need, free)
    need = np.ascontiguousarray(need[:, short])
    matters = np.minimum(free[:, short], need.sum(axis=0))
    steps = np.append(0, 1 + np.flatnonzero((np.diff(matters, axis=0) != 0).any(axis=1)))
    return Shortage(need, times[steps], np.ascontiguousarray(matters[steps]))


def binding(need: IntArray, free: IntArray) -> IntArray:
    """Return the numbers of the resources that can be short where the others are not, rising.

    One is left out if nobody asks for it; if there is always enough for all jobs together; or if another one, that is
    not left out, is always shorter: with a the largest ratio of what a job asks for of it to what the job asks for of
    the other, what is free of it is at least a times what is free of the other, so that whatever the other has room
    for it has room for as well.

    Parameters
    ----------
    need
        Amounts that each job asks for, shape (jobs, resources), not negative.
    free
        What is free from time to time, shape (steps, resources); below zero where more is held than there is.
    """
    enough = need.sum(axis=0) <= free.min(axis=0, initial=np.iinfo(np.int64).max)
    kept = np.flatnonzero(need.any(axis=0) & ~enough).tolist()
    for resource in list(kept):
        if any(_shorter(need, free, other, resource) for other in kept if other != resource):
            kept.remove(resource)
    return np.array(kept, dtype=np.int64)


def _shorter(need: IntArray, free: IntArray, other: int, resource: int) -> bool:
    """Return whether jobs that the other resource has room for always find room in this one."""
    asking = need[:, resource] > 0
    if not need[asking, other].all():
        return False
    wanted, beside = need[asking, resource], need[asking, other]
    most = int(np.argmax(wanted / beside))
    # Whole numbers, without overflow: a ratio of floats that is rounded down would promise room that is not there.
    top, bottom = int(wanted[most]), int(beside[most])
    if max(top, bottom) * max(int(np.abs(free).max()), int(need.max())) > np.iinfo(np.int64).max:
        return False
    exact = (wanted * bottom <= top * beside).all()
    return bool(exact and (free[:, resource] * bottom >= top * np.maximum(free[:, other], 0)).all())
