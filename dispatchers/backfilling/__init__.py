"""List scheduling and backfilling: the textbook dispatchers."""

from __future__ import annotations

from .conservative import Conservative, ConservativeOptions
from .easy import EASY, EASYSJBF, PBS
from .list_scheduling import FCFS, LJF, LXF, SJF, ListScheduler
from .orders import QueueOrder, orders

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
    "QueueOrder",
    "orders",
]
