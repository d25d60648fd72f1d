"""Portfolio: continue with the dispatcher that would have done best recently."""

import math
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from operator import attrgetter
from typing import Any, ClassVar, Unpack

import numpy as np

from ...base import part_label
from ...models.lookahead.planning import BOUND
from ...models.portfolio.goals import ReplayMetrics
from ...workloads import Job, Machine
from ...workloads.machine_state import MachineState
from ..lookahead.guard import LEAST, Guard
from ..lookahead.history import History
from ..options import Configured
from ..protocol import Action, Dispatcher, DispatcherContract, Start, State, id_of, well_formed
from ..registered import create_dispatcher, layers, reset_part, tell_end
from ..rule_book import closures_ahead
from .own_predictions import OwnPredictions, predictor_of
from .portfolio_options import PortfolioGiven, PortfolioOptions
from .recorded_past import RecordedPast, Replay
from .tuning import Tuner, Tuning


class Portfolio(Configured[PortfolioOptions]):
    """Changes every day to the dispatcher that would have done best in the last two weeks.

    At intervals (`every`) the recent past (`window`) is replayed under each candidate (`of`). The replay starts from
    the state at the begin of the window, with run times as known by now. The best candidate by a `goal` continues. A
    candidate with a longest wait above the `reference` and a slack is excluded, except the first. If the simulation
    predicts only walltimes, predictions are learned from ended jobs (`learns`). With the default candidates a start is
    only allowed if EASY could still keep its own longest wait (`guard`).

    Replays need a simulation. Elsewhere the first candidate continues. The options are those of
    :class:`PortfolioOptions`.

    Raises
    ------
    InputError
        For an unknown candidate, predictor or goal.
    ValueError
        If a candidate is a portfolio.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.dispatchers import Portfolio
    >>> result = hd.simulate(hd.example(), Portfolio(of="easy+fcfs", every="2d"))
    >>> result.jobs["status"].value_counts().to_dict()
    {'completed': 900, 'killed': 0, 'rejected': 0}
    """

    Options = PortfolioOptions
    uses: ClassVar[tuple[str, ...]] = ("numba", "ortools", "scipy")

    def __init__(self, options: PortfolioOptions | None = None, /, **given: Unpack[PortfolioGiven]) -> None:
        super().__init__(options, **given)
        candidates = self.options.candidates
        self._names = [candidate.name for candidate in candidates]
        self._reference = self.options.place_of_reference(candidates)
        self._dispatchers = [candidate.dispatcher for candidate in candidates]
        self._predictors = [part_label(candidate.predictor) for candidate in candidates]
        for name, dispatcher in zip(self._names, self._dispatchers, strict=True):
            if any(isinstance(part, Portfolio) for part in layers(self._created(dispatcher))):
                raise ValueError(f"of must be dispatchers other than portfolios, got {name!r}")
        self._learns = part_label(self.options.learned)
        self._most_residual = self.options.most_residual
        #: Predictors by their names.
        self._given = {part_label(one): one for one in (*(each.predictor for each in candidates), self.options.learned)}
        for name, predictor in self._given.items():
            if name:
                predictor_of(predictor)
        self._replay: Replay | None = None
        self.reset(None)

    def reset(self, machine: Machine | None, rng: np.random.Generator | None = None) -> None:
        """Drop the past, and begin with the first candidate."""
        self._seed = 0 if rng is None else int(rng.integers(2**32))
        self._machine = machine
        self._past: RecordedPast | None = None
        self._own: dict[str, OwnPredictions] = {}
        self._ended: Sequence[Job] = ()
        self._next = 0
        self._gap = self.options.first_period
        self._guard = Guard(self.options.factor, LEAST)
        self._last, self._longest = Tuning(0), 0
        self._parts: dict[int, Dispatcher] = {}
        self._record: dict[str, Any] = {}

    @property
    def on_profile(self) -> bool:
        """Whether all candidates take their room from the profile."""
        return all(DispatcherContract(part).on_profile for part in self._layers())

    @property
    def plans_closures(self) -> bool:
        """See :class:`.RuleGate`."""
        return all(DispatcherContract(part).plans_closures for part in self._layers())

    def _layers(self) -> Iterator[Dispatcher]:
        return (part for given in self._dispatchers for part in layers(self._created(given)))

    @property
    def unbounded(self) -> str:
        """See :class:`.Guard`."""
        return self._guard.unbounded

    def use_replays(self, replay: Replay) -> None:
        """Set the replay function. Simulations call it before they begin."""
        self._replay = replay

    def recall(self, state: MachineState, memory: object) -> None:
        """Let predictors of candidates learn from jobs that ended before the simulation."""
        self._ended = [before.whole for before in sorted(state.ended, key=attrgetter("end"))]

    def job_ended(self, id_: str, ran: int, now: int) -> None:
        """Record the total run time of an ended job, seconds."""
        if self._past is not None:
            self._past.end(id_, ran, now)
            self._easy.ended(id_, ran)
        for own in self._own.values():
            own.ended(id_, ran, now)
        for candidate in self._parts.values():
            tell_end(candidate, id_, ran, now)

    def report(self) -> Mapping[str, Any]:
        """Return data of the last decision.

        * ``chosen``: the current candidate. ``held``: whether the guard changed its actions.
        * ``predictor``: its predictor, empty for that of the simulation.
        * ``tuned``: whether there was a tuning. ``gain``: relative improvement over the previous candidate.
        * ``replays``, ``replayed``: number of replays, and of decisions in them.
        * ``failure``: problems in the tuning.
        """
        return self._record

    def dispatch(self, state: State) -> Sequence[Action]:
        """Tune if due, and run the chosen dispatcher."""
        if self._past is None or self._past.machine is not state.machine:
            self._past = RecordedPast(state.machine)
            named = dict.fromkeys(filter(None, map(self._predictor, range(len(self._names)))))
            given = state.machine, self._ended, self.options.repredict
            self._own = {name: OwnPredictions(self._given[name], *given) for name in named}
            self._machine = state.machine
            self._next = state.now + self._gap
            self._easy = History(state.machine, state.now, by_walltimes=True, recent=self.options.recent_seconds)
        self._past.see(state)
        if self._past.predicted and self._learns not in self._predictors:
            self._own.pop(self._learns, None)
        seen = {name: own.see(state) for name, own in self._own.items()}
        learned = seen.get(self._learns, state)
        self._easy.see(state, learned)
        residual = min(self._easy.residual_time(), self._most_residual)
        self._longest = max(self._easy.longest_wait(state.now), residual)
        tuning = None
        if state.now >= self._next:
            self._gap = min(self.options.period, 2 * self._gap)
            self._next = state.now + self._gap
            tuning = self._tune(state, self._past, learned)
        place = self._last.chosen
        if place not in self._parts:
            self._parts[place] = self._made(place)
        self._tell(self._parts[place])
        predictor = self._predictor(place)
        # With walltimes, if these may reach closed nodes.
        shown = state if closures_ahead(state, 1) else seen.get(predictor, state)
        wanted = self._parts[place].dispatch(shown)
        if not well_formed(wanted):
            return wanted
        actions = self._guard.kept(state, wanted, self._easy)
        self._past.act(state.now, actions)
        self._easy.start(id_of(action.job) for action in actions if isinstance(action, Start))
        for own in self._own.values():
            own.act(state.now, actions)
        self._record = self._noted(tuning, predictor)
        return actions

    def _predictor(self, place: int) -> str:
        """Return the predictor of a position's candidate, empty for that of the simulation."""
        own = self._own.get(self._learns)
        others = (self._past is not None and self._past.predicted) or (own is not None and own.failure)
        return self._predictors[place] or ("" if others or place == self._reference else self._learns)

    def _made(self, place: int) -> Dispatcher:
        """Return a new dispatcher of a position, with the expected longest wait."""
        made = self._created(self._dispatchers[place])
        reset_part(made, self._machine, np.random.default_rng((self._seed, place)))
        self._tell(made)
        return made

    def _created(self, given: str | Dispatcher) -> Dispatcher:
        """Return a dispatcher of its name, or a copy of an object."""
        return create_dispatcher(given if isinstance(given, str) else deepcopy(given), self.options.default)

    def _tell(self, dispatcher: Dispatcher) -> None:
        """Tell a dispatcher the expected longest wait, if it supports it."""
        for part in layers(dispatcher):
            use = DispatcherContract(part).use_longest_wait
            if use is not None:
                use(self._longest)

    def _tune(self, state: State, past: RecordedPast, expected: State) -> Tuning | None:
        """Tune, if replays are possible. Jobs that have not ended run as `expected` says."""
        if self._replay is None:
            return None
        past.look(expected, state.now - self.options.length)
        for own in self._own.values():
            own.forget(past.ids())
        predictions = [self._own.get(self._predictor(place)) for place in range(len(self._names))]
        easy = _outcome(self._easy, state.now)
        tuner = Tuner(self.options, self._names, self._reference, self._made, predictions, easy)
        tuning = tuner.tune(past, state.now, self._replay, self._last.chosen)
        learned = self._own.get(self._learns)
        if learned is not None and learned.failure:
            tuning.notes.append(f"learns: {learned.failure}; by the predictions of the simulation")
        longest = past.longest_run()
        if longest is not None and longest.ran > self.options.length:
            ran = f"job {longest.entry.id} ran, {longest.ran} s"
            tuning.notes.append(f"window: {self.options.window} is less than {ran}")
        if tuning.chosen != self._last.chosen:
            self._parts.pop(tuning.chosen, None)
        self._last = tuning
        return tuning

    def _noted(self, tuning: Tuning | None, predictor: str) -> dict[str, Any]:
        return {
            "chosen": self._names[self._last.chosen],
            "held": int(self._guard.held),
            "predictor": predictor,
            "tuned": int(tuning is not None),
            "gain": math.nan if tuning is None else _part_of(tuning.gain),
            "replays": 0 if tuning is None else tuning.replays,
            "replayed": 0 if tuning is None else tuning.decisions,
            "failure": "" if tuning is None else "; ".join(tuning.notes),
        }


def _part_of(gain: float) -> float:
    """Return the relative improvement for a difference of costs. Infinite beyond the range of floats."""
    with np.errstate(over="ignore"):
        return float(np.expm1(gain))


def _outcome(history: History, now: int) -> ReplayMetrics:
    """Return the recent outcome under EASY, as far as known."""
    waits, runs = (column.astype(np.float64) for column in history.waits(now))
    slowdowns = np.maximum((waits + runs) / np.maximum(runs, BOUND), 1.0)
    return ReplayMetrics(waits, slowdowns, np.ones(len(waits), dtype=bool))
