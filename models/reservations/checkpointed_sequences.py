"""Reservations that may end with a checkpoint, from which the next one continues.

Gainaru, Goglin, Honoré, Pallez, Raghavan, Robert, Sun, "Reservation and checkpointing strategies for stochastic jobs",
IPDPS 2020. They choose reservations, and which of them end with a checkpoint. An earlier checkpoint is never better
than one at the end of a reservation. It costs as much, also for runs that end before, and saves less.
"""

import math
from collections.abc import Sequence as Values
from dataclasses import dataclass

import numpy as np

from ...base import BoolArray, FloatArray, InputError, IntArray
from ...base.argument_types import names_wrong_types
from ..compiled import compiled
from .laws import ESDD, ROUNDING, number, rising_times
from .optimal_sequences import Cost, Sequence
from .sequence_search import tail_sums, tails_of

#: Most values of a law. Time grows with their square, some 6 s for this many.
MOST_VALUES = 20_000


@dataclass(frozen=True, slots=True)
class Checkpointing:
    """Costs of checkpoints, in the unit of the run times.

    Attributes
    ----------
    write
        C: at the end of a reservation with a checkpoint, unless the job ended before.
    restart
        R: at the beginning of each reservation after a checkpoint.

    Raises
    ------
    InputError
        If a value is negative or not finite.
    """

    write: float = 0.0
    restart: float = 0.0

    def __post_init__(self) -> None:
        number("checkpoint", self.write)
        number("restart", self.restart)


@names_wrong_types
def optimal_checkpointed_sequence(
    esdd: ESDD, checkpointing: Checkpointing, *, cost: Cost | None = None, kept: float = 0.0
) -> Sequence:
    """Return the best reservations, and which of them end with a checkpoint.

    Parameters
    ----------
    esdd
        Law of the run time. For a job that outlasted earlier reservations, the conditional law
        (:meth:`ESDD.condition`).
    checkpointing
        C and R.
    cost
        What to minimise instead of the time to success.
    kept
        Work already saved in a checkpoint, below the first value.

    Returns
    -------
    Sequence
        Ties go to fewer checkpoints.

    Raises
    ------
    InputError
        If C or R is longer than the largest value, or an argument is out of its range. Also if the law has more than
        :data:`MOST_VALUES` values.

    Notes
    -----
    A state is (i, k): X > v_i, and the checkpoint holds v_k, or nothing where k = 0. Let Q_i = P(X > v_i), r_0 = 0 and
    r_k = R. E(i, k) is the minimum over j > i of two terms. Without a checkpoint: Q_i (r_k + v_j - v_k) + E(j, k). With
    one: Q_i (r_k + v_j - v_k + C) + E(j, j). In the second, k does not affect the choice. For fixed k the first is a
    lower envelope of lines, as without checkpoints. So all takes O(n^2) time and O(n) memory.
    """
    for name, time in (("checkpoint", checkpointing.write), ("restart", checkpointing.restart)):
        if time > esdd.end:
            raise InputError(f"{name}: must be at most the law's bound, {esdd.end:g}, got {time:g}")
    count = len(esdd.values)
    if count > MOST_VALUES:
        expected = f"expected at most {MOST_VALUES:,}; take fewer"
        raise InputError(f"checkpoint: a law of {count:,} values takes about {count**2:,} steps, {expected}")
    if not number("kept", kept) < esdd.values[0]:
        raise InputError(f"kept: must be in [0, {esdd.values[0]:g}), below the first value, got {kept:g}")
    price, tails = cost or Cost(), tails_of(esdd)
    prices = np.array([price.alpha, price.beta, price.gamma, checkpointing.write, checkpointing.restart, kept], float)
    indices, keeps = _plan(tails.values, tails.beyond, tails.moment, prices)
    return evaluate_checkpointed(tails.values[indices], keeps, esdd, checkpointing, cost=cost, kept=kept)


@names_wrong_types
def evaluate_checkpointed(
    reached: Values[float],
    keeps: Values[bool] | BoolArray,
    esdd: ESDD,
    checkpointing: Checkpointing,
    *,
    cost: Cost | None = None,
    kept: float = 0.0,
) -> Sequence:
    """Return the outcome of any reservations with checkpoints at the end of some.

    Parameters
    ----------
    reached
        Run time up to which each succeeds, rising, above `kept`. The last one covers all mass of the law.
    keeps
        Whether each ends with a checkpoint. One per reservation.
    esdd, checkpointing, cost, kept
        As for :func:`optimal_checkpointed_sequence`.

    Raises
    ------
    InputError
        If the reservations do not rise, the last one is too short, or `keeps` has another length.
    """
    price = cost or Cost()
    ends = rising_times("reached", reached)
    saves = np.array(keeps, dtype=np.bool_)
    longest = float(esdd.values[esdd.probabilities > 0][-1])
    if ends[-1] * (1 + ROUNDING) < longest:
        raise InputError(f"reached: the last must be >= {longest:g}, the longest run time, got {ends[-1]:g}")
    if saves.shape != ends.shape:
        raise InputError(f"keeps: expected {len(ends)}, one for each reservation, got {len(saves)}")
    held = np.maximum.accumulate(np.concatenate(([kept], np.where(saves, ends, kept)[:-1])))
    again = np.where(held > 0, checkpointing.restart, 0.0)
    lengths = again + ends - held + checkpointing.write * saves
    rank = np.minimum(np.searchsorted(ends * (1 + ROUNDING), esdd.values), len(ends) - 1)
    total = np.cumsum(lengths)[rank]
    used = total - lengths[rank] + again[rank] + esdd.values - held[rank]
    needed = tail_sums(np.bincount(rank, esdd.probabilities, len(ends)).astype(np.float64))
    serves = np.bincount(rank, esdd.probabilities * (esdd.values - held[rank]), len(ends)).astype(np.float64)
    serves += needed[1:] * saves * (ends - held)
    wasted = np.maximum(lengths * needed[:-1] - serves, 0.0)
    expected = math.fsum(esdd.probabilities * (price.alpha * total + price.beta * used + price.gamma * (rank + 1)))
    return Sequence(lengths, expected, needed[:-1], wasted, ends, saves)


@names_wrong_types
def longest_worthwhile(esdd: ESDD, restart: float = 0.0, *, cost: Cost | None = None) -> float:
    """Return the longest checkpoint time with which the best sequence still has a checkpoint.

    Accurate to a thousandth of the law's bound.

    Parameters
    ----------
    esdd
        As for :func:`optimal_checkpointed_sequence`.
    restart
        R.
    cost
        As for :func:`optimal_checkpointed_sequence`.

    Returns
    -------
    float
        The largest such C. 0 if no checkpoint pays, or only one that takes no time.
    """
    low, high = 0.0, esdd.end
    while high - low > esdd.end / 1000:
        middle = (low + high) / 2
        pays = optimal_checkpointed_sequence(esdd, Checkpointing(middle, restart), cost=cost).keeps.any()
        low, high = (middle, high) if pays else (low, middle)
    return low


@compiled
def _plan(values: FloatArray, beyond: FloatArray, moment: FloatArray, prices: FloatArray) -> tuple[IntArray, BoolArray]:
    """Return the indices of the best reservations, and which end with a checkpoint.

    `prices` are alpha, beta, gamma, C, R and the initial saved work. ``after[i]`` is the least cost from v_i on if the
    next reservation ends with a checkpoint. It leaves out the shift by the saved work. ``to[i]`` is that reservation.
    """
    alpha = prices[0]
    beta = prices[1]
    write = prices[3]
    restart = prices[4]
    kept = prices[5]
    last = len(values) - 1
    whole = np.zeros(last + 1)
    after = np.full(last + 1, np.inf)
    to = np.zeros(last + 1, np.int64)
    following = np.empty(last + 1, np.int64)
    for index in range(last - 1, -1, -1):
        for end in range(index + 1, last):
            cost = (values[end] + write) * (alpha * beyond[index] + beta * beyond[end]) - beta * moment[end]
            if cost + whole[end] < after[index]:
                after[index] = cost + whole[end]
                to[index] = end
        shift = restart - values[index] if index else (restart if kept > 0 else 0.0) - kept
        whole[index] = _from(index, shift, values, beyond, moment, prices, after, to, following)
    indices = np.empty(last, np.int64)
    keeps = np.zeros(last, np.bool_)
    index, count = 0, 0
    while index != last:
        end = following[index]
        indices[count] = abs(end)
        keeps[count] = end < 0
        index, count = abs(end), count + 1
        if end < 0:
            _from(index, restart - values[index], values, beyond, moment, prices, after, to, following)
    return indices[:count], keeps[:count]


@compiled
def _from(
    first: int,
    shift: float,
    values: FloatArray,
    beyond: FloatArray,
    moment: FloatArray,
    prices: FloatArray,
    after: FloatArray,
    to: IntArray,
    following: IntArray,
) -> float:
    """Return the least cost from index `first` on. `shift` is R less the work in the last checkpoint.

    Sets `following` from there on: the index of the next reservation, negative if it ends with a checkpoint. As in
    :func:`.sequence_search.without_backfilling`, it is the least of lines with falling slopes, at points that do not
    fall.
    """
    alpha = prices[0]
    beta = prices[1]
    gamma = prices[2]
    last = len(values) - 1
    heights = np.zeros(last + 1)
    envelope = np.empty(last + 1, np.int64)
    envelope[0] = last
    lines = 1
    best = 0
    cost = 0.0
    for index in range(last - 1, first - 1, -1):
        x = alpha * beyond[index]
        least = values[envelope[best]] * x + heights[envelope[best]]
        while best + 1 < lines:
            other = values[envelope[best + 1]] * x + heights[envelope[best + 1]]
            if other >= least:
                break
            best, least = best + 1, other
        following[index] = envelope[best]
        if after[index] < least:
            following[index], least = -to[index], after[index]
        cost = least + beyond[index] * (gamma + (alpha + beta) * shift) + beta * moment[index]
        heights[index] = cost + beta * (values[index] * beyond[index] - moment[index])
        while best + 1 < lines:
            one = envelope[lines - 2]
            two = envelope[lines - 1]
            rise = (heights[two] - heights[one]) * (values[one] - values[index])
            if rise < (heights[index] - heights[one]) * (values[one] - values[two]):
                break
            lines -= 1
        envelope[lines] = index
        lines += 1
    return cost
