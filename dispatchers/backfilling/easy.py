"""EASY backfilling: a reservation for the first blocked job alone."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import ClassVar

import numpy as np

from ...base import IntArray
from ...base.checks import check_choice
from ...models import count_slots, shift
from ..options import PlacementOption, ReserveBy
from ..protocol import Action, Placement, Running, Start, State, Waiting
from ..space import NodeSpace, PoolSpace
from .closed_times import ClosedTimes, closes, empty_profile
from .counted import indexed, start_at
from .slot_space import SlotSpace, room_of

_by_prediction = attrgetter("predicted")
_by_walltime = attrgetter("walltime")
_by_end = attrgetter("predicted_end")


@dataclass(frozen=True)
class EASY(PlacementOption):
    """First come, first served with EASY backfilling (Lifka, JSSPP 1995; Mu'alem and Feitelson, TPDS 2001).

    The first job that does not fit gets a reservation at the shadow time: the earliest time at which, going by the
    predictions, enough is free. A job behind it starts now if it fits and does not delay the reservation: it is
    predicted to end by the shadow time, or what it takes is not needed then. On machines of many nodes and resources
    that is asked literally: does the reserved job still fit at the shadow time beside it.

    Attributes
    ----------
    placement
        As :class:`.PlacementOption` has it.
    reserve_by
        ``"predictions"``: the shadow time, and which jobs end by it, go by predicted run times. ``"walltimes"``: by
        walltimes. Where these hold, no job starts later than its reservation. Predictions then only tell which job is
        the shortest.
    """

    reserve_by: ReserveBy = field(default="predictions", metadata={"was": "promises"})
    uses: ClassVar[tuple[str, ...]] = ("numba",)
    plans_closures: ClassVar[bool] = True
    _shortest_first: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("reserve_by", self.reserve_by, ReserveBy)

    def dispatch(self, state: State) -> Sequence[Action]:
        """Start from the head of the queue, then backfill behind the first job that does not fit."""
        if closes(state.machine):
            return self._beside_closures(state)
        index = indexed(state) if self.reserve_by == "predictions" else None
        if index is not None:
            chosen = index.by_easy(state, self._shortest_first) if state.free.any() else ()
            return start_at(state, room_of(state, self.placement), chosen) if chosen else ()
        return self.in_order(state, state.queue.entries)

    def _beside_closures(self, state: State) -> Sequence[Action]:
        """Do the same in a profile of what is free over time, in which nodes are closed for some of it."""
        by_walltime = self.reserve_by == "walltimes"
        profile = empty_profile(state.machine, state.now, self.placement)
        longest = int(state.queue.walltime.max(initial=0))
        last = int(state.running.predicted_end.max(initial=state.now)) - state.now
        for taken in ClosedTimes(state.machine, last + 4 * longest).more(state.now):
            profile.take(*taken)
        for run in state.running:
            end = run.walltime_end(state.now) if by_walltime else run.expected_end(state.now)
            profile.take(state.now, end, run.placement, run.demand)
        started: list[Start] = []
        reserved = False
        waits = deque(state.queue.entries)
        while waits:
            waiting = waits.popleft()
            length = waiting.walltime if by_walltime else waiting.predicted
            found = profile.earliest(
                waiting.nodes, waiting.demand, length, state.now, state.now + 1 if reserved else None
            )
            if found is None:
                continue
            profile.take(found[0], found[0] + length, found[1], waiting.demand)
            if found[0] == state.now:
                started.append(Start(waiting, found[1]))
            elif not reserved:
                reserved = True
                if self._shortest_first:
                    waits = deque(sorted(waits, key=_by_prediction))
        return started

    def in_order(self, state: State, queue: Sequence[Waiting]) -> Sequence[Action]:
        """Do the same with the waiting jobs in some order."""
        space = room_of(state, self.placement)
        started: list[Start] = []
        head = None
        for waiting in queue:
            placement = space.place(waiting.nodes, waiting.demand)
            if placement is None:
                head = waiting
                break
            started.append(Start(waiting, placement))
        if head is None or len(queue) == len(started) + 1:
            return started
        free = _countable(state, space, head)
        if free == 0:
            return started
        behind: Sequence[Waiting] = queue[len(started) + 1 :]
        if self._shortest_first:
            behind = sorted(behind, key=_by_prediction)
        ending, length = ending_order(state, started), _by_prediction
        if self.reserve_by == "walltimes":
            ending, length = walltime_order(state.now, ending), _by_walltime
        if free is not None:
            return started + _backfill_counting(state.now, space, free, head, behind, ending, length)
        if isinstance(space, PoolSpace):
            space = NodeSpace(np.array([space.free]), state.machine)
        assert isinstance(space, NodeSpace)
        return started + _backfill_placing(state.now, space, head, behind, ending, length)


@dataclass(frozen=True)
class EASYSJBF(EASY):
    """EASY that backfills the shortest predicted job first (Tsafrir, Etsion and Feitelson, TPDS 2007)."""

    _shortest_first: ClassVar[bool] = True


def _countable(state: State, space: PoolSpace | NodeSpace | SlotSpace, head: Waiting) -> int | None:
    """Return what is free as one number, as :func:`.indexed`, of a short queue whose first jobs have started."""
    if isinstance(space, PoolSpace):
        return space.free[0] if len(space.free) == 1 else None
    if isinstance(space, SlotSpace):
        return space.left
    if len(state.queue.slots) == 1 and all(map(head.demand.__eq__, state.running.slots)):
        return space.room(head.demand, sys.maxsize)
    return None


def ending_order(state: State, started: Sequence[Start]) -> Sequence[Running]:
    """Return what runs, with what was just started, in order of the predicted ends."""
    if not started:
        return state.running.entries
    running = [*state.running.entries]
    for action in started:
        waiting = action.job
        new = Running(waiting.job, state.now, np.asarray(action.placement), waiting.demand, waiting.order)
        new.predicted_end = state.now + waiting.predicted
        running.append(new)
    running.sort(key=_by_end)
    return running


def walltime_order(now: int, ending: Sequence[Running]) -> Sequence[Running]:
    """Return what runs as if it was predicted to end when it has to by its request, in that order."""
    return sorted((run.shown_as(predicted_end=run.walltime_end(now)) for run in ending), key=_by_end)


def _backfill_counting(
    now: int,
    space: PoolSpace | NodeSpace | SlotSpace,
    free: int,
    head: Waiting,
    candidates: Iterable[Waiting],
    ending: Sequence[Running],
    length: Callable[[Waiting], int],
) -> list[Start]:
    """Backfill where everything is a number: amounts on a pool, slots on nodes."""
    pool = isinstance(space, PoolSpace)
    if pool:
        fitting = [(w, amount) for w in candidates if (amount := w.nodes * w.demand[0]) <= free]
    else:
        fitting = [(w, w.nodes) for w in candidates if w.nodes <= free]
    if not fitting:
        return []
    shadow, spare = now, free - head.nodes * (head.demand[0] if pool else 1)
    for run in ending:
        end = run.predicted_end
        if end <= now:
            end = now + 1
        if spare >= 0 and end > shadow:
            break
        shadow = end
        spare += run.nodes * (run.demand[0] if pool else 1)
    started = []
    for waiting, amount in fitting:
        if amount > free:
            continue
        if now + length(waiting) > shadow:
            if amount > spare:
                continue
            spare -= amount
        placement = space.place(waiting.nodes, waiting.demand)
        assert placement is not None
        started.append(Start(waiting, placement))
        free -= amount
        if not free:
            break
    return started


def _backfill_placing(
    now: int,
    space: NodeSpace,
    head: Waiting,
    candidates: Iterable[Waiting],
    ending: Sequence[Running],
    length: Callable[[Waiting], int],
) -> list[Start]:
    """Backfill on nodes: a job that outlasts the shadow time must leave room for the head then."""
    fitting = [w for w in candidates if space.room(w.demand, w.nodes) >= w.nodes]
    if not fitting:
        return []
    shadow, later = shadow_of(now, space.free, head, ending)
    started = []
    for waiting in fitting:
        if space.room(waiting.demand, waiting.nodes) < waiting.nodes:
            continue
        placement = space.place(waiting.nodes, waiting.demand)
        assert placement is not None
        if now + length(waiting) > shadow and not leaves_room(later, head, placement, waiting):
            space.give(placement, waiting.demand)
            continue
        started.append(Start(waiting, placement))
    return started


def leaves_room(later: IntArray, head: Waiting, placement: Placement, waiting: Waiting) -> bool:
    """Take a job out of what is free later, if that leaves room for the head; return whether it does."""
    shift(later, placement, waiting.demand, -1)
    if int(count_slots(later, head.demand).sum()) >= head.nodes:
        return True
    shift(later, placement, waiting.demand, 1)
    return False


def shadow_of(now: int, free: IntArray, head: Waiting, ending: Sequence[Running]) -> tuple[int, IntArray]:
    """Return the shadow time of `head` and what is free then."""
    later = free.copy()
    shadow = now
    for run in ending:
        end = run.expected_end(now)
        if end > shadow:
            if int(count_slots(later, head.demand).sum()) >= head.nodes:
                break
            shadow = end
        shift(later, run.placement, run.demand, 1)
    return shadow, later
