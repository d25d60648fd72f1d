"""Bound the cost of a simulation, and stop one without progress."""

from dataclasses import dataclass
from time import monotonic

from ..base import InputError, check_number, check_whole, seconds_of, shown
from .simulation_errors import SimulationError

#: Decisions in a row without an arrival or an end of a job. After these, more work must be done than before.
PATIENCE = 10_000


class BudgetError(SimulationError):
    """A simulation used more decisions or seconds than its budget.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.simulation import Budget, BudgetError
    >>> try:
    ...     hd.simulate(hd.example(), "easy", budget=Budget(decisions=100))
    ... except BudgetError as error:
    ...     print(error)
    EASY at t=69508: expected an end within the budget of 100 decisions, got none
    """


@dataclass(frozen=True, slots=True)
class Budget:
    """Bounds on a simulation, as Slurm bounds a pass of its scheduler.

    Attributes
    ----------
    decisions
        Most calls of the dispatcher; the same on any machine. ``None``: without bound.
    seconds
        Most wall-clock time, checked before each decision: a number, or text such as ``"1m"``. ``None``: without bound.

    Raises
    ------
    ValueError
        If a bound is not above 0, or a text is no time.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.simulation import Budget
    >>> result = hd.simulate(hd.example(), "easy", budget=Budget(decisions=5000))
    >>> len(result.decisions) <= 5000
    True
    """

    decisions: int | None = None
    seconds: float | str | None = None

    def __post_init__(self) -> None:
        if self.decisions is not None:
            check_whole("budget: decisions", self.decisions, 1)
        if isinstance(self.seconds, str):
            try:
                object.__setattr__(self, "seconds", seconds_of(self.seconds))
            except ValueError as error:
                raise ValueError(f"budget: seconds: {error}") from None
        check_number("budget: seconds", self.seconds, above=0, none=True)


class Spending:
    """The used part of a budget, and the last progress.

    Attributes
    ----------
    acted
        Whether a job was started or stopped since the last check. If not, timers only wait for the next arrival.
    """

    def __init__(self, budget: Budget | None) -> None:
        if not isinstance(budget, Budget | None):
            raise InputError(f"budget: expected a Budget, such as Budget(decisions=100_000), got {shown(budget)}")
        budget = budget or Budget()
        self._most = budget.decisions
        self._seconds = None if budget.seconds is None else float(budget.seconds)
        self._until = None if self._seconds is None else monotonic() + self._seconds
        self._decisions = 0
        self._checked: tuple[int, int] | None = None
        self._work = -1
        self.acted = False

    def spend(self) -> bool:
        """Count a decision. Return whether progress is due to be checked.

        Raises
        ------
        BudgetError
            If the budget is used up.
        """
        self._decisions += 1
        if self._most is not None and self._decisions > self._most:
            raise BudgetError(f"expected an end within the budget of {self._most:,} decisions, got none")
        if self._until is not None and monotonic() > self._until:
            raise BudgetError(f"expected an end within the budget of {self._seconds:g} s, got none")
        return self._decisions % PATIENCE == 0

    def check(self, jobs: tuple[int, int], work: int) -> None:
        """Check that there was progress since the last check.

        Parameters
        ----------
        jobs
            Numbers of jobs that are still to arrive and that have not left.
        work
            Seconds of work done by the jobs that have not left, running ones included.

        Raises
        ------
        SimulationError
            If jobs were started or stopped, but none arrived or left. The work is also no more than ever before.
        """
        acted, self.acted = self.acted, False
        if acted and jobs == self._checked and work <= self._work:
            raise SimulationError(f"{PATIENCE:,} decisions in a row without any progress: jobs are started and stopped")
        self._work = max(work, self._work) if jobs == self._checked else work
        self._checked = jobs
