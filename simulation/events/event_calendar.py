"""The future events in their order."""

from collections import deque
from collections.abc import Iterable
from heapq import heappop, heappush
from typing import Any, Protocol

#: The kinds of events beside arrivals, in their order within one instant. A job ends. Nodes fail. A held job may enter
#: the queue, together with arrivals. A prediction is corrected. A timer is due.
COMPLETION, OUTAGE, ELIGIBLE, CORRECTION, TIMER = range(5)
#: Time, kind, sequence number, payload.
Entry = tuple[int, int, int, Any]
#: In the place of the entry of a job that has left the machine: an entry holds its job, and a job its entry.
LEFT: Entry = (0, 0, 0, None)


class Arrival(Protocol):
    """An arriving job, with AccaSim's name for the time of its submission."""

    queued_time: int


class EventCalendar:
    """A heap of (time, kind, sequence number). Events of one instant and kind keep their order.

    Attributes
    ----------
    arrivals
        Future arrivals. They come sorted from the trace, outside the heap.
    heap
        All other events; the first entry happens first. Read-only for others.
    """

    def __init__(self) -> None:
        self.arrivals: deque[Any] = deque()
        self.heap: list[Entry] = []
        self._number = 0
        self._cancelled: set[int] = set()

    def expect(self, arrivals: Iterable[Arrival]) -> None:
        """Add arrivals in their order, none before the last one added."""
        self.arrivals.extend(arrivals)

    def add(self, time: int, kind: int, payload: Any) -> Entry:
        """Add an event. The returned entry cancels or moves it. Without a payload, only its instant is visited."""
        entry = (time, kind, self._number, payload)
        self._number += 1
        heappush(self.heap, entry)
        return entry

    def cancel(self, entry: Entry) -> None:
        """Cancel a future event. Its instant is still visited."""
        self._cancelled.add(entry[2])

    def move(self, entry: Entry, time: int) -> Entry:
        """Move an event to another time, after the events that are already there."""
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
        """Remove and return the events of `now` up to the kind `last`. Arrivals and cancelled events are left out."""
        heap = self.heap
        cancelled = self._cancelled
        due = []
        while heap and heap[0][0] == now and heap[0][1] <= last:
            entry = heappop(heap)
            if cancelled and entry[2] in cancelled:
                cancelled.remove(entry[2])
            elif entry[3] is not None:
                due.append(entry)
        return due
