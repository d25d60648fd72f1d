"""Who of several candidates is looked at for how long, and who is chosen.

Successive halving (K. Jamieson, A. Talwalkar: "Non-stochastic best arm identification and hyperparameter optimization",
AISTATS 2016, section 2): all on a little of the past, the best of them on more.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple


class Rung(NamedTuple):
    """How much of the past is replayed, seconds, and how many candidates are left after it."""

    length: int
    keep: int


def rungs(candidates: int, window: int, factor: int = 3) -> list[Rung]:
    """Return the rungs, the whole window last.

    On each rung the past is `factor` times as long as on the one before, and so many times fewer candidates are left.

    Parameters
    ----------
    candidates
        How many there are, at least 1.
    window
        The whole, seconds, at least 1.
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
    """Return the `keep` best candidates, those that keep the bound first; ties in their order."""
    over = set(exceeding)
    return sorted(costs, key=lambda place: (place in over, costs[place], place))[:keep]


def admitted(costs: Mapping[int, float], exceeding: Iterable[int]) -> dict[int, float]:
    """Return the costs of those that keep the bound."""
    over = set(exceeding)
    return {place: cost for place, cost in costs.items() if place not in over}


def best_of(costs: Mapping[int, float], incumbent: int, hysteresis: float) -> int:
    """Return whom to go on with: the incumbent, unless another one costs less by more than a ratio.

    Parameters
    ----------
    costs
        Of those that may be chosen, at least one.
    incumbent
        Who has been chosen; gives way at once if it may not be chosen.
    hysteresis
        By which part another one must be better, at least 0.
    """
    best = min(costs, key=lambda place: (costs[place], place))
    if incumbent in costs and costs[incumbent] - costs[best] <= math.log1p(hysteresis):
        return incumbent
    return best


def gains(costs: Mapping[int, float], before: int, chosen: int) -> float:
    """Return by how much the chosen one costs less than the one before, nan if the latter is not known."""
    known: Sequence[float] = [costs[place] for place in (before, chosen) if place in costs]
    return known[0] - known[1] if len(known) == 2 else math.nan
