"""The mathematics of Slurm's scheduler: priorities, node choice, the main scheduler and backfill."""

from .backfill_pass import BackfillRules, backfill_pass, main_pass
from .caps import UNLIMITED, Caps, no_caps
from .closed_nodes import ClosedNodes
from .fair_tree import Association, rank_users
from .gpu_weights import note_submitted, weights_below
from .jobs import Cluster, Held, Placed, Tried, placed
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
    "Held",
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
    "note_submitted",
    "placed",
    "priorities",
    "rank_users",
    "weights_below",
]
