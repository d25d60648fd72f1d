"""Registered reservation sequences, one per strategy (Gainaru et al., ICPP 2019)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...base import Option
from ...base.registry import options_of
from ..options import check_known
from .request_strategies import (
    Adaptive,
    Checkpointed,
    First,
    FirstThenBound,
    LastRuns,
    RequestStrategy,
    TimeOptimal,
    UpperBound,
)
from .reservation_sequences import ReservationSequences


@dataclass(frozen=True)
class SequencePreset:
    """Reservation sequences of one strategy. Called like a class, with its options and the strategy's.

    Attributes
    ----------
    strategy
        Class or function that creates the strategy from its options.
    summary
        One line of description.
    """

    strategy: Callable[..., RequestStrategy]
    summary: str

    def __call__(self, **given: Any) -> ReservationSequences:
        """Create it. ``TypeError`` for an unknown name, ``ValueError`` for a rejected value."""
        check_known(ReservationSequences.__name__, self.declared_options(), given)
        own = {option.name: given.pop(option.name) for option in options_of(self.strategy) if option.name in given}
        return ReservationSequences(self.strategy(**own), **given)

    @property
    def documented(self) -> tuple[Callable[..., Any], ...]:
        """Classes with docstrings of the options."""
        return (
            ReservationSequences,
            ReservationSequences.Options,
            self.strategy,
            FirstThenBound,
            TimeOptimal,
            Checkpointed,
        )

    def declared_options(self) -> list[Option]:
        """Return the options that can be set by name."""
        return [*ReservationSequences.declared_options(), *options_of(self.strategy)]


def _classic(first: First = "bound", share: float = 0.9) -> UpperBound:
    strategy = FirstThenBound(first, share)
    return UpperBound() if first == "bound" else strategy


def _time_optimal(n: int = 200, gamma: float = 0.0, checkpoint: int | None = None) -> TimeOptimal:
    return TimeOptimal(n, gamma=gamma) if checkpoint is None else Checkpointed(n, gamma, checkpoint)


def _at_rate(n: int = 200, rate: float | None = None) -> TimeOptimal:
    """Return the strategy for the given work rate of small jobs, or else for the observed rate."""
    return Adaptive(n) if rate is None else TimeOptimal(n, rate)


ClassicHPC = SequencePreset(
    _classic, "Stochastic jobs request the upper bound of their run time, as users do (Gainaru et al., ICPP 2019)."
)
Neuroscience = SequencePreset(
    LastRuns,
    "Stochastic jobs request the longest of the last run times, and more after a failure (ICPP 2019, section 5.1).",
)
TOptimal = SequencePreset(
    _time_optimal, "Stochastic jobs request the sequence of the least expected makespan (ICPP 2019, section 4.1)."
)
ATOptimal = SequencePreset(
    _at_rate,
    "Stochastic jobs request the best sequence beside small jobs that fill what is reserved in vain (ICPP 2019).",
)
