"""What is still to happen, in the order in which it will."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import count
from typing import Any

#: The kinds of events, in the order of one instant.
COMPLETION, ARRIVAL, CORRECTION, TIMER = range(4)
#: Time, kind, sequence number, payload; the payload of a cancelled one is ``None``.
Entry = list[Any]


class EventCalendar:
    """One heap of (time, kind, sequence number), so that events of one instant and kind come as they were added."""

    def __init__(self) -> None:
        self._heap: list[Entry] = []
        self._sequence = count()

    def add(self, time: int, kind: int, payload: Any) -> Entry:
        """Add an event; what is returned cancels or moves it. Without a payload, only its instant is visited."""
        entry = [time, kind, next(self._sequence), payload]
        heappush(self._heap, entry)
        return entry

    def cancel(self, entry: Entry) -> None:
        """Let an event not happen; its instant is visited all the same. One that has happened is left alone."""
        entry[3] = None

    def move(self, entry: Entry, time: int) -> Entry:
        """Let an event happen at another time, after those that are already to happen then."""
        if entry[0] == time:
            return entry
        moved = self.add(time, entry[1], entry[3])
        self.cancel(entry)
        return moved

    @property
    def next_time(self) -> int | None:
        """The next instant, or ``None``."""
        return self._heap[0][0] if self._heap else None

    def due(self, now: int, last: int = TIMER) -> Iterator[tuple[int, Any]]:
        """Take out what happens `now`, up to the kind `last`, as kind and payload; cancelled ones are dropped here."""
        heap = self._heap
        while heap and heap[0][0] == now and heap[0][1] <= last:
            _, kind, _, payload = heappop(heap)
            if payload is not None:
                yield kind, payload
