"""The look-ahead plan in sums of resources: who starts now, where there is room for it on the nodes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import repeat

import numpy as np

from ...base import IntArray
from ...models.lookahead import NO_PROMISE, Asked, Plan, Settings, plan, told_apart
from ..backfilling.easy import leaves_room, shadow_of
from ..protocol import Placement, Waiting
from ..space import NodeSpace, PoolSpace
from .history import History
from .instant import Decision, Instant


def plan_on_pool(seen: Instant, settings: Settings) -> Decision:
    """Plan in sums of resources, and start who finds room; by requests nobody who delays a promise, if they count."""
    queue, running, nothing = seen.waiting, seen.busy, np.zeros(0, dtype=np.int64)
    asked = Asked(nothing, nothing, nothing)
    if seen.literally:
        asked = told_apart(queue, running, _asked(seen, nothing))
    return _decision(seen, plan(queue, running, settings, asked)[0])


def plan_with_requests(seen: Instant, settings: Settings, history: History) -> Decision:
    """Do the same with promises by the requested times, which stand from one decision to the next."""
    found, promised = plan(seen.waiting, seen.busy, settings, _asked(seen, history.promised()))
    decision = replace(_decision(seen, found), promised=promised)
    if decision.starts or seen.state.running:
        return decision
    # Nothing else will happen, and nothing is in the way of who was promised the first start.
    first = np.where(promised < 0, NO_PROMISE, promised)
    place = int(first.argmin()) if len(first) and first.min() < NO_PROMISE else int(seen.fits.argmax())
    return replace(decision, starts=put(seen, [place]))


def _asked(seen: Instant, promised: IntArray) -> Asked:
    """Return what is known beside the predictions, with what has been promised."""
    state, now = seen.state, seen.state.now
    ends = np.array([run.requested_end(now) - now for run in state.running], dtype=np.int64)
    # A copy, since read-only columns would have the plan compiled once more.
    return Asked(state.queue.requested.copy(), np.maximum(ends, 1), promised)


def _decision(seen: Instant, found: Plan) -> Decision:
    return Decision(
        starts=put(seen, found.start.tolist(), found.overdue),
        status="feasible",
        candidates=found.candidates,
        requested=int(found.requested),
        objective=float(found.objective),
        used="search" if found.searched else "list",
        promises=int(found.promises),
    )


def put(
    seen: Instant, places: Iterable[int], overdue: int = -1, nodes: Iterable[Placement | None] = repeat(None)
) -> list[tuple[int, Placement]]:
    """Return who finds room, in this order, and on nodes does not delay the one who is overdue, -1 for nobody.

    Each finds it on its `nodes`, where they are given, else on any.
    """
    state, space, starts = seen.state, seen.space, []
    guard: tuple[int, IntArray] | None = None
    if overdue >= 0 and isinstance(space, NodeSpace):
        guard = shadow_of(state.now, space.free, state.queue[overdue], state.running)
    for place, given in zip(places, nodes, strict=False):
        waiting = state.queue[place]
        placement = _put(space, waiting, given)
        if placement is None:
            continue
        outlasts = guard is not None and state.now + waiting.predicted > guard[0]
        if guard is not None and outlasts and not leaves_room(guard[1], state.queue[overdue], placement, waiting):
            space.give(placement, waiting.demand)
        else:
            starts.append((place, placement))
    return starts


def _put(space: PoolSpace | NodeSpace, waiting: Waiting, given: Placement | None) -> Placement | None:
    """Take room for a job, on given nodes or any; ``None`` if there is none."""
    if given is None:
        return space.place(waiting.nodes, waiting.demand)
    return given if space.put(given, waiting.demand) else None
