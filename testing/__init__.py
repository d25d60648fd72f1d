"""Tools for authors of dispatchers and predictors: small workloads, and checks for every part.

``check_dispatcher("mine")`` and ``check_predictor("mine")`` run a part through simulations. They raise if it breaks a
rule of the framework.
"""

from .part_checks import assert_same_records, check_dispatcher, check_predictor
from .small_workloads import cluster, moldable, overrunning, pool, samples, stochastic, tiny, urgent

__all__ = [
    "assert_same_records",
    "check_dispatcher",
    "check_predictor",
    "cluster",
    "moldable",
    "overrunning",
    "pool",
    "samples",
    "stochastic",
    "tiny",
    "urgent",
]
