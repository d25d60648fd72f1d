"""Find the resources of a pool that can be short, and the times when that changes.

Planners can ignore all other resources and times.
"""

from typing import NamedTuple

import numpy as np

from ...base import IntArray


class Shortage(NamedTuple):
    """Needs and free amounts of the resources that can be short.

    Attributes
    ----------
    need
        Amounts of each job, shape (jobs, resources).
    times, free
        Times of relevant changes, shape (steps,). And free amounts from each on, shape (steps, resources). Amounts are
        capped at the total need of all jobs.
    """

    need: IntArray
    times: IntArray
    free: IntArray


def shortage(need: IntArray, times: IntArray, free: IntArray) -> Shortage:
    """Return the resources that can be short.

    `need` has shape (jobs, resources). `free` holds the free amounts from each of `times` on.
    """
    short = binding(need, free)
    need = np.ascontiguousarray(need[:, short])
    matters = np.minimum(free[:, short], need.sum(axis=0))
    steps = np.append(0, 1 + np.flatnonzero((np.diff(matters, axis=0) != 0).any(axis=1)))
    return Shortage(need, times[steps], np.ascontiguousarray(matters[steps]))


def binding(need: IntArray, free: IntArray) -> IntArray:
    """Return the ascending numbers of the resources that can be short while others are not.

    A resource is left out in three cases:

    * No job needs it.
    * It always suffices for all jobs together.
    * Another resource in the result is always shorter. Let ``a`` be the largest ratio of a job's need of this resource
      to its need of the other. Then the free amount of this one is at least ``a`` times that of the other. So every set
      of jobs that fits the other fits this one.

    Parameters
    ----------
    need
        Amounts of each job, shape (jobs, resources), not negative.
    free
        Free amounts over time, shape (steps, resources). Negative where over capacity.
    """
    enough = need.sum(axis=0) <= free.min(axis=0, initial=np.iinfo(np.int64).max)
    kept = np.flatnonzero(need.any(axis=0) & ~enough).tolist()
    for resource in list(kept):
        if any(_shorter(need, free, other, resource) for other in kept if other != resource):
            kept.remove(resource)
    return np.array(kept, dtype=np.int64)


def _shorter(need: IntArray, free: IntArray, other: int, resource: int) -> bool:
    """Return whether jobs that fit into the other resource always fit into this one."""
    asking = need[:, resource] > 0
    if not need[asking, other].all():
        return False
    wanted = need[asking, resource]
    beside = need[asking, other]
    most = int(np.argmax(wanted / beside))
    # Integers without overflow. A float ratio that is rounded down would claim room that does not exist.
    top = int(wanted[most])
    bottom = int(beside[most])
    if max(top, bottom) * max(int(np.abs(free).max()), int(need.max())) > np.iinfo(np.int64).max:
        return False
    exact = (wanted * bottom <= top * beside).all()
    return bool(exact and (free[:, resource] * bottom >= top * np.maximum(free[:, other], 0)).all())
