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
