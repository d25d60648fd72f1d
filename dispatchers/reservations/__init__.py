"""Walltimes of stochastic jobs, and the round-based scheduler of the paper."""

from __future__ import annotations

from .reservation_sequences import ReservationSequences, SequenceOptions
from .rounds import Rounds
from .sequence_presets import ATOptimal, ClassicHPC, Neuroscience, TOptimal
from .soft_sequences import SoftTOptimal

__all__ = [
    "ATOptimal",
    "ClassicHPC",
    "Neuroscience",
    "ReservationSequences",
    "Rounds",
    "SequenceOptions",
    "SoftTOptimal",
    "TOptimal",
]
