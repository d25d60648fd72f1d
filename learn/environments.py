"""The Gymnasium environments. They run an event loop that stops at each decision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils.seeding import np_random
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from ..base import BoolArray, FloatArray, InputError
from ..base.checks import shown
from ..models.events.observations import Observation
from .pictures import Image
from .rules import MODES, Rules
from .simulations import simulations
from .snapshots import EnvironmentSnapshot


def spaces_of(rules: Rules) -> tuple[Any, Any]:
    """Return the spaces of observations and of actions."""
    box = gymnasium.spaces.Box(0.0, 1.0, (rules.visible, len(rules.columns.names)), np.float32)
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


class DispatchEnv(gymnasium.Env[Observation, Any]):
    """One episode after the other. Each is a stretch of a trace. See ``docs/how-to/learning.md``.

    Parameters
    ----------
    environment
        Which one, such as ``PickJob-v0``.
    workload, jobs, part, predictor, warm_up
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

    Examples
    --------
    >>> import gymnasium
    >>> import hpcdispatch.learn
    >>> env = gymnasium.make("hpcdispatch/PickJob-v0", workload="lublin:jobs=2000,processors=64", jobs=50, visible=16)
    >>> observation, info = env.reset(seed=1)
    >>> observation.shape
    (16, 8)
    >>> observation, reward, terminated, truncated, info = env.step(0)
    >>> terminated
    False
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 4}  # noqa: RUF012 - as gymnasium has it

    def __init__(self, environment: str, render_mode: str | None = None, **options: Any) -> None:
        _check_render_mode(render_mode)
        self.render_mode = render_mode
        self._all = simulations(environment, 1, **options)
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
        return self._all.observation[0].copy(), {"start": int(self._all.first[0]), **self._seen()}

    def _seen(self) -> dict[str, Any]:
        """Return the ``info`` of a decision."""
        every = self._all
        return {
            "now": int(every.now[0]),
            "jobs": every.visible[0].copy(),
            "action_mask": every.masks[0].view(np.int8).copy(),
        }

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Act, and go on to the next decision."""
        every = self._all
        every.choose(0, action)
        rewards, ended = every.act()
        over = bool(ended[0])
        info = {**self._seen(), **every.told(0)} if over else self._seen()
        return every.observation[0].copy(), float(rewards[0]), over, False, info

    def snapshot(self) -> EnvironmentSnapshot:
        """Return the state, for :meth:`restore`. It stays as it is while the environment goes on."""
        return self._all.snapshot(self._draws)

    def restore(self, snapshot: EnvironmentSnapshot) -> tuple[Observation, dict[str, Any]]:
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
        return self._all.observation[0].copy(), {"start": int(self._all.first[0]), **self._seen()}

    def render(self) -> Image | None:
        """Return a picture of the machine and the queue with ``render_mode="rgb_array"``, else ``None``."""
        return None if self.render_mode is None else self._all.picture(0)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of an observation."""
        return self.rules.columns.names

    def action_masks(self) -> BoolArray:
        """Return which actions are allowed, shape (actions,); for sb3-contrib."""
        mask: BoolArray = self._all.masks[0].copy()
        return mask


class DispatchVectorEnv(VectorEnv[Observation, Any, Any]):
    """Several episodes side by side in one process. Options are those of :class:`DispatchEnv`.

    An episode that has ended begins anew at the next step. That step ignores its action.

    Examples
    --------
    >>> import gymnasium
    >>> import hpcdispatch.learn
    >>> envs = gymnasium.make_vec(
    ...     "hpcdispatch/PickJob-v0", num_envs=3, workload="lublin:jobs=2000,processors=64", jobs=50, visible=16
    ... )
    >>> observations, info = envs.reset(seed=1)
    >>> observations.shape
    (3, 16, 8)
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - as gymnasium has it
        "render_modes": ["rgb_array"],
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(self, environment: str, num_envs: int = 1, render_mode: str | None = None, **options: Any) -> None:
        _check_render_mode(render_mode)
        self.render_mode = render_mode
        self._all = simulations(environment, num_envs, **options)
        self.rules = self._all.rules
        self.num_envs = num_envs
        self.single_observation_space, self.single_action_space = spaces_of(self.rules)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._draws: list[np.random.Generator] = []
        self._each = np.ones(num_envs, dtype=np.bool_)

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
        return self._all.observation.copy(), {"start": self._all.first.copy(), **self._seen()}

    def _seen(self) -> dict[str, Any]:
        """Return the ``info`` of the decisions, with Gymnasium's flags that each environment has it."""
        every = self._all
        return {
            "now": every.now.copy(),
            "jobs": every.visible.copy(),
            "action_mask": every.masks.view(np.int8).copy(),
            "_now": self._each,
            "_jobs": self._each,
            "_action_mask": self._each,
        }

    def step(self, actions: Any) -> tuple[Observation, FloatArray, BoolArray, BoolArray, dict[str, Any]]:
        """Act in each, and go on to their next decisions."""
        every = self._all
        if not self._draws:
            raise InputError(f"{self.rules.id}: expected reset() before the first step()")
        if np.shape(actions) != (self.num_envs,):
            expected = f"{self.num_envs}, one per environment"
            raise InputError(f"{self.rules.id}: actions: expected {expected}, got {shown(actions)}")
        every.choose_all(actions)
        for place in every.over.nonzero()[0].tolist():
            every.begin(place, self._draws[place])
        rewards, ended = every.act()
        info = self._seen()
        for place in ended.nonzero()[0].tolist():
            info = self._add_info(info, every.told(place), place)
        return every.observation.copy(), rewards.copy(), ended.copy(), np.zeros(self.num_envs, dtype=np.bool_), info

    def snapshot(self) -> EnvironmentSnapshot:
        """Return the state of all episodes. See :meth:`DispatchEnv.snapshot`."""
        return self._all.snapshot(self._draws)

    def restore(self, snapshot: EnvironmentSnapshot) -> tuple[Observation, dict[str, Any]]:
        """Return to a state of all episodes. See :meth:`DispatchEnv.restore`."""
        self._draws = self._all.restore(snapshot, self._draws)
        return self._all.observation.copy(), {"start": self._all.first.copy(), **self._seen()}

    def render(self) -> tuple[Image, ...] | None:
        """Return a picture of each machine with ``render_mode="rgb_array"``, else ``None``."""
        return None if self.render_mode is None else tuple(map(self._all.picture, range(self.num_envs)))

    @property
    def workload(self) -> Any:
        """The workload. Each episode is a stretch of its jobs."""
        return self._all.episodes.workload

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of an observation."""
        return self.rules.columns.names

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
