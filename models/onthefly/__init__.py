"""In which order to start jobs of which only the laws of the run times are known."""

from __future__ import annotations

from .remaining_times import RemainingTimes, law_on_values

__all__ = ["RemainingTimes", "law_on_values"]
