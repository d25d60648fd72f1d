"""The textbook computations of optimal reservation sequences. The paper's printed values."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from scipy import stats

from hpcdispatch.models.reservations import ESDD, discretize

#: The laws of the paper, section 5.2, each with its bounds.
LAWS: dict[str, tuple[Any, float, float]] = {
    "TruncNormal(8, 2), 6 to 16": (stats.truncnorm(-1, 4, 8, 2), 6, 16),
    "Beta(2, 2), 0 to 1": (stats.beta(2, 2), 0, 1),
    "Exponential(1), 0 to 16": (stats.expon(), 0, 16),
    "Pareto(2.1), 1 to 20": (stats.pareto(2.1), 1, 20),
}
#: Rate, n, and the sequence of Table 1: N(8, 2) from 0 to 20.
PUBLISHED = (
    (0.0, 200, "10.8 13.4 15.4 17.1 18.7 20"),
    (0.1, 46, "10.86 13.91 18.69 20"),
    (0.5, 46, "13.04 20"),
    (0.9, 46, "17.39 20"),
)


def normal(n: int) -> ESDD:
    """Return the law of Table 1 on `n` values."""
    return discretize(stats.norm(8, 2), 0, 20, n)


def all_pairs(esdd: ESDD) -> float:
    """Return the least expected makespan without backfilling. It is the minimum over all pairs of values: O(n^2)."""
    beyond = np.append(np.cumsum(esdd.probabilities[::-1])[::-1], 0.0)
    least = np.zeros(len(beyond))
    for index in range(len(beyond) - 2, -1, -1):
        least[index] = np.min(esdd.values[index:] * beyond[index] + least[index + 1 :])
    return float(least[0])


def as_written(esdd: ESDD, rate: float) -> float:
    """Return the least expected makespan by equation 6 over states (i, m, k). Sums of f and f v are kept: O(n^5)."""
    n = len(esdd.values)
    start, step = esdd.start, (esdd.end - esdd.start) / n
    values = [start, *esdd.values.tolist()]
    mass = [0.0, *np.cumsum(esdd.probabilities).tolist()]
    moment = [0.0, *np.cumsum(esdd.probabilities * esdd.values).tolist()]

    @cache
    def least(i: int, m: int, k: int) -> float:
        best = 0.0 if i == n else math.inf
        for j in range(i + 1, n + 1):
            x = max(i, math.floor(j - rate * (j + k) - rate * (m + 1) * start / step))
            cost = values[j] * (mass[x] - mass[i] + mass[n] - mass[j]) + least(j, m + 1, k + j)
            cost += rate / (1 - rate) * (m * start + k * step) * (mass[j] - mass[x])
            best = min(best, cost + (moment[j] - moment[x]) / (1 - rate))
        return best

    return least(0, 0, 0)
