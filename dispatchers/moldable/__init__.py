"""Dispatchers that choose the size of moldable jobs, on top of any other dispatcher."""

from .sa import SA, SAOptions

__all__ = ["SA", "SAOptions"]
