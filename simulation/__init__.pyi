from .accasim_dispatcher import accasim_dispatcher
from .adapters import accasim_predictor, accasim_scheduler
from .budget import Budget, BudgetError
from .engine import SameInstant, UnboundedWarning, UnheededWarning, simulate
from .instants import guaranteed_starts, state_at
from .invariants import check, violations
from .metrics import job_metrics, mean_interval
from .overrun import Overrun
from .result import Result
from .simulation_errors import ActionError, InvariantError, SimulationError

__all__ = [
    "ActionError",
    "Budget",
    "BudgetError",
    "InvariantError",
    "Overrun",
    "Result",
    "SameInstant",
    "SimulationError",
    "UnboundedWarning",
    "UnheededWarning",
    "accasim_dispatcher",
    "accasim_predictor",
    "accasim_scheduler",
    "check",
    "guaranteed_starts",
    "job_metrics",
    "mean_interval",
    "simulate",
    "state_at",
    "violations",
]
