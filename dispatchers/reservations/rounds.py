"""Round-based greedy scheduling: the widest and longest jobs first, and reservations that stand."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...models import PlacementRule
from ..backfilling.conservative import Conservative, ConservativeOptions
from ..backfilling.moving_reservations import Compress, MovingReservations
from ..protocol import Placement, State, Waiting


@dataclass(frozen=True)
class RoundsOptions(ConservativeOptions):
    """The options of :class:`Rounds`; reservations never move up."""

    compress: Compress = field(default="never", init=False)


class RoundReservations(MovingReservations):
    """Reservations for the jobs of a round."""

    def __init__(self, state: State, rule: PlacementRule) -> None:
        super().__init__(state, rule)
        self._round: set[str] = set()
        self._round_end = 0

    def gap(self, waiting: Waiting) -> tuple[int | None, Placement] | None:
        """Return for how many seconds from now a job's slots are free within the round, and where."""
        found = super().gap(waiting)
        left = self._round_end - self.profile.times[0]
        if found is None or left <= 0:
            return None
        return left if found[0] is None else min(left, found[0]), found[1]

    def reserve_new(self, state: State) -> None:
        """Fill the gaps, or reserve for all, largest area first, if the round is over."""
        self._round &= self.reserved.keys() | self.running.keys()
        if self._round:
            self._fill(state)
            return
        primary = state.machine.primary
        for waiting in sorted(
            state.queue, key=lambda job: job.nodes * job.demand[primary] * job.predicted, reverse=True
        ):
            self.reserve(waiting, state.now)
        self._round = set(self.reserved)
        self._round_end = max((booking.end for booking in self.reserved.values()), default=0)

    def _fill(self, state: State) -> None:
        """Start what fits into the gaps: first of the round, in the order of its reservations, then what came later."""
        now = state.now
        room = self.profile.peak(now, now + 1)
        for booking in sorted(self.reserved.values(), key=lambda booking: booking.start) if any(room) else ():
            if booking.start > now and not booking.away and not booking.exceeds(room):
                slots, seconds = len(booking.placement), booking.end - booking.start
                found = self.profile.earliest(slots, booking.demand, seconds, now, now + 1)
                if found is not None:
                    self.rebook(booking, *found)
                    room = self.profile.peak(now, now + 1)
        for waiting in state.queue:
            if not any(room):
                break
            if waiting.id in self.reserved or now + waiting.predicted > self._round_end:
                continue
            fits = all(waiting.nodes * amount <= free for amount, free in zip(waiting.demand, room, strict=True))
            if fits and self.reserve(waiting, now, now + 1):
                room = self.profile.peak(now, now + 1)


class Rounds(Conservative):
    """Rounds: all jobs that wait get a reservation, largest area first; those that come later wait for the next round.

    The greedy heuristic of Gainaru et al. (ICPP 2019, section 4.3) for sets of jobs. A round takes the jobs in the
    queue in non-increasing order of processors times predicted run time, each at the earliest time at which it fits,
    and the next round begins when the last of them has ended. What is freed in between, by jobs that end early, is only
    filled: by a job of the round that fits into the gap as a whole, or else by a later one that would also end within
    the round. Nothing is moved up otherwise, which is why over-estimation costs utilization here: what the paper takes
    a batch scheduler to do.
    Its one option is `placement`.
    """

    Options = RoundsOptions

    def open(self, state: State) -> RoundReservations:
        """Return the reservations to begin with."""
        return RoundReservations(state, self.options.placement)
