"""States at an instant of a simulation."""

from .cutting import state_at
from .guaranteed_starts import guaranteed_starts

__all__ = ["guaranteed_starts", "state_at"]
