"""Tuning: find the candidate that would have done best recently."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from ...base.errors import raised
from ...models.portfolio.goals import ReplayMetrics, admitted, best_of, gains, rungs, survivors
from ..protocol import Dispatcher
from .own_predictions import OwnPredictions
from .portfolio_options import PortfolioOptions
from .recorded_past import Past, RecordedPast, Replay, ReplayResult

#: Position of the first candidate, which begins and is never excluded by the bound.
FIRST = 0


@dataclass(slots=True)
class Tuning:
    """Result of a tuning.

    Attributes
    ----------
    chosen
        Position of the next candidate.
    gain
        How much less it costs than the previous one. 0 if it is the same, NaN if nothing was compared.
    replays, decisions
        Number of replays, and of decisions in them.
    notes
        Problems, one line each.
    """

    chosen: int
    gain: float = math.nan
    replays: int = 0
    decisions: int = 0
    notes: list[str] = field(default_factory=list)


@dataclass
class Tuner:
    """Replays the past under candidates within a budget.

    Parameters
    ----------
    options
        Goal, hysteresis, budget and screening.
    names
        The candidates, then the reference if it is not one of them.
    reference
        Position of the reference.
    made
        Function that creates the dispatcher of a position.
    predictions
        Predictions of each candidate, ``None`` for the simulation's.
    easy
        Recent outcome under EASY.
    """

    options: PortfolioOptions
    names: Sequence[str]
    reference: int
    made: Callable[[int], Dispatcher]
    predictions: Sequence[OwnPredictions | None]
    easy: ReplayMetrics

    def __post_init__(self) -> None:
        self._goal = self.options.made_goal()

    def tune(self, past: RecordedPast, now: int, replay: Replay, incumbent: int) -> Tuning:
        """Return the next candidate after the past until now.

        Parameters
        ----------
        past, now, replay
            The past, its end, and the function that replays it.
        incumbent
            Position of the present candidate, kept if no other is better.
        """
        tuning = Tuning(incumbent)
        compared = _Compared({}, set())
        alive = list(range(len(self.names)))
        known = now - (now if past.begin is None else past.begin)  # No rung is longer than the known past.
        for rung in rungs(len(alive), min(self.options.length, max(1, known)), self.options.halving):
            stretch = past.stretch(now - rung.length, now)
            latest = self._compare(stretch, replay, [incumbent, *alive], tuning)
            if latest is None:
                break
            compared = latest
            alive = survivors(compared.costs, compared.exceeding - {FIRST}, rung.keep)
            if not alive:
                break
        if compared.costs:
            allowed = admitted(compared.costs, compared.exceeding - {FIRST})  # The first candidate always is.
            tuning.chosen = best_of(allowed, incumbent, self.options.hysteresis) if allowed else self.reference
            tuning.gain = gains(compared.costs, incumbent, tuning.chosen)
        elif not tuning.notes:
            note = f"budget of {self.options.budget:,} decisions allowed no replay"
            tuning.notes.append(f"{note}: {self.names[incumbent]} goes on")
        return tuning

    def _compare(self, stretch: Past, replay: Replay, places: Sequence[int], tuning: Tuning) -> _Compared | None:
        """Return the costs of candidates on a period. ``None`` if the reference cannot be replayed.

        Replays the first of `places`, then the reference and the first candidate, then the others.
        """
        outcomes: dict[int, ReplayMetrics] = {}
        for place in dict.fromkeys([places[0], self.reference, FIRST, *places[1:]]):
            left = self.options.budget - tuning.decisions
            if left < 1:
                break
            answer = self._replayed(stretch, place, replay, left, tuning)
            if answer.outcome is not None:
                outcomes[place] = answer.outcome
            elif answer.failure:
                tuning.notes.append(f"{self.names[place]} is left out: {answer.failure}")
            else:
                break
        return self._judge(outcomes, tuning) if self.reference in outcomes else None

    def _replayed(self, stretch: Past, place: int, replay: Replay, left: int, tuning: Tuning) -> ReplayResult:
        """Replay a period under a candidate with its valid predictions, and count it."""
        own = self.predictions[place]
        if own is not None and own.failure:
            return ReplayResult(None, 0, own.failure)
        answer = replay(stretch if own is None else own.of_past(stretch), self.made(place), left)
        tuning.replays += 1
        tuning.decisions += answer.decisions
        return answer

    def _judge(self, outcomes: dict[int, ReplayMetrics], tuning: Tuning) -> _Compared:
        """Return the costs of candidates. Those that the goal cannot judge are left out with a note."""
        costs = dict[int, float]()
        tails = dict[int, float]()
        exceeding = set[int]()
        for place, outcome in outcomes.items():
            with self._asking(place, tuning):
                cost = float(self._goal.cost(outcome))
                tail = float(self._goal.tail(outcome))
                if math.isfinite(cost) and math.isfinite(tail):
                    costs[place], tails[place] = cost, tail
                else:
                    note = f"expected a finite cost and tail, got {cost} and {tail}"
                    tuning.notes.append(f"{self.names[place]} is left out: {note}")
        bound = max(tails.get(self.reference, 0.0), self._tail_under_easy())
        for place, tail in tails.items():
            cost = costs.pop(place)
            with self._asking(place, tuning):
                if place != self.reference and not self._goal.allows(tail, bound):
                    exceeding.add(place)
                costs[place] = cost
        return _Compared(costs, exceeding)

    @contextmanager
    def _asking(self, place: int, tuning: Tuning) -> Iterator[None]:
        """Call the goal for a candidate. An error leaves it out with a note."""
        try:
            yield
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a site's own goal may raise anything
            tuning.notes.append(f"{self.names[place]} is left out: goal raised {raised(error)}")

    def _tail_under_easy(self) -> float:
        """Return the bounded wait of recent jobs under EASY. 0 if the goal cannot tell."""
        try:
            tail = float(self._goal.tail(self.easy))
        except (Exception, SystemExit):  # noqa: BLE001 - as above, where it is said
            return 0.0
        return tail if math.isfinite(tail) else 0.0


@dataclass(frozen=True, slots=True)
class _Compared:
    """Costs of candidates, and candidates that break the bound."""

    costs: dict[int, float]
    exceeding: set[int]
