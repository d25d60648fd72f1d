"""The problem of one instant, and what every planner of it shares: profiles, placements and list schedules."""

from .equal_nodes import EqualNodes
from .list_schedules import Schedule, best_of, earliest_starts, improve, in_order, list_orders, list_schedule
from .placement import NODE_ZERO, PlacementRule, choose, count_slots, pool_placement, shift, slots_of_each
from .problem import Problem
from .selection import first_by, fitting

__all__ = [
    "NODE_ZERO",
    "EqualNodes",
    "PlacementRule",
    "Problem",
    "Schedule",
    "best_of",
    "choose",
    "count_slots",
    "earliest_starts",
    "first_by",
    "fitting",
    "improve",
    "in_order",
    "list_orders",
    "list_schedule",
    "pool_placement",
    "shift",
    "slots_of_each",
]
