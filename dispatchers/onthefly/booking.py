"""Book of reservations, and the priority in which they are made."""

from collections.abc import Sequence
from dataclasses import dataclass

from ...base import check_number
from ...models import PlacementRule
from ..overlay import Booking, Overlay
from ..protocol import Placement, Running, State, Waiting
from ..rule_book import has_rules
from ..space import Space, place_at

Demand = tuple[int, ...]


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


class Book(Overlay):
    """Reservations and running jobs on an availability profile.

    Nodes with one demand per slot are counted: a freed slot fits exactly one. Otherwise, and under rules of the
    machine, each node is booked.

    Parameters
    ----------
    state
        The first state.
    rule
        How to choose among nodes that are free long enough.
    """

    def __init__(self, state: State, rule: PlacementRule) -> None:
        demands = set[Demand]()
        if state.machine.nodes > 1 and not has_rules(state):
            demands = {waiting.demand for waiting in state.queue} | {run.demand for run in state.running}
        self._same = demands.pop() if len(demands) == 1 else None
        super().__init__(state, rule, self._same)

    def takes(self, waiting: Waiting) -> bool:
        """Return whether a job may be booked. Counted slots must all have one demand."""
        return self._same is None or self._same == waiting.demand

    def hold(self, running: Sequence[tuple[Running, int]]) -> list[Booking]:
        """Book the amounts of running jobs until their ends."""
        now = self.now
        bookings = [Booking(now, end, run.placement, run.demand) for run, end in running]
        if self.ruled:
            for booking, (run, _) in zip(bookings, running, strict=True):
                self.follow_run(booking, run, now)
        self.add_all(bookings)
        return bookings

    def reserve(
        self, waiting: Waiting, seconds: int, now: int, before: int | None = None, bound: int | None = None
    ) -> Booking | None:
        """Book the first start in [now, before) where a job fits for `seconds`. ``None`` if there is none.

        It may run for `bound` seconds, by default for `seconds`, before nodes close.
        """
        fit = self.earliest(waiting, now, before, seconds, bound)
        if fit is None:
            return None
        bound, uses = self.limits_of(waiting, seconds, bound)
        layout = self.layout_of(waiting)
        booking = Booking(fit[0], fit[0] + seconds, fit[1], waiting.demand, fit[0] + bound, uses, layout)
        self.add(booking)
        return booking

    def pull(self, booking: Booking, now: int) -> bool:
        """Move a booking to begin now, if it fits there. Return whether it does."""
        fit = self.earlier(booking, now, min(booking.start, now + 1))
        if fit is not None:
            self.move(booking, now, fit[1])
        return fit is not None

    def occupy(self, booking: Booking, waiting: Waiting, space: Space) -> Placement | None:
        """Place a booking that begins now. ``None`` if its nodes are not free yet, or if rules do not allow it."""
        if self.ruled:  # Its nodes may have failed since it was made.
            fit = self.earlier(booking, self.now, self.now + 1)
            if fit is None:
                return None
            self.move(booking, booking.start, fit[1])
        return place_at(space, waiting, None if self.counted else booking.placement)
