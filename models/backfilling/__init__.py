"""List scheduling and backfilling where what is free is one number, compiled."""

from .counting import backfill, fill_in_order, fill_smallest_first

__all__ = ["backfill", "fill_in_order", "fill_smallest_first"]
