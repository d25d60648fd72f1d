from .deadline import Deadline
from .expected_waits import ExpectedWaits
from .fair_share import FairShare, FairShareOrder
from .machine_rules import machine_constraints
from .plan_parts import ModelJob, PlanConstraint, PlanModel, PlannedJob, PlannedJobs
from .plan_rules import AtMostOf, NeverTogether, PowerByHour, Precedence, ShareOf
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
    "ShareOf",
    "SiteConstraint",
    "constraints",
    "create_constraints",
    "machine_constraints",
]
