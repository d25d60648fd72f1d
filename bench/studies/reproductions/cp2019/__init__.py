"""Reproduce Galleguillos, Kiziltan, Sîrbu and Babaoglu, CP 2019.

The paper covers predictions and the versions of PCP and HCP.
"""

from .accuracy import RUNS

__all__ = ["RUNS"]
