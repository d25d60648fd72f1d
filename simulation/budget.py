"""How much a simulation may cost, and whether it gets anywhere."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic

from ..base import InputError
from ..base.checks import check_number, check_whole, shown
from .simulation_errors import SimulationError

#: Decisions in a row without a job that arrives or leaves, after which there must be more work done than before.
PATIENCE = 10_000


class BudgetError(SimulationError):
    """A simulation took more decisions or seconds than it was given."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What a simulation may take before it is stopped, as Slurm bounds a pass of its scheduler.

    Attributes
    ----------
    decisions
        How often the dispatcher is asked; the same on any machine. ``None``: without bound.
    seconds
        Of wall-clock time, looked at before each decision. ``None``: without bound.

    Raises
    ------
    ValueError
        If a bound is not above 0.
    """

    decisions: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        if self.decisions is not None:
            check_whole("budget: decisions", self.decisions, 1)
        check_number("budget: seconds", self.seconds, above=0, none=True)


class Spending:
    """What a simulation has taken of its budget, and when it last got anywhere.

    Attributes
    ----------
    acted
        Whether a job was started or stopped since the last check; without, timers wait for the next one to arrive.
    """

    def __init__(self, budget: Budget | None) -> None:
        if not isinstance(budget, Budget | None):
            raise InputError(f"budget: expected a Budget, such as Budget(decisions=100_000), got {shown(budget)}")
        budget = budget or Budget()
        self._most = budget.decisions
        self._seconds = budget.seconds
        self._until = None if budget.seconds is None else monotonic() + budget.seconds
        self._decisions = 0
        self._checked: tuple[int, int] | None = None
        self._work = -1
        self.acted = False

    def spend(self) -> bool:
        """Count a decision; return whether it is time to look at the work done.

        Raises
        ------
        BudgetError
            If it is one too many.
        """
        self._decisions += 1
        if self._most is not None and self._decisions > self._most:
            raise BudgetError(f"expected an end within the budget of {self._most:,} decisions, got none")
        if self._until is not None and monotonic() > self._until:
            raise BudgetError(f"expected an end within the budget of {self._seconds:g} s, got none")
        return self._decisions % PATIENCE == 0

    def check(self, jobs: tuple[int, int], work: int) -> None:
        """See that something has happened since the last check.

        Parameters
        ----------
        jobs
            How many are still to arrive and how many have not left.
        work
            Seconds of work that the jobs that have not left have done, those that run too.

        Raises
        ------
        SimulationError
            If jobs were started or stopped, but none has arrived or left, and no more work is done than ever before.
        """
        acted, self.acted = self.acted, False
        if acted and jobs == self._checked and work <= self._work:
            raise SimulationError(f"{PATIENCE:,} decisions in a row without any progress: jobs are started and stopped")
        self._work = max(work, self._work) if jobs == self._checked else work
        self._checked = jobs
