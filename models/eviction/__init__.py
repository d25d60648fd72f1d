"""Which running jobs give way for an on-demand job, at the least loss (Maurya et al., DS-RT 2020)."""

from .checkpointing import (
    Sizes,
    Storage,
    Write,
    WritingJob,
    checkpoint_time,
    daly_interval,
    even_checkpoint_time,
    node_hours,
    running_job,
    since_last,
    until_next,
    writing_job,
)
from .evictable import Action, Eviction, RunningJob
from .plans import EvictionPlan, plan
from .search import Search, backtracking, greedy, search
from .sharing import finish, plan_sharing

__all__ = [
    "Action",
    "Eviction",
    "EvictionPlan",
    "RunningJob",
    "Search",
    "Sizes",
    "Storage",
    "Write",
    "WritingJob",
    "backtracking",
    "checkpoint_time",
    "daly_interval",
    "even_checkpoint_time",
    "finish",
    "greedy",
    "node_hours",
    "plan",
    "plan_sharing",
    "running_job",
    "search",
    "since_last",
    "until_next",
    "writing_job",
]
