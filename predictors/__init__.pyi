from .empirical import Empirical, RunTimes
from .heuristic import Heuristic
from .last_two import SC15_INCREMENTS, TSAFRIR_INCREMENTS, LastTwo, tsafrir_correction
from .predictor import Correcting, Distributional, Predictor, Resettable, create, registry
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
