"""Best sequence of reservations among the values of a law.

Linear time without backfilling, else a label search.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...base import FloatArray, InputError, IntArray
from .laws import ESDD

#: Relative difference of makespans that counts as a tie.
_TIE = 1e-15
#: Most steps (a label at a value) of a search. Some 15 s, for 4,000 to 6,000 values of the hardest laws.
MOST_STEPS = 200_000_000


@dataclass(frozen=True, slots=True)
class Tails:
    """A law with its tail sums. Index 0 is before the first value.

    Attributes
    ----------
    values
        0, then the values of the law, shape (n + 1,).
    beyond
        P(X > values[i]), shape (n + 1,).
    moment
        E[X; X > values[i]], shape (n + 1,).
    """

    values: FloatArray
    beyond: FloatArray
    moment: FloatArray

    @property
    def last(self) -> int:
        """Index of the largest value."""
        return len(self.values) - 1


def tail_sums(terms: FloatArray) -> FloatArray:
    """Return the sum of the terms from each one on, then 0."""
    return np.append(np.cumsum(terms[::-1])[::-1], 0.0)


def tails_of(law: ESDD) -> Tails:
    """Return the tail sums of a law."""
    return Tails(
        np.concatenate(([0.0], law.values)), tail_sums(law.probabilities), tail_sums(law.probabilities * law.values)
    )


def without_backfilling(
    tails: Tails, alpha: float = 1.0, beta: float = 0.0, gamma: float = 0.0, after: Sequence[float] | None = None
) -> tuple[list[float], list[int]]:
    """Return the least expected future cost and the next reservation, from each index on.

    If `after` is given, it replaces E(j) below: the cost from each index on after the next reservation. All are finite.

    Let Q_i = P(X > v_i) and R_i = E[X; X > v_i]. E(i) = gamma Q_i + beta R_i + min over j > i of alpha Q_i v_j + g_j.
    Here g_j = beta (v_j Q_j - R_j) + E(j). The minimum is over lines of slopes v_j, at alpha Q_i. As i falls, the
    slopes fall and alpha Q_i does not. So a passed line is never the best again, and all takes O(n). Ties go to the
    longer reservation.
    """
    at = (alpha * tails.beyond).tolist()
    slopes = tails.values.tolist()
    fixed = (gamma * tails.beyond + beta * tails.moment).tolist()
    heights = (beta * (tails.values * tails.beyond - tails.moment)).tolist()
    if after is not None:
        heights = [height + cost for height, cost in zip(heights, after, strict=True)]
    costs = [0.0] * len(slopes)
    following = [tails.last] * len(slopes)
    envelope, best = [tails.last], 0
    for index in range(tails.last - 1, -1, -1):
        x = at[index]
        line = envelope[best]
        least = slopes[line] * x + heights[line]
        while best + 1 < len(envelope):
            other = envelope[best + 1]
            cost = slopes[other] * x + heights[other]
            if cost >= least:
                break
            best = best + 1
            line = other
            least = cost
        following[index], costs[index] = line, least + fixed[index]
        heights[index] += costs[index] if after is None else 0.0
        while best + 1 < len(envelope):
            # Of three lines with falling slopes, the middle one may never be below both others.
            one, two = envelope[-2], envelope[-1]
            fall = slopes[one] - slopes[two]
            rise = heights[two] - heights[one]
            if (heights[index] - heights[one]) * fall > rise * (slopes[one] - slopes[index]):
                break
            envelope.pop()
        envelope.append(index)
    return costs, following


def path(following: Sequence[int]) -> list[int]:
    """Return the indices from the first reservation to the last."""
    indices = [following[0]]
    while indices[-1] != len(following) - 1:
        indices.append(following[indices[-1]])
    return indices


def at_most(tails: Tails, requests: int, alpha: float = 1.0, beta: float = 0.0, gamma: float = 0.0) -> list[int]:
    """Return the indices of the best sequence of at most `requests` reservations. O(n) per reservation."""
    at = alpha * tails.values[-1] + gamma
    costs = (tails.beyond * at + beta * tails.moment).tolist()
    layers: list[list[int]] = []
    for _ in range(min(requests, tails.last) - 1):
        costs, following = without_backfilling(tails, alpha, beta, gamma, costs)
        layers.append(following)
    indices = [0]
    for following in reversed(layers):
        indices.append(following[indices[-1]])
        if indices[-1] == tails.last:
            return indices[1:]
    return [*indices[1:], tails.last]


def with_backfilling(tails: Tails, rate: float, most_steps: int = MOST_STEPS) -> list[int]:
    """Return the indices of the sequence of least expected makespan, at a backfill rate in (0, 1).

    A label stands for failed reservations. It has the index i of the last one and their total length S. G is the part
    of the makespan from values up to v_i. The future makespan rises with S, per unit by at least Q_i = P(X > v_i) and
    at most Q_i/(1 - rate). So a label is dropped if another of its index is better in both G + Q_i S and G + Q_i S/(1 -
    rate). It is also dropped if it cannot beat the best sequence so far, by a lower bound of its future. The search is
    exact, and few labels remain.

    Ties within rounding go to the single reservation, then to the best sequence at rate 0.

    Raises
    ------
    InputError
        If the search would take more than `most_steps`. Some laws need many.
    """
    costs, following = without_backfilling(tails)
    backfilled = _Backfilled(tails, rate)
    chosen = min([tails.last], path(following), key=backfilled.makespan)
    bound, end = backfilled.makespan(chosen), 0
    history = [(0, 0)]
    labels = _Labels(np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64), np.zeros(1), np.zeros(1))
    steps = 0
    for index in range(1, tails.last):
        steps += len(labels.number)
        if steps > most_steps:
            expected = steps + len(labels.number) * (tails.last - index)
            # Steps grow with the third power of the values.
            fewer = max(1, int(tails.last * (most_steps / expected) ** (1 / 3)))
            raise InputError(
                f"backfill_rate: at {rate:g}, a law of {tails.last:,} values takes about {expected:,} steps, expected "
                f"at most {most_steps:,}; take about {fewer:,} values, or a rate of 0"
            )
        part, floor = backfilled.reserve(labels.last, index, labels.failed)
        cost = labels.cost + part
        failed = labels.failed + tails.values[index]
        parents = labels.number
        below = bound * (1 - _TIE)
        hopeful = np.flatnonzero(cost + backfilled.to_come(index, failed, costs[index]) < below)
        stays = labels.cost + floor < below
        if not stays.all():
            labels = _Labels._make(column[stays] for column in labels)
        if hopeful.size:
            kept = hopeful[backfilled.front(index, failed[hopeful], cost[hopeful], bound * _TIE)]
            new = _Labels(len(history) + np.arange(len(kept)), np.full(len(kept), index), failed[kept], cost[kept])
            history += [(index, parent) for parent in parents[kept].tolist()]
            labels = _Labels._make(map(np.concatenate, zip(labels, new, strict=True)))
            whole = new.cost + backfilled.reserve(new.last, tails.last, new.failed)[0]
            best = int(np.argmin(whole))
            if whole[best] < bound:
                bound = float(whole[best])
                end = int(new.number[best])
        if not labels.number.size:
            break
    if not end:
        return chosen
    indices = [tails.last]
    while end:
        index, end = history[end]
        indices.append(index)
    return indices[::-1]


class _Labels(NamedTuple):
    """Labels that may still lead to a best sequence. See :func:`with_backfilling`.

    Attributes
    ----------
    number
        Number in order of creation. 0 is the beginning, without failures.
    last
        Index of the last failed reservation.
    failed, cost
        S and G.
    """

    number: IntArray
    last: IntArray
    failed: FloatArray
    cost: FloatArray


@dataclass(frozen=True, slots=True)
class _Backfilled:
    """Makespan at a backfill rate."""

    tails: Tails
    rate: float

    def reserve(self, before: IntArray, index: int | IntArray, failed: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return E[T; v_before < X <= v_index] if v_index is reserved next, and a bound for it and longer ones.

        v_x is the largest value <= v_index - rate (failed + v_index). Up to v_x, T = failed + v_index. Above it, T =
        (failed + X)/(1 - rate). The bound is E[T; X > v_before] with that formula for all X above v_x.
        """
        values = self.tails.values
        beyond = self.tails.beyond
        moment = self.tails.moment
        end = failed + values[index]
        x = np.maximum(np.searchsorted(values, values[index] - self.rate * end, side="right") - 1, before)
        inside = end * (beyond[before] - beyond[x])
        outside = failed * (beyond[x] - beyond[index]) + (moment[x] - moment[index])
        bound = failed * beyond[x] + moment[x]
        return inside + outside / (1 - self.rate), inside + bound / (1 - self.rate)

    def to_come(self, index: int, failed: FloatArray, least: float) -> FloatArray:
        """Return a lower bound of E[T; X > v_index]. `least` is its minimum at rate 0 without failures."""
        ran = failed * self.tails.beyond[index]
        bound: FloatArray = np.maximum(ran + least, (ran + self.tails.moment[index]) / (1 - self.rate))
        return bound

    def front(self, index: int, failed: FloatArray, cost: FloatArray, slack: float) -> IntArray:
        """Return the labels of an index that no other label dominates, by rising `failed`."""
        kept = np.lexsort((cost, failed))
        for factor, order in ((1.0, 1), (1 / (1 - self.rate), -1)):
            height = (cost + self.tails.beyond[index] * factor * failed)[kept][::order]
            lower = np.concatenate(([True], height[1:] < np.minimum.accumulate(height)[:-1] - slack))
            kept = kept[lower[::order]]
        return kept

    def makespan(self, indices: Sequence[int]) -> float:
        """Return E[T] of a sequence."""
        at = np.array(indices)
        values = self.tails.values[at]
        before = np.concatenate(([0], at[:-1]))
        return float(self.reserve(before, at, np.cumsum(values) - values)[0].sum())
