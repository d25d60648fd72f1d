"""Functions for scripts and notebooks, with progress on interactive use; :mod:`hpcdispatch` exports these names."""

from .interactive import compare, example, fetch, simulate

__all__ = ["compare", "example", "fetch", "simulate"]
