"""Optimal sequences of walltimes for a job with stochastic run time.

A job requests a reservation. If it is killed at the end, it requests the next longer one. Source: Gainaru et al.,
"Speculative scheduling for stochastic HPC applications", ICPP 2019, section 4. TOptimal is the sequence of least
expected time to success. ATOptimal also counts a stream of small jobs that backfill unused reserved time. Reservations
may instead have a price (:class:`Cost`).
"""

import math
from collections.abc import Sequence as Values
from dataclasses import dataclass

import numpy as np

from ...base import BoolArray, FloatArray, InputError
from ...base.argument_types import names_wrong_types
from .laws import ESDD, ROUNDING, number, rising_times
from .sequence_search import MOST_STEPS, at_most, path, tail_sums, tails_of, with_backfilling, without_backfilling


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of a reservation: alpha x its length + beta x its used part + gamma.

    Aupy et al., "Reservation strategies for stochastic jobs", IPDPS 2019, section II. If users pay for reserved time,
    alpha = 1. If a longer walltime waits longer, beta = 1, and alpha and gamma are fitted to waiting times.

    Raises
    ------
    InputError
        If a value is negative or not finite, or all are 0.
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
    """Reservations to request in sequence until the job succeeds, and their exact outcome.

    Attributes
    ----------
    values
        Lengths, shape (reservations,). Rising, except with checkpoints.
    expected_makespan
        E[T], or the expected cost with a :class:`Cost`.
    needed
        Probability that each reservation is requested at all, shape (reservations,).
    wasted
        Expected time of each reservation that does not serve the successful run. Shape (reservations,). All of a failed
        reservation, and the unused tail of the successful one. Small jobs may still backfill tails. Work saved by a
        checkpoint serves that run.
    reached
        Run time up to which each one succeeds, rising, shape (reservations,). Without checkpoints, its length.
    keeps
        Whether each ends with a checkpoint, shape (reservations,).
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
        """Expected reserved time that does not serve the successful run."""
        return math.fsum(self.wasted)


@names_wrong_types
def optimal_sequence(
    esdd: ESDD,
    backfill_rate: float = 0.0,
    *,
    cost: Cost | None = None,
    requests: int | None = None,
    most_steps: int = MOST_STEPS,
) -> Sequence:
    """Return the best sequence of reservations among the values of a law. The last is the largest value.

    Parameters
    ----------
    esdd
        Law of the run time.
    backfill_rate
        zeta, in [0, 1). Work of small jobs that arrives per unit of time, as a share of what the job's processors can
        do. TOptimal at 0, ATOptimal above.
    cost
        What to minimise instead of the makespan. Only at rate 0.
    requests
        Largest number of reservations, or ``None``. Only at rate 0.
    most_steps
        Most steps of a search at a rate above 0. One step handles one label at one value. For laws over several decades
        the steps grow with about the third power of the values.

    Returns
    -------
    Sequence
        Ties at rate 0 go to the longer next reservation. Ties above 0 go to the single reservation, else to a fixed
        one. If the largest value has no mass, the last reservation may never be needed.

    Raises
    ------
    InputError
        * If the rate is not in [0, 1).
        * If a cost or a number of requests is given at a rate above 0.
        * If `requests` is below 1.
        * If the search would take more than `most_steps`. The message estimates the steps, and the values that would
          do.

    Notes
    -----
    Section 4.1, exact. Theorem 1: let X = v_l succeed in reservation v_j, after failed ones of total length S. Then T =
    max(S + v_j, (S + v_l)/(1 - zeta)). At rate 0, O(n): E(i) = min over j > i of P(X > v_i) v_j + E(j), a minimum over
    lines. Above 0, equation 6 without its table: O(n L), for L labels of failed reservations that cannot be excluded.
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


@names_wrong_types
def evaluate(values: Values[float], esdd: ESDD, backfill_rate: float = 0.0, *, cost: Cost | None = None) -> Sequence:
    """Return the outcome of any sequence of reservations.

    Parameters
    ----------
    values
        Lengths of the reservations, rising, > 0, not necessarily values of the law. The last one covers all its mass. A
        reservation covers longer run times within a relative 1e-12.
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


@names_wrong_types
def expected_makespan(
    values: Values[float], esdd: ESDD, backfill_rate: float = 0.0, *, cost: Cost | None = None
) -> float:
    """Return E[T] of any sequence of reservations, or its expected cost. See :func:`evaluate`."""
    return evaluate(values, esdd, backfill_rate, cost=cost).expected_makespan


def _evaluate(lengths: FloatArray, esdd: ESDD, rate: float, cost: Cost | None) -> Sequence:
    run_times = esdd.values
    chance = esdd.probabilities
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
