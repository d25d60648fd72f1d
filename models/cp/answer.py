"""What a solver says of a problem, and how long it may think."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from ..scheduling.list_schedules import Schedule


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
        While there is no schedule, the solver is called again with twice its last limit, from `first` up to `most`
        (the paper's delta and its maximum).
    restarts
        How often at most it is called again (the paper's k); ``None`` for no other end than `most`.
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

    def attempts(self) -> Iterator[float]:
        """Yield the limits of the calls, in seconds, until nothing more is allowed."""
        seconds, restarts = self.first, 0
        while seconds <= self.most and (self.restarts is None or restarts <= self.restarts):
            yield seconds
            seconds, restarts = 2 * seconds, restarts + 1


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
        Whose the schedule is: ``"hint"``, ``"solver"`` or ``"none"``. The hint's if they cost the same.
    """

    status: Status
    schedule: Schedule | None
    bound: int | None
    time: float
    source: str


def better_of(hint: Schedule | None, found: Schedule | None, status: Status, bound: int | None, time: float) -> Answer:
    """Return the answer with the better of the hint and what the solver found; the hint if they cost the same."""
    if hint is not None and (found is None or hint.cost <= found.cost):
        proved = status if found is not None and hint.cost == found.cost else Status.FEASIBLE
        return Answer(proved, hint, bound, time, "hint")
    return Answer(status, found, bound, time, "none" if found is None else "solver")
