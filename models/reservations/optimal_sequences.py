"""Which times to request, one after the other, for a job whose run time is a lottery.

A job requests a reservation, and the next longer one when it is killed at the end of the one before. Gainaru et al.,
"Speculative scheduling for stochastic HPC applications", ICPP 2019, section 4: TOptimal is the sequence of least
expected time to success, ATOptimal that beside a stream of small jobs that backfill what is reserved and not used.
Requests may instead be priced (:class:`Cost`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence as Values
from dataclasses import dataclass

import numpy as np

from ...base import BoolArray, FloatArray, InputError
from .laws import ESDD, ROUNDING, number, rising_times
from .sequence_search import MOST_STEPS, at_most, path, tail_sums, tails_of, with_backfilling, without_backfilling


@dataclass(frozen=True, slots=True)
class Cost:
    """What a reservation costs: alpha x its length + beta x the part of it that was used + gamma.

    Aupy et al., "Reservation strategies for stochastic jobs", IPDPS 2019, section II. Where one pays what one reserves,
    alpha = 1; where a longer request waits longer, beta = 1 and alpha, gamma as fitted to the waiting times.

    Raises
    ------
    InputError
        If one is negative or not finite, or all are 0.
    """

    alpha: float = 1.0
    beta: float = 0.0
    gamma: float = 0.0

    def __post_init__(self) -> None:
        total = sum(number(f"cost.{name}", getattr(self, name)) for name in ("alpha", "beta", "gamma"))
        if not total > 0:
            raise InputError("cost: one of alpha, beta, gamma must be > 0, got 0 for all")


@dataclass(frozen=True, slots=True, eq=False)
class Sequence:
    """Reservations to request one after the other until the job succeeds, and what comes of them, exactly.

    Attributes
    ----------
    values
        Their lengths, shape (reservations,): rising, but where checkpoints are written.
    expected_makespan
        E[T]; with a :class:`Cost`, the expected cost.
    needed
        Probability that a reservation is requested at all, shape (reservations,).
    wasted
        Expected time of each reservation that does not serve the run that succeeds: all of it if it fails, its unused
        tail if it is the one that succeeds; shape (reservations,). Small jobs may still backfill tails. Work that a
        checkpoint keeps serves that run.
    reached
        Run time up to which each one succeeds, rising, shape (reservations,): without checkpoints, its length.
    keeps
        Which end with a checkpoint, shape (reservations,).
    """

    values: FloatArray
    expected_makespan: float
    needed: FloatArray
    wasted: FloatArray
    reached: FloatArray
    keeps: BoolArray

    def __post_init__(self) -> None:
        for array in (self.values, self.needed, self.wasted, self.reached, self.keeps):
            array.flags.writeable = False

    @property
    def expected_waste(self) -> float:
        """The expected time that is reserved and does not serve the run that succeeds."""
        return math.fsum(self.wasted)


def optimal_sequence(
    esdd: ESDD,
    backfill_rate: float = 0.0,
    *,
    cost: Cost | None = None,
    requests: int | None = None,
    most_steps: int = MOST_STEPS,
) -> Sequence:
    """Return the best sequence of reservations among the values of a law; its last one is the largest value.

    Parameters
    ----------
    esdd
        The law of the run time.
    backfill_rate
        zeta, in [0, 1): work of small jobs that arrives in a unit of time, as a share of what the job's processors can
        do in it. TOptimal at 0, ATOptimal above.
    cost
        What to minimise instead of the makespan, at rate 0 only.
    requests
        How many reservations there may be at most, at rate 0 only; ``None`` for any number.
    most_steps
        What the search at a rate above 0 may take, in the worst case: steps of one label over one value. Their number
        grows with about the third power of the values for laws over several decades.

    Returns
    -------
    Sequence
        Of reservations that are as good, at rate 0 the longer next one; above 0 the single reservation, or else a fixed
        one. Where the law has no mass at its largest value, the last reservation may be one that is never needed.

    Raises
    ------
    InputError
        If the rate is not in [0, 1), there is a cost or a number of requests at a rate above 0, that number is below 1,
        or the search would take more than
        `most_steps`; the message says about how many, and how many values would do.

    Notes
    -----
    Section 4.1, exact. Theorem 1: X = v_l that succeeds in reservation v_j after failed ones of total length S makes
    T = max(S + v_j, (S + v_l)/(1 - zeta)). At rate 0, O(n): E(i) = min over j > i of P(X > v_i) v_j + E(j), a minimum
    over lines. Above 0, equation 6 without its table: O(n L), L labels of failed reservations that cannot be ruled out.
    """
    rate = _checked_rate(backfill_rate, cost)
    tails = tails_of(esdd)
    price = cost or Cost()
    if requests is not None:
        if rate > 0 or requests < 1:
            raise InputError(f"requests: must be at least 1, at a backfill_rate of 0, got {requests} at {rate:g}")
        indices = at_most(tails, requests, price.alpha, price.beta, price.gamma)
    elif rate > 0:
        indices = with_backfilling(tails, rate, most_steps)
    else:
        indices = path(without_backfilling(tails, price.alpha, price.beta, price.gamma)[1])
    return _evaluate(tails.values[indices], esdd, rate, cost)


def evaluate(values: Values[float], esdd: ESDD, backfill_rate: float = 0.0, *, cost: Cost | None = None) -> Sequence:
    """Return what comes of any sequence of reservations.

    Parameters
    ----------
    values
        Lengths of the reservations, rising, > 0, not necessarily values of the law; the last one covers all its mass. A
        reservation covers what is longer by a share of 1e-12 at most.
    esdd, backfill_rate, cost
        As for :func:`optimal_sequence`.

    Raises
    ------
    InputError
        If the reservations do not rise, the last one is too short, or an argument is out of its range.
    """
    rate = _checked_rate(backfill_rate, cost)
    lengths = rising_times("values", values)
    longest = float(esdd.values[esdd.probabilities > 0][-1])
    if lengths[-1] * (1 + ROUNDING) < longest:
        raise InputError(f"values: the last must be >= {longest:g}, the longest run time, got {lengths[-1]:g}")
    return _evaluate(lengths, esdd, rate, cost)


def expected_makespan(
    values: Values[float], esdd: ESDD, backfill_rate: float = 0.0, *, cost: Cost | None = None
) -> float:
    """Return E[T] of any sequence of reservations, or its expected cost; see :func:`evaluate`."""
    return evaluate(values, esdd, backfill_rate, cost=cost).expected_makespan


def _evaluate(lengths: FloatArray, esdd: ESDD, rate: float, cost: Cost | None) -> Sequence:
    run_times, chance = esdd.values, esdd.probabilities
    rank = np.minimum(np.searchsorted(lengths * (1 + ROUNDING), run_times), len(lengths) - 1)
    reserved = np.cumsum(lengths)
    used = reserved[rank] - lengths[rank] + run_times
    if cost is None:
        outcome = np.maximum(reserved[rank], used / (1 - rate))
    else:
        outcome = cost.alpha * reserved[rank] + cost.beta * used + cost.gamma * (rank + 1)
    ends_in: FloatArray = np.bincount(rank, chance, len(lengths)).astype(np.float64)
    needed = tail_sums(ends_in)[:-1]
    wasted = np.maximum(lengths * needed - np.bincount(rank, chance * run_times, len(lengths)), 0.0)
    none = np.zeros(len(lengths), dtype=np.bool_)
    return Sequence(lengths, math.fsum(chance * outcome), needed, wasted, lengths, none)


def _checked_rate(backfill_rate: float, cost: Cost | None) -> float:
    rate = number("backfill_rate", backfill_rate, below=1)
    if rate > 0 and cost is not None:
        raise InputError(f"cost: holds at a backfill_rate of 0 only, got {rate:g}")
    return rate
