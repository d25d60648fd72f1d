"""Slurm's scheduler as it is modelled, beside a real one; parts of one command."""

from .slurm_tables import decisions, free_running, main, recorded, scale

__all__ = ["decisions", "free_running", "main", "recorded", "scale"]
