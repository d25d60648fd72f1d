"""Options of a portfolio."""

import math
from dataclasses import dataclass
from typing import Annotated, cast

from ...base import InputError, Registry, check_number
from ...base.checks import Checked, check_flag, check_text, number, whole
from ...base.time_texts import seconds_option
from ...models.portfolio.goals import Goal
from ..options import internal
from ..registered import spec_of_inner

#: Registered goals, by name.
portfolio_goals = Registry("goal", "hpcdispatch.goals")

#: Default candidates, which bound waits themselves. A portfolio tells them EASY's longest wait, so predictions are
#: trusted until a job has waited 1.1 x 0.9 = 0.99 of that.
CANDIDATES = (
    "lookahead:least_due=1h/trust=1.1+lookahead:least_due=1h/trust=1.1/blocked=0+easy-sjbf:reserve_by=walltimes"
)
#: Predictor of the default candidates.
LEARNS = "empirical:least=3/quantile=0.75"
#: Guard of the default candidates, as a multiple of the longest wait under EASY.
GUARD = 1.0
#: Largest residual time of running jobs that replaces a shorter longest wait.
RESIDUAL = "6h"
#: Most candidates. Each is replayed at every tuning.
MOST_CANDIDATES = 100


@dataclass(frozen=True)
class PortfolioOptions(Checked):
    """Options of :class:`Portfolio`.

    Attributes
    ----------
    of
        Candidates, at least one, joined by ``+``, with ``/`` instead of the comma between their options. ``auto`` for
        :data:`CANDIDATES`. The first one is trusted: it begins, and the bound never excludes it.
        ``DISPATCHER@PREDICTOR`` uses its own predictor instead of the simulation's.
    learns
        Predictor of candidates without their own, with ``/`` instead of the comma. Used while the simulation predicts
        only walltimes. ``none`` for the simulation's predictions, which the reference always uses. ``auto`` is
        :data:`LEARNS` with the default candidates, and none with others.
    repredict
        Whether own predictors predict waiting jobs again after jobs of the same user, name and walltime have ended.
        Otherwise only at arrival, as simulations do.
    every
        Time between tunings, in seconds or as ``1d``, above 0.
    first
        Time until the first tuning, above 0. It doubles for each next one, up to `every`. Default `every`.
    window
        Length of the replayed past, at least `every`. Less while less is known.
    goal
        The goal: name of a registered goal with ``/`` instead of the comma, or a :class:`.Goal`.
    reference
        Dispatcher to compare with. Its long waits in a window, with recent ones of EASY, bound those of the others. It
        is also a candidate, in the same notation.
    recent
        How long a long wait under EASY counts after the job has started there, for the bound and for candidates that
        use it. In seconds or as ``28d``, at least 1 s. ``inf`` for ever.
    guard
        Above 0. The chosen dispatcher's starts are limited: EASY, deciding from then on, could keep every wait within
        this multiple of its longest, see :class:`.Guarded`. ``inf`` for no limit. With long queues and with different
        or shared nodes there is no limit either. ``auto`` is :data:`GUARD` with the default candidates, and ``inf``
        with others.
    residual
        The longest wait told to candidates is at least the mean remaining time of running jobs, by walltimes. Any job
        that needs their amounts may have to wait that long. At most this value, in seconds or as ``6h``. ``0`` for only
        the longest wait under EASY. ``auto`` is :data:`RESIDUAL` with the default candidates, and 0 with others.
    hysteresis
        Relative difference by which another candidate must be better than the chosen one, at least 0.
    budget
        Decisions that all replays of a tuning may take together, at least 1.
    halving
        Factor by which each rung of the screening reduces the candidates and extends the past, at least 2.
    """

    of: str = "auto"
    learns: str | None = internal("auto")
    repredict: bool = internal(True)
    every: float | str = "1d"
    first: float | str | None = internal(None)
    window: float | str = "14d"
    goal: str | Goal = "means"
    reference: str = internal("easy:reserve_by=walltimes")
    recent: float | str = internal("28d")
    guard: float | str = "auto"
    residual: float | str = internal("auto")
    hysteresis: Annotated[float, number(least=0)] = internal(0.3)
    budget: Annotated[int, whole(1)] = 100_000
    halving: Annotated[int, whole(2)] = internal(3)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("of", "reference"):
            check_text(name, getattr(self, name))
        check_text("learns", self.learns, none=True)
        check_flag("repredict", self.repredict)
        if not self.candidates or not all(self.candidates) or len(self.candidates) > MOST_CANDIDATES:
            raise ValueError(f"of must be 1 to {MOST_CANDIDATES} dispatchers with + between them, got {self.of!r}")
        if self.length < self.period:
            raise ValueError(f"window must be at least every = {self.every}, got {self.window!r}")
        _ = self.first_period, self.recent_seconds, self.most_residual
        check_number("guard", self.factor, above=0, infinite=True)
        self.made_goal()

    @property
    def candidates(self) -> list[str]:
        """Names of the candidates, with the comma between their options."""
        return [spec_of_inner(name.strip()) for name in (CANDIDATES if self.default else self.of).split("+")]

    @property
    def default(self) -> bool:
        """Whether the candidates are the default ones."""
        return self.of in ("auto", CANDIDATES)

    @property
    def learned(self) -> str:
        """Predictor of candidates without their own, with the comma between its options. Empty for none."""
        learns = (self.learns or "").strip()
        if learns == "auto":
            learns = LEARNS if self.default else ""
        return spec_of_inner(learns)

    @property
    def factor(self) -> float:
        """Bound of the guard, as a multiple of the longest wait under EASY. Infinite for none."""
        if self.guard != "auto":
            return cast(float, self.guard)
        return GUARD if self.default else math.inf

    @property
    def period(self) -> int:
        """Seconds between tunings."""
        return seconds_option("every", self.every, 1)

    @property
    def first_period(self) -> int:
        """Seconds until the first tuning."""
        return self.period if self.first is None else min(self.period, seconds_option("first", self.first, 1))

    @property
    def recent_seconds(self) -> int:
        """How long a long wait under EASY counts, seconds."""
        return seconds_option("recent", self.recent, 1, infinite=True)

    @property
    def most_residual(self) -> int:
        """Largest residual time of running jobs that replaces a shorter longest wait, seconds."""
        given = self.residual
        if given == "auto":
            given = RESIDUAL if self.default else 0
        return seconds_option("residual", given)

    @property
    def length(self) -> int:
        """Seconds of the replayed past."""
        return seconds_option("window", self.window)

    def made_goal(self) -> Goal:
        """Return the goal.

        Raises
        ------
        ValueError
            If it is not a goal.
        """
        found = portfolio_goals.create(spec_of_inner(self.goal)) if isinstance(self.goal, str) else self.goal
        if not isinstance(found, Goal):
            raise InputError(f"goal must be a name or a Goal, got {self.goal!r}")
        return found
