"""Gymnasium environments for learned dispatchers, and their policies as dispatchers.

>>> import gymnasium, hpcdispatch.learn  # doctest: +SKIP
>>> env = gymnasium.make("hpcdispatch/PickJob-v0", workload="lublin:jobs=5000")  # doctest: +SKIP

Importing it registers the environments if Gymnasium is installed (``pip install 'hpcdispatch[learn]'``). Policies need
numpy only.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from ..base.old_names import with_old_names
from .episodes import Episodes, Outcome
from .policies import Network, PolicyDispatcher, PolicyFile, load_policy, save_policy
from .rules import Rules
from .snapshots import EnvironmentSnapshot

__all__ = [
    "DispatchEnv",
    "DispatchVectorEnv",
    "EnvironmentSnapshot",
    "Episodes",
    "Network",
    "Outcome",
    "PolicyDispatcher",
    "PolicyFile",
    "Rules",
    "load_policy",
    "save_policy",
]

if find_spec("gymnasium") is not None:
    from .environments import DispatchEnv, DispatchVectorEnv, register

    register()


def _without_gymnasium(name: str) -> Any:
    """Say what the environments need."""
    if name in ("DispatchEnv", "DispatchVectorEnv"):
        raise ImportError(f"hpcdispatch.learn.{name} needs Gymnasium: pip install 'hpcdispatch[learn]'")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__getattr__ = with_old_names(__name__, {"Snapshot": "EnvironmentSnapshot"}, _without_gymnasium)
