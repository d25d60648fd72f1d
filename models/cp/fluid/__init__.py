"""The start-now set with what starts later as a fluid: a mixed-integer program, and its proof."""

from .fluid_decision import FluidDecision
from .start_set import FluidModel, StartSet, each_node

__all__ = ["FluidDecision", "FluidModel", "StartSet", "each_node"]
