"""Slurm's own scheduler: main scheduler, backfill, multifactor priority with fair tree, node choice."""

from __future__ import annotations

from .slurm import Slurm
from .slurm_options import SlurmOptions

__all__ = ["Slurm", "SlurmOptions"]
