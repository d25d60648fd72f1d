"""On-the-fly dispatching, reservation-based dispatching, and a hybrid (Gainaru et al., IJHPCA 2019)."""

from __future__ import annotations

from .hybrid import Hybrid, HybridOptions
from .onthefly import LEJF, SEJF, OnTheFly, OnTheFlyOptions
from .rbs import RBS, RBSOptions

__all__ = [
    "LEJF",
    "RBS",
    "SEJF",
    "Hybrid",
    "HybridOptions",
    "OnTheFly",
    "OnTheFlyOptions",
    "RBSOptions",
]
