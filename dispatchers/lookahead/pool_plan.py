"""Look-ahead plan in sums of resources. Planned jobs start where they fit on the nodes."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import repeat

import numpy as np

from ...base import IntArray
from ...models.lookahead.guarantees import PlanSettings, Walltimes, told_apart
from ...models.lookahead.planning import LookaheadPlan, plan
from ..overlay import Booking, Overlay
from ..protocol import Placement, State, Waiting
from ..space import NodeSpace, place_at
from .history import History
from .instant import Decision, DecisionInput, RoomUnderRules, decided


def plan_on_pool(seen: DecisionInput, settings: PlanSettings) -> Decision:
    """Plan in sums of resources, and start planned jobs that fit.

    Once predictions are not trusted, no job starts that delays a guarantee by its walltime.
    """
    queue = seen.waiting
    running = seen.busy
    nothing = np.zeros(0, dtype=np.int64)
    walltimes = Walltimes(nothing, nothing, nothing)
    if seen.literally:
        walltimes = told_apart(queue, running, _walltimes(seen, nothing))
    return _decision(seen, plan(queue, running, settings, walltimes)[0])


def plan_by_walltimes(seen: DecisionInput, settings: PlanSettings, history: History) -> Decision:
    """Plan likewise, with guarantees by walltimes that stay between decisions."""
    lookahead_plan, guaranteed = plan(seen.waiting, seen.busy, settings, _walltimes(seen, history.guaranteed()))
    return replace(_decision(seen, lookahead_plan), guaranteed=guaranteed)


def _walltimes(seen: DecisionInput, guaranteed: IntArray) -> Walltimes:
    """Return the walltimes and earlier guarantees."""
    state, now = seen.state, seen.state.now
    ends = np.array([run.walltime_end(now) - now for run in state.running], dtype=np.int64)
    # A copy, because read-only columns would compile the plan once more.
    return Walltimes(state.queue.walltime.copy(), np.maximum(ends, 1), guaranteed)


def _decision(seen: DecisionInput, lookahead_plan: LookaheadPlan) -> Decision:
    return decided(put(seen, lookahead_plan.start.tolist(), lookahead_plan.overdue), lookahead_plan)


def put(
    seen: DecisionInput, places: Iterable[int], overdue: int = -1, nodes: Iterable[Placement | None] = repeat(None)
) -> list[tuple[int, Placement]]:
    """Return the jobs that fit, in this order. On nodes they must not delay the overdue job, -1 for none.

    A job with `nodes` must fit on these, else on any. Under rules of the machine its nodes are chosen anew.
    """
    state = seen.state
    if seen.ruled is not None:
        return _put_by_rules(seen, seen.ruled, list(places), overdue)
    space = seen.space
    starts = []
    guard: OverdueJob | None = None
    if overdue >= 0 and isinstance(space, NodeSpace):
        guard = OverdueJob(state, state.queue[overdue])
    for place, given in zip(places, nodes, strict=False):
        waiting = state.queue[place]
        placement = place_at(space, waiting, given)
        if placement is None:
            continue
        if guard is not None and not guard.allows(waiting, placement):
            space.give(placement, waiting.demand)
        else:
            starts.append((place, placement))
    return starts


def _put_by_rules(
    seen: DecisionInput, ruled: RoomUnderRules, places: Sequence[int], overdue: int
) -> list[tuple[int, Placement]]:
    """Return the jobs that fit and that the rules allow. The first job that lacks an amount keeps that."""
    queue, profile = seen.state.queue, ruled.profile
    if overdue >= 0 and isinstance(seen.space, NodeSpace):
        profile.keep(queue[overdue])
    profile.start_now(ruled.keepers)
    wanted = [queue[place] for place in places]
    place_of = dict(zip(map(id, wanted), places, strict=True))
    return [
        (place_of[id(start.job)], np.asarray(start.placement))
        for start in profile.start_now(wanted, keep_amounts=False)
    ]


class OverdueJob:
    """A job that no start may delay, at its earliest start beside the running jobs."""

    def __init__(self, state: State, job: Waiting) -> None:
        self._job = job
        self._room = Overlay(state)
        running = [Booking(run.start, run.expected_end(state.now), run.placement, run.demand) for run in state.running]
        self._room.rebase(state, running)
        fit = self._room.earliest(job, state.now)
        self._start = None if fit is None else fit[0]

    def allows(self, waiting: Waiting, placement: Placement) -> bool:
        """Return whether another job may start now on these nodes. Then it counts for the next ones."""
        if self._start is None or self._room.now + waiting.predicted <= self._start:
            return True
        booking = Booking(self._room.now, self._room.now + waiting.predicted, placement, waiting.demand)
        self._room.add(booking)
        if self._room.earliest(self._job, self._start, self._start + 1) is not None:
            return True
        self._room.remove(booking)
        return False
