"""Options of a portfolio."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, TypedDict, cast

from ...base import InputError, Registry, check_number, part_label, shown
from ...base.checks import Checked, check_flag, check_text, number, whole
from ...base.time_texts import seconds_option
from ...models.portfolio.goals import PortfolioGoal
from ..options import internal
from ..protocol import Dispatcher
from ..registered import spec_of_inner
from .own_predictions import Predicting

#: Forms of a candidate.
Given = str | Dispatcher | tuple[str | Dispatcher, str | Predicting]

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


class PortfolioCandidate(NamedTuple):
    """A candidate of a portfolio.

    Attributes
    ----------
    dispatcher, predictor
        Names with the comma between options, or objects. The predictor is empty if it has none of its own.
    name
        Name of both in reports.
    """

    dispatcher: str | Dispatcher
    predictor: str | Predicting
    name: str


def _candidate(given: Any) -> PortfolioCandidate:
    """Return a candidate from ``DISPATCHER@PREDICTOR``, a dispatcher, or a pair of both."""
    dispatcher, predictor = given, ""
    if isinstance(given, tuple) and len(given) == 2:
        dispatcher, predictor = given
    elif isinstance(given, str):
        dispatcher, at, predictor = spec_of_inner(given.strip()).partition("@")
        if at and not predictor.strip():
            raise InputError(f"of: expected a predictor behind the @, got {given!r}")
    dispatcher, predictor = (one.strip() if isinstance(one, str) else one for one in (dispatcher, predictor))
    name = part_label(dispatcher) + "@" * bool(predictor) + part_label(predictor)
    return PortfolioCandidate(dispatcher, predictor, name)


@dataclass(frozen=True)
class PortfolioOptions(Checked):
    """Options of :class:`Portfolio`.

    Attributes
    ----------
    of
        Candidates, at least one, joined by ``+``, with ``/`` instead of the comma between their options. ``auto`` for
        :data:`CANDIDATES`. The first one is trusted: it begins, and the bound never excludes it.
        ``DISPATCHER@PREDICTOR`` uses its own predictor instead of the simulation's. In Python also a sequence of such
        names, of dispatcher objects, and of pairs of a dispatcher and its predictor. Each replay works on a copy.
    learns
        Predictor of candidates without their own: an object, or a name with ``/`` instead of the comma. Used while the
        simulation predicts only walltimes. ``none`` for the simulation's predictions, which the reference always uses.
        ``auto`` is :data:`LEARNS` with the default candidates, and none with others.
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
        The goal: name of a registered goal with ``/`` instead of the comma, or a :class:`.PortfolioGoal`.
    reference
        Dispatcher to compare with. Its long waits in a window, with recent ones of EASY, bound those of the others. It
        is also a candidate, in the same notation, or an object.
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

    of: str | Sequence[Given] = "auto"
    learns: str | Predicting | None = internal("auto")  # noqa: RUF009
    repredict: bool = internal(True)
    every: float | str = "1d"
    first: float | str | None = internal(None)
    window: float | str = "14d"
    goal: str | PortfolioGoal = "means"
    reference: str | Dispatcher = internal("easy:reserve_by=walltimes")  # noqa: RUF009
    recent: float | str = internal("28d")
    guard: float | str = "auto"
    residual: float | str = internal("auto")
    hysteresis: Annotated[float, number(least=0)] = internal(0.3)
    budget: Annotated[int, whole(1)] = 100_000
    halving: Annotated[int, whole(2)] = internal(3)

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.learns, str) or not isinstance(self.learns, Predicting):
            check_text("learns", self.learns, none=True)
        check_flag("repredict", self.repredict)
        parts: Any = self.of.split("+") if isinstance(self.of, str) else self.of
        named = isinstance(parts, Sequence) and 0 < len(parts) <= MOST_CANDIDATES
        if not named or any(isinstance(part, str) and not part.strip() for part in parts):
            raise ValueError(f"of must be 1 to {MOST_CANDIDATES} dispatchers with + between them, got {self.of!r}")
        self.candidates  # noqa: B018 - a malformed candidate is an error at once
        if self.length < self.period:
            raise ValueError(f"window must be at least every = {self.every}, got {self.window!r}")
        _ = self.first_period, self.recent_seconds, self.most_residual
        check_number("guard", self.factor, above=0, infinite=True)
        self.made_goal()

    @property
    def candidates(self) -> list[PortfolioCandidate]:
        """The candidates, then the reference if it is not one of them."""
        given = CANDIDATES if self.default else self.of
        parts = [_candidate(part) for part in (given.split("+") if isinstance(given, str) else given)]
        reference = _candidate(self.reference)
        if reference[:2] not in [part[:2] for part in parts]:
            parts.append(reference)
        names = [part.name for part in parts]
        return [
            part._replace(name=name if names.index(name) == place else f"{name} #{names[: place + 1].count(name)}")
            for place, (name, part) in enumerate(zip(names, parts, strict=True))
        ]

    def place_of_reference(self, candidates: Sequence[PortfolioCandidate]) -> int:
        """Return the place of the reference among the candidates."""
        return [candidate[:2] for candidate in candidates].index(_candidate(self.reference)[:2])

    @property
    def default(self) -> bool:
        """Whether the candidates are the default ones."""
        return isinstance(self.of, str) and self.of in ("auto", CANDIDATES)

    @property
    def learned(self) -> str | Predicting:
        """Predictor of candidates without their own, a name with the comma between its options. Empty for none."""
        if self.learns is not None and not isinstance(self.learns, str):
            return self.learns
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

    def made_goal(self) -> PortfolioGoal:
        """Return the goal.

        Raises
        ------
        ValueError
            If it is not a goal.
        """
        goal = portfolio_goals.create(spec_of_inner(self.goal)) if isinstance(self.goal, str) else self.goal
        if not isinstance(goal, PortfolioGoal):
            base = "subclass hpcdispatch.dispatchers.portfolio.PortfolioGoal"
            raise InputError(f"goal must be a name or a PortfolioGoal, got {shown(self.goal)}; {base}")
        return goal


class PortfolioGiven(TypedDict, total=False):
    """The options of :class:`PortfolioOptions` by name, for type checkers."""

    of: str | Sequence[Given]
    learns: str | Predicting | None
    repredict: bool
    every: float | str
    first: float | str | None
    window: float | str
    goal: str | PortfolioGoal
    reference: str | Dispatcher
    recent: float | str
    guard: float | str
    residual: float | str
    hysteresis: float
    budget: int
    halving: int
