"""The queue of waiting jobs, in order of submission."""

from __future__ import annotations

from bisect import bisect_left, insort
from operator import attrgetter

from ..dispatchers import Waiting
from .read_only import ReadOnly

_rank = attrgetter("since", "order")


class WaitingQueue:
    """The waiting jobs in order of `since`; ties in the order of the trace.

    Attributes
    ----------
    entries
        The jobs; to be looked at only.
    shown
        The same, for dispatchers.
    """

    def __init__(self) -> None:
        self.entries: list[Waiting] = []
        self.shown = ReadOnly(self.entries)

    def add(self, waiting: Waiting) -> None:
        """Put a job in its place, which is the last one for one that has just arrived."""
        entries = self.entries
        if entries and _rank(entries[-1]) > _rank(waiting):
            insort(entries, waiting, key=_rank)
        else:
            entries.append(waiting)

    def remove(self, waiting: Waiting) -> None:
        """Take a job out."""
        entries = self.entries
        if entries[0] is waiting:
            del entries[0]
        else:
            del entries[bisect_left(entries, _rank(waiting), key=_rank)]
