"""List scheduling and backfilling where what is free is one number, compiled."""

from .counting import backfill, backfill_shortest_first, fill_best_first, reservation, start_of_queue
from .queue_tree import AMOUNT, LENGTH, ORDER, QueueTree, enlarged, follow, open_tree

__all__ = [
    "AMOUNT",
    "LENGTH",
    "ORDER",
    "QueueTree",
    "backfill",
    "backfill_shortest_first",
    "enlarged",
    "fill_best_first",
    "follow",
    "open_tree",
    "reservation",
    "start_of_queue",
]
