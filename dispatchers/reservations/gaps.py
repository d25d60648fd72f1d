"""Gaps between reservations, and the expected use of a stochastic job in a gap."""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..protocol import Placement, Start, State, Waiting
from ..rule_book import closures_ahead
from ..space import space_of
from .value_laws import with_cdf

#: Number of points for a run-time distribution.
_POINTS = 512
_KEPT = 512
#: Cached results for many jobs of few laws, in the gaps of one or two decisions.
_KEPT_SHARES = 4096


@runtime_checkable
class Gaps(Protocol):
    """Free amounts from now on beside all reservations, after a dispatch."""

    def gap(self, waiting: Waiting) -> tuple[int | None, Placement] | None:
        """Return for how many seconds a job's slots are free, and where. ``None`` if they are not.

        The seconds are ``None`` if they stay free.
        """
        ...

    def occupy(self, waiting: Waiting, placement: Placement, seconds: int) -> None:
        """Record that a job starts in a gap, for at most `seconds`."""
        ...


class ShadowGaps:
    """The one gap that EASY leaves: until the first job of the queue can start, or nodes close.

    Parameters
    ----------
    state
        State before the dispatch.
    starts
        Starts of the dispatch.
    head
        First job that still waits.
    """

    def __init__(self, state: State, starts: Sequence[Start], head: Waiting) -> None:
        self._space = space_of(state)
        room = state.profile()
        for start in starts:
            placement = np.asarray(start.placement)
            self._space.put(placement, start.job.demand)
            room.take(start.job, state.now, placement)
        fit = room.earliest(head)
        times = [] if fit is None else [fit[0]]
        times += [closure.begin for closure in closures_ahead(state)]
        self._seconds = min(times, default=state.now) - state.now

    def gap(self, waiting: Waiting) -> tuple[int | None, Placement] | None:
        """Return for how many seconds a job's slots are free, and where. ``None`` if they are not."""
        placement = self._space.place(waiting.nodes, waiting.demand)
        if placement is None or self._seconds < 1:
            return None
        self._space.give(placement, waiting.demand)
        return self._seconds, placement

    def occupy(self, waiting: Waiting, placement: Placement, seconds: int) -> None:
        """Record that a job starts in a gap, for at most `seconds`."""
        self._space.put(placement, waiting.demand)


@lru_cache(_KEPT)
def _tables(law: Any, bound: int) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return run times, the probability of at most each, and the mean up to each."""
    law = with_cdf(law)
    low, high = law.support()
    points = np.linspace(max(low, 0.0), min(high, bound), _POINTS + 1)
    below = np.asarray(law.cdf(points), dtype=float)
    middles = (points[1:] + points[:-1]) / 2
    use = np.concatenate(([below[0] * points[0]], middles * np.diff(below))).cumsum()
    return points, below, use


@lru_cache(_KEPT_SHARES)
def expected_utilization(law: Any, bound: int, above: int, seconds: int) -> float:
    """Return the expected useful share of a gap for a job (Gainaru et al., ICPP 2019, section 4.3).

    It is the integral of t f'(t) from the known lower bound to the gap's length, over that length. f' is the density
    given that the job runs for more than `above`.

    Parameters
    ----------
    law
        Distribution of the run time.
    bound
        Longest run time to consider, seconds.
    above
        Longest run that was too short, seconds.
    seconds
        Length of the gap.
    """
    points, below, use = _tables(law, bound)
    left = 1.0 - (float(np.interp(above, points, below)) if above >= points[0] else 0.0)
    if left <= 0 or seconds <= max(above, math.floor(points[0])):
        return 0.0
    before = float(np.interp(above, points, use)) if above >= points[0] else 0.0
    return (float(np.interp(seconds, points, use)) - before) / left / seconds
