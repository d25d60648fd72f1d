"""Algorithms of Slurm's scheduler: priorities, node choice, the main scheduler and backfill."""

from .backfill import BackfillRules, backfill_pass
from .jobs import Cluster, JobTable, RunningJob, WaitingJobs, job_table
from .limits import UNLIMITED, JobLimits, no_limits
from .main_scheduler import main_pass
from .nodes import note_submitted, weights_below
from .preemption import Preemption, no_preemption
from .priorities import Association, Factors, Weights, decay_over, job_size, priorities, rank_users
from .reservations import ClosedAmounts, ClosedNodes

__all__ = [
    "UNLIMITED",
    "Association",
    "BackfillRules",
    "ClosedAmounts",
    "ClosedNodes",
    "Cluster",
    "Factors",
    "JobLimits",
    "JobTable",
    "Preemption",
    "RunningJob",
    "WaitingJobs",
    "Weights",
    "backfill_pass",
    "decay_over",
    "job_size",
    "job_table",
    "main_pass",
    "no_limits",
    "no_preemption",
    "note_submitted",
    "priorities",
    "rank_users",
    "weights_below",
]
