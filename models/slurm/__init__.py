"""The mathematics of Slurm's scheduler: priorities, node choice, the main scheduler and backfill."""

from .backfill_pass import BackfillRules, backfill_pass, main_pass
from .caps import UNLIMITED, Caps, no_caps
from .closed_nodes import ClosedNodes
from .fair_tree import Association, rank_users
from .jobs import Cluster, Placed, Tried, placed
from .preemption import NEVER_STOPPED, Preemption, no_preemption
from .priorities import Factors, Weights, decay_over, job_size, priorities

__all__ = [
    "NEVER_STOPPED",
    "UNLIMITED",
    "Association",
    "BackfillRules",
    "Caps",
    "ClosedNodes",
    "Cluster",
    "Factors",
    "Placed",
    "Preemption",
    "Tried",
    "Weights",
    "backfill_pass",
    "decay_over",
    "job_size",
    "main_pass",
    "no_caps",
    "no_preemption",
    "placed",
    "priorities",
    "rank_users",
]
