"""List scheduling and backfilling: the textbook dispatchers."""

from __future__ import annotations

from .conservative import Conservative, ConservativeOptions
from .easy import EASY, EASYSJBF
from .list_scheduling import FCFS, LJF, LXF, SJF, ListScheduler
from .pbs import PBS

__all__ = [
    "EASY",
    "EASYSJBF",
    "FCFS",
    "LJF",
    "LXF",
    "PBS",
    "SJF",
    "Conservative",
    "ConservativeOptions",
    "ListScheduler",
]
