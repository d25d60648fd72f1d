from .allocation import Allocation, NodeAllocation, PlacesNow, Pooled
from .answer import Answer, Source, Status
from .boxes import NodeBoxes
from .constraints import Constraint, OthersStart, PoolCapacity
from .limits import DecisionBudget, SolverLimit
from .objective import PlanObjective, WeightedLateness
from .scheduling_model import SchedulingModel
from .search import Search
from .solver import Calls
from .symmetry import comparable, only_chain, rearranged
from .variables import CpModel, IntervalVar, IntVar, JobVariables, LinearExprT, Variables

__all__ = [
    "Allocation",
    "Answer",
    "Calls",
    "Constraint",
    "CpModel",
    "DecisionBudget",
    "IntVar",
    "IntervalVar",
    "JobVariables",
    "LinearExprT",
    "NodeAllocation",
    "NodeBoxes",
    "OthersStart",
    "PlacesNow",
    "PlanObjective",
    "PoolCapacity",
    "Pooled",
    "SchedulingModel",
    "Search",
    "SolverLimit",
    "Source",
    "Status",
    "Variables",
    "WeightedLateness",
    "comparable",
    "only_chain",
    "rearranged",
]
