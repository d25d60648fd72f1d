"""Fixed reservations of a batch. A decision considers only what changed."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush, nsmallest
from itertools import islice
from typing import Any

from ...base import IntArray
from ...models import AmountProfile, NodeProfile, pool_placement
from ..backfilling.closed_times import ClosedTimes
from ..backfilling.reservations import Booking, Compress
from ..ordered_jobs import ChangesSeen, by_place
from ..protocol import Placement, Running, State, Waiting
from ..space import Space, space_of
from .round_reservations import RoundReservations, RoundsOptions

#: Negated area, entry into the queue, negated priority, and position in the trace. Largest area first.
Rank = tuple[int, int, int, int]


class Unreserved:
    """Waiting jobs without a reservation, by time of entry into the queue.

    Parameters
    ----------
    area
        Area of a job.
    """

    def __init__(self, area: Callable[[Waiting], int]) -> None:
        self._area = area
        self._ranks: dict[str, Rank] = {}
        self._instants: list[int] = []
        self._entered: dict[int, list[tuple[Rank, Waiting]]] = {}

    def add(self, entry: Waiting) -> None:
        """Add a job."""
        rank = self._ranks[entry.id] = -self._area(entry), *entry.place
        if entry.since not in self._entered:
            self._entered[entry.since] = []
            insort(self._instants, entry.since)
        insort(self._entered[entry.since], (rank, entry), key=_rank_of)

    def discard(self, id_: str) -> None:
        """Remove a job, if present."""
        rank = self._ranks.pop(id_, None)
        if rank is None:
            return
        entered = self._entered[rank[1]]
        del entered[bisect_left(entered, rank, key=_rank_of)]
        if not entered:
            del self._entered[rank[1]]
            del self._instants[bisect_left(self._instants, rank[1])]

    def largest(self, batch: int | None) -> Sequence[Waiting]:
        """Return the next batch, largest area first: of the first arrival times, as many as a batch has jobs."""
        most = len(self._ranks) if batch is None else batch
        several = (islice(self._entered[instant], most) for instant in islice(self._instants, most))
        first = [ranked for entered in several for ranked in entered]
        return [entry for _, entry in nsmallest(most, first, key=_rank_of)]


def _rank_of(ranked: tuple[Rank, Waiting]) -> Rank:
    return ranked[0]


def _is_counted(capacity: IntArray) -> bool:
    """Return whether one number describes a machine: a pool of one resource, or nodes of one unit."""
    return capacity.size == 1 or (capacity.shape[1] == 1 and bool((capacity == 1).all()))


class Held:
    """Bookings by start and by end. They may include cancelled ones.

    Attributes
    ----------
    due
        Due reservations, in order of creation.
    """

    def __init__(self) -> None:
        self.due: dict[int, tuple[str, Booking]] = {}
        self._turn = 0
        self._starts: list[tuple[int, int, str, Booking]] = []
        self._ends: list[tuple[int, int, str, Booking]] = []

    def reserve(self, id_: str, booking: Booking) -> None:
        """Record a reservation."""
        self._turn += 1
        heappush(self._starts, (booking.start, self._turn, id_, booking))
        self.end(id_, booking)

    def end(self, id_: str, booking: Booking) -> None:
        """Record the end of a reservation or a running job."""
        self._turn += 1
        heappush(self._ends, (-booking.end, self._turn, id_, booking))

    def come_due(self, now: int, reserved: Mapping[str, Booking]) -> None:
        """Collect reservations that are due, and drop cancelled ones."""
        while self._starts and self._starts[0][0] <= now:
            _, turn, id_, booking = heappop(self._starts)
            self.due[turn] = id_, booking
        for turn in [turn for turn, (id_, booking) in self.due.items() if reserved.get(id_) is not booking]:
            del self.due[turn]

    def following(self, reserved: Mapping[str, Booking]) -> int | None:
        """Return the start of the first reservation that is not due yet."""
        while self._starts and reserved.get(self._starts[0][2]) is not self._starts[0][3]:
            heappop(self._starts)
        return self._starts[0][0] if self._starts else None

    def last_end(self, reserved: Mapping[str, Booking], running: Mapping[str, Booking]) -> int:
        """Return the last end of all, 0 if there is none."""
        while self._ends:
            end, _, id_, booking = self._ends[0]
            if booking.end == -end and (reserved.get(id_) is booking or running.get(id_) is booking):
                return -end
            heappop(self._ends)
        return 0


class BatchReservations(RoundReservations):
    """Fixed reservations of a round.

    On a pool, or nodes of a single unit, only numbers are reserved. A starting job gets any free nodes. With fixed
    nodes from the beginning, jobs would find enough nodes, but none of them free for long enough.
    """

    def __init__(self, state: State, options: RoundsOptions) -> None:
        #: Free amounts beside all starts of this decision, if jobs have no nodes before.
        self._space: Space | None = None
        super().__init__(state, options)
        self._waits: ChangesSeen[Waiting] = ChangesSeen()
        self._runs: ChangesSeen[Running] = ChangesSeen()
        self._unreserved = Unreserved(self._area)
        self._held = Held()
        #: Jobs of the queue after the last decision, and later arrivals.
        self._seen: dict[str, Waiting] = {}
        self._came: list[Waiting] = []
        #: Jobs started at the last decision. They may have ended before the next state.
        self._started: list[str] = []

    def _empty(self, state: State) -> AmountProfile | NodeProfile:
        capacity = state.machine.capacity
        if not _is_counted(capacity):
            return super()._empty(state)
        if len(capacity) > 1:
            self._space = space_of(state, self.rule)
        self._closed, profile = ClosedTimes(state.machine), AmountProfile(int(capacity.sum()), state.now)
        self._close(profile, state.now)
        return profile

    def memory(self) -> dict[str, Any]:
        """Return running jobs, reservations, and other waiting jobs of the last decision."""
        return super().memory() | {"seen": list(self._seen)}

    def recall(self, state: State, memory: Mapping[str, Any]) -> None:
        """Restore the round. Later arrivals are the jobs that were not there."""
        super().recall(state, memory)
        self._hold_anew()
        self._started = [*self.running, *self.reserved]  # These are checked, whether still present or not.
        seen = set(memory["seen"])
        for entry in state.queue:
            if entry.id in seen:
                self._seen[entry.id] = entry
                if entry.id not in self.reserved:
                    self._unreserved.add(entry)

    def follow(self, state: State) -> bool:
        """Update the profile. Return whether the reservations were made anew."""
        now = state.now
        self.profile.advance(now)
        self._close(self.profile, now)
        running, ran = self._runs.look(state.running)
        ran, self._started = dict.fromkeys([*ran, *self._started]), []
        waiting, waited = self._waits.look(state.queue)
        corrected = [self._follow_run(running[id_], now) for id_ in ran if id_ in running]
        for id_ in ran:
            if id_ in running:
                self._held.end(id_, self.running[id_])
            elif id_ in self.running:
                booking = self.running.pop(id_)
                self._free(now, booking.end, booking)
        for id_ in self.reserved.keys() & {*ran, *waited}:
            self._drop_if_gone(id_, waiting.get(id_), now)
        came = self._follow_queue(waiting, waited)
        self._came = sorted(came.values(), key=by_place)
        if not state.queue.kept:  # The queue may be in another order.
            self._came = [entry for entry in state.queue if entry.id in came]
        if any(corrected):
            self._rebuild(state)
        self._held.come_due(now, self.reserved)
        for id_, booking in self._held.due.values():
            if booking.end <= now:  # It passed without a start of the job.
                del self.reserved[id_]
                self._wait_again(id_)
        self._held.come_due(now, self.reserved)
        return any(corrected)

    def _follow_queue(self, waiting: Mapping[str, Waiting], changed: Iterable[str]) -> dict[str, Waiting]:
        """Process departures from the queue. Return the arrivals."""
        came = {}
        for id_ in changed:
            before, entry = self._seen.get(id_), waiting.get(id_)
            if entry is before:
                continue
            self._unreserved.discard(id_)
            if entry is None:
                del self._seen[id_]
                continue
            self._seen[id_] = entry
            if before is None or before.since != entry.since:
                came[id_] = entry
            elif id_ not in self.reserved:
                self._unreserved.add(entry)
        return came

    def _wait_again(self, id_: str) -> None:
        """Add a job that lost its reservation to those without one, unless it has just arrived."""
        entry = self._seen.get(id_)
        if entry is not None and entry not in self._came:
            self._unreserved.add(entry)

    def _rebuild(self, state: State) -> None:
        """Make the reservations anew in their order, none earlier than before."""
        super()._rebuild(state)
        self._hold_anew()

    def _hold_anew(self) -> None:
        """Record all present reservations and running jobs anew."""
        self._held = Held()
        for id_, booking in self.reserved.items():
            self._held.reserve(id_, booking)
        for id_, booking in self.running.items():
            self._held.end(id_, booking)

    def reserve(self, waiting: Waiting, now: int, before: int | None = None) -> bool:
        """Reserve the first start in [now, before) where a job fits. Return whether there is one."""
        if not super().reserve(waiting, now, before):
            return False
        self._unreserved.discard(waiting.id)
        self._held.reserve(waiting.id, self.reserved[waiting.id])
        return True

    def compress(self, how: Compress, now: int) -> None:
        """Keep every reservation. Freed intervals stay recorded."""

    def _is_over(self) -> bool:
        """Return whether there is no reservation and no running job."""
        return not self.reserved and not self.running

    def _begin(self, state: State) -> None:
        """Begin a round. Its gaps are for the next batch."""
        self._settle()
        super()._begin(state)
        self.freed.append((state.now, self._round_end))

    def _candidates(self, state: State) -> Sequence[Waiting]:
        """Return waiting jobs without a reservation, except new arrivals, largest area first."""
        if state.queue.kept:
            return self._unreserved.largest(self._batch)
        taken = {*self.reserved, *(entry.id for entry in self._came)}
        return self._largest([entry for entry in state.queue if entry.id not in taken])  # Ties as in the queue.

    def _settle(self) -> None:
        """Add new arrivals to the waiting jobs."""
        for entry in self._came:
            if entry.id not in self.reserved:
                self._unreserved.add(entry)
        self._came = []

    def _fill(self, state: State) -> None:
        """Reserve for jobs without a reservation that fit completely at any time of the round.

        If some amount was freed, the next batch of waiting jobs comes first, then each new arrival.
        """
        self._round_end = self._held.last_end(self.reserved, self.running)
        if self.freed:
            self._try(self._candidates(state), state.now)
            self.freed.clear()
        self._try(self._came, state.now)
        self._settle()

    def _try(self, candidates: Iterable[Waiting], now: int) -> None:
        for waiting in candidates:
            if waiting.id not in self.reserved:
                self.reserve(waiting, now, self._round_end - waiting.predicted + 1)

    def due(self, now: int) -> list[Booking]:
        """Return the due reservations."""
        self._held.come_due(now, self.reserved)
        return [booking for _, (_, booking) in sorted(self._held.due.items()) if not booking.away]

    def start_due(self, state: State) -> tuple[Iterator[tuple[Waiting, Placement]], bool, int | None]:
        """Return the starting jobs with nodes, whether one is late, and the start of the next reservation."""
        due, space = self.due(state.now), None
        if due or self._space is not None:
            space = space_of(state, self.rule)
        self._space = space if self._space is not None else None
        started = [] if space is None else list(self.start(due, state.now, space))
        for waiting, _ in started:
            self._begin_run(waiting.id)
        return iter(started), len(started) < len(due), self._held.following(self.reserved)

    def gap(self, waiting: Waiting) -> tuple[int | None, Placement] | None:
        """Return for how many seconds the slots of a job without a reservation are free from now, and where."""
        return None if waiting.id in self.reserved else super().gap(waiting)

    def _free_until(self, waiting: Waiting, now: int) -> tuple[int | None, Placement] | None:
        if not isinstance(self.profile, AmountProfile):
            return super()._free_until(waiting, now)
        found = self.profile.free_until(waiting.nodes, waiting.demand, now)
        placement = None if found is None else self._any_nodes(waiting)
        return None if found is None or placement is None else (found[0], placement)

    def _any_nodes(self, waiting: Waiting) -> Placement | None:
        """Return nodes that are free now, for a job in a gap."""
        if self._space is None:
            return pool_placement(waiting.nodes)
        placement = self._space.place(waiting.nodes, waiting.demand)
        if placement is not None:
            self._space.give(placement, waiting.demand)
        return placement

    def _take_nodes(self, now: int, booking: Booking, waiting: Waiting, space: Space) -> bool:
        if self._space is None:
            return super()._take_nodes(now, booking, waiting, space)
        placement = space.place(waiting.nodes, waiting.demand)
        booking.placement = booking.placement if placement is None else placement
        return placement is not None

    def occupy(self, waiting: Waiting, placement: Placement, seconds: int) -> None:
        """Record that a job starts in a gap, for at most `seconds`."""
        super().occupy(waiting, placement, seconds)
        if self._space is not None:
            self._space.put(placement, waiting.demand)
        self._begin_run(waiting.id)

    def _begin_run(self, id_: str) -> None:
        """Record a job that begins to run."""
        self._started.append(id_)
        self._held.end(id_, self.running[id_])
