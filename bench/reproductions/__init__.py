"""Tables and figures of the five papers, made again: measured beside published, and which claims hold."""

from .catalogue import entries, find
from .drawing import draw
from .frame import SCALES, Claim, Drawing, Entry, Means, NotBuiltError, Outcome, Row, Scale
from .kept import Kept
from .page import write_page
from .runs import SimulationFailedError

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
    "write_page",
]
