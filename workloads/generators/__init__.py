"""Generated workloads, by name."""

from __future__ import annotations

from .accre import accre
from .eurora import eurora
from .eviction_scenarios import draw_checkpoints, theta_scenario
from .generator import GENERATORS, generate, generator, provenance_of
from .intrepid import intrepid_neuroscience
from .lublin import lublin
from .stochastic import stochastic
from .theta import theta

__all__ = [
    "GENERATORS",
    "accre",
    "draw_checkpoints",
    "eurora",
    "generate",
    "generator",
    "intrepid_neuroscience",
    "lublin",
    "provenance_of",
    "stochastic",
    "theta",
    "theta_scenario",
]
