"""On-the-fly dispatching, without any guarantee."""

import math
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypedDict, Unpack

from ...base import InputError
from ...base.checks import Checked, number
from ...models import PlacementRule
from ...models.backfilling.job_queue import LONGEST, SHORTEST
from ...models.onthefly import RemainingTimes
from ..backfilling.counted import indexed, start_at
from ..options import Configured, Preset
from ..protocol import Action, Start, State, Waiting
from ..rule_book import has_rules
from ..space import space_of

#: Sort key: the prediction, or one of three numbers of the run-time law.
Order = Literal["estimate", "mean", "gittins", "quantile"]
#: Number of cached laws.
_KEPT = 4096


class LawOrder:
    """Remaining run times of waiting jobs, seconds, by their run-time laws.

    Parameters
    ----------
    order
        Which number: the mean, the reciprocal of the Gittins index, or a quantile. Or always the prediction.
    quantile
        Which quantile.
    """

    def __init__(self, order: Order, quantile: float) -> None:
        self.order = order
        self.quantile = quantile
        self._ready: dict[int, tuple[Any, RemainingTimes]] = {}
        self._found: dict[str, tuple[Waiting, float]] = {}

    def seconds(self, queue: Iterable[Waiting]) -> dict[str, tuple[Waiting, float]]:
        """Return entry and seconds of each waiting job by id, computed once per wait.

        Raises
        ------
        InputError
            For an unsuitable law, such as one without a mean. Names the job.
        """
        known, times = self._found, {}
        for entry in queue:
            kept = known.get(entry.id)
            times[entry.id] = kept if kept is not None and kept[0] is entry else (entry, self._seconds(entry))
        self._found = times
        return times

    def _seconds(self, entry: Waiting) -> float:
        """Return the remaining run time of a job. The prediction without a law, or past the law's end."""
        if entry.law is None or self.order == "estimate":
            return entry.predicted
        try:
            left = self._asked(self._of(entry.law), entry.done)
        except InputError as error:
            raise InputError(f"job {entry.id}: {error} (order={self.order})") from None
        return entry.predicted if left is None else left

    def _asked(self, remaining: RemainingTimes, done: int) -> float | None:
        if self.order == "mean":
            return remaining.mean(done)
        return remaining.gittins(done) if self.order == "gittins" else remaining.quantile(self.quantile, done)

    def _of(self, law: Any) -> RemainingTimes:
        """Return a prepared law. Jobs of one user or application often share one."""
        kept = self._ready.get(id(law))
        if kept is None:
            if len(self._ready) >= _KEPT:
                self._ready.clear()
            kept = self._ready[id(law)] = law, RemainingTimes(law)
        return kept[1]


_by_prediction = attrgetter("predicted")
_by_seconds = itemgetter(1)

#: Which job comes first.
First = Literal["shortest", "longest"]


@dataclass(frozen=True)
class OnTheFlyOptions(Checked):
    """Options of :class:`OnTheFly`.

    Attributes
    ----------
    first
        ``"shortest"`` or ``"longest"`` first.
    order
        Sort key, in seconds. ``"estimate"``: the prediction. With a known run-time law: its expected remaining time
        (``"mean"``), the reciprocal of its Gittins index (``"gittins"``), or a quantile of the remaining time
        (``"quantile"``). A job without a law uses the prediction.
    quantile
        Which quantile, between 0 and 1.
    drain
        Seconds after which all jobs wait for a large one. ``None`` lets it wait for ever, as in the paper.
    placement
        ``"first-fit"``, ``"best-fit"`` or ``"compact"``.
    """

    first: First = "shortest"
    order: Order = "estimate"
    quantile: Annotated[float, number(above=0, below=1)] = 0.5
    drain: Annotated[float | None, number(least=0)] = None
    placement: PlacementRule = "first-fit"


class OnTheFlyGiven(TypedDict, total=False):
    """The options of :class:`OnTheFlyOptions` by name, for type checkers."""

    first: First
    order: Order
    quantile: float
    drain: float | None
    placement: PlacementRule


class OnTheFly(Configured[OnTheFlyOptions]):
    """Start jobs by their estimates alone, as soon as there is room (Gainaru et al., IJHPCA 2019, section 4.2).

    Whenever something is free, the first job of the order that fits starts. Estimates are single numbers, or ranges and
    other run-time laws, from the predictor or the jobs. No job gets a reservation and no job is killed. A large job may
    wait for ever while smaller ones use each freed part. `drain` bounds that. Time counts from when the job did not fit
    and one with a smaller need started. After `drain` seconds all jobs wait until it fits. This never happens if all
    jobs have equal needs.

    The options are those of :class:`OnTheFlyOptions`.

    Attributes
    ----------
    ahead
        Ids of jobs that come before all others.
    """

    on_profile: ClassVar[bool] = True
    Options = OnTheFlyOptions
    ahead: Container[str] = ()

    if TYPE_CHECKING:

        def __init__(self, options: OnTheFlyOptions | None = None, /, **given: Unpack[OnTheFlyGiven]) -> None: ...

    def forget(self) -> None:
        """Drop the overtaken jobs."""
        drain = self.options.drain
        self._drain = math.inf if drain is None else drain
        self._passed: dict[str, int] = {}
        self._by_law = LawOrder(self.options.order, self.options.quantile)

    def ordered(self, queue: Iterable[Waiting]) -> list[Waiting]:
        """Return the queue in the order of the policy. Ties by submission."""
        longest = self.options.first == "longest"
        if self.options.order == "estimate":
            ordered = sorted(queue, key=_by_prediction, reverse=longest)
        else:
            pairs = sorted(self._by_law.seconds(queue).values(), key=_by_seconds, reverse=longest)
            ordered = [entry for entry, _ in pairs]
        return sorted(ordered, key=lambda waiting: waiting.id not in self.ahead) if self.ahead else ordered

    def dispatch(self, state: State) -> Sequence[Action]:
        """Start the jobs that fit, in order, unless a large job has waited long enough."""
        # The queue index serves where only predictions and free amounts matter.
        plain = self.options.order == "estimate" and not self.ahead and self._drain == math.inf
        index = indexed(state) if plain else None
        if index is not None:
            chosen = index.in_order(state, LONGEST if self.options.first == "longest" else SHORTEST, True)
            return start_at(state, space_of(state, self.options.placement), chosen) if chosen else []
        room = _RuledRoom(state, self.options.placement) if has_rules(state) else _Room(state, self.options.placement)
        if not any(room.totals):
            return []
        actions: list[Action] = []
        queue: Iterable[Waiting] = state.queue
        if self._passed:
            served = self._serve(state, room, actions)
            if served is None:
                return actions
            queue = served
        self._start(self.ordered(queue), room, actions, state.now)
        return actions

    def _serve(self, state: State, room: "_Room | _RuledRoom", actions: list[Action]) -> list[Waiting] | None:
        """Start jobs that were overtaken long ago. Return the others, or ``None`` if one must be awaited."""
        known = {entry.id: entry for entry in state.queue if entry.id in self._passed}
        self._passed = {id_: self._passed[id_] for id_ in known}
        for id_ in sorted(known, key=self._passed.__getitem__):
            if state.now - self._passed[id_] < self._drain:
                break
            starts, awaited = room.serve(known[id_])
            if awaited:
                return None
            if starts:
                actions += starts
                del known[id_], self._passed[id_]
        started = {action.job.id for action in actions if isinstance(action, Start)}
        return [entry for entry in state.queue if entry.id not in started]

    def _start(self, queue: Sequence[Waiting], room: "_Room | _RuledRoom", actions: list[Action], now: int) -> None:
        """Start the jobs that fit, and record overtaken jobs."""
        starts = room.start(queue)
        actions += starts
        if not starts or self._drain == math.inf:
            return
        gone = {id(start.job) for start in starts}
        started = {(start.job.nodes, *start.job.demand) for start in starts}
        passed: dict[tuple[int, ...], bool] = {}
        for waiting in queue:
            if id(waiting) in gone:
                continue
            asked = (waiting.nodes, *waiting.demand)
            if asked not in passed:
                passed[asked] = any(_less(taken, asked) for taken in started)
            if passed[asked]:
                self._passed.setdefault(waiting.id, now)


class _Room:
    """Free amounts, where the machine has no rules."""

    def __init__(self, state: State, placement: PlacementRule) -> None:
        self._space = space_of(state, placement)

    @property
    def totals(self) -> Sequence[int]:
        """The free amounts of each resource."""
        return self._space.totals

    def start(self, jobs: Iterable[Waiting]) -> list[Start]:
        """Return the starts of the jobs that fit, in order, and take their room."""
        starts = []
        for job in jobs:
            placement = self._space.place(job.nodes, job.demand)
            if placement is not None:
                starts.append(Start(job, placement))
        return starts

    def serve(self, job: Waiting) -> tuple[list[Start], bool]:
        """Return the start of a job if it fits, and else that others must wait for it."""
        starts = self.start((job,))
        return starts, not starts


class _RuledRoom:
    """The same from the profile of the state, where the machine has rules."""

    def __init__(self, state: State, placement: PlacementRule) -> None:
        self._profile = state.profile(placement)
        self.totals: Sequence[int] = state.free.sum(axis=0).tolist()

    def start(self, jobs: Sequence[Waiting]) -> list[Start]:
        """See :class:`_Room`."""
        return self._profile.start_now(jobs, keep_amounts=False)

    def serve(self, job: Waiting) -> tuple[list[Start], bool]:
        """See :class:`_Room`. A job that lacks only an amount of the whole machine, such as a licence, keeps that."""
        starts = self._profile.start_now((job,), skip=False)
        return starts, bool(self._profile.behind)


_FIRST = frozenset({"first"})
_ALONE = "no job gets a reservation, and none is killed; ties by submission."
SEJF = Preset(OnTheFly, OnTheFlyOptions("shortest"), f"On the fly, shortest estimated job first: {_ALONE}", _FIRST)
LEJF = Preset(OnTheFly, OnTheFlyOptions("longest"), f"On the fly, longest estimated job first: {_ALONE}", _FIRST)


def _less(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Return whether one request (slots, amounts) needs less of something than the other, per slot or in total."""
    return one != other and (
        any(mine < theirs for mine, theirs in zip(one[1:], other[1:], strict=True))
        or any(one[0] * mine < other[0] * theirs for mine, theirs in zip(one[1:], other[1:], strict=True))
    )
