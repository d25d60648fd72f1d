from .deadline import Deadline
from .expected_waits import ExpectedWaits
from .fair_share import FairShare, FairShareOrder
from .machine_rules import machine_constraints
from .plan_parts import ModelJob, PlanConstraint, PlanModel, PlannedJob, PlannedJobs
from .plan_rules import AtMostOf, NeverTogether, PowerByHour, Precedence, SameRack, ShareOf, SpreadOver
from .site_constraints import Closed, SiteConstraint, constraints, create_constraints

__all__ = [
    "AtMostOf",
    "Closed",
    "Deadline",
    "ExpectedWaits",
    "FairShare",
    "FairShareOrder",
    "ModelJob",
    "NeverTogether",
    "PlanConstraint",
    "PlanModel",
    "PlannedJob",
    "PlannedJobs",
    "PowerByHour",
    "Precedence",
    "SameRack",
    "ShareOf",
    "SiteConstraint",
    "SpreadOver",
    "constraints",
    "create_constraints",
    "machine_constraints",
]
