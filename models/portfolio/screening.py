"""Screen candidates by successive halving, and choose one.

K. Jamieson, A. Talwalkar: "Non-stochastic best arm identification and hyperparameter optimization", AISTATS 2016,
section 2. All candidates run on a short period, and the best on longer ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple


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
    found, left = [], candidates
    for step in range(steps, 0, -1):
        left = math.ceil(left / factor)
        found.append(Rung(max(1, window // factor**step), left))
    return [*found, Rung(window, 1)]


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
