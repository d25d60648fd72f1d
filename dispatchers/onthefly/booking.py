"""Book of reservations, and the priority in which they are made."""

from dataclasses import dataclass

import numpy as np

from ...base import check_number
from ...models import AmountProfile, NodeProfile, PlacementRule, count_slots, pool_placement
from ..backfilling.closed_times import ClosedTimes, profile_of
from ..protocol import Placement, Running, State, Waiting
from ..space import Space, place_at

Demand = tuple[int, ...]
#: Demand of a slot in a profile of slots.
_ONE: Demand = (1,)


@dataclass(frozen=True, slots=True)
class Ageing:
    """Priority of long walltimes, with gains for waiting.

    Attributes
    ----------
    threshold
        Seconds in the queue before a job gains priority.
    every
        Seconds between gains, at least 1.
    gain
        Value of a gain, in seconds of walltime.

    Raises
    ------
    ValueError
        If a number is out of its range.
    """

    threshold: float
    every: float
    gain: float

    def __post_init__(self) -> None:
        check_number("threshold", self.threshold, least=0)
        check_number("ageing", self.every, least=1)
        check_number("gain", self.gain, least=0)

    def key(self, waiting: Waiting, walltime: int, now: int) -> tuple[float, ...]:
        """Return the sort key of a queue. Ties by time in the queue, then by trace order."""
        waited = now - waiting.since - self.threshold
        gained = self.gain * (waited // self.every) if waited > 0 else 0
        return -(walltime + gained), *waiting.place


@dataclass(slots=True)
class Booking:
    """Slots of a job in [start, end)."""

    start: int
    end: int
    placement: Placement
    demand: Demand


class Book:
    """Free amounts over time beside bookings.

    A pool of one resource is one number over time. So are nodes with one demand per slot: a freed slot fits exactly
    one. Otherwise each node is booked separately. Closed nodes are booked from the beginning.

    Parameters
    ----------
    state
        State with the machine, initially empty, and the begin of the book.
    rule
        How to choose among nodes that are free long enough.
    """

    def __init__(self, state: State, rule: PlacementRule) -> None:
        machine, now = state.machine, state.now
        self._capacity = machine.capacity
        self._closed = ClosedTimes(machine)
        self._same: Demand | None = None
        if machine.capacity.size > 1:
            demands = {waiting.demand for waiting in state.queue} | {run.demand for run in state.running}
            self._same = demands.pop() if len(demands) == 1 else None
        self._profile: AmountProfile | NodeProfile
        if self._same is not None:
            self._profile = AmountProfile(machine.slots_of(self._same), now)
        else:
            self._profile = profile_of(machine, now, rule)
        self._close(now)

    def takes(self, waiting: Waiting) -> bool:
        """Return whether a job may be booked. Counted slots must all have one demand."""
        return self._same is None or self._same == waiting.demand

    def advance(self, now: int) -> None:
        """Remove the part before `now`."""
        self._profile.advance(now)
        self._close(now)

    def _close(self, now: int) -> None:
        """Book closed nodes from now on."""
        for begin, end, nodes, amounts in self._closed.more(now):
            if self._same is None:
                self._profile.take(begin, end, nodes, amounts)
            else:
                there = self._capacity[nodes]
                lost = count_slots(there, self._same) - count_slots(there - np.array(amounts), self._same)
                self._profile.take(begin, end, np.repeat(nodes, lost), _ONE)

    def hold(self, running: Running, now: int, end: int) -> Booking:
        """Book the amounts of a running job until `end`."""
        counted = self._same is not None
        placement = pool_placement(running.nodes) if counted else running.placement
        held = Booking(now, end, placement, _ONE if counted else running.demand)
        self._profile.take(now, end, held.placement, held.demand)
        return held

    def reserve(self, waiting: Waiting, seconds: int, now: int, before: int | None = None) -> Booking | None:
        """Book the first start in [now, before) where a job fits for `seconds`. ``None`` if there is none."""
        demand = waiting.demand if self._same is None else _ONE
        found = self._profile.earliest(waiting.nodes, demand, seconds, now, before)
        if found is None:
            return None
        start, placement = found
        self._profile.take(start, start + seconds, placement, demand)
        return Booking(start, start + seconds, placement, demand)

    def pull(self, booking: Booking, now: int) -> bool:
        """Move a booking to begin now, if it fits there. Return whether it does."""
        held = booking.start, booking.end, booking.placement
        found = self._profile.earlier(held, booking.demand, now, min(booking.start, now + 1))
        if found is None:
            return False
        self._profile.give(*held, booking.demand)
        booking.start, booking.end, booking.placement = now, now + booking.end - booking.start, found[1]
        self._profile.take(booking.start, booking.end, booking.placement, booking.demand)
        return True

    def cancel(self, booking: Booking, now: int) -> None:
        """Free the rest of a booking."""
        self._profile.give(max(now, booking.start), booking.end, booking.placement, booking.demand)

    def occupy(self, booking: Booking, waiting: Waiting, space: Space) -> Placement | None:
        """Place a booking that begins now. ``None`` if its nodes are not free yet."""
        return place_at(space, waiting, booking.placement if self._same is None else None)
