from .deadline import Deadline
from .expected_waits import ExpectedWaits
from .fair_share import FairShare, FairShareOrder
from .machine_rules import machine_constraints
from .plan_parts import ModelJob, PlanConstraint, PlanModel, PlannedJob, PlannedJobs
from .site_constraints import Closed, SiteConstraint, constraints, create_constraints

__all__ = [
    "Closed",
    "Deadline",
    "ExpectedWaits",
    "FairShare",
    "FairShareOrder",
    "ModelJob",
    "PlanConstraint",
    "PlanModel",
    "PlannedJob",
    "PlannedJobs",
    "SiteConstraint",
    "constraints",
    "create_constraints",
    "machine_constraints",
]
