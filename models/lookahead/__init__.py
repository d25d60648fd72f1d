"""Age-weighted look-ahead: plans of the most urgent jobs, and EASY's shadow schedule for the guarantees."""

from .choosing import run_look_ahead
from .expected_shadow import ExpectedShadow, lengthen_expected, longest_wait, open_expected, predict
from .guarantees import (
    NO_GUARANTEE,
    Guarantees,
    Queue,
    Running,
    Settings,
    Walltimes,
    doubts,
    keep_guarantees,
    settle,
    told_apart,
)
from .mode_planning import ModePlan, Modes, plan_modes
from .planning import BOUND, Plan, candidates, plan, weights
from .shadow import CLOCK, ShadowJobs, begin_with, lengthen, open_shadow, replay
from .sightings import GONE, RUNS, Seen, Sightings, see_jobs
from .taking_over import Standing, all_safe, longest_ahead, safe_starts, standing

__all__ = [
    "BOUND",
    "CLOCK",
    "GONE",
    "NO_GUARANTEE",
    "RUNS",
    "ExpectedShadow",
    "Guarantees",
    "ModePlan",
    "Modes",
    "Plan",
    "Queue",
    "Running",
    "Seen",
    "Settings",
    "ShadowJobs",
    "Sightings",
    "Standing",
    "Walltimes",
    "all_safe",
    "begin_with",
    "candidates",
    "doubts",
    "keep_guarantees",
    "lengthen",
    "lengthen_expected",
    "longest_ahead",
    "longest_wait",
    "open_expected",
    "open_shadow",
    "plan",
    "plan_modes",
    "predict",
    "replay",
    "run_look_ahead",
    "safe_starts",
    "see_jobs",
    "settle",
    "standing",
    "told_apart",
    "weights",
]
