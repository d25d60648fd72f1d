"""What is known at an instant of a simulation, and what becomes of it from there on."""

from .branching import Branch, JobEnd, branch, branches
from .promised_starts import promised_starts

__all__ = ["Branch", "JobEnd", "branch", "branches", "promised_starts"]
