"""The mathematics of dispatching: no clock, no input or output."""

from .availability import NodeProfile, PoolProfile, Profile
from .placement import NODE_ZERO, PlacementRule, choose, count_slots, pool_placement, shift

__all__ = [
    "NODE_ZERO",
    "NodeProfile",
    "PlacementRule",
    "PoolProfile",
    "Profile",
    "choose",
    "count_slots",
    "pool_placement",
    "shift",
]
