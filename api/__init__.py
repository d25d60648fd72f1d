"""What a script or a notebook calls, with progress where a person looks at it; :mod:`hpcdispatch` shows these names."""

from .interactive import compare, fetch, simulate

__all__ = ["compare", "fetch", "simulate"]
