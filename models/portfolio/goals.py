"""What a replay of the past under a dispatcher is worth."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...base import BoolArray, FloatArray
from ...base.checks import check_choice, check_number

#: What of the waits is bounded.
Bound = Literal["longest", "p99", "none"]
#: Seconds that are added to a mean wait, so that some seconds in an idle week decide nothing.
_MINUTE = 60.0


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What became of the jobs of a window.

    Attributes
    ----------
    waits
        Seconds, shape (jobs,), of the jobs that had not started when the window began; of a job that still waits at its
        end, what it has waited by then.
    slowdowns
        Their bounded slowdowns, shape (jobs,).
    fresh
        Which of them were submitted in the window, shape (jobs,).
    """

    waits: FloatArray
    slowdowns: FloatArray
    fresh: BoolArray

    @property
    def mean_wait(self) -> float:
        """Mean wait, seconds; 0 without jobs."""
        return float(self.waits.mean()) if len(self.waits) else 0.0

    @property
    def mean_slowdown(self) -> float:
        """Mean bounded slowdown; 1 without jobs."""
        return float(self.slowdowns.mean()) if len(self.slowdowns) else 1.0

    def tail(self, share: float = 1.0) -> float:
        """Return the wait that this share of the jobs submitted in the window does not exceed, seconds."""
        waits = self.waits[self.fresh]
        return float(np.quantile(waits, share)) if len(waits) else 0.0


class Goal:
    """What a site wants of a dispatcher; to be subclassed.

    The less a candidate costs the better. A difference d of two costs counts as a ratio exp(d), to which the hysteresis
    of the portfolio is compared: a cost is best the logarithm of something.
    """

    def cost(self, outcome: Outcome) -> float:
        """Return what an outcome costs, a finite number."""
        raise NotImplementedError

    def tail(self, outcome: Outcome) -> float:
        """Return the wait that is bounded, seconds; 0 for no bound."""
        return 0.0

    def allows(self, tail: float, reference: float) -> bool:
        """Return whether a tail keeps the bound, given the larger one of EASY so far and of the reference."""
        return tail <= reference


@dataclass(frozen=True)
class Means(Goal):
    """Weighted means in which a percent less of one is worth a percent more of the other, and a bound on long waits.

    The cost is the weighted mean of log(mean wait + 1 min) and log(mean bounded slowdown). Whoever lets a job wait
    longer than `slack` times the longest wait under EASY so far, or under the reference in the window if that is more,
    is not chosen, whatever it costs.

    Attributes
    ----------
    wait, slowdown
        The weights, not below 0, one of them above.
    bound
        What of the waits is bounded: the ``"longest"`` one, the 99th percentile ``"p99"``, or ``"none"``.
    slack
        By which factor the reference may be exceeded, above 0.

    Raises
    ------
    ValueError
        If a value is out of its range.
    """

    wait: float = 1.0
    slowdown: float = 1.0
    bound: Bound = "longest"
    slack: float = 1.05

    def __post_init__(self) -> None:
        check_number("wait", self.wait, least=0)
        check_number("slowdown", self.slowdown, least=0)
        if self.wait + self.slowdown <= 0:
            raise ValueError("wait and slowdown: one of the weights must be above 0, got 0 and 0")
        check_choice("bound", self.bound, Bound)
        check_number("slack", self.slack, above=0)

    def cost(self, outcome: Outcome) -> float:
        """Return the logarithm of the weighted geometric mean of both means."""
        logs = self.wait * math.log(outcome.mean_wait + _MINUTE) + self.slowdown * math.log(outcome.mean_slowdown)
        return logs / (self.wait + self.slowdown)

    def tail(self, outcome: Outcome) -> float:
        """Return the longest wait, or its 99th percentile, of the jobs submitted in the window, seconds."""
        return 0.0 if self.bound == "none" else outcome.tail(1.0 if self.bound == "longest" else 0.99)

    def allows(self, tail: float, reference: float) -> bool:
        """Return whether a tail is no longer than that of the reference, but for the slack."""
        return tail <= self.slack * reference
