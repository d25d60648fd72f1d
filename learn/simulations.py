"""Episodes side by side: in the compiled event loop, or in the engine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base import BoolArray, FloatArray, InputError, IntArray
from ..base.checks import MOST_STEPS, check_choice, check_whole, is_number, shown
from ..dispatchers import Dispatcher, Start
from ..models.backfilling.job_queue import waiting_rows
from ..models.events.events import running_rows
from ..models.events.observations import Observation
from ..models.events.steps import BEGIN, COSTS, PASS, arrays_of, events_of, step, take_allowed
from ..predictors import Predictor
from ..simulation import Result, simulate
from ..simulation.decided_outside import DecidedOutside
from ..workloads.sources import WorkloadLike
from .decisions import Decider
from .episodes import EpisodeJobs, Episodes, Outcome
from .pictures import Image, picture
from .rules import Rules
from .snapshots import EnvironmentSnapshot, checked
from .terminal_rewards import quick_metric

Reward = str | Callable[[Result], float]
Visible = NDArray[np.int32]
WORKLOAD = "lublin:jobs=10000,processors=256"


class Simulations(ABC):
    """Episodes side by side.

    Attributes
    ----------
    observation, masks
        Shape (simulations, visible, columns) and (simulations, actions).
    visible, now
        Visible jobs by their positions in the trace, -1 for none, and the time, seconds. Shape (simulations, visible)
        and (simulations,).
    over
        Which simulations have ended, shape (simulations,).
    replaced
        How many masked actions were replaced by action 0 in the running episodes, shape (simulations,).
    first
        First jobs of the running episodes, shape (simulations,).
    """

    visible: Visible

    def __init__(self, rules: Rules, count: int, episodes: Episodes, reward: Reward, strict: bool) -> None:
        self.rules = rules
        self.episodes = episodes
        self._reward = reward
        self._strict = strict
        self._paid_as_started = reward in COSTS
        if not self._paid_as_started and not callable(reward):
            low = episodes.low
            known = simulate(episodes.workload.slice(low, low + episodes.jobs), "fcfs").summary()
            if not isinstance(reward, str) or reward.removeprefix("-") not in known:
                expected = f"{', '.join(COSTS)}, a name in Result.summary(), or a function of a Result"
                raise InputError(f"environment: reward: expected {expected}; got {shown(reward)}")
        self._cost = COSTS.index(str(reward)) if self._paid_as_started else 0
        columns = len(rules.columns.names)
        self.observation: Observation = np.zeros((count, rules.visible, columns), dtype=np.float32)
        self.masks = np.zeros((count, rules.actions), dtype=np.bool_)
        self.over = np.ones(count, dtype=np.bool_)
        self.replaced = np.zeros(count, dtype=np.int64)
        self.first = np.zeros(count, dtype=np.int64)
        self.rewards = np.zeros(count)
        self.ended = np.zeros(count, dtype=np.bool_)
        self.stretches: list[EpisodeJobs | None] = [None] * count
        self._actions = np.full(count, PASS, dtype=np.int64)

    @property
    @abstractmethod
    def now(self) -> IntArray:
        """The times, seconds, shape (simulations,)."""

    @property
    @abstractmethod
    def nothing_left(self) -> BoolArray:
        """Which simulations have no further decision, shape (simulations,)."""

    @abstractmethod
    def _begin(self, place: int, stretch: EpisodeJobs) -> None:
        """Begin an episode with a stretch."""

    @abstractmethod
    def _step(self) -> None:
        """Take the actions, and fill observations, masks, rewards and ends."""

    @abstractmethod
    def outcome(self, place: int) -> Outcome:
        """Return the metrics of an episode that has ended."""

    @abstractmethod
    def picture(self, place: int) -> Image:
        """Draw the running and the waiting jobs of an episode."""

    @abstractmethod
    def _terminal(self, place: int, name: str) -> float | None:
        """Return a metric of an episode that has ended without its records. ``None`` if that is impossible."""

    @abstractmethod
    def _parts(self) -> list[Any]:
        """Return what else a step changes, besides arrays."""

    @abstractmethod
    def _take_parts(self, parts: list[Any]) -> None:
        """Restore what :meth:`_parts` returned."""

    def _changing(self) -> list[NDArray[Any]]:
        """Return all arrays that a step changes."""
        own = [self.observation, self.masks, self.over, self.replaced, self.first, self._actions]
        return [*own, self.rewards, self.ended]

    def begin(self, place: int, rng: np.random.Generator, options: Mapping[str, Any] | None = None) -> None:
        """Begin an episode. The first choice is shown after :meth:`act`."""
        self.first[place] = first = self.episodes.draw(rng, options)
        self.stretches[place] = stretch = self.episodes.stretch(first)
        self._begin(place, stretch)
        self._actions[place] = BEGIN
        self.over[place] = False
        self.replaced[place] = 0

    def act(self) -> tuple[FloatArray, BoolArray]:
        """Advance to the next decisions. Return the rewards and which episodes ended, of shape (simulations,)."""
        self._step()
        self.over |= self.ended
        self._actions[:] = PASS
        if not self._paid_as_started:
            self.rewards[:] = 0.0
            for place in self.ended.nonzero()[0].tolist():
                self.rewards[place] = self._at_end(place)
        return self.rewards, self.ended

    def _at_end(self, place: int) -> float:
        """Return the reward of an episode."""
        outcome = self.outcome(place)
        if callable(self._reward):
            reward = self._reward(outcome.result)
        else:
            name = self._reward.removeprefix("-")
            quick = self._terminal(place, name)
            value = outcome.get(name, float("nan")) if quick is None else quick
            reward = -value if self._reward.startswith("-") else value
        if not is_number(reward):
            first = self.first[place]
            raise InputError(f"environment: reward: expected a number, got {shown(reward)} in the episode from {first}")
        return float(reward)

    def choose(self, place: int, action: Any) -> None:
        """Take an action for the next call of :meth:`act`.

        Raises
        ------
        InputError
            If it is out of range, or masked where that is an error, or the episode is over.
        """
        if self.over[place]:
            raise InputError(f"{self.rules.id}: the episode is over; expected reset() before the next step()")
        nothing = self.nothing_left[place]
        chosen = self.rules.action(action, None if nothing or not self._strict else self.masks[place])
        if not nothing and not self.masks[place, chosen]:
            self.replaced[place] += 1
            chosen = 0
        self._actions[place] = chosen

    def choose_all(self, actions: Any) -> None:
        """Take the actions of all episodes that are not over. See :meth:`choose`."""
        chosen = np.asarray(actions)
        if chosen.dtype.kind in "iu":
            whole: IntArray = chosen.astype(np.int64)
            if take_allowed(whole, self.masks, self.nothing_left, self.over, self._actions):
                return
        for place in np.flatnonzero(~self.over).tolist():
            self.choose(place, actions[place])

    def told(self, place: int) -> dict[str, Any]:
        """Return the ``info`` of the end of an episode."""
        return {"summary": self.outcome(place), "masked_actions": int(self.replaced[place])}

    @cached_property
    def facts(self) -> Mapping[str, Any]:
        """What a snapshot must have in common with these simulations."""
        episodes = self.episodes
        source = f"{episodes.workload.provenance.source}, SHA-256 {episodes.workload.digest()[:12]}"
        reward = self._reward
        if callable(reward):
            reward = getattr(reward, "__name__", type(reward).__name__)
        options = {"jobs": episodes.jobs, "predictor": episodes.predictor, "warm_up": episodes.warm_up}
        return {"environments": len(self.over), "workload": source, **self.rules.fields(), **options, "reward": reward}

    def snapshot(self, draws: Sequence[np.random.Generator]) -> EnvironmentSnapshot:
        """Return a copy of the state, with that of the generators from which episodes are drawn."""
        arrays = tuple(array.copy() for array in self._changing())
        random = tuple(rng.bit_generator.state for rng in draws)
        return EnvironmentSnapshot(self.facts, arrays, random, tuple(self.stretches), deepcopy(self._parts()))

    def restore(self, snapshot: Any, draws: Sequence[np.random.Generator]) -> list[np.random.Generator]:
        """Return to a snapshot. Return the generators, which are those given where there are any.

        Raises
        ------
        InputError
            If it is no snapshot, or one of another environment.
        """
        kept = checked(snapshot)
        if kept.facts is not self.facts:
            kept.check(self.facts)
        for array, value in zip(self._changing(), kept.arrays, strict=True):
            np.copyto(array, value)
        self.stretches = list(kept.stretches)
        self._take_parts(deepcopy(kept.parts))
        made = list(draws) or [np.random.Generator(np.random.PCG64()) for _ in kept.random]
        for rng, state in zip(made, kept.random, strict=False):
            rng.bit_generator.state = state
        return made[: len(kept.random)]


class CompiledSimulations(Simulations):
    """Episodes in the compiled event loop."""

    def __init__(self, rules: Rules, count: int, episodes: Episodes, reward: Reward, strict: bool) -> None:
        super().__init__(rules, count, episodes, reward, strict)
        self._compiled_rules = rules.compiled_rules()
        self._columns = rules.columns.array
        self.steps = episodes.open(count, rules.visible, rules.columns)

    @property
    def visible(self) -> Visible:  # type: ignore[override]
        """Visible jobs by their positions in the trace, -1 for none."""
        return self.steps.visible

    @property
    def now(self) -> IntArray:
        """See :class:`Simulations`."""
        return self.steps.stages.now

    @property
    def nothing_left(self) -> BoolArray:
        """See :class:`Simulations`."""
        over: BoolArray = self.steps.stages.over == 1
        return over

    def _begin(self, place: int, stretch: EpisodeJobs) -> None:
        self.episodes.begin(self.steps, place, stretch)

    def _step(self) -> None:
        step(
            self.steps,
            self._actions,
            self._compiled_rules,
            self._columns,
            self._cost,
            self.observation,
            self.masks,
            self.rewards,
            self.ended,
        )

    def _changing(self) -> list[NDArray[Any]]:
        return [*arrays_of(self.steps), *super()._changing()]

    def _parts(self) -> list[Any]:
        return []

    def _take_parts(self, parts: list[Any]) -> None:
        """Do nothing: all is in arrays."""

    def outcome(self, place: int) -> Outcome:
        """Return the metrics of an episode that has ended."""
        stretch = self.stretches[place]
        assert stretch is not None
        return self.episodes.outcome(self.steps, place, stretch, self.rules.id)

    def _terminal(self, place: int, name: str) -> float | None:
        stretch = self.stretches[place]
        assert stretch is not None
        start = self.steps.events.queue.start[place, : len(stretch.jobs)]
        return quick_metric(name, self.episodes, stretch, start)

    def picture(self, place: int) -> Image:
        """Draw the running and the waiting jobs of an episode."""
        events = events_of(self.steps, place)
        queue, whole, now = events.queue, events.machine.capacity, self.now[place]
        waiting, running = waiting_rows(queue), running_rows(events)
        shares = (queue.amount / np.maximum(whole, 1)).max(axis=1)
        predicted = queue.jobs.predicted
        left = np.maximum(queue.start[running] + predicted[running] - now, 1)
        return picture((shares[running], left), (shares[waiting], predicted[waiting]))


class _Episode:
    """An episode in the engine.

    Attributes
    ----------
    decider
        Decisions at the present instant.
    over
        Whether there is no further decision.
    now
        Time, seconds.
    costs, paid
        As in :class:`.ParallelSimulations`. Shape (4,), and a number.
    """

    def __init__(self, rules: Rules, episodes: Episodes, stretch: EpisodeJobs) -> None:
        self._part = episodes.part_of(stretch)
        state = episodes.state_of(stretch, self._part, learn=True)
        self._run = DecidedOutside(self._part, episodes.fresh_predictor(), rules.id, state)
        self.decider = Decider(rules)
        self.decider.reset(self._part.machine, np.random.default_rng(0))
        self._runtimes = self._part.columns.runtime
        self.over = False
        self.now = 0
        self.costs = np.zeros(len(COSTS))
        self.paid = 0.0
        self.state: Any = None

    def begin(self) -> None:
        """Go to the first decision."""
        self._advance(False)

    def act(self, action: int) -> None:
        """Take an action, and go to the next decision."""
        self._advance(self.decider.act(action), True)

    def _advance(self, asks: bool, decided: bool = False) -> None:
        while not asks:
            if decided:
                actions = self.decider.actions()
                for action in actions:
                    if isinstance(action, Start):
                        self._count(action.job)
                self._run.carry_out(actions)
            self.state = self._run.next_state()
            if self.state is None:
                self.over = True
                return
            self.now = self.state.now
            asks = self.decider.open(self.state)
            decided = True

    def _count(self, job: Any) -> None:
        """Add the costs of a starting job."""
        run, wait = float(self._runtimes[job.order]), float(self.now - job.job.submit)
        stretch = (wait + run) / np.maximum(run, (1.0, 10.0))
        self.costs += wait, wait + run, max(1.0, stretch[0]), max(1.0, stretch[1])

    def result(self, stretch: EpisodeJobs) -> Result:
        """Return the records."""
        return self._run.result(start=stretch.first)

    def __deepcopy__(self, memo: dict[int, Any]) -> _Episode:
        """Return a copy that shares the workload."""
        memo[id(self._part)] = self._part
        memo[id(self._runtimes)] = self._runtimes
        made = object.__new__(_Episode)
        memo[id(self)] = made
        # First, so that the state is that of the copied engine.
        made._run = deepcopy(self._run, memo)
        made.__dict__.update({name: deepcopy(value, memo) for name, value in self.__dict__.items()})
        return made


class EngineSimulations(Simulations):
    """Episodes in the engine: with predictors that learn, and with any order and any dispatchers."""

    def __init__(self, rules: Rules, count: int, episodes: Episodes, reward: Reward, strict: bool) -> None:
        super().__init__(rules, count, episodes, reward, strict)
        self._episodes: list[_Episode | None] = [None] * count
        self.visible = np.full((count, rules.visible), -1, dtype=np.int32)
        self._now = np.zeros(count, dtype=np.int64)
        self._over = np.zeros(count, dtype=np.bool_)

    @property
    def now(self) -> IntArray:
        """See :class:`Simulations`."""
        return self._now

    @property
    def nothing_left(self) -> BoolArray:
        """See :class:`Simulations`."""
        return self._over

    def _begin(self, place: int, stretch: EpisodeJobs) -> None:
        self._episodes[place] = _Episode(self.rules, self.episodes, stretch)
        self._over[place] = False

    def _step(self) -> None:
        self.rewards[:] = 0.0
        self.ended[:] = False
        for place, action in enumerate(self._actions.tolist()):
            episode = self._episodes[place]
            if action == PASS or episode is None:
                continue
            if action == BEGIN:
                episode.begin()
            elif not episode.over:
                episode.act(action)
            self._show(place, episode)
            if action != BEGIN:
                stretch = self.stretches[place]
                assert stretch is not None
                self.rewards[place] = (episode.paid - episode.costs[self._cost]) / stretch.decided
                episode.paid = float(episode.costs[self._cost])
                self.ended[place] = episode.over

    def _show(self, place: int, episode: _Episode) -> None:
        """Copy what is visible of an episode."""
        self._over[place] = episode.over
        self._now[place] = episode.now
        if episode.over:
            self.observation[place] = 0.0
            self.masks[place] = self.rules.actions == 2
            self.visible[place] = -1
            return
        stretch = self.stretches[place]
        assert stretch is not None
        self.observation[place] = episode.decider.observation
        self.masks[place] = episode.decider.mask
        visible = episode.decider.visible
        self.visible[place] = np.where(visible < 0, -1, stretch.jobs[visible])

    def _changing(self) -> list[NDArray[Any]]:
        return [*super()._changing(), self.visible, self._now, self._over]

    def _parts(self) -> list[Any]:
        return list(self._episodes)

    def _take_parts(self, parts: list[Any]) -> None:
        self._episodes = parts

    def outcome(self, place: int) -> Outcome:
        """Return the metrics of an episode that has ended."""
        episode, stretch = self._episodes[place], self.stretches[place]
        assert episode is not None
        assert stretch is not None
        return Outcome(lambda: episode.result(stretch))

    def _terminal(self, place: int, name: str) -> float | None:
        return None

    def picture(self, place: int) -> Image:
        """Draw the running and the waiting jobs of an episode."""
        episode = self._episodes[place]
        if episode is None or episode.state is None:
            nothing = np.zeros(0), np.zeros(0)
            return picture(nothing, nothing)
        state = episode.state
        whole = np.maximum(state.machine.capacity.sum(axis=0), 1)
        shares = [(jobs.nodes[:, None] * jobs.demand / whole).max(axis=1) for jobs in (state.running, state.queue)]
        left = np.maximum(state.running.predicted_end - state.now, 1)
        return picture((shares[0], left), (shares[1], state.queue.predicted))


def simulations(
    environment: str,
    count: int,
    workload: WorkloadLike = WORKLOAD,
    jobs: int = 256,
    part: tuple[float, float] = (0, 1),
    predictor: str | Predictor = "walltime",
    warm_up: str | Dispatcher | None = None,
    reward: Reward = "bounded_slowdown",
    masked: str = "replace",
    **options: Any,
) -> Simulations:
    """Return the simulations of an environment: compiled, if its predictor, order and dispatchers are."""
    rules = Rules.of({"id": environment, **options})
    try:
        check_whole("num_envs", count, 1, MOST_STEPS)
        check_choice("masked", masked, ("replace", "error"))
    except ValueError as error:
        raise InputError(f"environment: {error}") from None
    episodes = Episodes(workload, jobs, part, predictor, warm_up)
    kind = CompiledSimulations if rules.compiled and episodes.constant else EngineSimulations
    return kind(rules, count, episodes, reward, masked == "error")
