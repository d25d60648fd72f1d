from .accasim_dispatcher import accasim_dispatcher
from .adapters import accasim_predictor, accasim_scheduler
from .budget import Budget, BudgetError
from .engine import PredictionWarning, SameInstant, UnboundedWarning, UnheededWarning, simulate
from .instants import guaranteed_starts, state_at
from .invariants import check, violations
from .metrics import job_metrics
from .overrun import Overrun
from .paper_conventions import Conventions, conventions
from .result import Result
from .simulation_errors import ActionError, InvariantError, SimulationError
from .trimming import Cut, Window, steady_state
from .vain_rules import VainRuleWarning

__all__ = [
    "ActionError",
    "Budget",
    "BudgetError",
    "Conventions",
    "Cut",
    "InvariantError",
    "Overrun",
    "PredictionWarning",
    "Result",
    "SameInstant",
    "SimulationError",
    "UnboundedWarning",
    "UnheededWarning",
    "VainRuleWarning",
    "Window",
    "accasim_dispatcher",
    "accasim_predictor",
    "accasim_scheduler",
    "check",
    "conventions",
    "guaranteed_starts",
    "job_metrics",
    "simulate",
    "state_at",
    "steady_state",
    "violations",
]
