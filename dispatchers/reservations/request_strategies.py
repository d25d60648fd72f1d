"""Strategies that choose walltimes for jobs of unknown run time, and the next one after a timeout."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, Protocol, get_args, runtime_checkable

import numpy as np

from ...base import LONGEST, FloatArray, check_number, check_whole
from ...base.checks import EACH_STEP, MOST_STEPS
from ...models.onthefly import RemainingTimes
from ...models.reservations import (
    ESDD,
    Checkpointing,
    Cost,
    discretize,
    optimal_checkpointed_sequence,
    optimal_sequence,
)
from ...workloads import Machine
from ..protocol import State
from .value_laws import with_cdf

#: Number of cached sequences, one per law and bound.
_KEPT = 512
#: Least probability of a run within the bound, for shorter requests to be considered.
_LEAST = 1e-9
#: Quantiles of a law that its mean is taken of.
_SHARES = 200
#: The first request of a job.
First = Literal["bound", "quantile", "mean"]
#: User and name of a job.
Application = tuple[str, str]
NOBODY: Application = "", ""


class RequestStrategy(Protocol):
    """Chooses a sequence of requests for a job with a run-time distribution, for any scheduler."""

    def reset(self, machine: Machine, rng: np.random.Generator) -> None:
        """Drop all data before a simulation."""
        ...

    def observe(self, state: State) -> None:
        """Process the state of an instant, before requests for its jobs."""
        ...

    def requests(self, law: Any, walltime: int, application: Application) -> Sequence[int]:
        """Return the requests in sequence, seconds, increasing, at most `walltime`.

        Parameters
        ----------
        law
            Distribution of the run time, seconds: a frozen scipy distribution, or an object with ``cdf`` and
            ``support``, or ``values``.
        walltime
            The user's walltime, the upper bound.
        application
            User and name. Jobs of one application share a past.
        """
        ...


@dataclass(frozen=True, slots=True)
class SequenceStep:
    """A request, with the work before it, and whether it ends with a checkpoint.

    Attributes
    ----------
    reached
        Run time up to which it succeeds, seconds.
    kept
        Earlier work saved in a checkpoint, seconds.
    write
        Duration of the checkpoint at its end, seconds. 0 for none.
    """

    reached: int
    kept: int = 0
    write: int = 0

    @property
    def length(self) -> int:
        """Seconds of work and checkpoint, without a restart."""
        return self.reached - self.kept + self.write


@runtime_checkable
class CheckpointingStrategy(RequestStrategy, Protocol):
    """A strategy that also chooses checkpoints."""

    def reservations(self, law: Any, walltime: int, restart: int, above: int, kept: int) -> Sequence[SequenceStep]:
        """Return the requests in sequence.

        Parameters
        ----------
        law, walltime
            As for :meth:`RequestStrategy.requests`.
        restart
            Seconds that the job needs to restart from a checkpoint.
        above
            Lower bound of the run time, seconds.
        kept
            Work already saved in a checkpoint, seconds, at most `above`.
        """
        ...


class UpperBound:
    """Request the upper bound of the run time, as most users do ("classical HPC"; Gainaru et al., ICPP 2019).

    A learned law that is not the job's own has no known bound. Then it is the user's walltime.
    """

    def reset(self, machine: Machine, rng: np.random.Generator) -> None:
        """Do nothing: there is no data."""

    def observe(self, state: State) -> None:
        """Do nothing."""

    def requests(self, law: Any, walltime: int, application: Application = NOBODY) -> Sequence[int]:
        """Return the upper bound of the law, at most the user's walltime."""
        return (_bound(law, walltime),)


class FirstThenBound(UpperBound):
    """Request a quantile or the mean of the run time first, then its upper bound.

    Parameters
    ----------
    first
        The first request: ``"quantile"`` or ``"mean"`` of the run time, or ``"bound"`` for the upper bound alone.
    share
        Which quantile, above 0 and below 1.
    """

    def __init__(self, first: First = "quantile", share: float = 0.9) -> None:
        if first not in get_args(First):
            raise ValueError(f"first must be one of {', '.join(get_args(First))}, got {first!r}")
        check_number("share", share, above=0, below=1)
        self.first = first
        self.share = share

    def requests(self, law: Any, walltime: int, application: Application = NOBODY) -> Sequence[int]:
        """Return the requests, rounded up to seconds."""
        last = _bound(law, walltime)
        if self.first == "bound":
            return (last,)
        shares = np.array([self.share]) if self.first == "quantile" else (np.arange(_SHARES) + 0.5) / _SHARES
        request = max(1, math.ceil(float(np.mean(_quantiles(law, shares)))))
        return (request, last) if request < last else (last,)


class LastRuns(UpperBound):
    """Request the longest of the last run times, and more after each failure ("Neuroscience"; ICPP 2019, section 5.1).

    A learned law contains the last run times. For a given law they are sampled at random, once per application.

    Parameters
    ----------
    history
        Number of last run times, at least 1. About 10 is best in the paper (figure 4).
    growth
        Growth of a request after a failure, above 1. The paper gives no number.
    """

    def __init__(self, history: int = 10, growth: float = 1.5) -> None:
        check_whole("history", history, 1, MOST_STEPS, EACH_STEP)
        check_number("growth", growth, above=1)
        self.history = history
        self.growth = growth
        self._rng = np.random.default_rng(0)
        self._drawn: dict[tuple[Any, Application], Sequence[float]] = {}

    def reset(self, machine: Machine, rng: np.random.Generator) -> None:
        """Start a new past."""
        self._rng = rng
        self._drawn = {}

    def requests(self, law: Any, walltime: int, application: Application = NOBODY) -> Sequence[int]:
        """Return the longest of the last run times, then multiples by the growth, up to the upper bound."""
        last = _bound(law, walltime)
        request = max(1, math.ceil(max(self._past(law, application))))
        requests = []
        while request < last:
            requests.append(request)
            request = max(request + 1, math.ceil(request * self.growth))
        return *requests, last

    def _past(self, law: Any, application: Application) -> Sequence[float]:
        known: Sequence[float] | None = getattr(law, "samples", None)
        if known is not None:
            return known[-self.history :]
        key = law, application
        if key not in self._drawn:
            self._drawn[key] = _quantiles(law, self._rng.random(self.history))
        return self._drawn[key]


def _quantiles(law: Any, shares: FloatArray) -> list[float]:
    """Return quantiles of a law with ``cdf`` and ``support``, or ``values``, seconds."""
    if hasattr(law, "ppf"):
        quantiles: list[float] = law.ppf(shares).tolist()
        return quantiles
    times = RemainingTimes(law)
    return [times.quantile(share) or 0.0 for share in shares.tolist()]


class TimeOptimal(UpperBound):
    """Request the sequence of the least expected makespan (TOptimal and ATOptimal; ICPP 2019, sections 4.1 and 4.2).

    Parameters
    ----------
    n
        Number of values of the discretized law, at least 1. A law learned from fewer run times keeps them.
    rate
        Backfill rate, in [0, 1): work of arriving small jobs, over the machine's capacity.
    gamma
        Cost of a request beside its length, seconds, such as the wait for its start. Only at rate 0. Aupy et al.,
        "Reservation strategies for stochastic jobs", IPDPS 2019.
    """

    def __init__(self, n: int = 200, rate: float = 0.0, gamma: float = 0.0) -> None:
        check_whole("n", n, 1, MOST_STEPS, EACH_STEP)
        check_number("rate", rate, least=0, below=1)
        check_number("gamma", gamma, least=0)
        if gamma and rate:
            raise ValueError(f"gamma must be 0 at a rate above 0, got {gamma}")
        self.n = n
        self.rate = rate
        self.gamma = gamma

    def requests(self, law: Any, walltime: int, application: Application = NOBODY) -> Sequence[int]:
        """Return the optimal sequence, rounded up to seconds."""
        return _optimum(law, _bound(law, walltime), self.n, self.rate, self.gamma)


class Checkpointed(TimeOptimal):
    """Request the sequence of the least expected makespan, with checkpoints at the end of requests where they pay.

    Gainaru et al., "Reservation and checkpointing strategies for stochastic jobs", IPDPS 2020.

    Parameters
    ----------
    n, gamma
        As in :class:`TimeOptimal`.
    checkpoint
        Duration of a checkpoint, seconds, at least 1.
    """

    def __init__(self, n: int, gamma: float, checkpoint: int) -> None:
        super().__init__(n, gamma=gamma)
        self.checkpoint = check_whole("checkpoint", checkpoint, 1, LONGEST)

    def reservations(self, law: Any, walltime: int, restart: int, above: int, kept: int) -> Sequence[SequenceStep]:
        """Return the optimal reservations, rounded up to seconds."""
        costs = self.checkpoint, restart
        return _checkpointed(law, _bound(law, walltime), self.n, self.gamma, costs, above, kept)


class Adaptive(TimeOptimal):
    """Request the sequence for the observed work rate of the small jobs.

    Small jobs have no run-time distribution. Their work is the predicted one. The paper assumes a given rate.

    Parameters
    ----------
    n
        Number of values of the discretized law, at least 1.
    """

    #: Rounding of the rate, so that sequences can be cached.
    STEP = 0.05
    #: Largest assumed rate.
    MOST = 0.95

    def __init__(self, n: int) -> None:
        super().__init__(n)
        self._begin: int | None = None
        self._work = 0
        self._counted: set[int] = set()
        self._last = 0

    def reset(self, machine: Machine, rng: np.random.Generator) -> None:
        """Drop the small jobs."""
        self.rate = 0.0
        self._begin = None
        self._work = 0
        self._counted = set()
        self._last = 0

    def observe(self, state: State) -> None:
        """Count the work of new small jobs."""
        primary = state.machine.primary
        if self._begin is None:
            self._begin = state.now
        for entry in reversed(state.queue):
            if entry.since < self._last:
                break
            if entry.law is None and entry.order not in self._counted:
                self._work += entry.nodes * entry.demand[primary] * entry.predicted
                self._counted.add(entry.order)
        self._last = state.now
        elapsed = state.now - self._begin
        if elapsed > 0:
            share = self._work / (elapsed * int(state.machine.capacity[:, primary].sum()))
            self.rate = min(self.MOST, round(share / self.STEP) * self.STEP)


@lru_cache(_KEPT)
def _optimum(law: Any, last: int, n: int, rate: float, gamma: float) -> Sequence[int]:
    law = with_cdf(law)
    low, high = law.support()
    low = max(low, 0.0)
    if low >= last or float(law.cdf(last)) < _LEAST:
        return (last,)
    cost = Cost(gamma=gamma) if gamma else None
    sequence = optimal_sequence(_discrete(law, low, min(high, last), n), rate, cost=cost)
    values = (max(1, math.ceil(value)) for value in sequence.values)
    return *sorted({value for value in values if value < last}), last


@lru_cache(_KEPT)
def _checkpointed(
    law: Any, last: int, n: int, gamma: float, costs: tuple[int, int], above: int, kept: int
) -> Sequence[SequenceStep]:
    law = with_cdf(law)
    low, high = law.support()
    low, end = max(low, 0.0), min(high, last)
    if low >= last or above >= last or float(law.cdf(last)) - float(law.cdf(above)) < _LEAST:
        return (SequenceStep(max(last, above + 1), kept),)
    values = _discrete(law, low, end, n)
    left = values.condition(above) if above else values
    # Beyond the bound, larger costs make no difference: checkpoints do not pay.
    write, restart = (min(seconds, left.end) for seconds in costs)
    sequence = optimal_checkpointed_sequence(left, Checkpointing(write, restart), cost=Cost(gamma=gamma), kept=kept)
    steps = {}
    for value, keeps in zip(sequence.reached.tolist(), sequence.keeps.tolist(), strict=True):
        reached = max(above + 1, math.ceil(value))
        if reached < last:
            steps[reached] = SequenceStep(reached, kept, costs[0] if keeps else 0)
            kept = reached if keeps else kept
    return *steps.values(), SequenceStep(last, kept)


def _discrete(law: Any, low: float, high: float, n: int) -> ESDD:
    """Return a law up to `high` on at most `n` values. If it has fewer, its own.

    Observed run times above `high` need the last request, so their mass lies at `high`. A given law is cut there, as in
    the paper.
    """
    values = getattr(law, "values", None)
    if values is not None:
        known, places = np.unique(np.clip(values, 1, high), return_inverse=True)
        masses = np.bincount(places, getattr(law, "probabilities", None)).astype(np.float64)
        if len(known) <= n:
            return ESDD(known, masses / masses.sum(), min(low, float(known[0])))
        law = _Capped(law, high)
    return discretize(law, low, high, n)


@dataclass(frozen=True, slots=True)
class _Capped:
    """A law with all mass above `high` at `high`."""

    law: Any
    high: float

    def cdf(self, x: FloatArray) -> FloatArray:
        return np.where(x >= self.high, 1.0, self.law.cdf(x))


def _bound(law: Any, walltime: int) -> int:
    """Return the upper bound of a law in whole seconds, at most the user's walltime."""
    high = float(with_cdf(law).support()[1])
    return walltime if high >= walltime else max(1, math.ceil(high))
