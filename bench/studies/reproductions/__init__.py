"""Tables and figures of the five papers, made again: measured beside published, and which claims hold."""

from .catalogue import entries, find
from .documentation import write_page
from .drawings import draw
from .outcome import SCALES, Claim, Drawing, Entry, Means, NotBuiltError, Outcome, Row, Scale
from .outcome_files import Kept
from .simulations import SimulationFailedError
from .terminal import listing, show

__all__ = [
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
    "draw",
    "entries",
    "find",
    "listing",
    "show",
    "write_page",
]
