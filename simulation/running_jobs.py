"""The jobs on the machine, in order of their predicted end."""

from __future__ import annotations

from bisect import bisect_left, insort
from operator import attrgetter

from ..dispatchers import Running
from .read_only import ReadOnly

_rank = attrgetter("predicted_end")


class RunningJobs:
    """The running jobs in order of their predicted end; ties in the order in which these were predicted.

    Attributes
    ----------
    entries
        The jobs; to be looked at only.
    shown
        The same, for dispatchers.
    """

    def __init__(self) -> None:
        self.entries: list[Running] = []
        self.shown = ReadOnly(self.entries)

    def add(self, running: Running) -> None:
        """Put a job in its place."""
        insort(self.entries, running, key=_rank)

    def remove(self, running: Running) -> None:
        """Take a job out."""
        entries = self.entries
        index = bisect_left(entries, running.predicted_end, key=_rank)
        while entries[index] is not running:
            index += 1
        del entries[index]

    def expect(self, running: Running, end: int) -> None:
        """Give a job another predicted end, and its place in the order of these."""
        self.remove(running)
        running.predicted_end = end
        self.add(running)
