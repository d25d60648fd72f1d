"""States at an instant of a simulation."""

from .cutting import guaranteed_starts, state_at

__all__ = ["guaranteed_starts", "state_at"]
