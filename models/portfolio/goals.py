"""Cost of a replay of past jobs, and successive halving (Jamieson and Talwalkar, AISTATS 2016, section 2)."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

import numpy as np

from ...base import BoolArray, FloatArray
from ...base.checks import Checked, number


class Rung(NamedTuple):
    """Seconds of the past to replay, and the number of candidates left afterwards."""

    length: int
    keep: int


def rungs(candidates: int, window: int, factor: int = 3) -> list[Rung]:
    """Return the rungs, the whole window last.

    From rung to rung the period is `factor` times as long, and `factor` times fewer candidates remain.

    Parameters
    ----------
    candidates
        Number of candidates, at least 1.
    window
        Whole period, seconds, at least 1.
    factor
        At least 2.
    """
    steps, left = 0, candidates
    while left > factor:
        left = math.ceil(left / factor)
        steps += 1
    ladder, left = [], candidates
    for step in range(steps, 0, -1):
        left = math.ceil(left / factor)
        ladder.append(Rung(max(1, window // factor**step), left))
    return [*ladder, Rung(window, 1)]


def survivors(costs: Mapping[int, float], exceeding: Iterable[int], keep: int) -> list[int]:
    """Return the `keep` best candidates, those within the bound first. Ties keep their order."""
    over = set(exceeding)
    return sorted(costs, key=lambda place: (place in over, costs[place], place))[:keep]


def admitted(costs: Mapping[int, float], exceeding: Iterable[int]) -> dict[int, float]:
    """Return the costs of the candidates within the bound."""
    over = set(exceeding)
    return {place: cost for place, cost in costs.items() if place not in over}


def best_of(costs: Mapping[int, float], incumbent: int, hysteresis: float) -> int:
    """Return the next candidate: the incumbent, unless another is better by more than a ratio.

    Parameters
    ----------
    costs
        Costs of the allowed candidates, at least one.
    incumbent
        The current candidate. It is replaced at once if it is not allowed.
    hysteresis
        Relative difference by which another must be better, at least 0.
    """
    best = min(costs, key=lambda place: (costs[place], place))
    if incumbent in costs and costs[incumbent] - costs[best] <= math.log1p(hysteresis):
        return incumbent
    return best


def gains(costs: Mapping[int, float], before: int, chosen: int) -> float:
    """Return how much less `chosen` costs than `before`. NaN if a cost is unknown."""
    known: Sequence[float] = [costs[place] for place in (before, chosen) if place in costs]
    return known[0] - known[1] if len(known) == 2 else math.nan


#: What is bounded: the longest wait, its 99th percentile, or nothing.
Bound = Literal["longest", "p99", "none"]
#: Seconds added to a mean wait, so that small differences in an idle week decide nothing.
_MINUTE = 60.0


@dataclass(frozen=True, slots=True, eq=False)
class ReplayMetrics:
    """Waits and slowdowns of the jobs of a window.

    Attributes
    ----------
    waits
        Waits of the jobs that had not started when the window began, seconds. Shape (jobs,). For a job that still waits
        at its end, its wait so far.
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
        """Mean wait, seconds. 0 without jobs."""
        return float(self.waits.mean()) if len(self.waits) else 0.0

    @property
    def mean_slowdown(self) -> float:
        """Mean bounded slowdown. 1 without jobs."""
        return float(self.slowdowns.mean()) if len(self.slowdowns) else 1.0

    def tail(self, share: float = 1.0) -> float:
        """Return the quantile `share` of the waits of jobs submitted in the window, seconds."""
        waits = self.waits[self.fresh]
        return float(np.quantile(waits, share)) if len(waits) else 0.0


class PortfolioGoal:
    """Goal of a site for a dispatcher, to be subclassed.

    The candidate with the least cost wins. A difference d of two costs counts as a ratio exp(d). The portfolio compares
    it with its hysteresis. So a cost should be a logarithm.
    """

    def cost(self, outcome: ReplayMetrics) -> float:
        """Return the cost of an outcome, a finite number."""
        raise NotImplementedError

    def tail(self, outcome: ReplayMetrics) -> float:
        """Return the bounded wait, seconds. 0 for no bound."""
        return 0.0

    def allows(self, tail: float, reference: float) -> bool:
        """Return whether a tail keeps the bound.

        `reference` is the larger tail of EASY so far and of the reference.
        """
        return tail <= reference


@dataclass(frozen=True)
class Means(Checked, PortfolioGoal):
    """Weighted means of wait and slowdown, with a bound on long waits.

    The cost is the weighted mean of log(mean wait + 1 min) and log(mean bounded slowdown). So 1% less of one offsets 1%
    more of the other, at equal weights. A candidate with a wait above the bound is never chosen. The bound is `slack`
    times the longest wait under EASY so far. If the reference has a longer wait in the window, that counts instead.

    Attributes
    ----------
    wait, slowdown
        The weights, not below 0, at least one above.
    bound
        What is bounded: the ``"longest"`` wait, the 99th percentile ``"p99"``, or ``"none"``.
    slack
        Factor of the reference in the bound, above 0.

    Raises
    ------
    ValueError
        If a value is out of its range.
    """

    wait: Annotated[float, number(least=0)] = 1.0
    slowdown: Annotated[float, number(least=0)] = 1.0
    bound: Bound = "longest"
    slack: Annotated[float, number(above=0)] = 1.05

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.wait + self.slowdown <= 0:
            raise ValueError("wait and slowdown: one of the weights must be above 0, got 0 and 0")

    def cost(self, outcome: ReplayMetrics) -> float:
        """Return the logarithm of the weighted geometric mean of both means."""
        logs = self.wait * math.log(outcome.mean_wait + _MINUTE) + self.slowdown * math.log(outcome.mean_slowdown)
        return logs / (self.wait + self.slowdown)

    def tail(self, outcome: ReplayMetrics) -> float:
        """Return the longest wait, or its 99th percentile, of jobs submitted in the window, seconds."""
        return 0.0 if self.bound == "none" else outcome.tail(1.0 if self.bound == "longest" else 0.99)

    def allows(self, tail: float, reference: float) -> bool:
        """Return whether a tail is at most `slack` times the reference."""
        return tail <= self.slack * reference
