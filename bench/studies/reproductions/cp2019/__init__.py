"""Galleguillos, Kiziltan, Sîrbu and Babaoglu, CP 2019: predictions, and PCP and HCP in their versions."""

from .accuracy import RUNS

__all__ = ["RUNS"]
