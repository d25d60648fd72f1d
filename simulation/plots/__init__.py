"""Plots of results, drawn into matplotlib Axes."""

from .result_plots import ResultPlots

__all__ = ["ResultPlots"]
