"""Time limits of one decision: the budget of all its parts, and the calls of the solver."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass


class DecisionBudget:
    """Time that all parts of one decision may use together.

    The parts are lists, local search, packing, bounds, solver and proofs. Time is counted in deterministic seconds. For
    CP-SAT that is its deterministic time. For other parts it is a step count times a step's seconds on an ordinary
    core. So a decision ends at the same step on any machine under any load. Solver calls with a wall-clock limit are
    charged their wall-clock time.

    Parameters
    ----------
    seconds
        Total, above 0.

    Attributes
    ----------
    spent
        Seconds used so far.
    exceeded
        Whether the budget refused or shortened a part.
    """

    def __init__(self, seconds: float = math.inf) -> None:
        self.seconds = seconds
        self.spent = 0.0
        self.exceeded = False

    @property
    def left(self) -> float:
        """Seconds left, at least 0."""
        return max(self.seconds - self.spent, 0.0)

    def charge(self, seconds: float) -> None:
        """Add the seconds that a part used."""
        self.spent += seconds

    def pay(self, seconds: float) -> bool:
        """Charge a part in advance. Return False, and charge nothing, if too little is left."""
        if seconds > self.left:
            self.exceeded = True
            return False
        self.charge(seconds)
        return True

    def part(self, seconds: float) -> float:
        """Return `seconds`, or the seconds left if fewer."""
        self.exceeded |= seconds > self.left
        return min(seconds, self.left)

    def count(self, many: int, each: float) -> int:
        """Charge up to `many` steps of `each` seconds. Return how many the budget allows."""
        most = many if each * many <= self.left else int(self.left / each)
        self.exceeded |= most < many
        self.charge(most * each)
        return most


@dataclass(frozen=True)
class SolverLimit:
    """Time limit of each solver call.

    Attributes
    ----------
    first, most
        Limits of the first and of the longest call, seconds. Each call doubles the limit until a proof ends the search
        (the paper's d and d_max).
    restarts
        Calls in a row without improvement after which the solver stops (the paper's k). ``None`` repeats calls only
        while no schedule is known (the paper's version 0).
    wall
        Whether limits are wall-clock seconds, as in the paper. Otherwise they are CP-SAT's deterministic time: close to
        seconds, and equal on any machine under any load.

    Raises
    ------
    ValueError
        Unless 0 < first <= most and `restarts` is not negative.
    """

    first: float = 0.02
    most: float = 0.02
    restarts: int | None = 2
    wall: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.first <= self.most:
            raise ValueError(f"limit must be 0 < first <= most seconds, got first {self.first} and most {self.most}")
        if self.restarts is not None and self.restarts < 0:
            raise ValueError(f"restarts must be >= 0, got {self.restarts}")

    def attempts(self) -> Attempts:
        """Return the sequence of calls."""
        return Attempts(self)


class Attempts:
    """Sequence of solver calls. Iteration yields the limit of each in seconds.

    Call :meth:`note` with the outcome of each.
    """

    def __init__(self, limit: SolverLimit) -> None:
        self._limit = limit
        self._calls = 0
        self._vain = 0
        self._over = False

    def __iter__(self) -> Iterator[float]:
        seconds = self._limit.first
        while not self._over and seconds <= self._limit.most:
            yield seconds
            seconds *= 2

    def note(self, *, proved: bool, found: bool, better: bool) -> None:
        """Record whether a call gave a proof, a schedule, or a better schedule than before."""
        restarts = self._limit.restarts
        self._vain = 0 if better or not self._calls else self._vain + 1
        self._calls += 1
        self._over = proved or (found if restarts is None else self._vain >= restarts)
