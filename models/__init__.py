"""The mathematics of dispatching: no clock, no input or output."""

from .availability import NodeProfile, PoolProfile, Profile
from .placement import PlacementRule, choose, count_slots, shift

__all__ = ["NodeProfile", "PlacementRule", "PoolProfile", "Profile", "choose", "count_slots", "shift"]
