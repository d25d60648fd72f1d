from .expected_waits import ExpectedWaits
from .fair_share import FairShare, FairShareOrder
from .plan_parts import ModelJob, PlanConstraint, PlanModel, PlannedJob, PlannedJobs
from .site_constraints import Closed, SiteConstraint, constraints, create_constraints
from .standard_constraints import Deadline, Licence, Maintenance, PowerCap, RunningLimit

__all__ = [
    "Closed",
    "Deadline",
    "ExpectedWaits",
    "FairShare",
    "FairShareOrder",
    "Licence",
    "Maintenance",
    "ModelJob",
    "PlanConstraint",
    "PlanModel",
    "PlannedJob",
    "PlannedJobs",
    "PowerCap",
    "RunningLimit",
    "SiteConstraint",
    "constraints",
    "create_constraints",
]
