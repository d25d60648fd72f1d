"""Gaps that no reservation needs, and what a stochastic job is worth in one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..backfilling.closed_times import closures_ahead
from ..backfilling.easy import ending_order, shadow_of
from ..protocol import Placement, Start, State, Waiting
from ..space import space_of
from .value_laws import with_cdf

#: Points at which the distribution of a run time is evaluated.
_POINTS = 512
_KEPT = 512
#: What many jobs of few laws are worth in the gaps of a decision or two.
_KEPT_SHARES = 4096


@runtime_checkable
class Gaps(Protocol):
    """What is free from now on beside all that is reserved, right after a dispatch."""

    def gap(self, waiting: Waiting) -> tuple[int | None, Placement] | None:
        """Return for how many seconds a job's slots are free, and where; ``None`` if they are not.

        Instead of the seconds, ``None`` if they are free for ever.
        """
        ...

    def occupy(self, waiting: Waiting, placement: Placement, seconds: int) -> None:
        """Take note that a job is started in a gap, for `seconds` at most."""
        ...


class ShadowGaps:
    """The one gap that EASY leaves: until the first job of the queue can start, or nodes close.

    Parameters
    ----------
    state
        The system before the dispatch.
    starts
        What the dispatch starts.
    head
        The first job that still waits.
    """

    def __init__(self, state: State, starts: Sequence[Start], head: Waiting) -> None:
        self._space = space_of(state)
        for start in starts:
            self._space.put(np.asarray(start.placement), start.job.demand)
        free = np.asarray(self._space.free).reshape(state.free.shape)
        until = shadow_of(state.now, free, head, ending_order(state, starts))[0]
        self._seconds = min([until, *(closure.begin for closure in closures_ahead(state))]) - state.now

    def gap(self, waiting: Waiting) -> tuple[int | None, Placement] | None:
        """Return for how many seconds a job's slots are free, and where; ``None`` if they are not."""
        placement = self._space.place(waiting.nodes, waiting.demand)
        if placement is None or self._seconds < 1:
            return None
        self._space.give(placement, waiting.demand)
        return self._seconds, placement

    def occupy(self, waiting: Waiting, placement: Placement, seconds: int) -> None:
        """Take note that a job is started in a gap, for `seconds` at most."""
        self._space.put(placement, waiting.demand)


@lru_cache(_KEPT)
def _tables(law: Any, bound: int) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return run times, the probability that one is not above each, and the mean of what is not above it."""
    law = with_cdf(law)
    low, high = law.support()
    points = np.linspace(max(low, 0.0), min(high, bound), _POINTS + 1)
    below = np.asarray(law.cdf(points), dtype=float)
    middles = (points[1:] + points[:-1]) / 2
    use = np.concatenate(([below[0] * points[0]], middles * np.diff(below))).cumsum()
    return points, below, use


@lru_cache(_KEPT_SHARES)
def expected_utilization(law: Any, bound: int, above: int, seconds: int) -> float:
    """Return the expected useful share of a gap that a job is tried in (Gainaru et al., ICPP 2019, section 4.3).

    The integral of t f'(t) from what the job is known to run to the length of the gap, over that length, where f' is
    the density given that the job runs for more than `above`.

    Parameters
    ----------
    law
        The distribution of the run time.
    bound
        The longest run time that is considered, seconds.
    above
        The longest run that was not enough, seconds.
    seconds
        The length of the gap.
    """
    points, below, use = _tables(law, bound)
    left = 1.0 - (float(np.interp(above, points, below)) if above >= points[0] else 0.0)
    if left <= 0 or seconds <= max(above, math.floor(points[0])):
        return 0.0
    before = float(np.interp(above, points, use)) if above >= points[0] else 0.0
    return (float(np.interp(seconds, points, use)) - before) / left / seconds
