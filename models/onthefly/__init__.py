"""Remaining run times of jobs with known run-time laws, to order their starts."""

from .remaining_times import RemainingTimes, law_on_values

__all__ = ["RemainingTimes", "law_on_values"]
