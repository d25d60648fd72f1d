"""On-the-fly dispatching while all waiting jobs are alike, and soft reservations otherwise."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, TypedDict, Unpack

from ...base.checks import EACH_STEP, MOST_STEPS, Checked, number, whole
from ...models import PlacementRule
from ..options import Configured
from ..overlay import Booking
from ..protocol import Action, Placement, Running, Start, State, Stop, Waiting, Wake
from ..space import Space, space_of
from .booking import Ageing, Book
from .onthefly import First, OnTheFly, OnTheFlyOptions

#: Order in which soft reservations are made.
Reserve = Literal["priority", "submission", "shortest"]


@dataclass(frozen=True)
class HybridOptions(Checked):
    """Options of :class:`Hybrid`.

    Attributes
    ----------
    first
        ``"shortest"`` or ``"longest"`` estimate first, on the fly.
    drain
        Seconds after which all jobs wait for a large one, on the fly. ``None`` lets it wait for ever.
    placement
        ``"first-fit"``, ``"best-fit"`` or ``"compact"``.
    alike
        Share of the waiting jobs with equal requests that allows on-the-fly dispatching, above 0 and up to 1.
    reservations
        Largest number of reservations, at least 1.
    reserve
        Order of reservations. ``"priority"``: as in :class:`~.rbs.RBS`, long estimates first with gains for waiting.
        ``"submission"``. ``"shortest"``: by estimate. Preempted jobs always come first.
    cost
        Seconds that a job occupies its nodes without work while its checkpoint is written. A job with application
        checkpoints is killed instead, if its work since the last one is less.
    growth
        Growth of a job's total reservations per overrun, a factor above 1.
    threshold
        Seconds in the queue before a job gains priority.
    ageing
        Seconds between two gains.
    gain
        Value of a gain, in seconds of its estimate.
    """

    first: First = field(default="shortest", metadata={"was": "order"})
    alike: Annotated[float, number(above=0, most=1)] = 1.0
    reservations: Annotated[int, whole(1, MOST_STEPS, EACH_STEP)] = 100
    reserve: Reserve = "priority"
    cost: Annotated[int, number(least=0)] = 60
    growth: Annotated[float, number(above=1)] = 1.4
    threshold: float = 1200
    ageing: float = 1200
    gain: float = 1200
    drain: float | None = None
    placement: PlacementRule = "first-fit"

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.on_the_fly(), self.priority()

    def on_the_fly(self) -> OnTheFlyOptions:
        """Return the on-the-fly options. ``ValueError`` if one is out of its range."""
        return OnTheFlyOptions(self.first, drain=self.drain, placement=self.placement)

    def priority(self) -> Ageing:
        """Return the priority of reservations. ``ValueError`` if a number is out of its range."""
        return Ageing(self.threshold, self.ageing, self.gain)


class HybridGiven(TypedDict, total=False):
    """The options of :class:`HybridOptions` by name, for type checkers."""

    first: First
    alike: float
    reservations: int
    reserve: Reserve
    cost: int
    growth: float
    threshold: float
    ageing: float
    gain: float
    drain: float | None
    placement: PlacementRule


class Hybrid(Configured[HybridOptions]):
    """On the fly while the queue is alike, else soft reservations with backfilling (Gainaru et al., section 5.2).

    While all waiting jobs have equal requests, it is :class:`~.onthefly.SEJF` or :class:`~.onthefly.LEJF`. Otherwise
    every decision makes new reservations of the estimated lengths, in the order of :class:`~.rbs.RBS`. Jobs that fit
    before them start. A job that overruns its reservation keeps its nodes until the first waiting job could start on
    them. That job must need at least as much. Then the overrunning job is checkpointed and returns to the queue. There
    it comes first, except for the job that displaced it. Its next reservation is longer. No later job starts where it
    would delay the first one: that job starts at most `cost` seconds after its reservation, unless a job with a larger
    request overruns. No job loses more work than between two application checkpoints, or than fits into the writing of
    a checkpoint.

    The paper leaves three things open: the order of reservations, which job displaces which, and the length of the next
    reservation. It checkpoints every job that overruns its reservation.

    The options are those of :class:`HybridOptions`.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.dispatchers import Hybrid
    >>> from hpcdispatch.testing import stochastic
    >>> result = hd.simulate(stochastic(), Hybrid())
    >>> result.jobs["status"].value_counts().to_dict()
    {'completed': 40, 'killed': 0, 'rejected': 0}
    """

    on_profile: ClassVar[bool] = True
    plans_closures: ClassVar[bool] = True
    Options = HybridOptions

    if TYPE_CHECKING:

        def __init__(self, options: HybridOptions | None = None, /, **given: Unpack[HybridGiven]) -> None: ...

    def forget(self) -> None:
        """Drop all preempted and displacing jobs."""
        self._on_the_fly = OnTheFly(self.options.on_the_fly())
        self._priority = self.options.priority()
        #: Displacing jobs and preempted jobs, until they start.
        self._displacing: dict[str, None] = {}
        self._stopped: dict[str, None] = {}
        #: Of preempted jobs: total reserved time, end of the last reservation, and seconds of saved work.
        self._reserved: dict[str, int] = {}
        self._until: dict[str, int] = {}
        self._done: dict[str, int] = {}
        self._reserving = False

    def report(self) -> dict[str, int]:
        """Return whether the last decision made reservations."""
        return {"reserving": int(self._reserving)}

    def dispatch(self, state: State) -> Sequence[Action]:
        """Choose a mode by the queue, and dispatch."""
        asked = Counter((waiting.nodes, waiting.demand) for waiting in state.queue)
        self._reserving = max(asked.values(), default=0) < self.options.alike * len(state.queue)
        actions = self._reserve(state) if self._reserving else self._dispatch_on_the_fly(state)
        for action in actions:
            if isinstance(action, Start):
                self._started(action.job, state.now)
        return actions

    def _dispatch_on_the_fly(self, state: State) -> list[Action]:
        """Start jobs that fit, preempted ones first."""
        self._on_the_fly.ahead = self._stopped
        return list(self._on_the_fly.dispatch(state))

    def _seconds(self, waiting: Waiting) -> int:
        """Return the length of a reservation: the estimate, or longer after overruns."""
        before = self._reserved.get(waiting.id)
        if before is None:
            return waiting.predicted
        return max(waiting.predicted, int(before * (self.options.growth - 1)), 1)

    def _started(self, waiting: Waiting, now: int) -> None:
        if waiting.id in self._stopped:
            seconds = self._seconds(waiting)
            self._reserved[waiting.id] += seconds
            self._until[waiting.id] = now + seconds
            del self._stopped[waiting.id]
        self._displacing.pop(waiting.id, None)

    def _end(self, run: Running) -> int:
        """Return the end of a running job's reservation."""
        if run.stopping:
            return run.predicted_end
        end = max(run.predicted_end, self._until.get(run.id, 0))
        return end if run.kill_at is None else min(end, run.kill_at)

    def _key(self, waiting: Waiting, now: int) -> tuple[int, int, tuple[float, ...]]:
        place = list(self._displacing).index(waiting.id) if waiting.id in self._displacing else len(self._displacing)
        return place, waiting.id not in self._stopped, self._order(waiting, now)

    def _order(self, waiting: Waiting, now: int) -> tuple[float, ...]:
        """Return the sort key of reservations, without preempted jobs."""
        if self.options.reserve == "priority":
            return self._priority.key(waiting, self._seconds(waiting), now)
        first = self._seconds(waiting) if self.options.reserve == "shortest" else 0
        return first, *waiting.place

    def _reserve(self, state: State) -> list[Action]:
        """Reserve in order, start jobs that fit now, and preempt overrunning jobs."""
        now = state.now
        space = space_of(state, self.options.placement)
        queue = sorted(state.queue, key=lambda waiting: self._key(waiting, now))
        actions: list[Action] = list(self._starts_and_stops(state, queue, space))
        started = [action.job for action in actions if isinstance(action, Start)]
        ends = [end for run in state.running if (end := self._end(run)) > now]
        ends += [now + self._seconds(waiting) for waiting in started]
        if ends and len(started) < len(queue):
            actions.append(Wake(min(ends)))
        return actions

    def _starts_and_stops(self, state: State, queue: list[Waiting], space: Space) -> Iterable[Start | Stop]:
        """Start jobs that fit now beside the reservations of earlier ones. Make way for the first that does not fit.

        Overrunning jobs give way before a later job starts. Otherwise later jobs could delay the first one again and
        again.
        """
        now = state.now
        last = _last_fitting(queue, len(queue) - 1, space)
        over = [run for run in state.running if not run.stopping and self._end(run) <= now]
        may_stop = bool(over)
        if last < 0 and not over:
            return
        book = Book(state, self.options.placement)
        # The first job may wait for stopping jobs. Others that overrun are assumed to end after these.
        later = max((run.predicted_end for run in state.running if run.stopping), default=now) + 1
        held = book.hold([(run, max(self._end(run), later)) for run in over])
        stays = set(map(id, over))
        book.hold([(run, max(self._end(run), now + 1)) for run in state.running if id(run) not in stays])
        for place, waiting in enumerate(queue):
            before = None if place < self.options.reservations else now + 1
            booking = self._book_job(book, waiting, before)
            placement = _placed(book, booking, waiting, space, now)
            stops = self._make_way(state, waiting, space) if placement is None and may_stop else []
            may_stop = may_stop and placement is not None
            yield from stops
            if stops:
                ends = {stop.job.id: now + stop.delay for stop in stops}
                later = max(later, *(end + 1 for end in ends.values()))
                for each in filter(None, (booking, *held)):
                    book.remove(each)
                held = book.hold([(run, ends.get(run.id, later)) for run in over])
                placement = _placed(book, self._book_job(book, waiting), waiting, space, now)
                last = _last_fitting(queue, len(queue) - 1, space)
            if placement is not None:
                yield Start(waiting, placement)
                last = _last_fitting(queue, last, space)
            if place >= last and not may_stop:
                return

    def _book_job(self, book: Book, waiting: Waiting, before: int | None = None) -> Booking | None:
        """Reserve for the estimate. The job may run for its walltime before nodes close."""
        return book.reserve(waiting, self._seconds(waiting), book.now, before, waiting.job.walltime)

    def _make_way(self, state: State, first: Waiting, space: Space) -> list[Stop]:
        """Stop overrunning jobs if the first waiting job can start on their nodes, now or once free.

        Room that is free at once is given to `space`.
        """
        asked = [first.nodes * amount for amount in first.demand]
        rules = state.machine.rules
        end = state.now + self.options.cost + self._seconds(first)
        if any(rules.closures(state.machine.nodes, state.now, end)):  # It may not be able to start there.
            return []
        over = [run for run in state.running if self._gives_way(run, asked, state.now)]
        stops = [self._stop(run, state.now) for run in _enough(over, first, space)]
        for stop in stops:
            if stop.delay:
                self._displacing[first.id] = None
                taken = space.put(stop.job.placement, stop.job.demand)
                assert taken
        return stops

    def _gives_way(self, run: Running, asked: list[int], now: int) -> bool:
        """Return whether a job overruns its reservation and uses at most the amounts in `asked`."""
        if run.stopping or self._end(run) > now:
            return False
        return all(run.nodes * amount <= most for amount, most in zip(run.demand, asked, strict=True))

    def _stop(self, run: Running, now: int) -> Stop:
        """Stop a job in the way that loses less."""
        id_ = run.id
        self._reserved[id_] = self._reserved.get(id_, max(1, run.predicted_end - run.start))
        self._stopped[id_] = None
        work = self._done.get(id_, 0) + now - run.start
        interval = run.job.checkpoint.interval if run.job.checkpoint is not None else None
        if interval is not None and work % interval <= self.options.cost:
            self._done[id_] = work - work % interval
            return Stop(run, "kill")
        self._done[id_] = work
        return Stop(run, "checkpoint", self.options.cost)


def _last_fitting(queue: list[Waiting], last: int, space: Space) -> int:
    """Return the position of the last job up to `last` that fits now, or -1. No reservation is made behind it."""
    while last >= 0 and space.room(queue[last].demand, queue[last].nodes) < queue[last].nodes:
        last -= 1
    return last


def _placed(book: Book, booking: Booking | None, waiting: Waiting, space: Space, now: int) -> Placement | None:
    """Place a job if its booking begins now and its nodes are free."""
    return None if booking is None or booking.start > now else book.occupy(booking, waiting, space)


def _enough(over: list[Running], first: Waiting, space: Space) -> list[Running]:
    """Return the minimal jobs to stop for enough room, none if impossible. Their room in `space` is freed."""
    freed: list[Running] = []
    for run in sorted(over, key=lambda run: run.predicted_end):
        space.give(run.placement, run.demand)
        freed.append(run)
        if space.room(first.demand, first.nodes) >= first.nodes:
            break
    else:
        for run in freed:
            space.put(run.placement, run.demand)
        return []
    needed = []
    for run in freed:
        space.put(run.placement, run.demand)
        if space.room(first.demand, first.nodes) < first.nodes:
            space.give(run.placement, run.demand)
            needed.append(run)
    return needed
