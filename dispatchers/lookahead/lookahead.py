"""Age-weighted look-ahead with promises that bound the longest wait."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...base import IntArray
from ...base.checks import check_choice
from ...models import PlacementRule, count_slots, shift
from ...models.lookahead.planning import AGE_SHARE, Plan, Queue, Settings, plan
from ...models.lookahead.planning import Running as Held
from ...workloads import Machine
from ..backfilling.easy import shadow_of
from ..problems import held
from ..protocol import Action, Placement, Start, State, Waiting
from ..space import NodeSpace, PoolSpace, place_all, space_of
from .history import History
from .node_plan import plan_on_nodes

#: Least wait that is promised not to be exceeded, seconds: while nothing is known of the load, no job is pressed.
LEAST_DUE = 12 * 3600
#: Machines of more nodes are planned as a pool: a plan on the nodes would take seconds.
MOST_NODES = 256


class Lookahead:
    """Plan what fits now with the most urgent of the rest, between promises to the oldest jobs.

    At each decision the jobs that fit now and the `blocked` most urgent others are planned. The plan minimises the sum
    of weight times start. A job's weight is its bounded slowdown by its duration, and grows with its age. Who is
    planned to start now, starts.

    The `guards` oldest jobs are promised a start, which the plan has to respect: before they have waited `patience`
    times as long as the longest wait under EASY so far, or 12 h. EASY's schedule of the same jobs is kept beside the
    real one, as far as their run times have become known.

    On up to 256 nodes, every planned job has nodes of its own, and of the oldest jobs only the first one is promised a
    start, its earliest, once it is past its time. On more nodes the plan knows the sums of the resources alone: a job
    starts if there is room for it on the nodes, and if there is none for the oldest of those that are past their time,
    nobody starts who would delay it.

    Parameters
    ----------
    patience
        Above 0; ``inf`` for no promises and no ageing. Smaller values lower the longest wait and raise the means.
    blocked
        How many jobs are planned that cannot start now, at least 0.
    iterations
        How many orders the local search tries, at least 0.
    guards
        How many jobs are promised a start, at least 0.
    tolerance
        In [0, 1]. A young job may be put off past its earliest start by this part of the time it has left.
    placement
        ``"first-fit"`` or ``"best-fit"``.

    Raises
    ------
    ValueError
        For a value outside its range.
    """

    uses: ClassVar[tuple[str, ...]] = ("numba",)

    def __init__(
        self,
        patience: float = 0.9,
        blocked: int = 3,
        iterations: int = 60,
        guards: int = 30,
        tolerance: float = 0.5,
        placement: PlacementRule = "first-fit",
    ) -> None:
        if not patience > 0:
            raise ValueError(f"patience must be > 0, got {patience}")
        for name, value in (("blocked", blocked), ("iterations", iterations), ("guards", guards)):
            if value < 0:
                raise ValueError(f"{name} must be >= 0, got {value}")
        if not 0 <= tolerance <= 1:
            raise ValueError(f"tolerance must be in [0, 1], got {tolerance}")
        check_choice("placement", placement, PlacementRule)
        self.patience = patience
        self.blocked = blocked
        self.iterations = iterations
        self.guards = guards
        self.tolerance = tolerance
        self.placement = placement
        self.reset(None)

    def reset(self, machine: Machine | None, rng: np.random.Generator | None = None) -> None:
        """Forget the jobs seen; nothing is drawn from `rng`."""
        self._machine: Machine | None = None
        self._history: History | None = None
        self._record: dict[str, Any] = {}

    def report(self) -> Mapping[str, Any]:
        """Return what is to be known of the last decision.

        ``candidates``: jobs planned. ``intervals``: those and the running ones. ``requested``, ``available``: resource
        units that the candidates ask for and that are free. ``status``: ``none`` (nobody fits now), ``trivial`` (all
        fit), ``feasible``. ``objective``: of the plan. ``used``: whose plan, ``list`` or ``search``, or ``none``.
        ``promises``: jobs that were promised a start. ``due_hours``: the wait they are promised not to exceed.
        """
        return self._record

    def dispatch(self, state: State) -> Sequence[Action]:
        """Bring the history up to date, plan, and start who is planned to start now."""
        history = self._history
        if history is None or self._machine is not state.machine:
            self._machine = state.machine
            history = self._history = History(state.machine, state.now)
        queue, running = history.update(state)
        needs = history.jobs.need[queue]
        free = state.free.sum(axis=0)
        space = space_of(state, self.placement)
        fits = (needs <= free).all(axis=1)
        if isinstance(space, NodeSpace):
            fits &= [space.room(waiting.demand, waiting.nodes) >= waiting.nodes for waiting in state.queue]
        settings = self._settings(history, state.now)
        self._record = {
            "candidates": 0, "intervals": len(running), "requested": 0, "available": int(free.sum()), "status": "none",
            "objective": math.nan, "used": "none", "promises": 0,
            "due_hours": settings.due / 3600 if settings.due >= 0 else math.inf,
        }  # fmt: skip
        if not fits.any():
            return []
        if fits.all() and (needs.sum(axis=0) <= free).all():
            placed = place_all(space, state.queue)
            if placed is not None:
                self._record |= {
                    "candidates": len(queue), "intervals": len(queue) + len(running), "requested": int(needs.sum()),
                    "status": "trivial", "objective": 0.0,
                }  # fmt: skip
                return self._take(state, history, zip(state.queue, placed, queue.tolist(), strict=True))
        waiting = self._queue(state, history, queue, fits)
        if isinstance(space, NodeSpace) and len(state.free) <= MOST_NODES:
            actions = self._on_nodes(state, history, space, queue, waiting, settings)
        else:
            actions = self._pooled(state, history, space, queue, waiting, free, settings)
        if not actions and not len(running):
            place = int(np.flatnonzero(fits)[0])  # Nothing else will happen: the first that fits may not wait.
            actions = self._begin(state, history, space, [state.queue[place]], queue[[place]], None)
        return actions

    def _settings(self, history: History, now: int) -> Settings:
        due, age = -1, -1.0
        if math.isfinite(self.patience):
            due = max(LEAST_DUE, int(self.patience * history.longest_wait(now)))
            age = AGE_SHARE * due
        return Settings(due, float(self.tolerance), self.blocked, self.guards, self.iterations, age)

    @staticmethod
    def _queue(state: State, history: History, queue: IntArray, fits: NDArray[np.bool_]) -> Queue:
        jobs = history.jobs
        return Queue(state.now - jobs.submit[queue], jobs.duration[queue], jobs.need[queue], history.share[queue], fits)

    def _on_nodes(
        self, state: State, history: History, space: NodeSpace, queue: IntArray, waiting: Queue, settings: Settings
    ) -> list[Action]:
        """Start who is to start now by a plan that knows the nodes."""
        found = plan_on_nodes(state, waiting, settings, self.placement)
        self._record |= {
            "candidates": found.candidates, "intervals": found.candidates + len(state.running),
            "requested": found.requested, "status": "feasible", "objective": found.objective,
            "used": "search" if found.searched else "list", "promises": int(found.promised),
        }  # fmt: skip
        chosen = [(state.queue[place], nodes, int(queue[place])) for place, nodes in found.start]
        return self._take(state, history, [entry for entry in chosen if space.put(entry[1], entry[0].demand)])

    def _pooled(
        self,
        state: State,
        history: History,
        space: PoolSpace | NodeSpace,
        queue: IntArray,
        waiting: Queue,
        free: IntArray,
        settings: Settings,
    ) -> list[Action]:
        """Start who is to start now by a plan in sums of resources, where there is room for it on the nodes."""
        _, ends, _, amounts = held(state, pooled=True)
        found: Plan = plan(waiting, Held(ends, amounts, free), settings)
        self._record |= {
            "candidates": found.candidates, "intervals": found.candidates + len(state.running),
            "requested": int(found.requested), "status": "feasible", "objective": float(found.objective),
            "used": "search" if found.searched else "list", "promises": int(found.promises),
        }  # fmt: skip
        overdue = None if found.overdue < 0 else state.queue[found.overdue]
        chosen = [state.queue[place] for place in found.start]
        return self._begin(state, history, space, chosen, queue[found.start], overdue)

    @staticmethod
    def _take(state: State, history: History, placed: Iterable[tuple[Waiting, Placement, int]]) -> list[Action]:
        """Start jobs for which room is taken already."""
        actions: list[Action] = []
        for waiting, placement, row in placed:
            actions.append(Start(waiting, placement))
            history.start(row, state.now, waiting.predicted)
        return actions

    def _begin(
        self,
        state: State,
        history: History,
        space: PoolSpace | NodeSpace,
        chosen: Sequence[Waiting],
        rows: IntArray,
        overdue: Waiting | None,
    ) -> list[Action]:
        """Start who finds room, in this order, and on nodes does not delay the one who is overdue."""
        guard = None
        if overdue is not None and isinstance(space, NodeSpace):
            guard = shadow_of(state.now, space.free, overdue, state.running)
        actions: list[Action] = []
        for waiting, row in zip(chosen, rows.tolist(), strict=True):
            placement = space.place(waiting.nodes, waiting.demand)
            if placement is None:
                continue
            if guard is not None and overdue is not None and state.now + waiting.predicted > guard[0]:
                shift(guard[1], placement, waiting.demand, -1)
                if int(count_slots(guard[1], overdue.demand).sum()) < overdue.nodes:
                    shift(guard[1], placement, waiting.demand, 1)
                    space.give(placement, waiting.demand)
                    continue
            actions.append(Start(waiting, placement))
            history.start(row, state.now, waiting.predicted)
        return actions
