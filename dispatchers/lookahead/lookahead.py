"""Age-weighted look-ahead with guarantees that bound the longest wait."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypedDict, Unpack

import numpy as np

from ...base.checks import EACH_STEP, MOST_STEPS, Checked, number, whole
from ...base.time_texts import seconds_option
from ...models import PlacementRule
from ...models.lookahead.guarantees import PlanSettings, doubts, settle
from ...models.lookahead.planning import TO_PLAN, first_to_start, without_plan
from ..compiled_steps import CompiledSteps
from ..options import Configured, ReserveBy, internal
from ..protocol import Action, Start, State, Wake
from ..space import NodeSpace, place_all, space_of
from .compiled_lookahead import CompiledLookahead
from .history import History
from .instant import ORIGINS, Decision, DecisionInput, RoomUnderRules, decided
from .node_plan import plan_on_nodes
from .pool_plan import plan_by_walltimes, plan_on_pool, put

_Steps = Annotated[int, whole(0, MOST_STEPS, EACH_STEP)]


@dataclass(frozen=True)
class LookaheadOptions(Checked):
    """Options of :class:`Lookahead`.

    Attributes
    ----------
    patience
        Above 0. ``inf`` for no guarantees and no ageing. Larger values raise the longest wait and lower the means.
    least_due
        Smallest guaranteed limit of a wait, in seconds or as ``12h``, at least 1 s.
    recent
        How long a long wait under EASY counts after the job has started there, in seconds or as ``28d``, at least 1 s.
        ``inf`` for ever.
    blocked
        Number of planned jobs that cannot start now, at least 0.
    iterations
        Number of orders in the local search, at least 0.
    guards
        Number of jobs with a guaranteed start, at least 0.
    tolerance
        In [0, 1]. How far a young job may be delayed past its earliest start, as a share of its time left.
    placement
        ``"first-fit"``, ``"best-fit"`` or ``"compact"``.
    reserve_by
        ``"predictions"``: guaranteed starts use predicted run times, anew at each decision. ``"walltimes"``: they use
        walltimes, and a guarantee stays until the job starts. Only on a pool, and for jobs on their own request.
        Elsewhere predictions count.
    trust
        Above 0. ``inf`` for always. Predictions are trusted until the first job has waited this multiple of its
        guaranteed wait. Until it has started, guarantees use walltimes, and no job starts that would delay one by its
        walltime. On nodes, plans use walltimes too.
    """

    patience: Annotated[float, number(above=0, infinite=True)] = 0.9
    least_due: float | str = "12h"
    recent: float | str = internal(math.inf)
    blocked: _Steps = 3
    iterations: _Steps = 60
    guards: _Steps = 5
    tolerance: Annotated[float, number(least=0, most=1)] = internal(0.5)
    placement: PlacementRule = "first-fit"
    reserve_by: ReserveBy = field(default="predictions", metadata={"was": "promises"})
    trust: Annotated[float, number(above=0, infinite=True)] = internal(1.4)

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.least_due_seconds, self.recent_seconds

    @cached_property
    def least_due_seconds(self) -> int:
        """Smallest guaranteed limit of a wait, seconds."""
        return seconds_option("least_due", self.least_due, 1)

    @cached_property
    def recent_seconds(self) -> int:
        """How long a long wait under EASY counts, seconds."""
        return seconds_option("recent", self.recent, 1, infinite=True)


class LookaheadGiven(TypedDict, total=False):
    """The options of :class:`LookaheadOptions` by name, for type checkers."""

    patience: float
    least_due: float | str
    recent: float | str
    blocked: _Steps
    iterations: _Steps
    guards: _Steps
    tolerance: float
    placement: PlacementRule
    reserve_by: ReserveBy
    trust: float


class Lookahead(Configured[LookaheadOptions]):
    """Plans the jobs that fit now and the most urgent others, around guaranteed starts of the oldest jobs.

    Each decision plans the jobs that fit now and the `blocked` most urgent others. The plan minimises the sum of weight
    times start. A job's weight is its bounded slowdown over its duration, and grows with its age. Jobs planned to start
    now do so.

    The `guards` oldest jobs get guaranteed starts, which the plan must keep. They start before they have waited
    `patience` times the longest wait under EASY so far (or recently, see `recent`), or `least_due`. EASY's schedule of
    the same jobs is kept beside the real one, as far as run times are known.

    A plan contains no job that lacks a licence, power, or room in a limit. The first of these keeps what it lacks.

    On up to 256 nodes, every planned job and every guarantee has its own nodes. On more nodes only starting jobs have
    nodes, and later ones share the sums of resources.

    The options are those of :class:`LookaheadOptions`, which lists the errors.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.dispatchers import Lookahead
    >>> workload = hd.generate("lublin", jobs=200, processors=64, load=0.9, seed=1)
    >>> means = {name: hd.simulate(workload, name).summary()["wait_mean"] for name in ("easy", "lookahead")}
    >>> means["lookahead"] < means["easy"]
    True
    >>> hd.simulate(workload, Lookahead(patience=3, guards=2)).summary()["jobs"]
    200
    """

    Options = LookaheadOptions
    on_profile: ClassVar[bool] = True
    plans_closures: ClassVar[bool] = True

    if TYPE_CHECKING:

        def __init__(self, options: LookaheadOptions | None = None, /, **given: Unpack[LookaheadGiven]) -> None: ...

    def forget(self) -> None:
        """Drop all jobs."""
        self._history: History | None = None
        self._told: int | None = None
        self._record: dict[str, Any] = {}

    def use_longest_wait(self, seconds: int) -> None:
        """Set the longest wait under EASY so far, seconds, from an outer dispatcher. Valid until the next call."""
        self._told = seconds

    def report(self) -> Mapping[str, Any]:
        """Return data of the last decision.

        * ``candidates``: planned jobs. ``intervals``: these and the running ones.
        * ``requested``, ``available``: resource units that the candidates need, and that are free.
        * ``status``: ``none`` (no job fits now), ``trivial`` (all fit), ``feasible``.
        * ``objective``: of the plan. ``used``: its origin, ``list``, ``search`` or ``none``.
        * ``guarantees``: jobs with a guaranteed start. ``due_hours``: their guaranteed limit of the wait.
        * ``literally``: whether predictions were not trusted.
        """
        return self._record

    def dispatch(self, state: State) -> Sequence[Action]:
        """Update the history, plan, and start the jobs planned for now."""
        ruled = RoomUnderRules.of(state, self.options.placement)
        if ruled is not None:
            state = ruled.state
        history = self._brought_forward(state)
        longest_wait = history.longest_wait(state.now) if self._told is None and history is not None else self._told
        settings = self._settled(longest_wait or 0)
        doubting = len(state.queue) > 0 and doubts(settings, state.now - state.queue[0].job.submit)
        seen = DecisionInput.of(state, self.options.placement, doubting, ruled)
        decision = self._decide(seen, settings, history)
        self._record = {
            "candidates": decision.candidates,
            "intervals": decision.candidates + len(state.running),
            "requested": decision.requested,
            "available": sum(seen.available),
            "status": ORIGINS["status"][decision.origin],
            "objective": decision.objective,
            "used": ORIGINS["used"][decision.origin],
            "guarantees": decision.guarantees,
            "literally": int(doubting),
            "due_hours": settings.due / 3600 if settings.due >= 0 else math.inf,
        }
        wakes = []
        if history is not None and decision.guaranteed is not None:
            history.guarantee(decision.guaranteed)
            later = decision.guaranteed[decision.guaranteed > 0]
            wakes = [Wake(state.now + int(later.min()))] if len(later) else []
        if history is not None and decision.starts:
            history.start(state.queue[place].id for place, _ in decision.starts)
        starts = [Start(state.queue[place], placement) for place, placement in decision.starts]
        if self.options.placement == "compact" and starts and ruled is None:
            starts = _compacted(state, starts)
        return [*starts, *wakes]

    def _brought_forward(self, state: State) -> History | None:
        """Update the history. ``None`` if it is not needed."""
        by_walltimes = self.options.reserve_by == "walltimes"
        if self._told is not None and not by_walltimes:
            return None
        if self._history is None or self._history.machine is not state.machine:
            self._history = History(state.machine, state.now, by_walltimes, self.options.recent_seconds)
        self._history.see(state)
        return self._history

    def settings(self) -> PlanSettings:
        """Return the settings before due times are known."""
        chosen = self.options
        due = chosen.least_due_seconds
        return PlanSettings(
            due, float(chosen.tolerance), chosen.blocked, chosen.guards, chosen.iterations, -1.0, float(chosen.trust)
        )

    def steps_on_pool(self, *jobs_and_capacity: Any) -> CompiledSteps | None:
        """Return the compiled simulation of a trace, see :class:`.CompiledLookahead`. ``None`` if the engine must."""
        if type(self) is not Lookahead or self.options.reserve_by == "walltimes":
            return None
        patience = float(self.options.patience)
        recent = self.options.recent_seconds
        return CompiledLookahead(self.settings(), patience, recent, *jobs_and_capacity)

    def told_settings(self) -> PlanSettings | None:
        """Return the settings until the next external longest wait. ``None`` if it keeps its own history."""
        if self._told is None or self.options.reserve_by == "walltimes":
            return None
        return self._settled(self._told)

    def _settled(self, longest_wait: int) -> PlanSettings:
        return settle(self.settings(), float(self.options.patience), longest_wait)

    def _decide(self, seen: DecisionInput, settings: PlanSettings, history: History | None) -> Decision:
        placed = place_all(seen.space, seen.state.queue) if seen.together else None
        planned = without_plan(seen.amount, seen.fits, placed is not None)
        if planned.origin != TO_PLAN:
            return decided(list(enumerate(placed or ())), planned)
        if isinstance(seen.space, NodeSpace):
            decision = plan_on_nodes(seen, settings, self.options.placement)
        elif self.options.reserve_by == "walltimes" and history is not None:
            decision = plan_by_walltimes(seen, settings, history)
        else:
            decision = plan_on_pool(seen, settings)
        if not (decision.starts or seen.state.running or seen.closures):
            guaranteed = np.zeros(0, dtype=np.int64) if decision.guaranteed is None else decision.guaranteed
            decision = replace(decision, starts=put(seen, [first_to_start(seen.fits, guaranteed)]))
        return decision


def _compacted(state: State, starts: list[Start]) -> list[Start]:
    """Return the starts of a plan on nodes in few groups. The plan's own nodes if not all fit there."""
    placed = place_all(space_of(state, "compact"), [start.job for start in starts])
    return (
        starts
        if placed is None
        else [replace(each, placement=nodes) for each, nodes in zip(starts, placed, strict=True)]
    )
