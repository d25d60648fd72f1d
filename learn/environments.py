"""The Gymnasium environments. They run the compiled event loop, which stops at each decision."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils.seeding import np_random
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from ..base import BoolArray, FloatArray, InputError, IntArray
from ..base.checks import MOST_STEPS, check_choice, check_whole, is_number, shown
from ..models.backfilling.job_queue import PREDICTED, waiting_rows
from ..models.events.events import running_rows
from ..models.events.steps import BEGIN, FEATURES, NOW, OVER, PASS, Observation, arrays_of, events_of, step
from ..simulation import Result, simulate
from ..workloads.sources import WorkloadLike
from .episodes import Episodes, Outcome
from .pictures import Image, picture
from .rules import MODES, Rules
from .snapshots import Snapshot, checked

#: Rewards that are paid as jobs start, with their indices in the costs of a simulation.
COSTS = ("wait", "turnaround", "slowdown", "bounded_slowdown")
Reward = str | Callable[[Result], float]
WORKLOAD = "lublin:jobs=10000,processors=256"


def spaces_of(rules: Rules) -> tuple[Any, Any]:
    """Return the spaces of observations and of actions."""
    box = gymnasium.spaces.Box(0.0, 1.0, (rules.visible, FEATURES), np.float32)
    return box, gymnasium.spaces.Discrete(rules.actions)


def _check_render_mode(mode: Any) -> None:
    """Raise an error for a render mode that there is not.

    Raises
    ------
    InputError
        For anything but ``None`` and ``"rgb_array"``.
    """
    if mode is not None and mode != "rgb_array":
        raise InputError(f"environment: render_mode: expected rgb_array or None, got {shown(mode)}")


class _Simulations:
    """Episodes side by side, brought forward by compiled code.

    Attributes
    ----------
    observation, masks
        Shape (simulations, visible, 8) and (simulations, actions).
    over
        Which simulations have ended, shape (simulations,).
    replaced
        How many masked actions were replaced by action 0 in the running episodes, shape (simulations,).
    """

    def __init__(
        self,
        environment: str,
        count: int,
        workload: WorkloadLike = WORKLOAD,
        jobs: int = 256,
        part: tuple[float, float] = (0, 1),
        predictor: str = "walltime",
        reward: Reward = "bounded_slowdown",
        masked: str = "replace",
        **options: Any,
    ) -> None:
        rules = Rules.of({"id": environment, **options})
        try:
            check_whole("num_envs", count, 1, MOST_STEPS)
            check_choice("masked", masked, ("replace", "error"))
        except ValueError as error:
            raise InputError(f"environment: {error}") from None
        self.rules = rules
        self.episodes = Episodes(workload, jobs, part, predictor)
        self._reward = reward
        self._strict = masked == "error"
        self._array = rules.array()
        self._paid_as_started = reward in COSTS
        if not self._paid_as_started and not callable(reward):
            low = self.episodes.low
            known = simulate(self.episodes.workload.slice(low, low + jobs), "fcfs").summary()
            if not isinstance(reward, str) or reward.removeprefix("-") not in known:
                expected = f"{', '.join(COSTS)}, a name in Result.summary(), or a function of a Result"
                raise InputError(f"environment: reward: expected {expected}; got {shown(reward)}")
        self.steps = self.episodes.open(count, rules.visible)
        self.observation: Observation = np.zeros((count, rules.visible, FEATURES), dtype=np.float32)
        self.masks = np.zeros((count, rules.actions), dtype=np.bool_)
        self.over = np.ones(count, dtype=np.bool_)
        self.replaced = np.zeros(count, dtype=np.int64)
        self.first = np.zeros(count, dtype=np.int64)
        self._actions = np.full(count, PASS, dtype=np.int64)
        self._cost = COSTS.index(str(reward)) if self._paid_as_started else 0
        self._charged = np.zeros(count)
        self._places = np.arange(count)

    @property
    def _ended(self) -> IntArray:
        """Which simulations have no further decision, shape (simulations,)."""
        ended: IntArray = self.steps.numbers[:, OVER]
        return ended

    @cached_property
    def facts(self) -> Mapping[str, Any]:
        """What a snapshot must have in common with these simulations."""
        episodes = self.episodes
        source = f"{episodes.workload.provenance.source}, SHA-256 {episodes.workload.digest()[:12]}"
        options = {"jobs": episodes.jobs, "predictor": episodes.predictor, "reward": self._reward}
        if callable(self._reward):
            options["reward"] = getattr(self._reward, "__name__", type(self._reward).__name__)
        return {"environments": len(self.over), "workload": source, **self.rules.fields(), **options}

    def _changing(self) -> list[NDArray[Any]]:
        """Return all arrays that a step changes."""
        own = [self.observation, self.masks, self.over, self.replaced, self.first, self._actions, self._charged]
        return [*arrays_of(self.steps), *own]

    def snapshot(self, draws: Sequence[np.random.Generator]) -> Snapshot:
        """Return a copy of the state, with that of the generators from which episodes are drawn."""
        random = tuple(rng.bit_generator.state for rng in draws)
        return Snapshot(self.facts, tuple(array.copy() for array in self._changing()), random)

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
        made = list(draws) or [np.random.Generator(np.random.PCG64()) for _ in kept.random]
        for rng, state in zip(made, kept.random, strict=False):
            rng.bit_generator.state = state
        return made[: len(kept.random)]

    def begin(self, place: int, rng: np.random.Generator, options: Mapping[str, Any] | None = None) -> None:
        """Begin an episode. The first choice is shown after :meth:`act`."""
        self.first[place] = first = self.episodes.draw(rng, options)
        self.episodes.begin(self.steps, place, first)
        self._actions[place] = BEGIN
        self.over[place] = False
        self.replaced[place] = 0
        self._charged[place] = 0.0

    def act(self) -> tuple[FloatArray, BoolArray]:
        """Advance to the next decisions. Return the rewards and which episodes ended, of shape (simulations,)."""
        step(self.steps, self._actions, self._array, self.observation, self.masks)
        # Starts before the first decision are paid with that decision. An episode without decisions ends with its first
        # step.
        acted = self._actions >= 0
        costs = self.steps.costs[:, self._cost]
        rewards = np.where(acted, (self._charged - costs) / self.episodes.jobs, 0.0)
        np.copyto(self._charged, costs, where=acted)
        ended = (self._ended == 1) & acted
        self.over |= ended
        self._actions[:] = PASS
        if not self._paid_as_started:
            rewards[:] = 0.0
            for place in np.flatnonzero(ended).tolist():
                rewards[place] = self._at_end(self.outcome(place))
        return rewards, ended

    def _at_end(self, outcome: Outcome) -> float:
        """Return the reward of an episode."""
        if callable(self._reward):
            found = self._reward(outcome.result)
        else:
            value = outcome.get(self._reward.removeprefix("-"), float("nan"))
            found = -value if self._reward.startswith("-") else value
        if not is_number(found):
            first = outcome.result.manifest["start"]
            raise InputError(f"environment: reward: expected a number, got {shown(found)} in the episode from {first}")
        return float(found)

    def choose(self, place: int, action: Any) -> None:
        """Take an action for the next call of :meth:`act`.

        Raises
        ------
        InputError
            If it is out of range, or masked where that is an error, or the episode is over.
        """
        if self.over[place]:
            raise InputError(f"{self.rules.id}: the episode is over; expected reset() before the next step()")
        chosen = self.rules.action(action, None if self._ended[place] or not self._strict else self.masks[place])
        if not self.masks[place, chosen] and not self._ended[place]:
            self.replaced[place] += 1
            chosen = 0
        self._actions[place] = chosen

    def choose_all(self, actions: Any) -> None:
        """Take the actions of all episodes that are not over. See :meth:`choose`."""
        chosen = np.asarray(actions)
        whole = chosen.dtype.kind in "iu" and chosen.min() >= 0 and chosen.max() < self.masks.shape[1]
        if whole and (self.masks[self._places, chosen] | (self._ended == 1)).all():
            np.copyto(self._actions, chosen, where=~self.over)
            return
        for place in np.flatnonzero(~self.over).tolist():
            self.choose(place, actions[place])

    def outcome(self, place: int) -> Outcome:
        """Return the metrics of an episode that has ended."""
        return self.episodes.outcome(self.steps, place, int(self.first[place]), self.rules.id)

    def picture(self, place: int) -> Image:
        """Draw the running and the waiting jobs of an episode."""
        events = events_of(self.steps, place)
        queue, whole, now = events.queue, events.amounts[2], self.steps.numbers[place, NOW]
        waiting, running = waiting_rows(queue), running_rows(events)
        shares = (queue.amount / np.maximum(whole, 1)).max(axis=1)
        predicted = queue.columns[PREDICTED]
        left = np.maximum(queue.start[running] + predicted[running] - now, 1)
        return picture((shares[running], left), (shares[waiting], predicted[waiting]))

    def told(self, place: int) -> dict[str, Any]:
        """Return the ``info`` of the end of an episode."""
        return {"summary": self.outcome(place), "masked_actions": int(self.replaced[place])}


class DispatchEnv(gymnasium.Env[Observation, Any]):
    """One episode after the other. Each is a stretch of a trace. See ``docs/how-to/learning.md``.

    Parameters
    ----------
    environment
        Which one, such as ``PickJob-v0``.
    workload, jobs, part, predictor
        As of :class:`~hpcdispatch.learn.Episodes`.
    reward
        ``"bounded_slowdown"``, ``"slowdown"``, ``"wait"`` or ``"turnaround"``: minus the mean over the jobs, paid as
        they start. Or at the end a name in ``Result.summary()``, minus it with ``-`` before, or what a function returns
        for the :class:`.Result`.
    masked
        ``"replace"``: a masked action counts as action 0, and ``info["masked_actions"]`` says how often that was.
        ``"error"``: it is an error.
    **rules
        As of :class:`~hpcdispatch.learn.Rules`.

    Raises
    ------
    InputError
        For an option out of its range; in :meth:`step`, for an action out of range, or a step after the end.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 4}  # noqa: RUF012 - as gymnasium has it

    def __init__(self, environment: str, render_mode: str | None = None, **options: Any) -> None:
        _check_render_mode(render_mode)
        self.render_mode = render_mode
        self._all = _Simulations(environment, 1, **options)
        self.rules = self._all.rules
        self.observation_space, self.action_space = spaces_of(self.rules)

    @property
    def _draws(self) -> list[np.random.Generator]:
        return [] if self._np_random is None else [self._np_random]

    @property
    def workload(self) -> Any:
        """The workload. Each episode is a stretch of its jobs."""
        return self._all.episodes.workload

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode. It is sampled, or starts at the job ``options["start"]`` of the trace."""
        super().reset(seed=seed)
        self._all.begin(0, self.np_random, options)
        self._all.act()
        return self._all.observation[0].copy(), {"start": int(self._all.first[0])}

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Act, and go on to the next decision."""
        every = self._all
        every.choose(0, action)
        rewards, ended = every.act()
        over = bool(ended[0])
        return every.observation[0].copy(), float(rewards[0]), over, False, every.told(0) if over else {}

    def snapshot(self) -> Snapshot:
        """Return the state, for :meth:`restore`. It stays as it is while the environment goes on."""
        return self._all.snapshot(self._draws)

    def restore(self, snapshot: Snapshot) -> tuple[Observation, dict[str, Any]]:
        """Return to a state of this environment, or of one with the same workload and options.

        Returns
        -------
        The observation and the ``info`` of that state.

        Raises
        ------
        InputError
            If the workload or an option differs.
        """
        for rng in self._all.restore(snapshot, self._draws):
            self._np_random = rng
        return self._all.observation[0].copy(), {"start": int(self._all.first[0])}

    def render(self) -> Image | None:
        """Return a picture of the machine and the queue with ``render_mode="rgb_array"``, else ``None``."""
        return None if self.render_mode is None else self._all.picture(0)

    def action_masks(self) -> BoolArray:
        """Return which actions are allowed, shape (actions,); for sb3-contrib."""
        mask: BoolArray = self._all.masks[0].copy()
        return mask


class DispatchVectorEnv(VectorEnv[Observation, Any, Any]):
    """Several episodes side by side in one process. Options are those of :class:`DispatchEnv`.

    An episode that has ended begins anew at the next step. That step ignores its action.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - as gymnasium has it
        "render_modes": ["rgb_array"],
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(self, environment: str, num_envs: int = 1, render_mode: str | None = None, **options: Any) -> None:
        _check_render_mode(render_mode)
        self.render_mode = render_mode
        self._all = _Simulations(environment, num_envs, **options)
        self.rules = self._all.rules
        self.num_envs = num_envs
        self.single_observation_space, self.single_action_space = spaces_of(self.rules)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._draws: list[np.random.Generator] = []

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode in each. A single seed stands for that and the following."""
        if seed is not None or not self._draws:
            seeds: Any = [seed] * self.num_envs if seed is None else seed
            if isinstance(seed, int | np.integer):
                seeds = [int(seed) + place for place in range(self.num_envs)]
            if len(seeds) != self.num_envs:
                raise InputError(f"reset: seed: expected {self.num_envs}, one per environment, got {len(seeds)}")
            self._draws = [np_random(each)[0] for each in seeds]
        for place, rng in enumerate(self._draws):
            self._all.begin(place, rng, options)
        self._all.act()
        return self._all.observation.copy(), {"start": self._all.first.copy()}

    def step(self, actions: Any) -> tuple[Observation, FloatArray, BoolArray, BoolArray, dict[str, Any]]:
        """Act in each, and go on to their next decisions."""
        every = self._all
        if not self._draws:
            raise InputError(f"{self.rules.id}: expected reset() before the first step()")
        if np.shape(actions) != (self.num_envs,):
            expected = f"{self.num_envs}, one per environment"
            raise InputError(f"{self.rules.id}: actions: expected {expected}, got {shown(actions)}")
        every.choose_all(actions)
        for place in np.flatnonzero(every.over).tolist():
            every.begin(place, self._draws[place])
        rewards, ended = every.act()
        info: dict[str, Any] = {}
        for place in np.flatnonzero(ended).tolist():
            info = self._add_info(info, every.told(place), place)
        return every.observation.copy(), rewards, ended, np.zeros(self.num_envs, dtype=np.bool_), info

    def snapshot(self) -> Snapshot:
        """Return the state of all episodes. See :meth:`DispatchEnv.snapshot`."""
        return self._all.snapshot(self._draws)

    def restore(self, snapshot: Snapshot) -> tuple[Observation, dict[str, Any]]:
        """Return to a state of all episodes. See :meth:`DispatchEnv.restore`."""
        self._draws = self._all.restore(snapshot, self._draws)
        return self._all.observation.copy(), {"start": self._all.first.copy()}

    def render(self) -> tuple[Image, ...] | None:
        """Return a picture of each machine with ``render_mode="rgb_array"``, else ``None``."""
        return None if self.render_mode is None else tuple(map(self._all.picture, range(self.num_envs)))

    def action_masks(self) -> BoolArray:
        """Return which actions are allowed, shape (environments, actions)."""
        return self._all.masks.copy()


def register() -> None:
    """Register the environments with Gymnasium."""
    for name in MODES:
        gymnasium.register(
            f"hpcdispatch/{name}",
            entry_point=f"{__name__}:DispatchEnv",
            vector_entry_point=f"{__name__}:DispatchVectorEnv",
            kwargs={"environment": name},
        )
