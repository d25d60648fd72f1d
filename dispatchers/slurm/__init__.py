"""Slurm's own scheduler: main scheduler, backfill, multifactor priority with fair tree, node choice."""

from __future__ import annotations

from .account_usage import AccountUsage
from .slurm import Slurm
from .slurm_options import SlurmOptions, configured, seconds, shares_of

__all__ = ["AccountUsage", "Slurm", "SlurmOptions", "configured", "seconds", "shares_of"]
