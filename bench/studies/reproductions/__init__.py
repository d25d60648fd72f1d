"""Reproduce tables and figures of the five papers. They show measured and published values, and valid claims."""

from .catalogue import entries, find
from .controls import DRAWS, Trials, try_controls
from .documentation import write_page
from .drawings import draw
from .outcome import SCALES, Claim, Drawing, Entry, Means, NotBuiltError, Outcome, Row, Scale
from .outcome_files import Kept, find_trials, put_trials
from .outcome_tables import MARKS, marked, under_controls
from .simulations import SimulationFailedError
from .terminal import listing, show

__all__ = [
    "DRAWS",
    "MARKS",
    "SCALES",
    "Claim",
    "Drawing",
    "Entry",
    "Kept",
    "Means",
    "NotBuiltError",
    "Outcome",
    "Row",
    "Scale",
    "SimulationFailedError",
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
