from .corrections import (
    TSAFRIR_INCREMENTS,
    PredictorContract,
    correction_of,
    corrections,
    doubling_correction,
    no_correction,
    tsafrir_correction,
    walltime_correction,
    with_correction,
)
from .empirical import Empirical, RunTimes
from .heuristic import Heuristic
from .last_two import SC15_INCREMENTS, LastTwo
from .predictor import Correcting, Distributional, Predictor, Resettable, Watching, create, registry
from .ranges import QuantileLaw, Ranges, RunTimeRanges
from .regression import LogNormal, Regression
from .scaled import Scaled
from .sklearn_predictor import SklearnPredictor, training_table
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
    "PredictorContract",
    "QuantileLaw",
    "Ranges",
    "Regression",
    "Resettable",
    "RunTimeRanges",
    "RunTimes",
    "Scaled",
    "SklearnPredictor",
    "Walltime",
    "Watching",
    "correction_of",
    "corrections",
    "create",
    "doubling_correction",
    "no_correction",
    "registry",
    "training_table",
    "tsafrir_correction",
    "walltime_correction",
    "with_correction",
]
