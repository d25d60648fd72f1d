"""Gainaru, Sun, Aupy, Huo, Landman and Raghavan, IJHPCA 2019: on the fly against reservations."""

from .pattern_figures import RUNS

__all__ = ["RUNS"]
