"""What the CP dispatchers minimise, and the priority rule that goes with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ...base import FloatArray, IntArray
from ..columns import WaitingJobs
from ..protocol import Waiting
from .expected_waits import ExpectedWaits


@dataclass(frozen=True, eq=False)
class Objective:
    """Terms of the sum of ``rate * max(0, start - due)``, times in seconds from now, and what is constant.

    Attributes
    ----------
    rates
        Shape (jobs,), above 0.
    due
        Shape (jobs,); ``None`` where every start counts from now.
    constant
        What the waiting so far adds.
    """

    rates: NDArray[np.float64]
    due: IntArray | None
    constant: float

    def value(self, starts: IntArray) -> float:
        """Return the objective of a schedule, recomputed."""
        late = starts if self.due is None else np.maximum(starts - self.due, 0)
        return float(self.rates @ late) + self.constant


class Goal(Protocol):
    """An objective and a priority; both are those of Galleguillos et al. (CP 2019)."""

    def priorities(self, queue: WaitingJobs[Waiting], places: IntArray, now: int) -> FloatArray:
        """Return how urgent the jobs at some places are, before the dispatching begins, shape (places,)."""
        ...

    def objective(self, waiting: Sequence[Waiting], now: int) -> Objective:
        """Return what the start times of these jobs cost."""
        ...


class Slowdown:
    """The sum of (s - q + d) / d, version 3 (section 4)."""

    def priorities(self, queue: WaitingJobs[Waiting], places: IntArray, now: int) -> FloatArray:
        """Return the slowdown of jobs that start now."""
        predicted = queue.predicted[places]
        slowdowns: FloatArray = (now - queue.submit[places] + predicted) / predicted
        return slowdowns

    def objective(self, waiting: Sequence[Waiting], now: int) -> Objective:
        """Return the terms: a second costs 1/d."""
        rates = np.array([1 / entry.predicted for entry in waiting])
        return Objective(
            rates, None, sum((now - entry.job.submit + entry.predicted) / entry.predicted for entry in waiting)
        )  # fmt: skip


@dataclass(frozen=True)
class WeightedWait:
    """The sum of (max ewt / ewt)(s - q), HCP before version 3 (section 2.2)."""

    waits: ExpectedWaits

    def priorities(self, queue: WaitingJobs[Waiting], places: IntArray, now: int) -> FloatArray:
        """Return the weighted waits of jobs that start now."""
        rates = np.array([self._rate(queue[place]) for place in places.tolist()], dtype=np.float64)
        return rates * (now - queue.submit[places])

    def objective(self, waiting: Sequence[Waiting], now: int) -> Objective:
        """Return the terms: a second costs max ewt / ewt."""
        rates = np.array([self._rate(entry) for entry in waiting])
        waits = np.array([now - entry.job.submit for entry in waiting])
        return Objective(rates, None, float(rates @ waits))

    def _rate(self, waiting: Waiting) -> float:
        expected = self.waits.of(waiting.job.queue)
        return max(self.waits.longest(), expected) / expected


@dataclass(frozen=True)
class ExcessWait(WeightedWait):
    """The sum of max(0, (s - q - ewt) / ewt), PCP before version 3 (section 2.2); the priority is HCP's."""

    def objective(self, waiting: Sequence[Waiting], now: int) -> Objective:
        """Return the terms: a second past q + ewt costs 1 / ewt."""
        expected = [self.waits.of(entry.job.queue) for entry in waiting]
        due = [entry.job.submit - now + round(wait) for entry, wait in zip(waiting, expected, strict=True)]
        return Objective(1 / np.array(expected), np.array(due, dtype=np.int64), 0.0)
