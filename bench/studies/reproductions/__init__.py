"""Reproduce tables and figures of the five papers. They show measured and published values, and valid claims."""

from .catalogue import entries, find
from .controls import DRAWS, Trials, try_controls
from .documentation import write_page
from .drawings import draw
from .outcome import (
    SCALES,
    Claim,
    ComparedFigure,
    Drawing,
    NotBuiltError,
    PaperResult,
    Scale,
    StudyOutcome,
    StudySettings,
)
from .outcome_files import StoredOutcome, find_trials, put_trials
from .outcome_tables import MARKS, marked, under_controls
from .simulations import SimulationFailedError
from .terminal import listing, show

__all__ = [
    "DRAWS",
    "MARKS",
    "SCALES",
    "Claim",
    "ComparedFigure",
    "Drawing",
    "NotBuiltError",
    "PaperResult",
    "Scale",
    "SimulationFailedError",
    "StoredOutcome",
    "StudyOutcome",
    "StudySettings",
    "Trials",
    "draw",
    "entries",
    "find",
    "find_trials",
    "listing",
    "marked",
    "put_trials",
    "show",
    "try_controls",
    "under_controls",
    "write_page",
]
