"""The look-ahead plan in sums of resources: who starts now, where there is room for it on the nodes."""

from __future__ import annotations

from collections.abc import Iterable

from ...base import IntArray
from ...models.lookahead import Running, Settings, plan
from ..backfilling.easy import leaves_room, shadow_of
from ..problems import held
from ..protocol import Placement
from ..space import NodeSpace
from .instant import Decision, Instant


def plan_on_pool(seen: Instant, settings: Settings) -> Decision:
    """Plan in sums of resources, and start who finds room."""
    _, ends, _, amounts = held(seen.running, seen.now, seen.machine.capacity, pooled=True)
    found = plan(seen.waiting, Running(ends, amounts, seen.free), settings)
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
    space, starts = seen.space, []
    guard: tuple[int, IntArray] | None = None
    if overdue >= 0 and isinstance(space, NodeSpace):
        guard = shadow_of(seen.now, space.free, seen.queue[overdue], seen.running)
    for place in places:
        waiting = seen.queue[place]
        placement = space.place(waiting.nodes, waiting.demand)
        if placement is None:
            continue
        outlasts = guard is not None and seen.now + waiting.predicted > guard[0]
        if guard is not None and outlasts and not leaves_room(guard[1], seen.queue[overdue], placement, waiting):
            space.give(placement, waiting.demand)
        else:
            starts.append((place, placement))
    return starts
