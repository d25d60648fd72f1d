"""Dispatching on the fly, by reservation, and both by turns (Gainaru et al., IJHPCA 2019)."""

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
