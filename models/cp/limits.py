"""How much work one decision may take: the budget of all its parts, and the calls of the solver within it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass


class Budget:
    """What lists, local search, packing, bounds, solver and proofs of one decision may take together.

    Counted in deterministic seconds: CP-SAT's deterministic time, and for all other parts counts of their steps times
    what a step takes on an ordinary core. So a decision ends at the same step on any machine under any load. Where the
    solver's limit is one of wall-clock time, its calls are charged with that.

    Parameters
    ----------
    seconds
        In all, above 0.

    Attributes
    ----------
    spent
        So far.
    exceeded
        Whether a part was refused or cut short.
    """

    def __init__(self, seconds: float = math.inf) -> None:
        self.seconds = seconds
        self.spent = 0.0
        self.exceeded = False

    @property
    def left(self) -> float:
        """What is left, not below 0."""
        return max(self.seconds - self.spent, 0.0)

    def charge(self, seconds: float) -> None:
        """Count what a part has taken."""
        self.spent += seconds

    def pay(self, seconds: float) -> bool:
        """Charge a part with what it will take, if so much is left; return whether it is."""
        if seconds > self.left:
            self.exceeded = True
            return False
        self.charge(seconds)
        return True

    def part(self, seconds: float) -> float:
        """Return `seconds`, or what is left if that is less."""
        self.exceeded |= seconds > self.left
        return min(seconds, self.left)

    def count(self, many: int, each: float) -> int:
        """Charge as many of `many` steps as there is time for, each of so many seconds; return how many."""
        most = many if each * many <= self.left else int(self.left / each)
        self.exceeded |= most < many
        self.charge(most * each)
        return most


@dataclass(frozen=True)
class Limit:
    """How long the solver may think in each of its calls.

    Attributes
    ----------
    first, most
        The solver is called again with twice its last limit, from `first` up to `most` (the paper's d and d_max), until
        something is proved.
    restarts
        After how many calls in a row that bring no change it is not called again (the paper's k). ``None``, the paper's
        version 0: called again only while there is no schedule.
    wall
        Whether they are seconds of wall-clock time, as in the paper, or CP-SAT's deterministic time: close to seconds,
        and the same on any machine under any load.

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
        """Return the calls that are allowed."""
        return Attempts(self)


class Attempts:
    """The calls of a solver, one after the other: iterated over, the limit of each in seconds.

    After each call :meth:`note` is told its outcome.
    """

    def __init__(self, limit: Limit) -> None:
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
        """Note whether a call proved something, has a schedule, and a better one than was known before it."""
        restarts = self._limit.restarts
        self._vain = 0 if better or not self._calls else self._vain + 1
        self._calls += 1
        self._over = proved or (found if restarts is None else self._vain >= restarts)
