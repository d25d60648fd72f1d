"""What is known of a problem when the search for a schedule ends."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal

from ..scheduling.list_schedules import Schedule

#: What made a schedule: a list in some order, the local search over orders, CP-SAT, or nothing.
Source = Literal["list", "local search", "cp-sat", "none"]


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


@dataclass(frozen=True, eq=False)
class Answer:
    """The schedule of least cost that was found, and what is known of it.

    Attributes
    ----------
    status
        What is proved.
    schedule
        The schedule, or ``None``; its cost is computed from the start times.
    bound
        No schedule costs less; ``None`` if nothing is known.
    source
        What made the schedule.
    decided
        Whether no schedule in which other jobs start now costs less. So it is if `status` is optimal.
    listed
        The best list schedule; ``None`` if no list leads to one.
    solver_time
        Deterministic seconds of CP-SAT (of wall-clock time under such a limit).
    spent
        What the decision took of its budget, seconds.
    exceeded
        Whether the budget refused a part of the search or cut it short.
    """

    status: Status
    schedule: Schedule | None
    bound: int | None = None
    source: Source = "none"
    decided: bool = False
    listed: Schedule | None = None
    solver_time: float = 0.0
    spent: float = 0.0
    exceeded: bool = False

    def __post_init__(self) -> None:
        if self.status is Status.OPTIMAL:
            object.__setattr__(self, "decided", True)
