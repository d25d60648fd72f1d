"""Slurm's scheduler as it is modelled, and a real one. Parts of one command."""

from .site_classes import classes
from .slurm_tables import decisions, free_running, main, recorded, replay_decisions, scale

__all__ = ["classes", "decisions", "free_running", "main", "recorded", "replay_decisions", "scale"]
