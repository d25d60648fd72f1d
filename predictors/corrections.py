"""Corrections of predictions that a running job has exceeded, and the contract of predictors: see :mod:`..base`."""

from ..base.contracts import PredictorContract
from ..base.corrections import (
    TSAFRIR_INCREMENTS,
    correction_of,
    corrections,
    doubling_correction,
    no_correction,
    tsafrir_correction,
    walltime_correction,
    with_correction,
)

__all__ = [
    "TSAFRIR_INCREMENTS",
    "PredictorContract",
    "correction_of",
    "corrections",
    "doubling_correction",
    "no_correction",
    "tsafrir_correction",
    "walltime_correction",
    "with_correction",
]
