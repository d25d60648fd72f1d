from .answer import Answer, Limit, Source, Status
from .benders import Effort, solve_placed
from .constraints import FOR_ALL, Constraint, Family, LikeInOrder, Narrowed, NotBefore, PoolCapacity, narrowed
from .decision import Decision
from .direct import DirectModel, solve_direct
from .objective import Objective, WeightedLateness
from .pooled import ON_THE_POOL, SchedulingModel, solve_pooled
from .starting import OthersStart, PlacesNow
from .symmetry import comparable, only_chain, rearranged
from .variables import JobVariables, SlotVariables, Variables

__all__ = [
    "FOR_ALL",
    "ON_THE_POOL",
    "Answer",
    "Constraint",
    "Decision",
    "DirectModel",
    "Effort",
    "Family",
    "JobVariables",
    "LikeInOrder",
    "Limit",
    "Narrowed",
    "NotBefore",
    "Objective",
    "OthersStart",
    "PlacesNow",
    "PoolCapacity",
    "SchedulingModel",
    "SlotVariables",
    "Source",
    "Status",
    "Variables",
    "WeightedLateness",
    "comparable",
    "narrowed",
    "only_chain",
    "rearranged",
    "solve_direct",
    "solve_placed",
    "solve_pooled",
]
