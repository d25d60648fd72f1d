from .empirical import Empirical, RunTimes
from .heuristic import Heuristic
from .last_two import SC15_INCREMENTS, TSAFRIR_INCREMENTS, LastTwo, tsafrir_correction
from .predictor import Correcting, Distributional, Predictor, Resettable, Watching, create, registry
from .ranges import QuantileLaw, Ranges, RunTimeRanges
from .regression import LogNormal, Regression
from .sklearn_predictor import SklearnPredictor
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
    "QuantileLaw",
    "Ranges",
    "Regression",
    "Resettable",
    "RunTimeRanges",
    "RunTimes",
    "SklearnPredictor",
    "Walltime",
    "Watching",
    "create",
    "registry",
    "tsafrir_correction",
]
