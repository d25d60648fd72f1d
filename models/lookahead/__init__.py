"""Age-weighted look-ahead: the plan of the most urgent jobs, and the shadow schedule behind its promises."""

from .planning import AGE_SHARE, Plan, candidates, plan, weights
from .promises import Promises, Queue, Running, Settings, promise
from .shadow import ShadowJobs, lengthen, open_shadow, replay

__all__ = [
    "AGE_SHARE",
    "Plan",
    "Promises",
    "Queue",
    "Running",
    "Settings",
    "ShadowJobs",
    "candidates",
    "lengthen",
    "open_shadow",
    "plan",
    "promise",
    "replay",
    "weights",
]
