"""Snapshots of environments: all that a step changes, as plain arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from ..base import InputError
from ..base.checks import shown


@dataclass(frozen=True, slots=True)
class EnvironmentSnapshot:
    """State of an environment at one decision, from ``env.unwrapped.snapshot()``.

    It does not change as the environment goes on, and can be pickled.

    Attributes
    ----------
    facts
        What an environment must have in common with it to be restored: the workload and all options, by name.
    arrays
        The simulations and the last observations.
    random
        States of the random number generators, one per environment that has drawn an episode.
    stretches, parts
        Jobs of each episode, and the engines of those that are not compiled.

    Examples
    --------
    >>> import gymnasium
    >>> import hpcdispatch.learn
    >>> env = gymnasium.make("hpcdispatch/PickJob-v0", workload="lublin:jobs=2000,processors=64", jobs=50, visible=16)
    >>> observation, info = env.reset(seed=1)
    >>> snapshot = env.unwrapped.snapshot()
    >>> first = env.step(0)[0]
    >>> observation, info = env.unwrapped.restore(snapshot)
    >>> bool((env.step(0)[0] == first).all())
    True
    """

    facts: Mapping[str, Any]
    arrays: tuple[NDArray[Any], ...]
    random: tuple[Mapping[str, Any], ...]
    stretches: tuple[Any, ...]
    parts: list[Any]

    def check(self, facts: Mapping[str, Any]) -> None:
        """Raise an error unless an environment has the same facts.

        Raises
        ------
        InputError
            It names the first fact that differs, with both values.
        """
        for name, value in facts.items():
            other = self.facts.get(name)
            if other != value:
                raise InputError(f"restore: {name}: expected {shown(value)}, got a snapshot with {shown(other)}")


def checked(snapshot: Any) -> EnvironmentSnapshot:
    """Return a snapshot.

    Raises
    ------
    InputError
        If it is none.
    """
    if not isinstance(snapshot, EnvironmentSnapshot):
        raise InputError(f"restore: expected what snapshot() returned, got {shown(snapshot)}")
    return snapshot
