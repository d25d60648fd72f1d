from .correction import SC15_INCREMENTS, TSAFRIR_INCREMENTS, tsafrir_correction
from .empirical import Empirical, RunTimes
from .heuristic import Heuristic
from .last_two import LastTwo
from .predictor import Correcting, Distributional, Predictor, Resettable
from .ranges import Ranges, RunTimeRanges
from .registered import create, registry
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
