"""Round-based greedy scheduling: the widest and longest jobs first, and reservations that stand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...models import PlacementRule
from ...workloads import Machine
from ..backfilling.conservative import Conservative
from ..protocol import Action, Placement, State, Waiting


class Rounds(Conservative):
    """Rounds: all jobs that wait get a reservation, largest area first; those that come later wait for the next round.

    The greedy heuristic of Gainaru et al. (ICPP 2019, section 4.3) for sets of jobs. A round takes the jobs in the
    queue in non-increasing order of processors times predicted run time, each at the earliest time at which it fits,
    and the next round begins when the last of them has ended. What is freed in between, by jobs that end early, is only
    filled: by a job of the round that fits into the gap as a whole, or else by a later one that would also end within
    the round. Nothing is moved up otherwise, which is why over-estimation costs utilization here: what the paper takes
    a batch scheduler to do.

    Parameters
    ----------
    placement
        ``"first-fit"`` or ``"best-fit"``.
    """

    def __init__(self, placement: PlacementRule = "first-fit") -> None:
        super().__init__(placement, compress="never")
        self._round: set[str] = set()
        self._round_end = 0

    def reset(self, machine: Machine, rng: np.random.Generator | None = None) -> None:
        """Forget the round and its reservations."""
        super().reset(machine, rng)
        self._round = set()

    def dispatch(self, state: State) -> Sequence[Action]:
        """Fill gaps, or begin the next round; start who is due."""
        self._primary = state.machine.primary
        return super().dispatch(state)

    def gap(self, waiting: Waiting) -> tuple[int | None, Placement] | None:
        """Return for how many seconds from now a job's slots are free within the round, and where."""
        found = super().gap(waiting)
        left = self._round_end - self._profile.times[0]
        if found is None or left <= 0:
            return None
        return left if found[0] is None else min(left, found[0]), found[1]

    def _reserve_new(self, state: State) -> None:
        """Fill the gaps, or reserve for all if the round is over."""
        self._round &= self._reserved.keys() | self._running.keys()
        if self._round:
            self._fill(state)
            return
        for waiting in sorted(state.queue, key=self._area, reverse=True):
            found = self._profile.earliest(waiting.nodes, waiting.demand, waiting.predicted, state.now)
            if found is not None:
                self._book(waiting, *found)
        self._round = set(self._reserved)
        self._round_end = max((booking.end for booking in self._reserved.values()), default=0)

    def _area(self, waiting: Waiting) -> int:
        return waiting.nodes * waiting.demand[self._primary] * waiting.predicted

    def _fill(self, state: State) -> None:
        """Start what fits into the gaps: first of the round, in the order of its reservations, then what came later."""
        now = state.now
        room = self._profile.peak(now, now + 1)
        if not any(room):
            return
        for booking in sorted(self._reserved.values(), key=lambda booking: booking.start):
            if booking.start > now and not booking.away and not booking.exceeds(room):
                found = self._profile.earliest(
                    len(booking.placement), booking.demand, booking.end - booking.start, now, now + 1
                )
                if found is not None:
                    self._rebook(booking, *found)
                    room = self._profile.peak(now, now + 1)
        for waiting in state.queue:
            if not any(room):
                break
            if waiting.id in self._reserved or now + waiting.predicted > self._round_end:
                continue
            if all(waiting.nodes * amount <= free for amount, free in zip(waiting.demand, room, strict=True)):
                found = self._profile.earliest(waiting.nodes, waiting.demand, waiting.predicted, now, now + 1)
                if found is not None:
                    self._book(waiting, *found)
                    room = self._profile.peak(now, now + 1)
