"""Round-based greedy scheduling: largest jobs first, and fixed reservations of a batch."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from ...base import IntArray
from ..backfilling.conservative import Conservative
from ..backfilling.reservations import Compress, JobBooking
from ..overlay import Overlay
from ..protocol import Placement, State, Waiting
from ..rule_book import has_rules
from ..space import Space, space_of
from .round_reservations import RoundReservations, RoundsGiven, RoundsOptions


class Rounds(Conservative):
    """Reserves for the queue in rounds, largest area first. Later jobs wait for the next round.

    The greedy heuristic of Gainaru et al. (ICPP 2019, section 4.3) for sets of jobs. A round takes the queue in falling
    order of processors times predicted run time. Each job gets its earliest fit. The next round begins when the last of
    them has ended.

    With ``batch=100,move=never`` it is the scheduler of the authors' public simulator. Reservations are fixed, even if
    amounts become free. Gaps between them, and after early ends, are for jobs without a reservation. Such a job gets
    one if it fits completely before the last reservation ends. These are jobs beyond the batch, later arrivals, and
    failed jobs. With ``move=fill``, jobs of the round may also move into gaps.

    Nothing else moves up. So over-estimation costs utilization here, as the paper assumes of a batch scheduler. The
    options are those of :class:`RoundsOptions`.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.dispatchers import Rounds
    >>> from hpcdispatch.testing import tiny
    >>> hd.simulate(tiny(), Rounds(batch=100, move="never")).jobs["start"].tolist()
    [0, 0, 100, 20, 160]
    """

    Options = RoundsOptions
    options: RoundsOptions

    if TYPE_CHECKING:

        def __init__(self, options: RoundsOptions | None = None, /, **given: Unpack[RoundsGiven]) -> None: ...

    def open(self, state: State) -> RoundReservations:
        """Return the initial reservations."""
        kind = BatchReservations if self.options.move == "never" else RoundReservations
        return kind(state, self.options)


def _is_counted(capacity: IntArray) -> bool:
    """Return whether one number describes a machine: a pool of one resource, or nodes of one unit."""
    return capacity.size == 1 or (capacity.shape[1] == 1 and bool((capacity == 1).all()))


class BatchReservations(RoundReservations):
    """Fixed reservations of a round.

    On a pool, or nodes of a single unit without rules, only numbers are reserved. A starting job gets any free nodes.
    With fixed nodes from the beginning, jobs would find enough nodes, but none of them free for long enough.
    """

    def __init__(self, state: State, options: RoundsOptions) -> None:
        #: Free amounts beside all starts of this decision, if jobs have no nodes before.
        self._space: Space | None = None
        super().__init__(state, options)
        #: When the jobs of the queue after the last decision entered it, and the jobs that came since.
        self._seen: dict[str, int] = {}
        self._came: list[Waiting] = []

    def _open(self, state: State) -> Overlay:
        capacity = state.machine.capacity
        if len(capacity) == 1 or not _is_counted(capacity) or has_rules(state):
            return super()._open(state)
        self._space = space_of(state, self.rule)
        return Overlay(state, self.rule, unit=(1,))

    def memory(self) -> dict[str, Any]:
        """Return running jobs, reservations, and other waiting jobs of the last decision."""
        return super().memory() | {"seen": list(self._seen)}

    def recall(self, state: State, memory: Mapping[str, Any]) -> None:
        """Restore the round. Later arrivals are the jobs that were not there."""
        super().recall(state, memory)
        seen = set(memory["seen"])
        self._seen = {entry.id: entry.since for entry in state.queue if entry.id in seen}

    def follow(self, state: State) -> bool:
        """Bring the profile up to date; return whether the reservations had to be made anew."""
        self._came = [entry for entry in state.queue if self._seen.get(entry.id) != entry.since]
        self._seen = {entry.id: entry.since for entry in state.queue}
        return super().follow(state)

    # Reservations.

    def compress(self, how: Compress, now: int) -> None:
        """Keep every reservation. Freed intervals stay recorded."""

    def _is_over(self) -> bool:
        """Return whether there is no reservation and no running job."""
        return not self.reserved and not self.running

    def _begin(self, state: State) -> None:
        """Begin a round; its gaps are for the next batch."""
        self._came = []
        super()._begin(state)
        self.freed.append((state.now, self._round_end))

    def _candidates(self, state: State) -> Sequence[Waiting]:
        """Return the waiting jobs without a reservation that did not come just now, largest area first."""
        taken = {*self.reserved, *(entry.id for entry in self._came)}
        return self._largest([entry for entry in state.queue if entry.id not in taken])

    def _fill(self, state: State) -> None:
        """Reserve for jobs without a reservation that fit completely at any time of the round.

        If some amount was freed, the next batch of waiting jobs comes first, then each new arrival.
        """
        self._round_end = max((each.end for each in (*self.reserved.values(), *self.running.values())), default=0)
        if self.freed:
            self._try(self._candidates(state), state.now)
            self.freed.clear()
        self._try(self._came, state.now)
        self._came = []

    def _try(self, candidates: Iterable[Waiting], now: int) -> None:
        for waiting in candidates:
            if waiting.id not in self.reserved:
                self.reserve(waiting, now, self._round_end - waiting.predicted + 1)

    # Starts.

    def start_due(self, state: State) -> tuple[Iterator[tuple[Waiting, Placement]], bool, int | None]:
        """Return the starting jobs with nodes, whether one is late, and the start of the next reservation."""
        if self._space is None:
            return super().start_due(state)
        due = self.due(state.now)
        space = self._space = space_of(state, self.rule)
        started = list(self.start(due, state.now, space))
        later = (booking.start for booking in self.reserved.values() if booking.start > state.now)
        return iter(started), len(started) < len(due), min(later, default=None)

    def gap(self, waiting: Waiting) -> tuple[int | None, Placement] | None:
        """Return for how many seconds the slots of a job without a reservation are free from now, and where."""
        return None if waiting.id in self.reserved else super().gap(waiting)

    def _free_until(self, waiting: Waiting, now: int) -> tuple[int | None, Placement] | None:
        gap = super()._free_until(waiting, now)
        if gap is None or self._space is None:
            return gap
        placement = self._space.place(waiting.nodes, waiting.demand)
        if placement is None:
            return None
        self._space.give(placement, waiting.demand)
        return gap[0], placement

    def _take_nodes(self, now: int, booking: JobBooking, waiting: Waiting, space: Space) -> bool:
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
