"""What to request for run times that were seen, and how the ways of choosing it fare."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..base import FloatArray, InputError
from ..models import reservations
from ..models.reservations import ESDD, Checkpointing, Fit

#: The rule of the users of ICPP 2019, section 5.1: the longest of so many runs.
LAST = 10
#: What a request is multiplied by when the one before was too short: the mean, and any other.
DOUBLING, GROWTH = 2.0, 1.5
#: So many run times are halved to judge requests on runs that they were not made from.
LEAST_TO_HALVE = 20
#: With fewer run times nothing can be said of how rare a longer one is: after four, one in five is.
LEAST_TO_TRUST = 5
_FREE = Checkpointing()


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
    checkpointing
        What checkpoints cost, seconds, where the job can write them; at a rate of 0 only.

    Raises
    ------
    InputError
        If there are checkpoints at a rate above 0.
    """

    bins: int = 200
    backfill_rate: float = 0.0
    limit: float | None = None
    fitted: bool = False
    checkpointing: Checkpointing | None = None

    def __post_init__(self) -> None:
        if self.checkpointing is not None and self.backfill_rate:
            raise InputError(f"checkpoint: holds at a backfill_rate of 0 only, got {self.backfill_rate:g}")


#: Names of strategies: the requests that are advised, and the last of them alone.
BEST, MAXIMUM = "optimal sequence", "maximum"


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
    keeps
        Which requests end with a checkpoint, none beyond those that are given. `requests` are then the run times up to
        which each succeeds.
    checkpointing
        What a checkpoint costs, seconds.
    """

    name: str
    note: str
    requests: Callable[[FloatArray], Sequence[float]]
    needs: int = 0
    keeps: Sequence[bool] = ()
    checkpointing: Checkpointing = _FREE


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
    times
        The time of each run, shape (runs,), seconds.
    """

    requests: float
    time: float
    waste: float
    times: FloatArray = field(repr=False, compare=False)

    def plain(self) -> dict[str, float]:
        """Return the means by name."""
        return {"requests": self.requests, "time": self.time, "waste": self.waste}


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
    without
        The best requests without checkpoints; ``None`` where the job writes none.
    worthwhile
        Up to how many seconds of writing the best requests have checkpoints at all, at this restart; ``None`` likewise.
    """

    sequence: reservations.Sequence
    fits: tuple[Fit, ...]
    rows: tuple[Row, ...]
    without: reservations.Sequence | None = None
    worthwhile: float | None = None


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
    made = _strategies(run_times, planning)
    unseen: list[Fared | None] = [None] * len(made)
    if len(run_times) >= LEAST_TO_HALVE:
        known = run_times[:half]
        unseen = [fare(strategy, run_times, half, rate) for strategy in _strategies(known, planning)]
    rows = [
        Row(strategy, _first(strategy, run_times), fare(strategy, run_times, strategy.needs, rate), later)
        for strategy, later in zip(made, unseen, strict=True)
    ]
    fits = reservations.fit(run_times.tolist()) if run_times.min() < run_times.max() else []
    without, worthwhile = None, None
    if planning.checkpointing is not None:
        without = optimum(run_times, replace(planning, checkpointing=None))
        worthwhile = reservations.longest_worthwhile(law_of(run_times, planning), planning.checkpointing.restart)
    return Advice(sequence, tuple(fits), tuple(rows), without, worthwhile)


def optimum(run_times: FloatArray, planning: Planning) -> reservations.Sequence:
    """Return the requests of least expected time under the law of `run_times`, or of the family that fits them best."""
    law = law_of(run_times, planning)
    if planning.checkpointing is not None:
        return reservations.optimal_checkpointed_sequence(law, planning.checkpointing)
    return reservations.optimal_sequence(law, planning.backfill_rate)


def law_of(run_times: FloatArray, planning: Planning) -> ESDD:
    """Return the law of `run_times` up to the limit, or of the family that fits them best."""
    longest = float(run_times.max())
    limit = longest if planning.limit is None else planning.limit
    if planning.fitted and run_times.min() < longest:
        return reservations.discretize(reservations.fit(run_times.tolist())[0].distribution, 0.0, limit, planning.bins)
    law = reservations.from_samples(run_times.tolist(), planning.bins)
    if limit > longest:
        law = ESDD(np.append(law.values, limit), np.append(law.probabilities, 0.0), law.start)
    return law


def _strategies(run_times: FloatArray, planning: Planning) -> tuple[Strategy, ...]:
    """Return the ways of choosing requests, with checkpoints too where the job can write them."""
    if planning.checkpointing is None:
        return strategies(run_times, optimum(run_times, planning))
    without = optimum(run_times, replace(planning, checkpointing=None))
    plain, *others = strategies(run_times, without)
    costs = planning.checkpointing
    payable = max(costs.write, costs.restart) <= law_of(run_times, planning).end
    found = optimum(run_times, planning) if payable else without
    reached, keeps = found.reached.tolist(), tuple(found.keeps.tolist())
    best = replace(plain, requests=lambda recent: reached, keeps=keeps, checkpointing=costs)
    return best, replace(plain, name="without checkpoints", note="the best requests without them"), *others


def _first(strategy: Strategy, run_times: FloatArray) -> float:
    """Return the length of the first request after the run times."""
    return next(_reservations(strategy, strategy.requests(run_times[-LAST:])))[1]


def strategies(run_times: FloatArray, sequence: reservations.Sequence) -> tuple[Strategy, ...]:
    """Return the ways of choosing requests, made from `run_times`: `sequence` first, then those to compare it with."""
    values = sequence.values.tolist()
    most, mean = values[-1], float(run_times.mean())
    return (
        Strategy(BEST, "the requests above", lambda recent: values),
        Strategy(MAXIMUM, "the last of them at once", lambda recent: [most]),
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
        _outcome(strategy, strategy.requests(run_times[max(index - LAST, 0) : index]), run_time, backfill_rate)
        for index, run_time in enumerate(run_times[start:].tolist(), start)
    ]
    if not outcomes:
        return None
    requests, times, waste = zip(*outcomes, strict=True)
    count, time, lost = (math.fsum(column) / len(outcomes) for column in (requests, times, waste))
    return Fared(count, time, lost, np.asarray(times))


def _outcome(
    strategy: Strategy, requests: Sequence[float], run_time: float, backfill_rate: float
) -> tuple[int, float, float]:
    """Return how many requests a run takes, the time to success, and the waste."""
    reserved, count = 0.0, 0
    for reached, length in _reservations(strategy, requests):
        reserved, count = reserved + length, count + 1
        if reached >= run_time:
            break
    used = reserved - reached + run_time
    return count, max(reserved, used / (1 - backfill_rate)), reserved - run_time


def _reservations(strategy: Strategy, requests: Sequence[float]) -> Iterator[tuple[float, float]]:
    """Yield up to which run time each reservation succeeds, and how long it is."""
    held, costs = 0.0, strategy.checkpointing
    for reached, keep in zip(
        _endless(requests), itertools.chain(strategy.keeps, itertools.repeat(False)), strict=False
    ):
        yield reached, (costs.restart if held else 0.0) + reached - held + (costs.write if keep else 0.0)
        held = reached if keep else held


def _endless(requests: Sequence[float]) -> Iterator[float]:
    yield from requests
    yield from _growing(requests[-1] * GROWTH, GROWTH, math.inf)


def _growing(first: float, factor: float, most: float) -> Iterator[float]:
    """Return `first` times powers of `factor` below `most`, and then that."""
    while first < most:
        yield first
        first *= factor
    yield most
