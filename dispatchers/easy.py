"""EASY backfilling: a reservation for the first blocked job alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter

import numpy as np

from ..models import PlacementRule, count_slots, shift
from .options import PlacementOption
from .protocol import Action, IntArray, Placement, Start, State, Waiting
from .space import NodeSpace, PoolSpace, space_of

_by_prediction = attrgetter("predicted")


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
        ``"first-fit"`` or ``"best-fit"``.
    """

    placement: PlacementRule = "first-fit"

    def candidates(self, waiting: list[Waiting]) -> Iterable[Waiting]:
        """Return the jobs behind the blocked one in the order in which they are tried."""
        return waiting

    def dispatch(self, state: State) -> Sequence[Action]:
        """Start from the head of the queue, then backfill behind the first job that does not fit."""
        space = space_of(state, self.placement)
        actions: list[Action] = []
        ends: list[tuple[int, Placement, tuple[int, ...]]] = []
        head = None
        for waiting in state.queue:
            placement = space.place(waiting.nodes, waiting.demand)
            if placement is None:
                head = waiting
                break
            actions.append(Start(waiting, placement))
            ends.append((state.now + waiting.predicted, placement, waiting.demand))
        if head is None or len(state.queue) == len(actions) + 1:
            return actions
        rest = list(islice(state.queue, len(actions) + 1, None))
        if isinstance(space, PoolSpace):
            if len(space.free) == 1:
                _backfill_counts(state, space, head, self.candidates(rest), ends, actions)
                return actions
            space = NodeSpace(np.array([space.free]), state.machine, self.placement)
        assert isinstance(space, NodeSpace)
        _backfill_nodes(state, space, head, self.candidates(rest), ends, actions)
        return actions


@dataclass(frozen=True)
class EASYSJBF(EASY):
    """EASY that backfills the shortest predicted job first (Tsafrir, Etsion and Feitelson, TPDS 2007)."""

    def candidates(self, waiting: list[Waiting]) -> list[Waiting]:
        """Return the jobs behind the blocked one, shortest prediction first; ties by submission."""
        return sorted(waiting, key=_by_prediction)


def _backfill_counts(
    state: State,
    space: PoolSpace,
    head: Waiting,
    candidates: Iterable[Waiting],
    started: list[tuple[int, Placement, tuple[int, ...]]],
    actions: list[Action],
) -> None:
    """Backfill on one node of one resource, where everything is a number."""
    now = state.now
    free = space.free[0]
    fitting = [w for w in candidates if w.nodes * w.demand[0] <= free]
    if not fitting:
        return
    ends = [(run.expected_end(now), run.nodes * run.demand[0]) for run in state.running]
    ends += [(end, len(placement) * demand[0]) for end, placement, demand in started]
    ends.sort()
    shadow, spare = now, free - head.nodes * head.demand[0]
    for end, amount in ends:
        if spare >= 0 and end > shadow:
            break
        shadow = end
        spare += amount
    for waiting in fitting:
        amount = waiting.nodes * waiting.demand[0]
        if amount > space.free[0]:
            continue
        if now + waiting.predicted > shadow:
            if amount > spare:
                continue
            spare -= amount
        placement = space.place(waiting.nodes, waiting.demand)
        if placement is not None:
            actions.append(Start(waiting, placement))
        if space.free[0] <= 0:
            break


def _backfill_nodes(
    state: State,
    space: NodeSpace,
    head: Waiting,
    candidates: Iterable[Waiting],
    started: list[tuple[int, Placement, tuple[int, ...]]],
    actions: list[Action],
) -> None:
    """Backfill on nodes: a job that outlasts the shadow time must leave room for the head then."""
    fitting = [w for w in candidates if space.room(w.demand, w.nodes) >= w.nodes]
    if not fitting:
        return
    shadow, later = _shadow(state, space.free, head, started)
    for waiting in fitting:
        if space.room(waiting.demand, waiting.nodes) < waiting.nodes:
            continue
        placement = space.place(waiting.nodes, waiting.demand)
        assert placement is not None
        if state.now + waiting.predicted > shadow:
            shift(later, placement, waiting.demand, -1)
            if int(count_slots(later, head.demand).sum()) < head.nodes:
                shift(later, placement, waiting.demand, 1)
                space.give(placement, waiting.demand)
                continue
        actions.append(Start(waiting, placement))


def _shadow(
    state: State,
    free: IntArray,
    head: Waiting,
    started: list[tuple[int, Placement, tuple[int, ...]]],
) -> tuple[int, IntArray]:
    """Return the shadow time of `head` and what is free then."""
    now = state.now
    ends = [(run.expected_end(now), run.placement, run.demand) for run in state.running] + started
    ends.sort(key=lambda entry: entry[0])
    later = free.copy()
    shadow = now
    short = True
    for end, placement, demand in ends:
        if end > shadow:
            if not short or int(count_slots(later, head.demand).sum()) >= head.nodes:
                return shadow, later
            shadow = end
        shift(later, placement, demand, 1)
    return shadow, later
