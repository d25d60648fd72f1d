from .partition_choice import Choice, Request, StartTimes, choose, choose_with_law, front, options
from .speedup_fits import ModelFit, PredictedTimes, SpeedupFit, fit
from .speedups import DowneyLaw, amdahl, downey, execution_time, gunther, interpolated, n_limit

__all__ = [
    "Choice",
    "DowneyLaw",
    "ModelFit",
    "PredictedTimes",
    "Request",
    "SpeedupFit",
    "StartTimes",
    "amdahl",
    "choose",
    "choose_with_law",
    "downey",
    "execution_time",
    "fit",
    "front",
    "gunther",
    "interpolated",
    "n_limit",
    "options",
]
