"""For authors of dispatchers and predictors: small workloads, and the checks that every part must pass.

``check_dispatcher("mine")`` and ``check_predictor("mine")`` run a part through simulations and raise where it breaks a
rule of the framework. Strategies for hypothesis are in :mod:`hpcdispatch.testing.strategies`, which needs the extra
``hpcdispatch[dev]``.
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
