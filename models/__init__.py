"""The mathematics of dispatching: no clock, no input or output."""

from .backfilling.availability_list import AvailabilityProfile
from .complexity import COMPLEXITIES, ClassFit, ComplexityFit, fit_complexity
from .cp import (
    Answer,
    Decision,
    Limit,
    SchedulingModel,
    Source,
    Status,
    comparable,
    rearranged,
    solve_direct,
    solve_placed,
    solve_pooled,
)
from .cp.fluid import FluidDecision
from .scheduling.availability import NodeProfile, PoolProfile, Profile, free_until
from .scheduling.equal_nodes import EqualNodes
from .scheduling.list_schedules import Schedule, best_of, improve, list_orders, list_schedule
from .scheduling.node_classes import equal_rows
from .scheduling.placement import NODE_ZERO, PlacementRule, choose, count_slots, pool_placement, shift
from .scheduling.problem import Problem
from .scheduling.selection import first_by, fitting

__all__ = [
    "COMPLEXITIES",
    "NODE_ZERO",
    "Answer",
    "AvailabilityProfile",
    "ClassFit",
    "ComplexityFit",
    "Decision",
    "EqualNodes",
    "FluidDecision",
    "Limit",
    "NodeProfile",
    "PlacementRule",
    "PoolProfile",
    "Problem",
    "Profile",
    "Schedule",
    "SchedulingModel",
    "Source",
    "Status",
    "best_of",
    "choose",
    "comparable",
    "count_slots",
    "equal_rows",
    "first_by",
    "fit_complexity",
    "fitting",
    "free_until",
    "improve",
    "list_orders",
    "list_schedule",
    "pool_placement",
    "rearranged",
    "shift",
    "solve_direct",
    "solve_placed",
    "solve_pooled",
]
