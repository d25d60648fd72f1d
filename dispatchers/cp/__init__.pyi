from .constraint_programming import HCP, HCP1, HCP2, HCP3, PCP, PCP1, PCP2, PCP3, ConstraintProgramming, DecisionRecord
from .cp_options import ConstraintProgrammingOptions
from .fair_share import FairShare
from .site_constraints import Closed, SiteConstraint, constraints, create_constraints
from .site_objectives import (
    ExcessWait,
    ExpectedWaits,
    Goal,
    Objective,
    Slowdown,
    SquaredBoundedSlowdown,
    WeightedWait,
    create_objective,
    objectives,
)
from .standard_constraints import Deadline, Licence, Maintenance, PowerCap, RunningLimit

__all__ = [
    "HCP",
    "HCP1",
    "HCP2",
    "HCP3",
    "PCP",
    "PCP1",
    "PCP2",
    "PCP3",
    "Closed",
    "ConstraintProgramming",
    "ConstraintProgrammingOptions",
    "Deadline",
    "DecisionRecord",
    "ExcessWait",
    "ExpectedWaits",
    "FairShare",
    "Goal",
    "Licence",
    "Maintenance",
    "Objective",
    "PowerCap",
    "RunningLimit",
    "SiteConstraint",
    "Slowdown",
    "SquaredBoundedSlowdown",
    "WeightedWait",
    "constraints",
    "create_constraints",
    "create_objective",
    "objectives",
]
