"""Age-weighted look-ahead with guarantees that bound the longest wait."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

from ...base import IntArray
from ...base.checks import EACH_STEP, MOST_STEPS, check_choice, check_number, check_whole
from ...base.time_texts import seconds_option
from ...models import PlacementRule
from ...models.lookahead import Settings, doubts, settle
from ..moldable.job_modes import JobModes
from ..options import Configured, ReserveBy, internal
from ..protocol import Action, Start, State, Wake
from ..space import NodeSpace, place_all
from .history import History
from .instant import Decision, Instant
from .mode_plan import plan_in_modes
from .node_plan import plan_on_nodes
from .pool_plan import plan_by_walltimes, plan_on_pool, put


@dataclass(frozen=True)
class LookaheadOptions:
    """What :class:`Lookahead` takes.

    Attributes
    ----------
    patience
        Above 0; ``inf`` for no guarantees and no ageing. Smaller values lower the longest wait and raise the means.
    least_due
        Least wait that is guaranteed not to be exceeded, in seconds or as ``12h``, at least 1 s.
    recent
        For how long a long wait under EASY counts once the job has started there, in seconds or as ``28d``, at least
        1 s; ``inf`` for ever.
    blocked
        How many jobs are planned that cannot start now, at least 0.
    iterations
        How many orders the local search tries, at least 0.
    guards
        How many jobs are guaranteed a start, at least 0.
    tolerance
        In [0, 1]. A young job may be put off past its earliest start by this part of the time it has left.
    placement
        ``"first-fit"`` or ``"best-fit"``.
    reserve_by
        ``"predictions"``: guaranteed starts are computed with predicted run times, anew at each decision.
        ``"walltimes"``: with walltimes, and a guarantee stands until the job starts. Only on a pool, and for jobs that
        run on their own request; elsewhere guaranteed starts go by predictions.
    trust
        Above 0; ``inf`` for always. Predictions are trusted until the first job has waited this many times its
        guaranteed wait. Until it has started, starts are then guaranteed by walltimes, and no job starts that would
        delay one by its walltime. On nodes, and with jobs of several shapes, plans go by walltimes, too.
    molds
        Whether a moldable job may run on any of its shapes, so that size and start are decided together; otherwise it
        runs on its own request.
    """

    patience: float = 0.9
    least_due: float | str = "12h"
    recent: float | str = internal(math.inf)
    blocked: int = 3
    iterations: int = 60
    guards: int = 5
    tolerance: float = internal(0.5)
    placement: PlacementRule = "first-fit"
    reserve_by: ReserveBy = field(default="predictions", metadata={"was": "promises"})
    trust: float = internal(1.4)
    molds: bool = False

    def __post_init__(self) -> None:
        check_number("patience", self.patience, above=0, infinite=True)
        check_number("trust", self.trust, above=0, infinite=True)
        _ = self.least_due_seconds, self.recent_seconds
        for name in ("blocked", "iterations", "guards"):
            check_whole(name, getattr(self, name), 0, MOST_STEPS, EACH_STEP)
        check_number("tolerance", self.tolerance, least=0, most=1)
        check_choice("placement", self.placement, PlacementRule)
        check_choice("reserve_by", self.reserve_by, ReserveBy)

    @cached_property
    def least_due_seconds(self) -> int:
        """The least wait that is guaranteed not to be exceeded."""
        return seconds_option("least_due", self.least_due, 1)

    @cached_property
    def recent_seconds(self) -> int:
        """For how long a long wait under EASY counts."""
        return seconds_option("recent", self.recent, 1, infinite=True)


class Lookahead(Configured[LookaheadOptions]):
    """Plan what fits now with the most urgent of the rest, between guarantees to the oldest jobs.

    At each decision the jobs that fit now and the `blocked` most urgent others are planned. The plan minimises the sum
    of weight times start. A job's weight is its bounded slowdown by its duration, and grows with its age. Who is
    planned to start now, starts.

    The `guards` oldest jobs are guaranteed a start, which the plan has to respect: before they have waited `patience`
    times as long as the longest wait under EASY so far (or of late, `recent`), or `least_due`. EASY's schedule of the
    same jobs is kept beside the real one, as far as their run times have become known.

    On up to 256 nodes, every planned job and every guarantee has nodes of its own. On more nodes those that start now
    do, and what starts later shares the sums of the resources.

    With `molds` the plan minimises the sum of weight times end, on any number of nodes in sums of the resources.
    Weights are those of the fastest sizes. A start is guaranteed on the first size; on another one a job ends no later.

    Its options are those of :class:`LookaheadOptions`, which says what is refused.
    """

    Options = LookaheadOptions
    uses: ClassVar[tuple[str, ...]] = ("numba",)
    plans_closures: ClassVar[bool] = True

    def forget(self) -> None:
        """Forget the jobs seen."""
        self._history: History | None = None
        self._modes = JobModes()
        self._told: int | None = None
        self._record: dict[str, Any] = {}

    def use_longest_wait(self, seconds: int) -> None:
        """Take the longest wait under EASY so far, seconds, from somebody who keeps its schedule, until told anew."""
        self._told = seconds

    def report(self) -> Mapping[str, Any]:
        """Return what is to be known of the last decision.

        ``candidates``: jobs planned. ``intervals``: those and the running ones. ``requested``, ``available``: resource
        units that the candidates ask for and that are free. ``status``: ``none`` (nobody fits now), ``trivial`` (all
        fit), ``feasible``. ``objective``: of the plan. ``used``: whose plan, ``list`` or ``search``, or ``none``.
        ``guarantees``: jobs that were guaranteed a start. ``due_hours``: the wait they are guaranteed not to exceed.
        ``literally``: whether predictions were not trusted.
        """
        return self._record

    def dispatch(self, state: State) -> Sequence[Action]:
        """Bring the history up to date, plan, and start who is planned to start now."""
        history = self._brought_forward(state)
        longest_wait = history.longest_wait(state.now) if self._told is None and history is not None else self._told
        settings = self._settled(longest_wait or 0)
        doubting = len(state.queue) > 0 and doubts(settings, state.now - state.queue[0].job.submit)
        seen = Instant.of(state, self.options.placement, doubting)
        decision = self._decide(seen, settings, history)
        self._record = {
            "candidates": decision.candidates, "intervals": decision.candidates + len(state.running),
            "requested": decision.requested, "available": sum(seen.available), "status": decision.status,
            "objective": decision.objective, "used": decision.used, "guarantees": decision.guarantees,
            "literally": int(doubting), "due_hours": settings.due / 3600 if settings.due >= 0 else math.inf,
        }  # fmt: skip
        wakes = []
        if history is not None and decision.guaranteed is not None:
            wakes = self._keep(decision.guaranteed, history, state.now)
        if history is not None and decision.starts:
            history.start(state.queue[place].id for place, _ in decision.starts)
        starts = [Start(state.queue[place], placement) for place, placement in decision.starts]
        for start, mode in zip(starts, decision.modes, strict=False):
            start.shape = mode.shape
        return [*starts, *wakes]

    def _brought_forward(self, state: State) -> History | None:
        """Bring the history up to date; ``None`` if nothing is asked of it."""
        by_walltimes = self.options.reserve_by == "walltimes"
        if self._told is not None and not by_walltimes:
            return None
        if self._history is None or self._history.machine is not state.machine:
            self._history = History(state.machine, state.now, by_walltimes, self.options.recent_seconds)
        self._history.see(state)
        return self._history

    def _keep(self, guaranteed: IntArray, history: History, now: int) -> list[Wake]:
        """Remember what is guaranteed, and come back when the first of it is due."""
        history.guarantee(guaranteed)
        later = guaranteed[guaranteed > 0]
        return [Wake(now + int(later.min()))] if len(later) else []

    def settings(self) -> Settings:
        """Return how to plan, before anything is known of due times."""
        chosen = self.options
        due = chosen.least_due_seconds
        return Settings(
            due, float(chosen.tolerance), chosen.blocked, chosen.guards, chosen.iterations, -1.0, float(chosen.trust)
        )

    def told_settings(self) -> Settings | None:
        """Return how it plans until it is told another longest wait; ``None`` where it keeps the jobs' history."""
        if self._told is None or self.options.reserve_by == "walltimes":
            return None
        return self._settled(self._told)

    def _settled(self, longest_wait: int) -> Settings:
        return settle(self.settings(), float(self.options.patience), longest_wait)

    def _decide(self, seen: Instant, settings: Settings, history: History | None) -> Decision:
        """Start everybody if there is room, else who is planned to start now; no plan if nobody fits."""
        fits, queue = seen.fits, seen.state.queue
        if self.options.molds and any(waiting.job.shapes for waiting in queue):
            return plan_in_modes(seen, settings, self._modes)
        if not fits.any():
            return Decision()
        if seen.together:
            placed = place_all(seen.space, queue)
            if placed is not None:
                return Decision(list(enumerate(placed)), "trivial", len(placed), int(seen.amount.sum()), 0.0)
        if isinstance(seen.space, NodeSpace):
            planned = plan_on_nodes(seen, settings, self.options.placement)
        elif self.options.reserve_by == "walltimes" and history is not None:
            return plan_by_walltimes(seen, settings, history)
        else:
            planned = plan_on_pool(seen, settings)
        if not (planned.starts or seen.state.running or seen.closures):
            # Nothing else will happen: the first that fits may not wait.
            planned = replace(planned, starts=put(seen, [int(fits.argmax())]))
        return planned
