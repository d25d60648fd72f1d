"""The look-ahead plan in sums of resources: who starts now, where there is room for it on the nodes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ...base import IntArray
from ...models.lookahead import Running, Settings, plan
from ..backfilling.easy import leaves_room, shadow_of
from ..fitting import needs
from ..protocol import Placement
from ..space import NodeSpace
from .instant import Decision, Instant


def plan_on_pool(seen: Instant, settings: Settings) -> Decision:
    """Plan in sums of resources, and start who finds room."""
    state = seen.state
    ends = np.maximum(state.running.predicted_end - state.now, 1)
    capacity = np.maximum(state.machine.capacity.sum(axis=0), 1)
    free = np.array(seen.available, dtype=np.int64)
    found = plan(seen.waiting, Running(ends, needs(state.running), free, capacity), settings)
    return Decision(
        starts=put(seen, found.start.tolist(), found.overdue),
        status="feasible",
        candidates=found.candidates,
        requested=int(found.requested),
        objective=float(found.objective),
        used="search" if found.searched else "list",
        promises=int(found.promises),
    )


def put(seen: Instant, places: Iterable[int], overdue: int = -1) -> list[tuple[int, Placement]]:
    """Return who finds room, in this order, and on nodes does not delay the one who is overdue, -1 for nobody."""
    state, space, starts = seen.state, seen.space, []
    guard: tuple[int, IntArray] | None = None
    if overdue >= 0 and isinstance(space, NodeSpace):
        guard = shadow_of(state.now, space.free, state.queue[overdue], state.running)
    for place in places:
        waiting = state.queue[place]
        placement = space.place(waiting.nodes, waiting.demand)
        if placement is None:
            continue
        outlasts = guard is not None and state.now + waiting.predicted > guard[0]
        if guard is not None and outlasts and not leaves_room(guard[1], state.queue[overdue], placement, waiting):
            space.give(placement, waiting.demand)
        else:
            starts.append((place, placement))
    return starts
