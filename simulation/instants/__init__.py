"""What is known at an instant of a simulation, and what becomes of it from there on."""

from .arrival_starts import ArrivalStarts, arrival_starts
from .branching import Branch, JobEnd, branch, branches
from .cutting import state_at
from .promised_starts import promised_starts

__all__ = ["ArrivalStarts", "Branch", "JobEnd", "arrival_starts", "branch", "branches", "promised_starts", "state_at"]
