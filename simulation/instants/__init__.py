"""What is known at an instant of a simulation."""

from .cutting import state_at
from .promised_starts import promised_starts

__all__ = ["promised_starts", "state_at"]
