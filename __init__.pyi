from . import dispatchers, predictors
from .analysis import evaluate_predictors
from .api import compare, example, fetch, simulate
from .base import register
from .bench.campaigns.comparison import Comparison, Comparisons
from .simulation import Result, check, conventions
from .workloads import Job, Machine, Workload, closed_loop, generate, read, resample, write

__version__: str
__all__ = [
    "Comparison",
    "Comparisons",
    "Job",
    "Machine",
    "Result",
    "Workload",
    "check",
    "closed_loop",
    "compare",
    "conventions",
    "dispatchers",
    "evaluate_predictors",
    "example",
    "fetch",
    "generate",
    "predictors",
    "read",
    "register",
    "resample",
    "simulate",
    "write",
]
