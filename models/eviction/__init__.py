"""Which running jobs give way for an on-demand job, at the least loss (Maurya et al., DS-RT 2020)."""

from .plans import EvictionPlan, plan
from .proof import prove
from .running_jobs import Action, Eviction, RunningJob
from .search import Search, backtracking, greedy, search

__all__ = [
    "Action",
    "Eviction",
    "EvictionPlan",
    "RunningJob",
    "Search",
    "backtracking",
    "greedy",
    "plan",
    "prove",
    "search",
]
