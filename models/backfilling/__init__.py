"""List scheduling and backfilling where what is free is one number, compiled."""

from .counting import backfill, backfill_shortest_first, fill_best_first, reservation, start_of_queue
from .queue_tree import AMOUNT, LENGTH, ORDER, QueueTree, enlarged, follow, open_tree
from .whole_trace import FIRST_SLOT, STARTED, go_on, whole_trace

__all__ = [
    "AMOUNT",
    "FIRST_SLOT",
    "LENGTH",
    "ORDER",
    "STARTED",
    "QueueTree",
    "backfill",
    "backfill_shortest_first",
    "enlarged",
    "fill_best_first",
    "follow",
    "go_on",
    "open_tree",
    "reservation",
    "start_of_queue",
    "whole_trace",
]
