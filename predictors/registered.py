"""The predictors that can be had by name."""

from __future__ import annotations

from ..base import InputError, Registry
from .predictor import Predictor

registry = Registry("predictor", "hpcdispatch.predictors")
"""The predictors that can be had by name."""


def create(spec: str | Predictor) -> Predictor:
    """Return the predictor that `spec` describes.

    Parameters
    ----------
    spec
        ``NAME`` or ``NAME:key=value,key=value``, or a predictor, which is returned as it is.

    Raises
    ------
    InputError
        For an unknown name or key, a bad value, or what is no predictor.
    """
    found = registry.create(spec) if isinstance(spec, str) else spec
    if isinstance(found, type) or not isinstance(found, Predictor):
        raise InputError(f"predictor: expected a name or an object with predict and observe, got {spec!r}")
    return found
