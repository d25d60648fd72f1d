"""How long will a job run? Predictors, from the requested time to the data-driven heuristic.

A predictor is anything with `predict` and `observe` (`Predictor`); it may also correct itself (`Correcting`),
give a distribution (`Distributional`) and start afresh (`Resettable`). Third parties register theirs under
the entry-point group ``hpcdispatch.predictors``.
"""

from __future__ import annotations

from hpcdispatch.base import InputError, Registry

from .correction import SC15_INCREMENTS, TSAFRIR_INCREMENTS, tsafrir_correction
from .empirical import Empirical, RunTimes
from .heuristic import Heuristic
from .last_two import LastTwo
from .predictor import Correcting, Distributional, Predictor, Resettable
from .ranges import Ranges, RunTimeRanges
from .regression import LogNormal, Regression
from .walltime_oracle import Oracle, Walltime

__all__ = [
    "SC15_INCREMENTS",
    "TSAFRIR_INCREMENTS",
    "Correcting",
    "Distributional",
    "Empirical",
    "Heuristic",
    "LastTwo",
    "LogNormal",
    "Oracle",
    "Predictor",
    "Ranges",
    "Regression",
    "Resettable",
    "RunTimeRanges",
    "RunTimes",
    "Walltime",
    "create",
    "registry",
    "tsafrir_correction",
]

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
