"""Result of the search for a schedule."""

from dataclasses import dataclass
from enum import Enum
from typing import Literal

from ..scheduling.list_schedules import Schedule

#: Origin of a schedule: a list order, the local search, CP-SAT, the paper's search, or none.
Source = Literal["list", "local search", "cp-sat", "schedule-or-postpone", "none"]


class Status(Enum):
    """What the search proved about a problem."""

    #: No schedule costs less.
    OPTIMAL = "optimal"
    #: The schedule meets all constraints. A better one may exist.
    FEASIBLE = "feasible"
    #: No schedule exists.
    INFEASIBLE = "infeasible"
    #: Neither a schedule nor a proof that none exists.
    UNKNOWN = "unknown"


@dataclass(frozen=True, eq=False)
class Answer:
    """The best schedule of a search, and what the search proved.

    Attributes
    ----------
    status
        What is proved.
    schedule
        The schedule, or ``None``. Its cost is computed from the start times.
    bound
        Lower bound on the cost of every schedule, or ``None``.
    source
        Origin of the schedule.
    decided
        Whether no schedule that starts other jobs now costs less. True if `status` is optimal.
    listed
        The best list schedule, or ``None`` if no order gives one.
    solver_time
        Seconds of CP-SAT. Deterministic time, or wall-clock time under a wall-clock limit.
    spent
        Seconds of its budget that the decision used.
    exceeded
        Whether the budget refused or shortened a part of the search.
    too_large
        Whether the model was too large: there is no schedule, because the budget refused the model or the solver
        reached its limit.
    refused
        Whether further constraints refused a schedule that their own model admits.
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
    too_large: bool = False
    refused: bool = False

    def __post_init__(self) -> None:
        if self.status is Status.OPTIMAL:
            object.__setattr__(self, "decided", True)
