"""What to request for run times that were seen, and how the ways of choosing it fare."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..base import FloatArray, InputError
from ..models import reservations
from ..models.reservations import ESDD, Fit

#: The rule of the users of ICPP 2019, section 5.1: the longest of so many runs.
LAST = 10
#: What a request is multiplied by when the one before was too short: the mean, and any other.
DOUBLING, GROWTH = 2.0, 1.5
#: So many run times are halved to judge requests on runs that they were not made from.
LEAST_TO_HALVE = 20
#: With fewer run times nothing can be said of how rare a longer one is: after four, one in five is.
LEAST_TO_TRUST = 5


@dataclass(frozen=True, slots=True)
class Planning:
    """How requests are chosen.

    Attributes
    ----------
    bins
        Into how many values the law of the run times is divided.
    backfill_rate
        Of :func:`hpcdispatch.models.reservations.optimal_sequence`.
    limit
        The last request, seconds; ``None`` takes the longest run time.
    fitted
        Whether the law is that of the best fitting family, instead of the run times as they are.
    """

    bins: int = 200
    backfill_rate: float = 0.0
    limit: float | None = None
    fitted: bool = False


@dataclass(frozen=True, slots=True)
class Strategy:
    """A way of choosing requests.

    Attributes
    ----------
    name, note
        What it is called, and what it does.
    requests
        From the last :data:`LAST` run times to requests that rise, seconds. Where they do not suffice, the last one is
        multiplied by :data:`GROWTH` until it does.
    needs
        How many run times it has to know.
    """

    name: str
    note: str
    requests: Callable[[FloatArray], Sequence[float]]
    needs: int = 0


@dataclass(frozen=True, slots=True)
class Fared:
    """How a strategy fares on runs, means over them.

    Attributes
    ----------
    requests
        How many requests a run takes.
    time
        Reserved until it succeeds, or (reserved before + run time)/(1 - backfill rate) where that is longer; seconds.
    waste
        What is reserved and does not serve the run that succeeds, seconds.
    """

    requests: float
    time: float
    waste: float


@dataclass(frozen=True, slots=True)
class Row:
    """A strategy: its first request after all runs, and how it fares; ``None`` where there are too few runs.

    `seen` is on the runs that it was made from, `unseen` on the second half of them if it was made from the first.
    """

    strategy: Strategy
    first: float
    seen: Fared | None
    unseen: Fared | None


@dataclass(frozen=True, slots=True)
class Advice:
    """What to request.

    Attributes
    ----------
    sequence
        The requests of least expected time, and what is expected of them under the law that they were made for.
    fits
        Families fitted to the run times, best first; none where all are equal.
    rows
        Strategies, the sequence first.
    """

    sequence: reservations.Sequence
    fits: tuple[Fit, ...]
    rows: tuple[Row, ...]


def advise(run_times: FloatArray, planning: Planning | None = None) -> Advice:
    """Return what to request for run times in seconds, each above 0, in the order in which they were seen.

    Raises
    ------
    InputError
        If the limit is below a run time, or the model refuses what it is given.
    """
    planning = planning or Planning()
    if planning.limit is not None and planning.limit < run_times.max():
        raise InputError(f"limit: expected at least the longest run time, {run_times.max():g}, got {planning.limit:g}")
    rate, half = planning.backfill_rate, len(run_times) // 2
    sequence = optimum(run_times, planning)
    made = strategies(run_times, sequence)
    unseen: list[Fared | None] = [None] * len(made)
    if len(run_times) >= LEAST_TO_HALVE:
        known = run_times[:half]
        unseen = [fare(strategy, run_times, half, rate) for strategy in strategies(known, optimum(known, planning))]
    rows = [
        Row(strategy, strategy.requests(run_times[-LAST:])[0], fare(strategy, run_times, strategy.needs, rate), later)
        for strategy, later in zip(made, unseen, strict=True)
    ]
    fits = reservations.fit(run_times.tolist()) if run_times.min() < run_times.max() else []
    return Advice(sequence, tuple(fits), tuple(rows))


def optimum(run_times: FloatArray, planning: Planning) -> reservations.Sequence:
    """Return the requests of least expected time under the law of `run_times`, or of the family that fits them best."""
    longest = float(run_times.max())
    limit = longest if planning.limit is None else planning.limit
    if planning.fitted and run_times.min() < longest:
        law = reservations.discretize(reservations.fit(run_times.tolist())[0].distribution, 0.0, limit, planning.bins)
    else:
        law = reservations.from_samples(run_times.tolist(), planning.bins)
        if limit > longest:
            law = ESDD(np.append(law.values, limit), np.append(law.probabilities, 0.0), law.start)
    return reservations.optimal_sequence(law, planning.backfill_rate)


def strategies(run_times: FloatArray, sequence: reservations.Sequence) -> tuple[Strategy, ...]:
    """Return the ways of choosing requests, made from `run_times`: `sequence` first, then those to compare it with."""
    values = sequence.values.tolist()
    most, mean = values[-1], float(run_times.mean())
    return (
        Strategy("optimal sequence", "the requests above", lambda recent: values),
        Strategy("maximum", "the last of them at once", lambda recent: [most]),
        Strategy(
            "mean",
            f"the mean run time, times {DOUBLING:g} when it fails, up to the maximum",
            lambda recent: list(_growing(mean, DOUBLING, most)),
        ),
        Strategy(
            f"last {LAST}",
            f"the longest of the {LAST} runs before (from run {LAST + 1} on), times {GROWTH:g} when it fails, "
            "up to the maximum",
            lambda recent: list(_growing(longest := float(recent.max()), GROWTH, max(longest, most))),
            needs=LAST,
        ),
    )


def fare(strategy: Strategy, run_times: FloatArray, start: int, backfill_rate: float = 0.0) -> Fared | None:
    """Return how a strategy fares on the run times from index `start` on, or ``None`` if there is none."""
    outcomes = [
        _outcome(strategy.requests(run_times[max(index - LAST, 0) : index]), run_time, backfill_rate)
        for index, run_time in enumerate(run_times[start:].tolist(), start)
    ]
    if not outcomes:
        return None
    requests, time, waste = (math.fsum(column) / len(outcomes) for column in zip(*outcomes, strict=True))
    return Fared(requests, time, waste)


def _outcome(requests: Sequence[float], run_time: float, backfill_rate: float) -> tuple[int, float, float]:
    """Return how many requests a run takes, the time to success, and the waste."""
    reserved, count = 0.0, 0
    for request in _endless(requests):
        reserved, count = reserved + request, count + 1
        if request >= run_time:
            break
    used = reserved - request + run_time
    return count, max(reserved, used / (1 - backfill_rate)), reserved - run_time


def _endless(requests: Sequence[float]) -> Iterator[float]:
    yield from requests
    yield from _growing(requests[-1] * GROWTH, GROWTH, math.inf)


def _growing(first: float, factor: float, most: float) -> Iterator[float]:
    """Return `first` times powers of `factor` below `most`, and then that."""
    while first < most:
        yield first
        first *= factor
    yield most
