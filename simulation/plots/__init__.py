"""Plots of results: Axes in, Axes out."""

from .result_plots import ResultPlots

__all__ = ["ResultPlots"]
