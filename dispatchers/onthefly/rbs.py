"""Reservation-based batch scheduling, which kills jobs at their walltimes."""

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, TypedDict, Unpack

from ...base.checks import EACH_STEP, MOST_STEPS, Checked, number, whole
from ...models import PlacementRule
from ...workloads import Machine
from ..options import Configured
from ..overlay import Booking
from ..protocol import Action, Reject, Running, Start, State, Waiting, Wake
from ..space import Space, space_of
from .booking import Ageing, Book

#: When reservations move up.
Move = Literal["never", "always"]


@dataclass(frozen=True)
class RBSOptions(Checked):
    """Options of :class:`RBS`.

    Attributes
    ----------
    reservations
        Largest number of reservations, at least 1.
    move
        ``"never"``: a reservation stays until it begins, and an early end leaves a gap for small jobs. ``"always"``:
        all are made anew at every decision, by priority, so that they move up.
    small
        Longest walltime that is backfilled, seconds. ``None`` for any.
    growth
        Factor from a too short walltime to the next, above 1. The paper: 1.3 to 1.5.
    max_walltime
        Longest walltime of the machine, seconds. A job killed at it is rejected. ``None`` for none.
    threshold
        Seconds in the queue before a job gains priority.
    ageing
        Seconds between two gains.
    gain
        Value of a gain, in seconds of walltime.
    placement
        Choice among equally good nodes: ``"first-fit"``, ``"best-fit"`` or ``"compact"``.
    """

    reservations: Annotated[int, whole(1, MOST_STEPS, EACH_STEP)] = 100
    move: Move = field(default="never", metadata={"was": "promise"})
    small: Annotated[float | None, number(least=0)] = 7200
    growth: Annotated[float, number(above=1)] = 1.5
    max_walltime: Annotated[int | None, number(least=1)] = field(default=None, metadata={"was": "limit"})
    threshold: float = 1200
    ageing: float = 1200
    gain: float = 1200
    placement: PlacementRule = "first-fit"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.priority()

    def priority(self) -> Ageing:
        """Return the priority of reservations. ``ValueError`` if a number is out of its range."""
        return Ageing(self.threshold, self.ageing, self.gain)


class RBSGiven(TypedDict, total=False):
    """The options of :class:`RBSOptions` by name, for type checkers."""

    reservations: int
    move: Move
    small: float | None
    growth: float
    max_walltime: int | None
    threshold: float
    ageing: float
    gain: float
    placement: PlacementRule


@dataclass(slots=True)
class _Ask:
    """A waiting job with its current walltime, and its reservation, if any.

    It is `possible` if it is known to fit on the empty machine.
    """

    waiting: Waiting
    walltime: int
    possible: bool = False
    booking: Booking = field(init=False)


class RBS(Configured[RBSOptions]):
    """Reservation-based batch scheduling, as HPC centres do it (Gainaru et al., IJHPCA 2019, section 4.2).

    Jobs have a priority. Long walltimes come first, and a job past a threshold of waiting gains every 20 minutes. The
    first 100 jobs get reservations of their walltimes, each at its first fit. That is the node with the least load
    before it. Wide jobs and nodes of several resources follow the same rule. A small job starts before its reservation,
    or without one, where it fits before all existing ones. A job that reaches its walltime is killed and loses its
    work. It returns to the end of the queue with a longer walltime.

    The dispatcher sets walltimes itself, under every ``overrun`` of the simulation. It begins with the job's walltime,
    and multiplies by `growth` after each failure. Under ``overrun="kill"`` the simulation ends a job at its walltime,
    so no job returns. Under ``"resubmit"`` the simulation sets the next walltime. Where the rules of the machine never
    leave room for the next walltime, the job asks for the longest possible one.

    The options are those of :class:`RBSOptions`.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.dispatchers import RBS
    >>> from hpcdispatch.testing import overrunning
    >>> result = hd.simulate(overrunning(), RBS(growth=2))
    >>> int(result.jobs["attempts"].max())
    3
    """

    plans_closures: ClassVar[bool] = True
    Options = RBSOptions

    if TYPE_CHECKING:

        def __init__(self, options: RBSOptions | None = None, /, **given: Unpack[RBSGiven]) -> None: ...

    def forget(self) -> None:
        """Drop all reservations and walltimes."""
        self._priority = self.options.priority()
        self._small = math.inf if self.options.small is None else self.options.small
        self._machine: Machine | None = None
        self._book: Book | None = None
        #: Waiting jobs with and without a reservation.
        self._booked: dict[str, _Ask] = {}
        self._others: dict[str, _Ask] = {}
        self._running: dict[str, Booking] = {}
        #: Last walltimes and last starts of started jobs.
        self._last: dict[str, tuple[int, int]] = {}

    def dispatch(self, state: State) -> Sequence[Action]:
        """Reserve for the first jobs, start due jobs, and backfill small jobs."""
        if self._machine is not state.machine:
            self.forget()
            self._machine = state.machine
        self._drop_gone(state)
        actions: list[Action] = list(self._meet(state))
        book = self._updated(state)
        left = self.options.reservations - len(self._booked)
        for ask in nsmallest(left, self._others.values(), key=lambda ask: self._key(ask, state.now)):
            booking = book.reserve(ask.waiting, ask.walltime, state.now)
            if booking is None and book.ruled and ask.waiting.id in self._last:
                booking = self._shortened(ask, book, state)
            self._book_job(ask, booking)
        actions += self._start(book, state)
        later = [ask.booking.start for ask in self._booked.values() if ask.booking.start > state.now]
        if later:
            actions.append(Wake(min(later)))
        return actions

    def _drop_gone(self, state: State) -> None:
        """Drop jobs that left the queue otherwise, such as through an outer dispatcher that uses gaps."""
        waiting = {entry.id for entry in state.queue}
        for id_ in [id_ for id_ in self._booked if id_ not in waiting]:
            del self._booked[id_]
        self._others = {id_: ask for id_, ask in self._others.items() if id_ in waiting}

    def _meet(self, state: State) -> Iterator[Reject]:
        """Process new and returned jobs. Reject those killed at the machine's longest walltime."""
        new = len(state.queue) - len(self._booked) - len(self._others)
        for waiting in reversed(state.queue) if new else ():
            if waiting.id in self._booked or waiting.id in self._others:
                continue
            walltime = self._walltime(waiting)
            if walltime is None:
                yield Reject(waiting, f"killed at the longest walltime of {self.options.max_walltime} s")
            else:
                self._others[waiting.id] = _Ask(waiting, walltime)
                if self._book is not None and not self._book.takes(waiting):
                    self._book = None
            new -= 1
            if not new:
                break

    def _walltime(self, waiting: Waiting) -> int | None:
        """Return the next walltime of a job. ``None`` after a kill at the machine's longest walltime."""
        last, started = self._last.get(waiting.id, (None, -1))
        if waiting.since <= started:  # A rule of the machine prevented the start.
            last = None
        walltime = waiting.job.walltime
        if last is not None and walltime <= last:
            walltime = max(last + 1, int(last * self.options.growth))
        if self.options.max_walltime is None or walltime <= self.options.max_walltime:
            return walltime
        return self.options.max_walltime if last is None or last < self.options.max_walltime else None

    def _shortened(self, ask: _Ask, book: Book, state: State) -> Booking | None:
        """Book a returned job for the longest time that the rules of the machine ever allow it.

        A job that only waits, such as for nodes that have failed, keeps its walltime. One that needs more time than the
        rules allow is rejected under any dispatcher.
        """

        def too_long(walltime: int) -> bool:
            alone = State(state.now, [ask.waiting], [], state.machine.capacity, state.machine)
            return Book(alone, self.options.placement).reserve(ask.waiting, walltime, state.now) is None

        ask.possible = ask.possible or not too_long(ask.walltime)
        if ask.possible:
            return None
        ask.walltime = max(bisect_left(range(ask.walltime), True, 1, key=too_long) - 1, 1)
        return book.reserve(ask.waiting, ask.walltime, state.now)

    def _updated(self, state: State) -> Book:
        """Return the updated book."""
        now, book = state.now, self._book
        alive = {run.id for run in state.running}
        for id_ in [id_ for id_ in self._running if id_ not in alive]:
            del self._running[id_]
        if book is None or self.options.move == "always":
            return self._rebuilt(state)
        for ask in [ask for ask in self._booked.values() if ask.booking.start < now]:
            self._others[ask.waiting.id] = self._booked.pop(ask.waiting.id)
        book.rebase(state, [*self._running.values(), *(ask.booking for ask in self._booked.values())])
        if book.ruled:
            # These started in a reservation of the machine.
            others = [run for run in state.running if run.id not in self._running]
            self._hold(book, [(run, max(run.walltime_end(now), now + 1)) for run in others])
        return book

    def _rebuilt(self, state: State) -> Book:
        """Return a new book of running jobs and valid reservations."""
        book = self._book = Book(state, self.options.placement)
        ends = [
            self._running[run.id].end if run.id in self._running else run.expected_end(state.now)
            for run in state.running
        ]
        soonest = state.now + 1
        self._hold(book, [(run, max(end, soonest)) for run, end in zip(state.running, ends, strict=True)])
        booked = sorted(self._booked.values(), key=lambda ask: ask.booking.start)
        self._others |= self._booked
        self._booked.clear()
        for ask in booked if self.options.move == "never" else ():
            start = ask.booking.start
            if start >= state.now:
                self._book_job(ask, book.reserve(ask.waiting, ask.walltime, start, start + 1))
        return book

    def _hold(self, book: Book, running: Sequence[tuple[Running, int]]) -> None:
        """Book running jobs until their ends."""
        for (run, _), booking in zip(running, book.hold(running), strict=True):
            self._running[run.id] = booking

    def _key(self, ask: _Ask, now: int) -> tuple[float, ...]:
        return self._priority.key(ask.waiting, ask.walltime, now)

    def _book_job(self, ask: _Ask, booking: Booking | None) -> None:
        if booking is not None:
            ask.booking = booking
            self._booked[ask.waiting.id] = self._others.pop(ask.waiting.id)

    def _start(self, book: Book, state: State) -> Iterator[Start]:
        """Start due jobs, then small jobs that fit before all reservations."""
        now = state.now
        space = space_of(state, self.options.placement)
        due = [ask for ask in self._booked.values() if ask.booking.start <= now]
        for ask in sorted(due, key=lambda ask: self._key(ask, now)):
            yield from self._occupy(book, ask, space, now)
        if not any(space.totals):
            return
        later = [ask for ask in self._booked.values() if ask.booking.start > now]
        small = [ask for ask in (*later, *self._others.values()) if ask.walltime <= self._small]
        for ask in sorted(small, key=lambda ask: self._key(ask, now)):
            if space.room(ask.waiting.demand, ask.waiting.nodes) < ask.waiting.nodes:
                continue
            if ask.waiting.id in self._others:
                self._book_job(ask, book.reserve(ask.waiting, ask.walltime, now, now + 1))
            else:
                book.pull(ask.booking, now)
            if ask.waiting.id in self._booked and ask.booking.start == now:
                yield from self._occupy(book, ask, space, now)

    def _occupy(self, book: Book, ask: _Ask, space: Space, now: int) -> Iterator[Start]:
        """Start a job as booked. If its nodes are not free yet, it is tried again in the same second."""
        waiting = ask.waiting
        placement = book.occupy(ask.booking, waiting, space)
        if placement is not None:
            self._running[waiting.id] = ask.booking
            self._last[waiting.id] = ask.walltime, now
            del self._booked[waiting.id]
            yield Start(waiting, placement, ask.walltime)
