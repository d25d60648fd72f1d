"""Slurm's own scheduler: main scheduler, backfill, multifactor priority with fair tree, node choice."""

from .options import SlurmOptions, charges_ended, configured, seconds, shares_of
from .slurm import Slurm
from .usage import AccountUsage, Charge

__all__ = ["AccountUsage", "Charge", "Slurm", "SlurmOptions", "charges_ended", "configured", "seconds", "shares_of"]
