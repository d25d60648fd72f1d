"""Age-weighted look-ahead: the plan of the most urgent jobs, and the shadow schedule behind its promises."""

from .kept_promises import Asked, plan_by_requests
from .mode_planning import ModePlan, Modes, plan_modes
from .planning import AGE_SHARE, Plan, candidates, plan, weights
from .promises import NO_PROMISE, Promises, Queue, Running, Settings, promise
from .shadow import ShadowJobs, lengthen, open_shadow, replay
from .sightings import RUNS, Seen, Sightings, find_rows, see_jobs

__all__ = [
    "AGE_SHARE",
    "NO_PROMISE",
    "RUNS",
    "Asked",
    "ModePlan",
    "Modes",
    "Plan",
    "Promises",
    "Queue",
    "Running",
    "Seen",
    "Settings",
    "ShadowJobs",
    "Sightings",
    "candidates",
    "find_rows",
    "lengthen",
    "open_shadow",
    "plan",
    "plan_by_requests",
    "plan_modes",
    "promise",
    "replay",
    "see_jobs",
    "weights",
]
