"""Functions for scripts and notebooks, with progress on interactive use; :mod:`hpcdispatch` exports these names."""

from .interactive import compare, fetch, simulate

__all__ = ["compare", "fetch", "simulate"]
