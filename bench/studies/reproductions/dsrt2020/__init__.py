"""Reproduce Maurya, Nicolae, Guliani and Rafique, DS-RT 2020.

The paper has eviction plans beside greedy and backtracking.
"""

from .eviction_plans import RUNS

__all__ = ["RUNS"]
