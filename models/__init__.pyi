from .complexity import COMPLEXITIES, ClassFit, ComplexityFit, fit_complexity
from .cp import (
    Answer,
    Budget,
    Calls,
    Constraint,
    JobVariables,
    Limit,
    PlanObjective,
    SchedulingModel,
    Search,
    Source,
    Status,
    comparable,
    only_chain,
    rearranged,
)
from .profiles.amount import AmountProfile
from .profiles.availability_list import AvailabilityProfile
from .profiles.nodes import NodeProfile
from .scheduling.equal_nodes import EqualNodes
from .scheduling.list_schedules import Schedule, best_of, earliest_starts, improve, in_order, list_orders, list_schedule
from .scheduling.node_classes import equal_rows
from .scheduling.placement import NODE_ZERO, PlacementRule, choose, count_slots, pool_placement, shift, slots_of_each
from .scheduling.problem import WHENEVER, Problem, least_cost, taken_modes
from .scheduling.quotas import Quotas, quotas_beside
from .scheduling.selection import first_by, fitting

__all__ = [
    "COMPLEXITIES",
    "NODE_ZERO",
    "WHENEVER",
    "AmountProfile",
    "Answer",
    "AvailabilityProfile",
    "Budget",
    "Calls",
    "ClassFit",
    "ComplexityFit",
    "Constraint",
    "EqualNodes",
    "JobVariables",
    "Limit",
    "NodeProfile",
    "PlanObjective",
    "PlacementRule",
    "Problem",
    "Quotas",
    "Schedule",
    "SchedulingModel",
    "Search",
    "Source",
    "Status",
    "best_of",
    "choose",
    "comparable",
    "count_slots",
    "earliest_starts",
    "equal_rows",
    "first_by",
    "fit_complexity",
    "fitting",
    "improve",
    "in_order",
    "least_cost",
    "list_orders",
    "list_schedule",
    "only_chain",
    "pool_placement",
    "quotas_beside",
    "rearranged",
    "shift",
    "slots_of_each",
    "taken_modes",
]
