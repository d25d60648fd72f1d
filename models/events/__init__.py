"""Compiled event loop of simulations of rigid jobs."""

from .events import Events, enter, open_events, start
from .runs import Run, run_easy, run_in_order

__all__ = ["Events", "Run", "enter", "open_events", "run_easy", "run_in_order", "start"]
