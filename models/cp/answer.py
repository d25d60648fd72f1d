"""What a solver says of a problem, and how long it may think."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Literal

from ..scheduling.list_schedules import Schedule

#: Who made a schedule: whoever gave the hint, a list in some order, the local search over orders, CP-SAT, the program
#: with a fluid, or nobody.
Source = Literal["hint", "list", "local search", "cp-sat", "fluid", "none"]


class Status(Enum):
    """What is known of a problem when the solver stops."""

    #: The schedule has the least cost there is.
    OPTIMAL = "optimal"
    #: The schedule holds; nothing proves that there is none better.
    FEASIBLE = "feasible"
    #: There is no schedule.
    INFEASIBLE = "infeasible"
    #: Neither a schedule nor a proof that there is none.
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Limit:
    """How long a solver may think about one problem.

    Attributes
    ----------
    first, most
        The solver is called again with twice its last limit, from `first` up to `most` (the paper's delta and its
        maximum), until something is proved.
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

    After each call it is told by :meth:`note` what came of it.
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


@dataclass(frozen=True, eq=False)
class Answer:
    """The schedule found and what is known of it.

    Attributes
    ----------
    status
        How much is proved.
    schedule
        The better of the hint and the solver's, or ``None``; its cost is recomputed from the start times.
    bound
        No schedule costs less; ``None`` if nothing is known.
    time
        Deterministic time spent.
    source
        Who made the schedule; the hint if it costs the same.
    decided
        Whether no schedule in which other jobs start now costs less. So it is if `status` is optimal.
    """

    status: Status
    schedule: Schedule | None
    bound: int | None
    time: float
    source: Source
    decided: bool = False

    def __post_init__(self) -> None:
        if self.status is Status.OPTIMAL:
            object.__setattr__(self, "decided", True)


def better_of(hint: Schedule | None, found: Schedule | None, status: Status, bound: int | None, time: float) -> Answer:
    """Return the answer with the better of the hint and what the solver found; the hint if they cost the same.

    Without any schedule nothing is proved but that there is none.
    """
    if hint is None and found is None and status is not Status.INFEASIBLE:
        return Answer(Status.UNKNOWN, None, None, time, "none")
    if hint is not None and (found is None or hint.cost <= found.cost):
        proved = status if found is not None and hint.cost == found.cost else Status.FEASIBLE
        return Answer(proved, hint, bound, time, "hint")
    return Answer(status, found, bound, time, "none" if found is None else "cp-sat")
