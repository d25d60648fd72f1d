"""Choose walltimes from past run times, and compare the ways to choose them."""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy

from ..base import FloatArray, InputError
from ..base.argument_types import names_wrong_types
from ..models import reservations
from ..models.reservations import ESDD, Checkpointing, Cost, Fit
from ..workloads.formats.run_times import RunHistory

#: The users' rule of ICPP 2019, section 5.1: the longest of this many runs.
LAST = 10
#: Factors for the request after one that was too short: for the mean, and for any other.
DOUBLING, GROWTH = 2.0, 1.5
#: From this many run times on, half of them judge requests made from the other half.
LEAST_TO_HALVE = 20
#: Fewest run times for a statement on longer ones. After four, one in five is longer.
LEAST_TO_TRUST = 5
#: With fewer run times the advice says in which range it lies for this many percent of so many resamples.
LEAST_TO_BE_SURE = 30
_RESAMPLES = 200
SURE = 95
#: Most values of a law for an exact search with backfilling or checkpoints. More values are rounded up, by a share of
#: at most (longest/shortest)^(1/2,000) - 1.
MOST_VALUES = 2_000
#: Values of a continuous law: a smoothed one or a family, and the tail of one.
_SMOOTH, _TAIL = 2_000, 500
#: Share of the tail of a family that is cut off if there is no limit.
_BEYOND = 1e-2
#: Weight of a log-uniform law in that tail, on which there are no runs. Without it a family with a bad fit there would
#: give many requests that are each a little longer.
_DOUBT = 0.1
#: Most runs that judge requests and fit families: the last ones.
_JUDGED = 20_000
_FREE = Checkpointing()


@dataclass(frozen=True, slots=True)
class Planning:
    """How requests are chosen.

    Attributes
    ----------
    bins
        Run times are rounded up to this many equally spaced values; ``None`` leaves them unchanged.
    backfill_rate
        Of :func:`hpcdispatch.models.reservations.optimal_sequence`.
    limit
        The last request, seconds; ``None`` takes the longest run time.
    fitted, smoothed
        Law in place of the run times. It is that of the best fitting family, or interpolates the shares between run
        times.
    requests
        The most requests, at a rate of 0 and without checkpoints; ``None`` for any number.
    checkpointing
        Cost of checkpoints, seconds, if the job can write them. At a rate of 0 only.
    cost
        What the requests minimise: alpha R + beta min(R, t) + gamma over the requests R of a run of t seconds.
        ``None``: all reserved time, as in ICPP 2019. At a rate of 0 only.

    Raises
    ------
    InputError
        If there are checkpoints, a cost, or a number of requests at a rate above 0. Also if there are both a number of
        requests and checkpoints, or two laws.

    Examples
    --------
    >>> from hpcdispatch.analysis import Planning
    >>> Planning(bins=50, limit=3600).limit
    3600
    """

    bins: int | None = None
    backfill_rate: float = 0.0
    limit: float | None = None
    fitted: bool = False
    checkpointing: Checkpointing | None = None
    smoothed: bool = False
    requests: int | None = None
    cost: Cost | None = None

    def __post_init__(self) -> None:
        if self.cost is not None and self.backfill_rate:
            raise InputError(f"cost: holds at a backfill_rate of 0 only, got {self.backfill_rate:g}")
        if self.checkpointing is not None and self.backfill_rate:
            raise InputError(f"checkpoint: holds at a backfill_rate of 0 only, got {self.backfill_rate:g}")
        if self.requests is not None and (self.backfill_rate or self.checkpointing is not None):
            raise InputError("requests: their number holds without backfill_rate and without checkpoint")
        if self.fitted and self.smoothed:
            raise InputError("fit, smooth: expected one of them, got both")

    @property
    def exact(self) -> bool:
        """Whether the search takes linear time and needs no bound on the values of a law."""
        return not self.backfill_rate and self.checkpointing is None


#: Names of strategies: the advised requests, and the last of them alone.
BEST, MAXIMUM = "optimal sequence", "maximum"


@dataclass(frozen=True, slots=True)
class Strategy:
    """A way to choose requests.

    Attributes
    ----------
    name, note
        Its name, and its description.
    requests
        Function from the last :data:`LAST` run times to rising requests, seconds. If all are too short, the last one is
        multiplied by :data:`GROWTH` until it suffices.
    needs
        Number of run times that it needs.
    keeps
        Which of these requests end with a checkpoint; later ones do not. `requests` then holds the run time up to which
        each one succeeds.
    checkpointing
        Cost of a checkpoint, seconds.

    Examples
    --------
    >>> import numpy as np
    >>> from hpcdispatch.analysis import Strategy, fare
    >>> twice = Strategy("twice the last", "2 times the last run time", lambda runs: [2 * runs[-1]], needs=1)
    >>> fare(twice, np.array([600.0, 700.0, 650.0]), start=1).requests
    1.0
    """

    name: str
    note: str
    requests: Callable[[FloatArray], Sequence[float]]
    needs: int = 0
    keeps: Sequence[bool] = ()
    checkpointing: Checkpointing = _FREE


@dataclass(frozen=True, slots=True)
class StrategyResult:
    """Result of a strategy on runs, as means over them.

    Attributes
    ----------
    requests
        Requests per run.
    time
        Seconds reserved until the run succeeds, at least (reserved before + run time)/(1 - backfill rate). Or the cost,
        where :class:`Planning` has one.
    waste
        Seconds reserved beyond the successful run.
    times
        The time of each run, shape (runs,), seconds.

    Examples
    --------
    >>> import numpy as np
    >>> from hpcdispatch.analysis import Strategy, fare
    >>> hour = Strategy("an hour", "always 3,600 s", lambda runs: [3600.0])
    >>> result = fare(hour, np.array([600.0, 700.0, 650.0]), start=0)
    >>> result.time, result.waste
    (3600.0, 2950.0)
    """

    requests: float
    time: float
    waste: float
    times: FloatArray = field(repr=False, compare=False)

    def plain(self) -> dict[str, float]:
        """Return the means by name."""
        return {"requests": self.requests, "time": self.time, "waste": self.waste}


@dataclass(frozen=True, slots=True)
class StrategyRow:
    """A strategy, its first request after all runs, and its results.

    `seen` is on the same runs that the strategy was made from. `unseen` is made from the first half of the runs and
    judged on the second. Both are ``None`` if there are too few runs.
    """

    strategy: Strategy
    first: float
    seen: StrategyResult | None
    unseen: StrategyResult | None


@dataclass(frozen=True, slots=True)
class Advice:
    """Advice on what to request.

    Attributes
    ----------
    sequence
        The requests of least expected time. Their expected values are under the law they were made for.
    fits
        Families fitted to the run times, best first; none if all run times are equal.
    rows
        Strategies, the sequence first.
    without
        The best requests without checkpoints; ``None`` if the job writes none.
    worthwhile
        The best requests have checkpoints if writing one takes at most so many seconds, at this restart. ``None`` if
        the job writes none.
    tail
        Estimated share of the runs that are longer than every run that ended by itself. It comes from the runs that
        ended at a limit.
    loss
        How much longer the expected time on the runs is than that of the best requests for them. A share. ``None``
        unless these were made for another law and the search is exact.
    sure
        Resampled intervals of the first request and of the expected time. Seconds; ``None`` with many runs.
    recommended
        Place in `rows` of the strategy with the least mean on unseen runs; 0, the sequence, without these.
    requests
        The requests of this strategy, under the law of the runs. ``None``: those of `sequence`.

    Examples
    --------
    >>> import numpy as np
    >>> from hpcdispatch.analysis import advise
    >>> advice = advise(np.array([600.0, 620, 640, 700, 710, 720, 900, 930, 2400, 2500] * 3))
    >>> [round(float(value)) for value in advice.sequence.values]
    [930, 2500]
    """

    sequence: reservations.Sequence
    fits: tuple[Fit, ...]
    rows: tuple[StrategyRow, ...]
    without: reservations.Sequence | None = None
    worthwhile: float | None = None
    tail: float = 0.0
    loss: float | None = None
    sure: tuple[tuple[float, float], tuple[float, float]] | None = None
    recommended: int = 0
    requests: reservations.Sequence | None = None

    @property
    def advised(self) -> reservations.Sequence:
        """The requests of the recommended strategy."""
        return self.sequence if self.requests is None else self.requests


@names_wrong_types
def advise(runs: FloatArray | RunHistory, planning: Planning | None = None) -> Advice:
    """Return what to request for runs in the order of their ends.

    The runs may be their times in seconds, each above 0. A run that ended at its limit is longer than its time. The
    comparison of strategies takes it as ended then.

    Raises
    ------
    InputError
        If the limit is below a run time, or the model refuses its input.

    Examples
    --------
    >>> import numpy as np
    >>> from hpcdispatch.analysis import Planning, advise
    >>> runs = np.array([600.0, 620, 640, 700, 710, 720, 900, 930, 2400, 2500] * 3)
    >>> advise(runs, Planning(requests=2)).sequence.values.tolist()
    [930.0, 2500.0]
    """
    planning = planning or Planning()
    history = RunHistory.of(runs)
    ended = history.times[~history.censored]
    if planning.limit is not None and planning.limit < ended.max():
        raise InputError(f"limit: expected at least the longest run time, {ended.max():g}, got {planning.limit:g}")
    rate = planning.backfill_rate
    run_times = history.times
    half = len(run_times) // 2
    sequence = optimum(history, planning)
    without = None if planning.checkpointing is None else optimum(history, replace(planning, checkpointing=None))
    made = _strategies(run_times, planning, sequence, without)
    unseen: list[StrategyResult | None] = [None] * len(made)
    if len(run_times) >= LEAST_TO_HALVE and not history.censored[:half].all():
        begin = max(half, len(run_times) - _JUDGED)
        ways = _strategies(run_times[:half], planning, *_affordable(history[:half], planning))
        unseen = [fare(strategy, run_times, begin, rate, planning.cost) for strategy in ways]
    recent = len(run_times) - _JUDGED
    firsts = [next(_reservations(strategy, strategy.requests(run_times[-LAST:])))[1] for strategy in made]
    rows = [
        StrategyRow(strategy, first, fare(strategy, run_times, max(strategy.needs, recent), rate, planning.cost), later)
        for strategy, first, later in zip(made, firsts, unseen, strict=True)
    ]
    fits = _fits(history) if run_times.min() < run_times.max() else []
    worthwhile = None
    if planning.checkpointing is not None:
        law, restart = law_of(history, planning), planning.checkpointing.restart
        worthwhile = reservations.longest_worthwhile(law, restart, cost=planning.cost)
    chosen = min(
        (place for place, row in enumerate(rows) if not place or _allowed(row.strategy, run_times, planning)),
        key=lambda place: math.inf if (row := rows[place].unseen) is None else row.time,
    )
    requests = None
    if chosen and (without is None or chosen > 1):
        values = list(rows[chosen].strategy.requests(run_times[-LAST:]))
        requests = reservations.evaluate(values, law_of(history, planning), rate, cost=planning.cost)
    elif chosen:
        requests = without
    return Advice(
        sequence,
        tuple(fits),
        tuple(rows),
        without,
        worthwhile,
        _steps(history)[2],
        _loss(sequence, history, planning),
        _resampled(history, planning) if 1 < len(run_times) < LEAST_TO_BE_SURE else None,
        chosen,
        requests,
    )


def _allowed(strategy: Strategy, run_times: FloatArray, planning: Planning) -> bool:
    """Return whether a strategy keeps to the largest number of requests."""
    return planning.requests is None or len(strategy.requests(run_times[-LAST:])) <= planning.requests


def optimum(runs: FloatArray | RunHistory, planning: Planning) -> reservations.Sequence:
    """Return the requests of least expected time, or cost, under the law of the runs, see :func:`law_of`."""
    law = law_of(runs, planning)
    if planning.checkpointing is not None:
        return reservations.optimal_checkpointed_sequence(law, planning.checkpointing, cost=planning.cost)
    return reservations.optimal_sequence(law, planning.backfill_rate, cost=planning.cost, requests=planning.requests)


def law_of(runs: FloatArray | RunHistory, planning: Planning) -> ESDD:
    """Return the law of runs up to the limit. It is that of Kaplan and Meier, smoothed, or of the best family.

    Runs that ended at their limit leave a share beyond the longest run time. The law of that share is the tail of the
    family. It reaches to the limit, or to all but a hundredth of the tail.
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
    """Return the distinct times of runs that ended by themselves, and their shares.

    The third value is the share of longer runs. Source: Kaplan and Meier, "Nonparametric estimation from incomplete
    observations", 1958.
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
    """Return the time below which lie all but a hundredth of the runs longer than the longest run time."""
    last = float(family.isf(_BEYOND * family.sf(longest)))
    return last if math.isfinite(last) and last > longest else longest * GROWTH


def _with_tail(
    values: FloatArray, masses: FloatArray, tail: float, history: RunHistory, limit: float | None
) -> tuple[FloatArray, FloatArray]:
    """Return values and masses with those of runs longer than the longest run time."""
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
    """Return the extra time on the runs themselves of requests made for another law."""
    plain = replace(planning, bins=None, fitted=False, smoothed=False)
    if plain == planning or not planning.exact:
        return None
    law = law_of(history, plain)
    if sequence.values[-1] < law.end * (1 - 1e-9):
        law = law_of(history, replace(plain, limit=float(sequence.values[-1])))
    best = reservations.optimal_sequence(law, cost=planning.cost, requests=planning.requests)
    mine = reservations.expected_makespan(sequence.values.tolist(), law, cost=planning.cost)
    return mine / best.expected_makespan - 1


def _resampled(history: RunHistory, planning: Planning) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """Return intervals of the first request and of the expected time, from resampled runs."""
    plain = replace(planning, fitted=False)
    rng = np.random.default_rng(0)
    optima = []
    for _ in range(_RESAMPLES):
        drawn = history[rng.integers(len(history), size=len(history))]
        if drawn.censored.all():
            continue
        sequence = optimum(drawn, plain)
        optima.append((sequence.values[0], sequence.expected_makespan))
    edges = np.percentile(optima, [(100 - SURE) / 2, (100 + SURE) / 2], axis=0).T
    (first, last), (low, high) = edges.tolist()
    return (first, last), (low, high)


def _affordable(runs: RunHistory, planning: Planning) -> tuple[reservations.Sequence, reservations.Sequence | None]:
    """Return the best requests and those without checkpoints. They are the same if a checkpoint takes too long."""
    costs = planning.checkpointing
    if costs is None:
        return optimum(runs, planning), None
    without = optimum(runs, replace(planning, checkpointing=None))
    payable = max(costs.write, costs.restart) <= law_of(runs, planning).end
    return (optimum(runs, planning) if payable else without), without


def _strategies(
    run_times: FloatArray, planning: Planning, sequence: reservations.Sequence, without: reservations.Sequence | None
) -> tuple[Strategy, ...]:
    """Return the ways to choose requests. With checkpoints, the best ones without checkpoints are among them."""
    costs = planning.checkpointing
    if costs is None or without is None:
        return strategies(run_times, sequence)
    plain, *others = strategies(run_times, without)
    reached = sequence.reached.tolist()
    keeps = tuple(sequence.keeps.tolist())
    best = replace(plain, requests=lambda recent: reached, keeps=keeps, checkpointing=costs)
    return best, replace(plain, name="without checkpoints", note="the best requests without them"), *others


@names_wrong_types
def strategies(run_times: FloatArray, sequence: reservations.Sequence) -> tuple[Strategy, ...]:
    """Return the ways to choose requests, made from `run_times`: `sequence` first, then those to compare it with.

    Examples
    --------
    >>> import numpy as np
    >>> from hpcdispatch.analysis import strategies
    >>> from hpcdispatch.models.reservations import from_samples, optimal_sequence
    >>> runs = np.array([600.0, 620, 640, 700, 710, 720, 900, 930, 2400, 2500])
    >>> [strategy.name for strategy in strategies(runs, optimal_sequence(from_samples(runs)))][:3]
    ['optimal sequence', 'maximum', 'mean']
    """
    values = sequence.values.tolist()
    most = values[-1]
    mean = float(run_times.mean())
    return (
        Strategy(BEST, "those of least expected cost", lambda recent: values),
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


@names_wrong_types
def fare(
    strategy: Strategy, run_times: FloatArray, start: int, backfill_rate: float = 0.0, cost: Cost | None = None
) -> StrategyResult | None:
    """Return the result of a strategy on the run times from index `start` on. ``None`` if there are none.

    Examples
    --------
    >>> import numpy as np
    >>> from hpcdispatch.analysis import Strategy, fare
    >>> hour = Strategy("an hour", "always 3,600 s", lambda runs: [3600.0])
    >>> fare(hour, np.array([600.0, 700.0, 650.0]), start=0).requests
    1.0
    """
    outcomes = [
        _outcome(strategy, strategy.requests(run_times[max(index - LAST, 0) : index]), run_time, backfill_rate, cost)
        for index, run_time in enumerate(run_times[start:].tolist(), start)
    ]
    if not outcomes:
        return None
    requests, times, waste = zip(*outcomes, strict=True)
    count, time, lost = (math.fsum(column) / len(outcomes) for column in (requests, times, waste))
    return StrategyResult(count, time, lost, np.asarray(times))


def _outcome(
    strategy: Strategy, requests: Sequence[float], run_time: float, backfill_rate: float, cost: Cost | None
) -> tuple[int, float, float]:
    """Return the requests of a run, the time to success or the cost, and the waste."""
    reserved, count, last = 0.0, 0, 0.0
    for reached, length, write in _reservations(strategy, requests):
        reserved, count, last = reserved + length, count + 1, write
        if reached >= run_time:
            break
    used = reserved - reached + run_time
    if cost is not None:  # The run that succeeds writes no checkpoint.
        price = cost.alpha * reserved + cost.beta * (used - last) + cost.gamma * count
        return count, price, reserved - run_time
    return count, max(reserved, used / (1 - backfill_rate)), reserved - run_time


def _reservations(strategy: Strategy, requests: Sequence[float]) -> Iterator[tuple[float, float, float]]:
    """Yield the run time up to which each reservation succeeds, its length, and its time to write a checkpoint."""
    held, costs = 0.0, strategy.checkpointing
    endless = itertools.chain(requests, _growing(requests[-1] * GROWTH, GROWTH, math.inf))
    for reached, keep in zip(endless, itertools.chain(strategy.keeps, itertools.repeat(False)), strict=False):
        write = costs.write if keep else 0.0
        yield reached, (costs.restart if held else 0.0) + reached - held + write, write
        held = reached if keep else held


def _growing(first: float, factor: float, most: float) -> Iterator[float]:
    """Yield `first` times powers of `factor` below `most`, and then `most`."""
    while first < most:
        yield first
        first *= factor
    yield most
