from .checkpointing import (
    Sizes,
    checkpoint_time,
    daly_interval,
    node_hours,
    running_job,
    since_last,
    until_next,
    writing_job,
)
from .evictable import Action, Clock, Eviction, RunningJob, Storage, Write, WritingJob, cost
from .greedy import GreedyCore, greedy, greedy_by_deadline
from .plans import EvictionPlan, PlanCore, plan
from .sharing import finish, plan_sharing

__all__ = [
    "Action",
    "Clock",
    "Eviction",
    "EvictionPlan",
    "GreedyCore",
    "PlanCore",
    "RunningJob",
    "Sizes",
    "Storage",
    "Write",
    "WritingJob",
    "checkpoint_time",
    "cost",
    "daly_interval",
    "finish",
    "greedy",
    "greedy_by_deadline",
    "node_hours",
    "plan",
    "plan_sharing",
    "running_job",
    "since_last",
    "until_next",
    "writing_job",
]
