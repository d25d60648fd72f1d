"""Reservations of a round. Those that fit into a gap may move there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypedDict

from ...base.checks import whole
from ...models import PlacementRule
from ..backfilling.conservative import ConservativeOptions
from ..backfilling.reservations import Compress, Reservations
from ..protocol import Placement, State, Waiting

#: Which jobs may use the gaps of a round: also its own, or only those without a reservation.
Move = Literal["fill", "never"]


@dataclass(frozen=True)
class RoundsOptions(ConservativeOptions):
    """Options of :class:`Rounds`.

    Attributes
    ----------
    batch
        Most jobs of a round. ``None`` for all that wait when it begins.
    move
        ``"never"``: reservations are fixed, and gaps are for jobs without one. ``"fill"``: jobs of the round may move
        into a gap in which they fit completely, before later arrivals.
    """

    compress: Compress = field(default="never", init=False)
    batch: Annotated[int | None, whole(1)] = None
    move: Move = "fill"


class RoundsGiven(TypedDict, total=False):
    """The options of :class:`RoundsOptions` by name, for type checkers."""

    placement: PlacementRule
    batch: int | None
    move: Move


class RoundReservations(Reservations):
    """Reservations of a round. Those that fit into a gap move there.

    Parameters
    ----------
    state
        As for :class:`.Reservations`.
    options
        Those of :class:`Rounds`.
    """

    def __init__(self, state: State, options: RoundsOptions) -> None:
        super().__init__(state, options.placement)
        self._batch = options.batch
        self._primary = state.machine.primary
        self._round: set[str] = set()
        self._round_end = 0

    def memory(self) -> dict[str, Any]:
        """Return running jobs, reservations, and the round."""
        return super().memory() | {"round": sorted(self._round), "round_end": self._round_end}

    def recall(self, state: State, memory: Mapping[str, Any]) -> None:
        """Restore the bookings and the round."""
        super().recall(state, memory)
        self._round = set(memory["round"])
        self._round_end = memory["round_end"]

    def gap(self, waiting: Waiting) -> tuple[int | None, Placement] | None:
        """Return for how many seconds a job's slots are free from now within the round, and where."""
        gap = super().gap(waiting)
        left = self._round_end - self.profile.now
        if gap is None or left <= 0:
            return None
        return left if gap[0] is None else min(left, gap[0]), gap[1]

    def _drop_passed(self, passed: Sequence[str], queue: Sequence[str], now: int) -> None:
        """Drop reservations that passed without a start. Others of the round stay."""
        for id_ in passed:
            del self.reserved[id_]

    def reserve_new(self, state: State) -> None:
        """Fill the gaps. If the round is over, reserve for a new batch, largest area first."""
        if self._is_over():
            self._begin(state)
        if self.reserved or self.running:
            self._fill(state)

    def _is_over(self) -> bool:
        """Return whether no job of the round is left."""
        self._round &= self.reserved.keys() | self.running.keys()
        return not self._round

    def _begin(self, state: State) -> None:
        """Begin a round."""
        for waiting in self._candidates(state):
            self.reserve(waiting, state.now)
        self._round = set(self.reserved)
        self._round_end = max((booking.end for booking in self.reserved.values()), default=0)

    def _candidates(self, state: State) -> Sequence[Waiting]:
        """Return waiting jobs without a reservation, largest area first."""
        return self._largest([entry for entry in state.queue if entry.id not in self.reserved])

    def _largest(self, waiting: list[Waiting]) -> Sequence[Waiting]:
        """Return the next batch of jobs, largest area first.

        If there are more jobs than a batch, only the first arrival times count, as many as a batch has jobs. If all
        jobs were submitted together, these are the largest of all.
        """
        if self._batch is not None and len(waiting) > self._batch:
            instants = sorted({entry.since for entry in waiting})
            last = instants[min(self._batch, len(instants)) - 1]
            waiting = [entry for entry in waiting if entry.since <= last]
        primary = self._primary
        waiting.sort(key=lambda entry: entry.nodes * entry.demand[primary] * entry.predicted, reverse=True)
        return waiting[: self._batch]

    def _fill(self, state: State) -> None:
        """Start jobs that fit into gaps: first those of the round in order, then later arrivals."""
        now = state.now
        room = self.profile.peak(now, now + 1)
        for booking in sorted(self.reserved.values(), key=lambda booking: booking.start) if any(room) else ():
            if booking.start > now and not booking.away and not booking.exceeds(room):
                fit = self.profile.earlier(booking, now, now + 1, own=False)
                if fit is not None:
                    self.profile.move(booking, *fit)
                    room = self.profile.peak(now, now + 1)
        for waiting in state.queue:
            if not any(room):
                break
            if waiting.id in self.reserved or now + waiting.predicted > self._round_end:
                continue
            fits = all(waiting.nodes * amount <= free for amount, free in zip(waiting.demand, room, strict=True))
            if fits and self.reserve(waiting, now, now + 1):
                room = self.profile.peak(now, now + 1)
