"""Search on the compiled availability profile, with closed nodes as far ahead as a search needs them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from ..base import IntArray
from ..models import RULES, PlacementRule, pool_placement
from ..models.profiles.layouts import NO_LABELS, NO_PACKS
from ..models.profiles.timeline import (
    FIRST_FIT,
    NEVER,
    Asks,
    Timeline,
    add_rows,
    earlier,
    earliest,
    lasting,
    open_timeline,
)
from ..workloads import Machine
from .rule_book import ClosedRows, RuleBook, Shared
from .views import Placement, StateView

_NONE = np.zeros(0, dtype=np.int64)


class OwnRow(Protocol):
    """A booking on the profile, with the number of its row."""

    row: int


class ProfileSearch(ABC):
    """An availability profile that is built again, further ahead, when a search needs closures beyond its end.

    Without rules, nothing lies beyond its end.
    """

    __slots__ = ("_book", "_rule", "_state", "_until")
    _state: StateView
    _book: RuleBook | None
    #: Which nodes are filled first, as a number of the timeline.
    _rule: int
    #: All closures that begin before it are on the profile, seconds.
    _until: int

    @property
    def now(self) -> int:
        """Begin of the profile, seconds."""
        return self._state.now

    @abstractmethod
    def _reach(self, until: int, whole: bool) -> Timeline:
        """Return the profile with all closures up to a time, and with running jobs if `whole`."""

    @abstractmethod
    def _room(self, rows: int, entries: int) -> Timeline:
        """Return the profile with room for so many more rows and entries."""

    @abstractmethod
    def _build(self, until: int) -> None:
        """Build the profile again, with closures up to a time and with running jobs."""

    def _search(
        self, asks: Asks, after: int, before: int, whole: bool, own: OwnRow | None = None
    ) -> tuple[int, Placement] | None:
        """Return the first start in [`after`, `before`) and the nodes. The room of `own` is open to it."""
        limit = self._limit()
        span = 0 if self._book is None else int(max(asks.seconds[0], asks.bound[0]))
        while True:
            line = self._reach(after + span, whole)
            line = self._room(1, len(line.free))
            if own is None or own.row < 0:
                start, first, last = earliest(line.memory, asks.memory, after, before, self._rule)
            else:
                start, first, last = earlier(line.memory, own.row, asks.memory, after, before, self._rule)
            if start >= 0 and start + span <= self._until:
                return start, slot_nodes(line, first, last)
            if (start < 0 or start >= limit) and self._until >= min(limit, before):  # All that matters was on it.
                return None
            self._extend(max(self._until, start + span))

    def _free_until(self, asks: Asks, at: int) -> tuple[int | None, Placement] | None:
        """Return until when slots stay free from a time on, ``None`` for ever, and their nodes."""
        while True:
            line = self._reach(at + 1, True)
            line = self._room(1, len(line.free))
            until, first, last = lasting(line.memory, asks.memory, at, self._rule)
            if until < NEVER or self._until >= self._limit():
                break
            self._extend(self._until)
        return None if until <= at else (None if until == NEVER else until, slot_nodes(line, first, last))

    def _limit(self) -> int:
        """Return until when closures are searched, seconds."""
        return NEVER if self._book is None else self.now + self._book.horizon()

    def _extend(self, until: int) -> None:
        """Add closures far beyond a time."""
        ahead = 2 * (until - self.now) + 86400
        self._build(min(self.now + ahead, max(self._limit(), until)))


def rule_number(placement: PlacementRule, nodes: int) -> int:
    """Return which nodes are filled first, as a number of the timeline. A pool has only one."""
    return RULES.index(placement) if nodes > 1 else FIRST_FIT


def slot_nodes(line: Timeline, first: int, last: int) -> Placement:
    """Return the node of each slot of these entries."""
    slots = line.slots[first:last]
    if len(line.free) == 1:
        return pool_placement(int(slots[0]))
    node = line.node[first:last].copy()
    return node if len(slots) == 0 or slots.max() == 1 else node.repeat(slots)


def open_line(
    state: StateView,
    book: RuleBook | None,
    closed: ClosedRows | None,
    shared: Shared,
    free: tuple[IntArray, IntArray],
    room: tuple[int, int],
) -> Timeline:
    """Return a profile with closed nodes and steps of limits, before any job is on it.

    `free` are the free amounts of nodes and the shared ones. `room` is for so many more rows and entries.
    """
    machine = state.machine
    keys = len(shared.keys)
    rows, entries = room
    amounts, left = free
    steps = [] if closed is None else list(shared.steps(closed.until))
    shape = machine.capacity.shape
    falls = _NONE, np.empty((0, *amounts.shape), dtype=np.int64), np.empty((0, keys), dtype=np.int64)
    if closed is not None:
        falls = _falls(closed, shared, steps, machine)
        rows += len(closed.begin) + len(steps)
        entries += len(closed.node)
    longest = _NONE if book is None else book.longest
    capacity = machine.capacity if amounts.shape == shape else amounts
    # Counted slots have no nodes, and so no groups.
    labels = machine.labels if len(amounts) == machine.nodes else NO_LABELS
    packs = NO_PACKS if book is None else book.packs(state.queue.entries)
    line = open_timeline(state.now, amounts, left, capacity, rows, entries, falls, longest, labels, packs)
    if closed is not None:
        nothing = np.zeros((len(closed.begin), keys), dtype=np.int64)
        add_rows(line.memory, closed.times, closed.demand, nothing, closed.last, closed.node, closed.slots)
        place, begin, end, missing = np.array(steps, dtype=np.int64).reshape(-1, 4).T
        need = np.zeros((len(steps), keys), dtype=np.int64)
        need[np.arange(len(steps)), place] = missing
        no_demand = np.zeros((len(steps), shape[1]), dtype=np.int64)
        no_nodes = np.zeros(len(steps), dtype=np.int64)
        add_rows(line.memory, np.stack((begin, end, begin)), no_demand, need, no_nodes, _NONE, _NONE)
    return line


def _falls(
    closed: ClosedRows, shared: Shared, steps: Sequence[tuple[int, int, int, int]], machine: Machine
) -> tuple[IntArray, IntArray, IntArray]:
    """Return the falls of closures and of limits: times, and what is left of nodes and of shared amounts."""
    keys = len(shared.keys)
    left = np.empty((len(closed.fall_at), keys), dtype=np.int64)
    left[:] = NEVER
    if not steps:
        return closed.fall_at, closed.fall_free, left
    lower = [
        (begin, place, int(shared.most[place]) - missing) for place, begin, _, missing in steps if begin > shared.now
    ]
    more = np.full((len(lower), keys), NEVER)
    for row, (_, place, most) in enumerate(lower):
        more[row, place] = most
    nothing = np.full((len(lower), *machine.capacity.shape), NEVER)
    return (
        np.concatenate((closed.fall_at, np.array([begin for begin, *_ in lower], dtype=np.int64))),
        np.concatenate((closed.fall_free, nothing)),
        np.concatenate((left, more)),
    )
