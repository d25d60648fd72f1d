"""Compiled queue, with EASY backfilling and list scheduling on it."""

from .easy import SUBMISSION, Room, chosen_by_easy, chosen_in_order
from .job_queue import (
    COUNT,
    EXPANSION,
    LONGEST,
    NEVER,
    ORDER,
    SHORTEST,
    SINCE,
    WAITS,
    WALLTIME,
    JobQueue,
    enlarged,
    follow,
    open_queue,
)

__all__ = [
    "COUNT",
    "EXPANSION",
    "LONGEST",
    "NEVER",
    "ORDER",
    "SHORTEST",
    "SINCE",
    "SUBMISSION",
    "WAITS",
    "WALLTIME",
    "JobQueue",
    "Room",
    "chosen_by_easy",
    "chosen_in_order",
    "enlarged",
    "follow",
    "open_queue",
]
