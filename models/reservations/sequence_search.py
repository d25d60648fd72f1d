"""The best sequence of reservations among the values of a law: in linear time without backfilling, else by labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...base import FloatArray, InputError, IntArray
from .laws import ESDD

#: Share of the makespan within which two sequences are as good as each other.
_TIE = 1e-15
#: Steps of a label over a value that a search takes at most: some 15 s, on 4,000 to 6,000 values of the hardest laws.
MOST_STEPS = 200_000_000


@dataclass(frozen=True, slots=True)
class Tails:
    """A law with its sums from each value on; index 0 is before the first value.

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
    """Return the sums of the terms from each one on, and 0."""
    return np.append(np.cumsum(terms[::-1])[::-1], 0.0)


def tails_of(law: ESDD) -> Tails:
    """Return the sums of a law."""
    return Tails(
        np.concatenate(([0.0], law.values)), tail_sums(law.probabilities), tail_sums(law.probabilities * law.values)
    )


def without_backfilling(
    tails: Tails,
    alpha: float = 1.0,
    beta: float = 0.0,
    gamma: float = 0.0,
    after: Sequence[float] | None = None,
) -> tuple[list[float], list[int]]:
    """Return the least expected cost to come, and the index of the next reservation, from each index on.

    With `after`, the cost to come from each index on after the next reservation, all finite, E(j) below is that.

    With Q_i = P(X > v_i) and R_i = E[X; X > v_i],
    E(i) = gamma Q_i + beta R_i + min over j > i of alpha Q_i v_j + g_j, where g_j = beta (v_j Q_j - R_j) + E(j): the
    minimum, at alpha Q_i, over lines of slopes v_j. As i falls, the slopes fall and alpha Q_i does not, so that a line
    once passed is never the best again and all takes O(n). Of equal reservations the longer.
    """
    at, slopes = (alpha * tails.beyond).tolist(), tails.values.tolist()
    fixed = (gamma * tails.beyond + beta * tails.moment).tolist()
    heights = (beta * (tails.values * tails.beyond - tails.moment)).tolist()
    if after is not None:
        heights = [height + cost for height, cost in zip(heights, after, strict=True)]
    costs, following = [0.0] * len(slopes), [tails.last] * len(slopes)
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
            best, line, least = best + 1, other, cost
        following[index], costs[index] = line, least + fixed[index]
        heights[index] += costs[index] if after is None else 0.0
        while best + 1 < len(envelope):
            # Of three lines of falling slopes the middle one may be nowhere below both others.
            one, two = envelope[-2], envelope[-1]
            fall, rise = slopes[one] - slopes[two], heights[two] - heights[one]
            if (heights[index] - heights[one]) * fall > rise * (slopes[one] - slopes[index]):
                break
            envelope.pop()
        envelope.append(index)
    return costs, following


def path(following: Sequence[int]) -> list[int]:
    """Return the indices from the first reservation to the last one."""
    indices = [following[0]]
    while indices[-1] != len(following) - 1:
        indices.append(following[indices[-1]])
    return indices


def at_most(tails: Tails, requests: int, alpha: float = 1.0, beta: float = 0.0, gamma: float = 0.0) -> list[int]:
    """Return the indices of the best sequence of at most so many reservations, in O(n) for each of them."""
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
    """Return the indices of the sequence of least expected makespan at a backfill rate in (0, 1).

    A label stands for reservations that failed: the index i of the last one, their total length S, and the part G of
    the makespan that values up to v_i have. The makespan to come rises with S by at least Q_i = P(X > v_i) and at most
    Q_i/(1 - rate) a unit, so of the labels of an index only those count that no other one undercuts both in G + Q_i S
    and in G + Q_i S/(1 - rate). And only those that with a lower bound of what is to come stay below the best sequence
    known. What is left is exact and few.

    Of sequences within rounding of each other the single reservation goes first, then the best one at rate 0.

    Raises
    ------
    InputError
        If that would take more than `most_steps`, each of one label over one value: there may be many for some laws.
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
        cost, failed, parents = labels.cost + part, labels.failed + tails.values[index], labels.number
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
                bound, end = float(whole[best]), int(new.number[best])
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
    """Labels that may still lead to a best sequence; see :func:`with_backfilling`.

    Attributes
    ----------
    number
        In the order in which they were made; 0 stands for the beginning, where nothing failed.
    last
        Index of the last reservation that failed.
    failed, cost
        S and G.
    """

    number: IntArray
    last: IntArray
    failed: FloatArray
    cost: FloatArray


@dataclass(frozen=True, slots=True)
class _Backfilled:
    """The makespan at a backfill rate."""

    tails: Tails
    rate: float

    def reserve(self, before: IntArray, index: int | IntArray, failed: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return E[T; v_before < X <= v_index] if v_index is reserved next, and a bound of that and all longer ones.

        Up to v_x, the largest value <= v_index - rate (failed + v_index), T = failed + v_index; above, it is
        (failed + X)/(1 - rate). The bound is E[T; X > v_before] as if that held for all X.
        """
        values, beyond, moment = self.tails.values, self.tails.beyond, self.tails.moment
        end = failed + values[index]
        x = np.maximum(np.searchsorted(values, values[index] - self.rate * end, side="right") - 1, before)
        inside = end * (beyond[before] - beyond[x])
        outside = failed * (beyond[x] - beyond[index]) + (moment[x] - moment[index])
        bound = failed * beyond[x] + moment[x]
        return inside + outside / (1 - self.rate), inside + bound / (1 - self.rate)

    def to_come(self, index: int, failed: FloatArray, least: float) -> FloatArray:
        """Return a lower bound of E[T; X > v_index], of which `least` is the minimum at rate 0 if nothing failed."""
        ran = failed * self.tails.beyond[index]
        bound: FloatArray = np.maximum(ran + least, (ran + self.tails.moment[index]) / (1 - self.rate))
        return bound

    def front(self, index: int, failed: FloatArray, cost: FloatArray, slack: float) -> IntArray:
        """Return which labels of an index no other one undercuts, by rising `failed`."""
        kept = np.lexsort((cost, failed))
        for factor, order in ((1.0, 1), (1 / (1 - self.rate), -1)):
            height = (cost + self.tails.beyond[index] * factor * failed)[kept][::order]
            lower = np.concatenate(([True], height[1:] < np.minimum.accumulate(height)[:-1] - slack))
            kept = kept[lower[::order]]
        return kept

    def makespan(self, indices: Sequence[int]) -> float:
        """Return E[T] of a sequence."""
        at = np.array(indices)
        values, before = self.tails.values[at], np.concatenate(([0], at[:-1]))
        return float(self.reserve(before, at, np.cumsum(values) - values)[0].sum())
