from .constraint_programming import ConstraintProgramming
from .cp_options import ConstraintProgrammingOptions
from .decision_record import DecisionRecord
from .expected_waits import ExpectedWaits
from .fair_share import FairShare
from .presets import HCP, HCP1, HCP2, HCP3, PCP, PCP1, PCP2, PCP3
from .running_limits import Licence, PowerCap, RunningLimit
from .site_constraints import Closed, SiteConstraint, constraints, create_constraints
from .site_objectives import (
    ExcessWait,
    Goal,
    Objective,
    Slowdown,
    SquaredBoundedSlowdown,
    WeightedWait,
    create_objective,
    objectives,
)
from .time_constraints import Deadline, Maintenance

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
