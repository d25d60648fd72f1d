"""The engine on AccaSim, its results, metrics and the check of the invariants."""

from .adapters import accasim_predictor, accasim_scheduler
from .engine import SameInstant, simulate
from .errors import ActionError, InvariantError, SimulationError
from .metrics import job_metrics, mean_interval
from .options import Overrun
from .result import Result
from .validate import check, violations

__all__ = [
    "ActionError",
    "InvariantError",
    "Overrun",
    "Result",
    "SameInstant",
    "SimulationError",
    "accasim_predictor",
    "accasim_scheduler",
    "check",
    "job_metrics",
    "mean_interval",
    "simulate",
    "violations",
]
