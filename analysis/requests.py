"""What to request for run times that were seen, and how the ways of choosing it fare."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy

from ..base import FloatArray, InputError
from ..models import reservations
from ..models.reservations import ESDD, Checkpointing, Fit
from ..workloads.formats.run_times import RunHistory

#: The rule of the users of ICPP 2019, section 5.1: the longest of so many runs.
LAST = 10
#: What a request is multiplied by when the one before was too short: the mean, and any other.
DOUBLING, GROWTH = 2.0, 1.5
#: So many run times are halved to judge requests on runs that they were not made from.
LEAST_TO_HALVE = 20
#: With fewer run times nothing can be said of how rare a longer one is: after four, one in five is.
LEAST_TO_TRUST = 5
#: With fewer run times the advice says how sure it is, from so many resamples, as an interval of so many percent.
LEAST_TO_BE_SURE, _RESAMPLES, SURE = 30, 200, 95
#: Values of a law that are searched exactly beside backfilling or with checkpoints; more are rounded up, by a share of
#: (longest/shortest)^(1/2,000) - 1 at most.
MOST_VALUES = 2_000
#: Values of a law that is no step function: one that is smoothed, that of a family, and the tail of one.
_SMOOTH, _TAIL = 2_000, 500
#: Share of the tail of a family beyond which no run is thought of, where no limit is given.
_BEYOND = 1e-2
#: Weight of a log-uniform law in that tail, of which no run tells: without it a family that does not fit there would
#: have many requests that are each a little longer.
_DOUBT = 0.1
#: So many runs, the last ones, are used to judge requests at most, and to fit families.
_JUDGED = 20_000
_FREE = Checkpointing()


@dataclass(frozen=True, slots=True)
class Planning:
    """How requests are chosen.

    Attributes
    ----------
    bins
        To how many values, equally spaced, run times are rounded up; ``None`` takes them as they are.
    backfill_rate
        Of :func:`hpcdispatch.models.reservations.optimal_sequence`.
    limit
        The last request, seconds; ``None`` takes the longest run time.
    fitted, smoothed
        Whether the law is that of the best fitting family, or the run times with the shares between them interpolated,
        instead of the run times as they are.
    requests
        How many requests there may be at most, at a rate of 0 and without checkpoints; ``None`` for any number.
    checkpointing
        What checkpoints cost, seconds, where the job can write them; at a rate of 0 only.

    Raises
    ------
    InputError
        If there are checkpoints or a number of requests at a rate above 0, both, or two laws.
    """

    bins: int | None = None
    backfill_rate: float = 0.0
    limit: float | None = None
    fitted: bool = False
    checkpointing: Checkpointing | None = None
    smoothed: bool = False
    requests: int | None = None

    def __post_init__(self) -> None:
        if self.checkpointing is not None and self.backfill_rate:
            raise InputError(f"checkpoint: holds at a backfill_rate of 0 only, got {self.backfill_rate:g}")
        if self.requests is not None and (self.backfill_rate or self.checkpointing is not None):
            raise InputError("requests: their number holds without backfill_rate and without checkpoint")
        if self.fitted and self.smoothed:
            raise InputError("fit, smooth: expected one of them, got both")

    @property
    def exact(self) -> bool:
        """Whether the search takes linear time, so that no law has too many values."""
        return not self.backfill_rate and self.checkpointing is None


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
    tail
        Share of the runs that are longer than any that ended by itself, as far as those ended at a limit tell.
    loss
        By which share the expected time is longer on the runs than that of the requests that are best for them, where
        those here are made for another law; ``None`` where they are not, or the search is not exact.
    sure
        Intervals of the first request and of the expected time, seconds, by resampling; ``None`` with many runs.
    """

    sequence: reservations.Sequence
    fits: tuple[Fit, ...]
    rows: tuple[Row, ...]
    without: reservations.Sequence | None = None
    worthwhile: float | None = None
    tail: float = 0.0
    loss: float | None = None
    sure: tuple[tuple[float, float], tuple[float, float]] | None = None


def advise(runs: FloatArray | RunHistory, planning: Planning | None = None) -> Advice:
    """Return what to request for runs in the order in which they were seen, or their times in seconds, each above 0.

    A run that was ended at its limit is longer than that; where strategies are judged it counts as if it had ended
    then.

    Raises
    ------
    InputError
        If the limit is below a run time, or the model refuses what it is given.
    """
    planning, history = planning or Planning(), RunHistory.of(runs)
    ended = history.times[~history.censored]
    if planning.limit is not None and planning.limit < ended.max():
        raise InputError(f"limit: expected at least the longest run time, {ended.max():g}, got {planning.limit:g}")
    rate, run_times = planning.backfill_rate, history.times
    half = len(run_times) // 2
    sequence = optimum(history, planning)
    without = None if planning.checkpointing is None else optimum(history, replace(planning, checkpointing=None))
    made = _strategies(run_times, planning, sequence, without)
    unseen: list[Fared | None] = [None] * len(made)
    if len(run_times) >= LEAST_TO_HALVE and not history.censored[:half].all():
        begin = max(half, len(run_times) - _JUDGED)
        ways = _strategies(run_times[:half], planning, *_affordable(history[:half], planning))
        unseen = [fare(strategy, run_times, begin, rate) for strategy in ways]
    recent = len(run_times) - _JUDGED
    rows = [
        Row(strategy, _first(strategy, run_times), fare(strategy, run_times, max(strategy.needs, recent), rate), later)
        for strategy, later in zip(made, unseen, strict=True)
    ]
    fits = _fits(history) if run_times.min() < run_times.max() else []
    worthwhile = None
    if planning.checkpointing is not None:
        worthwhile = reservations.longest_worthwhile(law_of(history, planning), planning.checkpointing.restart)
    return Advice(
        sequence, tuple(fits), tuple(rows), without, worthwhile, _steps(history)[2], _loss(sequence, history, planning),
        _resampled(history, planning) if 1 < len(run_times) < LEAST_TO_BE_SURE else None,
    )  # fmt: skip


def optimum(runs: FloatArray | RunHistory, planning: Planning) -> reservations.Sequence:
    """Return the requests of least expected time under the law of the runs, see :func:`law_of`."""
    law = law_of(runs, planning)
    if planning.checkpointing is not None:
        return reservations.optimal_checkpointed_sequence(law, planning.checkpointing)
    return reservations.optimal_sequence(law, planning.backfill_rate, requests=planning.requests)


def law_of(runs: FloatArray | RunHistory, planning: Planning) -> ESDD:
    """Return the law of runs up to the limit: of Kaplan and Meier, smoothed, or of the family that fits them best.

    Beyond the longest time that was seen, runs that were ended at their limit leave a share: its law is that of the
    family, given that it is longer, up to the limit or to all but a hundredth of it.
    """
    history = RunHistory.of(runs)
    values, masses, tail = _steps(history)
    longest = float(values[-1])
    limit = longest if planning.limit is None else planning.limit
    if planning.fitted and len(values) > 1:
        family = _fits(history)[0].distribution
        if planning.limit is None and tail:
            limit = _last(family, float(history.times.max()))
        law = reservations.discretize(family, 0.0, limit, planning.bins or _SMOOTH)
    else:
        if planning.smoothed and len(values) > 1:
            shares = np.cumsum(masses)
            levels = np.linspace(shares[0], shares[-1], _SMOOTH)
            values, place = np.unique(np.interp(levels, shares, values), return_inverse=True)
            masses = np.bincount(place, np.diff(levels, prepend=0.0)).astype(np.float64)
        if tail:
            values, masses = _with_tail(values, masses, tail, history, planning.limit)
        law = ESDD(values, masses / masses.sum(), float(values[0]))
        law = reservations.binned(law, planning.bins) if planning.bins is not None else law
    if limit > law.end:
        law = ESDD(np.append(law.values, limit), np.append(law.probabilities, 0.0), law.start)
    return law if planning.exact else reservations.thinned(law, MOST_VALUES)


def _steps(history: RunHistory) -> tuple[FloatArray, FloatArray, float]:
    """Return the distinct times of runs that ended by themselves, their shares, and what is left for longer runs.

    Kaplan and Meier, "Nonparametric estimation from incomplete observations", 1958.
    """
    if not history.censored.any():
        law = reservations.from_samples(history.times.tolist())
        return law.values, law.probabilities, 0.0
    sample = scipy.stats.CensoredData.right_censored(history.times, history.censored)
    shares = scipy.stats.ecdf(sample).cdf
    masses = np.diff(shares.probabilities, prepend=0.0)
    ends = masses > 0
    tail = 1 - float(shares.probabilities[-1])
    return shares.quantiles[ends], masses[ends], tail if tail > 1e-12 else 0.0


def _fits(history: RunHistory) -> list[Fit]:
    chosen = history[-_JUDGED:]
    if chosen.censored.all() or chosen.times.min() == chosen.times.max():
        chosen = history
    return reservations.fit(chosen.times.tolist(), chosen.censored)


def _last(family: Any, longest: float) -> float:
    """Return the time that all but a hundredth of the runs keep that are longer than the longest time seen."""
    last = float(family.isf(_BEYOND * family.sf(longest)))
    return last if math.isfinite(last) and last > longest else longest * GROWTH


def _with_tail(
    values: FloatArray, masses: FloatArray, tail: float, history: RunHistory, limit: float | None
) -> tuple[FloatArray, FloatArray]:
    """Return values and their masses with those of runs that are longer than the longest time seen."""
    begin = float(history.times.max())
    if limit is not None and limit <= begin:
        return np.append(values, max(limit, values[-1] * (1 + 1e-9))), np.append(masses, tail)
    family = _fits(history)[0].distribution if history.times.min() < begin else None
    end = limit if limit is not None else begin * GROWTH if family is None else _last(family, begin)
    grid = np.geomspace(max(begin, values[-1]), end, _TAIL + 1)
    shares = -np.diff(family.sf(grid)) if family is not None else np.zeros(_TAIL)
    shares = shares / shares.sum() if shares.sum() > 0 else shares
    shares = (1 - _DOUBT) * shares + _DOUBT / _TAIL
    return np.append(values, grid[1:]), np.append(masses, tail * shares / shares.sum())


def _loss(sequence: reservations.Sequence, history: RunHistory, planning: Planning) -> float | None:
    """Return what requests for another law cost on the runs themselves."""
    plain = replace(planning, bins=None, fitted=False, smoothed=False)
    if plain == planning or not planning.exact:
        return None
    law = law_of(history, plain)
    if sequence.values[-1] < law.end * (1 - 1e-9):
        law = law_of(history, replace(plain, limit=float(sequence.values[-1])))
    best = reservations.optimal_sequence(law, requests=planning.requests)
    return reservations.expected_makespan(sequence.values.tolist(), law) / best.expected_makespan - 1


def _resampled(history: RunHistory, planning: Planning) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """Return intervals of the first request and of the expected time under the law of the runs, drawn anew."""
    plain, rng, found = replace(planning, fitted=False), np.random.default_rng(0), []
    for _ in range(_RESAMPLES):
        drawn = history[rng.integers(len(history), size=len(history))]
        if drawn.censored.all():
            continue
        sequence = optimum(drawn, plain)
        found.append((sequence.values[0], sequence.expected_makespan))
    edges = np.percentile(found, [(100 - SURE) / 2, (100 + SURE) / 2], axis=0).T
    (first, last), (low, high) = edges.tolist()
    return (first, last), (low, high)


def _affordable(runs: RunHistory, planning: Planning) -> tuple[reservations.Sequence, reservations.Sequence | None]:
    """Return the best requests and those without checkpoints, which are the best where a checkpoint is too long."""
    costs = planning.checkpointing
    if costs is None:
        return optimum(runs, planning), None
    without = optimum(runs, replace(planning, checkpointing=None))
    payable = max(costs.write, costs.restart) <= law_of(runs, planning).end
    return (optimum(runs, planning) if payable else without), without


def _strategies(
    run_times: FloatArray, planning: Planning, found: reservations.Sequence, without: reservations.Sequence | None
) -> tuple[Strategy, ...]:
    """Return the ways of choosing requests: those found, and with checkpoints those without, too."""
    costs = planning.checkpointing
    if costs is None or without is None:
        return strategies(run_times, found)
    plain, *others = strategies(run_times, without)
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
