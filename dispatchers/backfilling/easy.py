"""EASY backfilling: a reservation for the first blocked job only."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from operator import attrgetter
from typing import ClassVar, Literal

from ...base import check_whole
from ..options import Preset, ReserveBy
from ..profile import Profile
from ..protocol import Action, Running, Start, State, Waiting, by_end
from ..rule_book import has_rules
from ..space import space_of
from .counted import indexed, start_at
from .orders import OrderOption, QueueOrder, create_order, is_submission, sort_jobs

_by_prediction = attrgetter("predicted")


@dataclass(frozen=True)
class EASY(OrderOption):
    """First come, first served with EASY backfilling (Lifka, JSSPP 1995; Mu'alem and Feitelson, TPDS 2001).

    The first job that does not fit gets a reservation at the shadow time. That is the earliest time with enough free
    amounts, by predictions. A job behind it starts now if it fits and does not delay the reservation. Either its
    predicted end is before the shadow time, or it uses only extra nodes. On machines of many nodes and resources the
    check is direct: does the reserved job still fit at the shadow time beside it?

    Closed nodes, licences, limits and power are on the profile of the state. So the reservation heeds them, too.

    Other orders and several reservations are possible. All reservations are made anew at every decision.

    Attributes
    ----------
    placement
        ``"first-fit"`` fills nodes in their order. ``"best-fit"`` fills the node with the least free share first.
        ``"compact"`` uses few groups of the machine's levels.
    order
        Order in which waiting jobs are tried: ``"submission"``, ``"priority"``, ``"sjf"``, ``"fairshare"`` or another
        registered one, with its options as in ``fairshare:half_life=3600``. Or an object with ``ranks(state)``.
    queues
        Names of queues with ``;`` between, highest priority first. Jobs are tried queue by queue, in `order` within
        each. Jobs of other queues come last. By default there is one queue.
    backfill
        Order in which jobs behind the reservations are tried: ``"order"``, as the queue. ``"shortest"``: shortest
        predicted job first. Or another order, by its name or as an object.
    depth
        Number of reservations for jobs that do not fit. 0 for none: all behind the first wait. 1 is EASY. ``"all"`` for
        all.
    strict
        Whether a job that does not fit gets a reservation. Without, jobs start in order wherever they fit.
    reserve_by
        ``"predictions"``: shadow time and ends use predicted run times. ``"walltimes"``: they use walltimes. If
        walltimes hold, no job starts after its reservation. Predictions then only decide which job is the shortest.

    Raises
    ------
    ValueError
        If a queue appears twice, or a value is none of these.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.dispatchers import EASY
    >>> from hpcdispatch.testing import tiny
    >>> hd.simulate(tiny(), EASY(backfill="sjf", depth=2)).jobs["start"].tolist()
    [0, 0, 100, 20, 160]
    """

    reserve_by: ReserveBy = field(default="predictions", metadata={"was": "promises"})
    _: KW_ONLY
    queues: str = ""
    backfill: str | QueueOrder = "order"
    depth: int | Literal["all"] = 1
    strict: bool = True
    uses: ClassVar[tuple[str, ...]] = ("numba",)
    on_profile: ClassVar[bool] = True
    plans_closures: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.depth != "all":
            check_whole("depth (or 'all')", self.depth, 0)
        names = self.queues.split(";") if self.queues else []
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"queues must name each queue once, got {name!r} {names.count(name)} times")
        self._backfill  # noqa: B018 - an unknown order is an error at once

    @cached_property
    def compiled(self) -> bool:
        """Whether compiled code has the policy: in order of submission, with one reservation."""
        plain = is_submission(self.order) and not self.queues and self.depth == 1 and self.strict
        return plain and (self.in_order or self.shortest_first)

    @property
    def in_order(self) -> bool:
        """Whether jobs are backfilled in the order of the queue."""
        return isinstance(self.backfill, str) and self.backfill == "order"

    @property
    def shortest_first(self) -> bool:
        """Whether the shortest predicted job is backfilled first."""
        return isinstance(self.backfill, str) and self.backfill == "shortest"

    @cached_property
    def _backfill(self) -> QueueOrder | None:
        return None if self.in_order else create_order("sjf" if self.shortest_first else self.backfill)

    @cached_property
    def _ranks(self) -> dict[str, int]:
        return {name: rank for rank, name in enumerate(self.queues.split(";"))}

    def dispatch(self, state: State) -> Sequence[Action]:
        """Start jobs from the head of the queue, then backfill behind jobs with reservations."""
        counted = self.compiled and self.reserve_by == "predictions" and not has_rules(state)
        index = indexed(state) if counted else None
        if index is not None:
            chosen = index.by_easy(state, self.shortest_first) if state.free.any() else ()
            return start_at(state, space_of(state, self.placement), chosen) if chosen else ()
        started = self.backfill_on(state.profile(self.placement, self.reserve_by), state, self._queue(state))
        self.tell_order(started, state.now)
        return started

    def backfill_on(self, room: Profile, state: State, queue: Sequence[Waiting]) -> list[Start]:
        """Start jobs in order, reserve for the first that do not fit, and start jobs that delay none of these."""
        started = room.start_now(queue, skip=not self.strict)
        behind = room.behind
        most = len(behind) if self.depth == "all" else self.depth
        if not self.strict or most == 0 or len(behind) < 2:
            return started
        if most == 1:
            room.keep(behind[0])
            return started + room.start_now(self._candidates(state, behind[1:]))
        reserved = tried = 0
        while tried < len(behind) and reserved < most:
            waiting = behind[tried]
            tried += 1
            fit = room.earliest(waiting)
            if fit is None:
                continue
            room.take(waiting, *fit)
            if fit[0] == state.now:
                started.append(Start(waiting, fit[1]))
            else:
                reserved += 1
        return started + room.start_now(self._candidates(state, behind[tried:]))

    def _queue(self, state: State) -> Sequence[Waiting]:
        queue = self.sorted_queue(state)
        if self.queues:
            ranks, last = self._ranks, len(self._ranks)
            queue = sorted(queue, key=lambda waiting: ranks.get(waiting.job.queue, last))
        return queue

    def _candidates(self, state: State, behind: Sequence[Waiting]) -> Sequence[Waiting]:
        """Return the jobs behind the reservations in the order of backfilling."""
        if self._backfill is None:
            return behind
        if self.shortest_first:
            return sorted(behind, key=_by_prediction)
        chosen = {id(waiting) for waiting in behind}
        return [waiting for waiting in sort_jobs(self.backfill, self._backfill, state) if id(waiting) in chosen]


EASYSJBF = Preset(
    EASY,
    EASY(backfill="shortest"),
    "EASY that backfills the shortest predicted job first (Tsafrir, TPDS 2007).",
    frozenset({"backfill"}),
)
#: By queues, in strict order, with a backfill depth of 1: the default of PBS Professional (Altair PBS Professional
#: Administrator's Guide, chapter on scheduling). Without its fair share and limits per user.
PBS = Preset(EASY, EASY(), "EASY in order of the priority of queues, as a model of PBS Professional.")


def walltime_order(now: int, ending: Sequence[Running]) -> Sequence[Running]:
    """Return running jobs with the ends of their walltimes as predictions, in that order."""
    return sorted((run.shown_as(predicted_end=run.walltime_end(now)) for run in ending), key=by_end)
