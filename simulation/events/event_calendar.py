"""What is still to happen, in the order in which it will."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from heapq import heappop, heappush
from typing import Any, Protocol

#: The kinds of events beside arrivals, in the order of one instant: a job ends; nodes fail; a job that was held may
#: enter the queue, as arrivals do then; a prediction is corrected; a timer.
COMPLETION, OUTAGE, ELIGIBLE, CORRECTION, TIMER = range(5)
#: Time, kind, sequence number, payload.
Entry = tuple[int, int, int, Any]


class Arrival(Protocol):
    """What arrives: a job, under the name that AccaSim gives the time of its submission."""

    queued_time: int


class EventCalendar:
    """A heap of (time, kind, sequence number), so that events of one instant and kind come as they were added.

    Attributes
    ----------
    arrivals
        What will arrive. It comes sorted from the trace, and goes through no heap.
    heap
        All else; the first entry happens first. To be looked at only.
    """

    def __init__(self) -> None:
        self.arrivals: deque[Any] = deque()
        self.heap: list[Entry] = []
        self._number = 0
        self._cancelled: set[int] = set()

    def expect(self, arrivals: Iterable[Arrival]) -> None:
        """Add what will arrive, in the order in which it does and not before what was added."""
        self.arrivals.extend(arrivals)

    def add(self, time: int, kind: int, payload: Any) -> Entry:
        """Add an event; what is returned cancels or moves it. Without a payload, only its instant is visited."""
        entry = (time, kind, self._number, payload)
        self._number += 1
        heappush(self.heap, entry)
        return entry

    def cancel(self, entry: Entry) -> None:
        """Let an event that is still to come not happen; its instant is visited all the same."""
        self._cancelled.add(entry[2])

    def move(self, entry: Entry, time: int) -> Entry:
        """Let an event happen at another time, after those that are already to happen then."""
        if entry[0] == time:
            return entry
        self.cancel(entry)
        return self.add(time, entry[1], entry[3])

    @property
    def next_time(self) -> int | None:
        """The next instant, or ``None``."""
        heap, arrivals = self.heap, self.arrivals
        if not arrivals:
            return heap[0][0] if heap else None
        arrival: int = arrivals[0].queued_time
        return heap[0][0] if heap and heap[0][0] < arrival else arrival

    def due(self, now: int, last: int = TIMER) -> list[Entry]:
        """Take out what happens `now`, up to the kind `last`, but for arrivals; cancelled ones are dropped here."""
        heap, cancelled, due = self.heap, self._cancelled, []
        while heap and heap[0][0] == now and heap[0][1] <= last:
            entry = heappop(heap)
            if cancelled and entry[2] in cancelled:
                cancelled.remove(entry[2])
            elif entry[3] is not None:
                due.append(entry)
        return due
