"""The constraint-programming dispatchers PCP and HCP (Galleguillos et al., CP 2019)."""

from .constraint_programming import ConstraintProgramming
from .cp_options import ConstraintProgrammingOptions
from .decision_record import DecisionRecord
from .expected_waits import ExpectedWaits
from .objectives import ExcessWait, Goal, Objective, Slowdown, WeightedWait
from .presets import HCP, HCP1, HCP2, HCP3, PCP, PCP1, PCP2, PCP3

__all__ = [
    "HCP",
    "HCP1",
    "HCP2",
    "HCP3",
    "PCP",
    "PCP1",
    "PCP2",
    "PCP3",
    "ConstraintProgramming",
    "ConstraintProgrammingOptions",
    "DecisionRecord",
    "ExcessWait",
    "ExpectedWaits",
    "Goal",
    "Objective",
    "Slowdown",
    "WeightedWait",
]
