"""How a portfolio is configured."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

from ...base import InputError, Registry
from ...base.checks import check_flag, check_number, check_text, check_whole
from ...base.time_texts import seconds_option
from ...models.portfolio import Goal
from ..options import internal
from ..registered import spec_of_inner

#: The goals that can be had by name.
portfolio_goals = Registry("goal", "hpcdispatch.goals")

#: The default candidates: those that bound waits by themselves. A portfolio tells them EASY's longest
#: wait in time, so that predictions are trusted until a job has waited 1.1 x 0.9 = 0.99 of that.
CANDIDATES = (
    "lookahead:least_due=1h/trust=1.1+lookahead:least_due=1h/trust=1.1/blocked=0+easy-sjbf:reserve_by=walltimes"
)
#: By what run times are predicted then.
LEARNS = "empirical:least=3/quantile=0.75"
#: How they are guarded, as a multiple of the longest wait under EASY.
GUARD = 1.0
#: Up to which time they are told of no shorter wait than jobs that run have left in the mean.
RESIDUAL = "6h"
#: The most candidates: each is replayed at every tuning.
MOST_CANDIDATES = 100


@dataclass(frozen=True)
class PortfolioOptions:
    """What :class:`Portfolio` takes.

    Attributes
    ----------
    of
        The candidates, at least one, with ``+`` between them and ``/`` in place of the comma between their options;
        ``auto`` for :data:`CANDIDATES`. The first one is the one that is trusted: it begins, and the bound does not
        turn it away. ``DISPATCHER@PREDICTOR`` goes by predictions of its own in place of the simulation's.
    learns
        The predictor of the candidates that name none, as long as nobody else predicts anything but requests, with
        ``/`` in place of the comma; ``none`` for what the simulation predicts, by which the reference always goes.
        ``auto`` is :data:`LEARNS` with the default candidates, and none with others.
    repredict
        Whether predictors of its own predict jobs that wait again, once others of the same user, name and walltime have
        ended; else they predict jobs as they come alone, as simulations do.
    every
        Time from one tuning to the next, in seconds or as ``1d``, above 0.
    first
        Time until the first tuning, above 0; to each of the next it is twice as long as to the one before, up to
        `every`. As long as that by default.
    window
        How much of the past is replayed, at least `every`; less as long as there is less.
    goal
        What is wanted, by the name of a registered goal with ``/`` in place of the comma, or a :class:`.Goal`.
    reference
        The dispatcher whose long waits in a window bound those of the others, with those of EASY of late. It is a
        candidate, too, and named as these are.
    recent
        For how long a long wait under EASY counts, for the bound and for candidates that are told of it, once the job
        has started there, in seconds or as ``28d``, at least 1 s; ``inf`` for ever.
    guard
        Above 0. Of what the chosen one starts only that is done after which EASY, if it decided from then on, could
        keep every wait within so many times the longest one under EASY, see :class:`.Guarded`; ``inf`` for all of it,
        as in a crowd, and on nodes of several kinds or shared ones, in any case. ``auto`` is :data:`GUARD` with the
        default candidates, and ``inf`` with others.
    residual
        Candidates are told of no shorter wait than the time that jobs which run have left in the mean, by their
        requests, up to so much, in seconds or as ``6h``: so long anybody may have to wait who needs what is held;
        ``0`` for the longest wait under EASY alone. ``auto`` is :data:`RESIDUAL` with the default candidates, and 0
        with others.
    hysteresis
        By which part another candidate must be better than the one that is chosen, at least 0.
    budget
        How many decisions all replays of a tuning may take together, at least 1.
    halving
        On each rung of the screening so many times fewer candidates are left, and the past is so many times as long, at
        least 2.
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
    hysteresis: float = internal(0.3)
    budget: int = 100_000
    halving: int = internal(3)

    def __post_init__(self) -> None:
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
        check_number("hysteresis", self.hysteresis, least=0)
        check_whole("budget", self.budget, 1)
        check_whole("halving", self.halving, 2)
        self.made_goal()

    @property
    def candidates(self) -> list[str]:
        """The candidates by name, with the comma between their options."""
        return [spec_of_inner(name.strip()) for name in (CANDIDATES if self.default else self.of).split("+")]

    @property
    def default(self) -> bool:
        """Whether the candidates are the default ones."""
        return self.of in ("auto", CANDIDATES)

    @property
    def learned(self) -> str:
        """The predictor of the candidates that name none, with the comma between its options; empty for none."""
        learns = (self.learns or "").strip()
        if learns == "auto":
            learns = LEARNS if self.default else ""
        return spec_of_inner(learns)

    @property
    def factor(self) -> float:
        """The bound of the guard, as a multiple of the longest wait under EASY; infinite for none."""
        if self.guard != "auto":
            return cast(float, self.guard)
        return GUARD if self.default else math.inf

    @property
    def period(self) -> int:
        """Seconds from one tuning to the next."""
        return seconds_option("every", self.every, 1)

    @property
    def first_period(self) -> int:
        """Seconds until the first tuning."""
        return self.period if self.first is None else min(self.period, seconds_option("first", self.first, 1))

    @property
    def recent_seconds(self) -> int:
        """For how long a long wait under EASY counts."""
        return seconds_option("recent", self.recent, 1, infinite=True)

    @property
    def most_residual(self) -> int:
        """Up to how many seconds candidates are told of no shorter wait than jobs that run have left in the mean."""
        given = self.residual
        if given == "auto":
            given = RESIDUAL if self.default else 0
        return seconds_option("residual", given)

    @property
    def length(self) -> int:
        """Seconds of the past that are replayed."""
        return seconds_option("window", self.window)

    def made_goal(self) -> Goal:
        """Return the goal.

        Raises
        ------
        ValueError
            If it is none.
        """
        found = portfolio_goals.create(spec_of_inner(self.goal)) if isinstance(self.goal, str) else self.goal
        if not isinstance(found, Goal):
            raise InputError(f"goal must be a name or a Goal, got {self.goal!r}")
        return found
