"""Reproduce Gainaru, Pallez, Sun and Raghavan, ICPP 2019.

The paper covers reservation sequences and the scheduling of stochastic jobs.
"""

from .request_tables import RUNS

__all__ = ["RUNS"]
