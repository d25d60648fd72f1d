"""Conservative backfilling: a reservation for every job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..models import NodeProfile, PlacementRule, PoolProfile, Profile
from ..workloads import Machine
from .options import check_choice
from .protocol import Action, Placement, Running, Start, State, Waiting, Wake

#: How reservations move up when a job ends early.
Compress = Literal["until-stable", "once", "never"]


@dataclass(slots=True)
class _Booking:
    """What a job holds in the profile.

    Attributes
    ----------
    start, end
        Half-open interval, seconds.
    tried
        How many of the freed intervals were looked at for an earlier start.
    """

    waiting: Waiting | None
    start: int
    end: int
    placement: Placement
    demand: tuple[int, ...]
    tried: int = 0


class Conservative:
    """Conservative backfilling: every job gets a reservation when it arrives, so that it delays nobody before it.

    The reservation is the first slot of the availability profile in which the job fits (Feitelson and Weil, IPPS 1998).
    When a job ends early the reservations are moved up, as in Cirne and Berman (JSSPP 2000, section 2): the queue is
    traversed in order of submission, the first job that fits earlier is moved, and so again from the head until nothing
    moves. When a job outruns its prediction, the reservations are made anew, in the order in which they stood, none
    earlier than it was.

    Parameters
    ----------
    placement
        ``"first-fit"`` or ``"best-fit"``.
    compress
        ``"until-stable"`` as above; ``"once"`` traverses the queue once; ``"never"`` keeps every reservation.
    """

    def __init__(self, placement: PlacementRule = "first-fit", compress: Compress = "until-stable") -> None:
        check_choice("placement", placement, PlacementRule)
        check_choice("compress", compress, Compress)
        self.placement = placement
        self.compress = compress
        self._forget()

    def reset(self, machine: Machine, rng: np.random.Generator | None = None) -> None:
        """Forget every reservation."""
        self._forget()

    def dispatch(self, state: State) -> Sequence[Action]:
        """Bring the profile up to date, reserve for who arrived, and start who is due."""
        if self._machine is not state.machine:
            self._forget()
            self._machine = state.machine
            self._profile = self._empty(state)
        self._profile.advance(state.now)
        conflict = self._follow_running(state)
        self._drop_gone(state)
        if conflict or any(booking.start < state.now for booking in self._reserved.values()):
            self._rebuild(state)
        if self.compress == "until-stable":
            self._compress_until_stable(state)
        elif self.compress == "once" and self._freed:
            self._compress_once(state)
        self._freed.clear()
        self._reserve_arrivals(state)
        return self._start_due(state)

    # The profile.

    def _forget(self) -> None:
        self._machine: Machine | None = None
        self._profile: Profile = PoolProfile(0)
        self._running: dict[str, _Booking] = {}
        self._reserved: dict[str, _Booking] = {}
        self._freed: list[tuple[int, int]] = []

    def _empty(self, state: State) -> Profile:
        capacity = state.machine.capacity
        if capacity.size == 1:
            return PoolProfile(int(capacity[0, 0]), state.now)
        return NodeProfile(capacity, capacity, state.now, self.placement)

    def _follow_running(self, state: State) -> bool:
        """Bring running jobs up to date; return whether one of them now stands where a reservation is."""
        now, held = state.now, self._running
        conflict = False
        alive = set()
        for run in state.running:
            alive.add(run.id)
            end = run.expected_end(now)
            booking = held.get(run.id)
            if booking is None:
                conflict = not self._hold(run, now, end) or conflict
            elif end > booking.end:
                conflict = not self._profile.take(max(booking.end, now), end, run.placement, run.demand) or conflict
                booking.end = end
            elif end < booking.end:
                self._free(end, booking.end, booking)
                booking.end = end
        for id_ in [id_ for id_ in held if id_ not in alive]:
            booking = held.pop(id_)
            self._free(now, booking.end, booking)
        return conflict

    def _hold(self, run: Running, now: int, end: int) -> bool:
        self._running[run.id] = _Booking(None, run.start, end, run.placement, run.demand)
        return self._profile.take(now, end, run.placement, run.demand)

    def _drop_gone(self, state: State) -> None:
        """Forget reservations of jobs that left the queue, or came back to it, without this dispatcher's doing."""
        if self._reserved:
            waiting = {entry.id: entry for entry in state.queue}
            for id_ in [id_ for id_, booking in self._reserved.items() if waiting.get(id_) is not booking.waiting]:
                booking = self._reserved.pop(id_)
                self._free(max(state.now, booking.start), booking.end, booking)

    def _free(self, start: int, end: int, booking: _Booking) -> None:
        if end > start:
            self._profile.give(start, end, booking.placement, booking.demand)
            self._freed.append((start, end))

    def _rebuild(self, state: State) -> None:
        """Make every reservation anew, in the order in which they stood."""
        now = state.now
        self._profile = self._empty(state)
        for booking in self._running.values():
            self._profile.take(now, booking.end, booking.placement, booking.demand)
        standing = sorted(self._reserved.items(), key=lambda item: item[1].start)
        self._reserved = {}
        for _, booking in standing:
            assert booking.waiting is not None
            self._reserve(booking.waiting, max(now, booking.start))
        order = {entry.id: place for place, entry in enumerate(state.queue)}
        self._reserved = dict(sorted(self._reserved.items(), key=lambda item: order[item[0]]))
        self._freed = [(now, max((booking.end for booking in self._reserved.values()), default=now) + 1)]

    # Reservations.

    def _reserve(self, waiting: Waiting, after: int) -> None:
        found = self._profile.earliest(waiting.nodes, waiting.demand, waiting.predicted, after)
        if found is None:
            return
        start, placement = found
        end = start + waiting.predicted
        self._profile.take(start, end, placement, waiting.demand)
        self._reserved[waiting.id] = _Booking(waiting, start, end, placement, waiting.demand)

    def _reserve_arrivals(self, state: State) -> None:
        if len(self._reserved) < len(state.queue):
            for waiting in state.queue:
                if waiting.id not in self._reserved:
                    self._reserve(waiting, state.now)

    def _compress_until_stable(self, state: State) -> None:
        """Move the first reservation that fits earlier, again from the head, until nothing moves.

        Nothing could move before the intervals in `_freed` were freed, so that a job can only move to a start at which
        it would use one of them that has not been tried for it yet.
        """
        freed = self._freed
        for booking in self._reserved.values():
            booking.tried = 0
        moved = bool(freed)
        while moved:
            moved = False
            for booking in self._reserved.values():
                if booking.tried < len(freed) and booking.start > state.now:
                    duration = booking.end - booking.start
                    fresh = freed[booking.tried :]
                    booking.tried = len(freed)
                    after = max(state.now, min(start for start, _ in fresh) - duration + 1)
                    before = min(booking.start, max(end for _, end in fresh))
                    if after < before and self._move(booking, after, before):
                        moved = True
                        break

    def _compress_once(self, state: State) -> None:
        for booking in self._reserved.values():
            if booking.start > state.now:
                self._move(booking, state.now, booking.start)

    def _move(self, booking: _Booking, after: int, before: int) -> bool:
        """Move a reservation to a start in [after, before), if it fits there."""
        waiting = booking.waiting
        assert waiting is not None
        self._profile.give(booking.start, booking.end, booking.placement, booking.demand)
        duration = booking.end - booking.start
        found = self._profile.earliest(waiting.nodes, waiting.demand, duration, after, before)
        if found is not None:
            self._freed.append((booking.start, booking.end))
            booking.start, booking.placement = found
            booking.end = booking.start + duration
        self._profile.take(booking.start, booking.end, booking.placement, booking.demand)
        return found is not None

    def _start_due(self, state: State) -> list[Action]:
        now = state.now
        actions: list[Action] = []
        for id_, booking in [item for item in self._reserved.items() if item[1].start <= now]:
            actions.append(Start(id_, booking.placement))
            del self._reserved[id_]
            booking.waiting = None
            self._running[id_] = booking
        if self.compress != "until-stable" and self._reserved:
            at = min(booking.start for booking in self._reserved.values())
            overrun = any(run.predicted_end <= now for run in state.running)
            if not (overrun and at == now + 1):
                actions.append(Wake(at))
        return actions
