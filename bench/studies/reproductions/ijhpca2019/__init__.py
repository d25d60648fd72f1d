"""Reproduce Gainaru, Sun, Aupy, Huo, Landman and Raghavan, IJHPCA 2019.

The paper compares on-the-fly scheduling with reservations.
"""

from .pattern_figures import RUNS

__all__ = ["RUNS"]
