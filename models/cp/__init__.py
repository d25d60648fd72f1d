"""The constraint-programming models on CP-SAT: pooled, with the nodes in one model, and by decomposition."""

from .answer import Answer, Limit, Status
from .benders import Effort, solve_placed
from .constraints import Constraint, LikeInOrder, PoolCapacity
from .direct import DirectModel, solve_direct
from .objective import Objective, WeightedLateness
from .pooled import ON_THE_POOL, SchedulingModel, solve_pooled
from .symmetry import comparable, rearranged
from .variables import JobVariables, SlotVariables, Variables

__all__ = [
    "ON_THE_POOL",
    "Answer",
    "Constraint",
    "DirectModel",
    "Effort",
    "JobVariables",
    "LikeInOrder",
    "Limit",
    "Objective",
    "PoolCapacity",
    "SchedulingModel",
    "SlotVariables",
    "Status",
    "Variables",
    "WeightedLateness",
    "comparable",
    "rearranged",
    "solve_direct",
    "solve_placed",
    "solve_pooled",
]
