"""Dispatching on the fly while the queue is alike, with soft reservations while it is not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np

from ...base.checks import check_choice, check_least
from ...models import PlacementRule
from ...workloads import Machine
from ..protocol import Action, Running, Start, State, Stop, Waiting, Wake
from ..space import Space, space_of
from .booking import Ageing, Book
from .onthefly import OnTheFly

#: Whose turn it is on the fly.
Order = Literal["shortest", "longest"]


class Hybrid(OnTheFly):
    """On the fly while the queue is alike, else soft reservations with backfilling (Gainaru et al., section 5.2).

    While all waiting jobs ask for the same slots, it is :class:`~.onthefly.SEJF` or :class:`~.onthefly.LEJF`. While
    they do not, every decision makes reservations anew, as long as the estimates, in the order of
    :class:`~.rbs.RBS`, and starts whoever fits before them. A job that outruns its reservation keeps its nodes until
    the first waiting job, one that asks for no less, could start on them. Then it is checkpointed and goes back to the
    queue, where it comes first, but for the job that it gave way to; its next reservation is longer. Nobody loses
    more work than there is between two application checkpoints, or than can be done while a checkpoint is written.

    What the paper leaves open is the order of the reservations, who gives way to whom, and how long the next
    reservation is; it checkpoints every job that outruns its reservation.

    Parameters
    ----------
    order
        On the fly, ``"shortest"`` or ``"longest"`` estimate first.
    alike
        Share of the waiting jobs that must ask for the same to dispatch on the fly, above 0 and up to 1.
    reservations
        How many jobs have one at most, at least 1.
    cost
        Seconds that a job keeps its nodes without working while its checkpoint is written. A job that writes
        application checkpoints itself is killed instead, if less work has been done since the last of them.
    growth
        How much longer all reservations of a job together are each time it has outrun them: a factor above 1.
    threshold, ageing, gain
        Seconds in the queue before a job gains priority; seconds from one gain to the next; and what each is worth,
        in seconds of its estimate.
    drain, placement
        As of :class:`~.onthefly.OnTheFly`.

    Raises
    ------
    ValueError
        If an option is out of its range.
    """

    def __init__(
        self,
        order: Order = "shortest",
        alike: float = 1.0,
        reservations: int = 100,
        cost: int = 60,
        growth: float = 1.4,
        threshold: float = 1200,
        ageing: float = 1200,
        gain: float = 1200,
        drain: float | None = 86_400,
        placement: PlacementRule = "first-fit",
    ) -> None:
        super().__init__(drain, placement)
        check_choice("order", order, Order)
        if not 0 < alike <= 1:
            raise ValueError(f"alike must be a share above 0 and up to 1, got {alike!r}")
        check_least("reservations", reservations, 1)
        check_least("cost", cost, 0)
        if not 1 < growth < float("inf"):
            raise ValueError(f"growth must be a finite number > 1, got {growth!r}")
        self.longest = order == "longest"
        self.alike = alike
        self.reservations = reservations
        self.cost = cost
        self.growth = growth
        self.priority = Ageing(threshold, ageing, gain)
        self._forget()

    def reset(self, machine: Machine, rng: np.random.Generator | None = None) -> None:
        """Forget who gave way to whom."""
        super().reset(machine, rng)
        self._forget()

    def _forget(self) -> None:
        #: Jobs that others gave way to, and jobs that gave way, until they start.
        self._promised: dict[str, None] = {}
        self._stopped: dict[str, None] = {}
        #: Of jobs that gave way: all they have reserved, the end of the last reservation, and the seconds of work kept.
        self._reserved: dict[str, int] = {}
        self._until: dict[str, int] = {}
        self._done: dict[str, int] = {}
        self._reserving = False

    def report(self) -> dict[str, int]:
        """Return whether the last decision made reservations."""
        return {"reserving": int(self._reserving)}

    def ordered(self, queue: Iterable[Waiting]) -> list[Waiting]:
        """Return the queue in the order on the fly: jobs that gave way first."""
        return sorted(super().ordered(queue), key=lambda waiting: waiting.id not in self._stopped)

    def dispatch(self, state: State) -> Sequence[Action]:
        """Choose how to dispatch by the queue, and do so."""
        self._reserving = not self._is_alike(state.queue)
        actions = self._reserve(state) if self._reserving else list(super().dispatch(state))
        for action in actions:
            if isinstance(action, Start):
                self._started(action.job, state.now)
        return actions

    def _is_alike(self, queue: Sequence[Waiting]) -> bool:
        if not queue:
            return True
        asked = Counter((waiting.nodes, waiting.demand) for waiting in queue)
        return max(asked.values()) >= self.alike * len(queue)

    # Reservations.

    def _seconds(self, waiting: Waiting) -> int:
        """Return the length of a reservation: the estimate, or what a job is given after it has outrun others."""
        before = self._reserved.get(waiting.id)
        if before is None:
            return waiting.predicted
        return max(waiting.predicted, int(before * (self.growth - 1)), 1)

    def _started(self, waiting: Waiting, now: int) -> None:
        if waiting.id in self._stopped:
            seconds = self._seconds(waiting)
            self._reserved[waiting.id] += seconds
            self._until[waiting.id] = now + seconds
            del self._stopped[waiting.id]
        self._promised.pop(waiting.id, None)

    def _end(self, run: Running) -> int:
        """Return when the reservation of a running job ends."""
        if run.stopping:
            return run.predicted_end
        end = max(run.predicted_end, self._until.get(run.id, 0))
        return end if run.kill_at is None else min(end, run.kill_at)

    def _key(self, waiting: Waiting, now: int) -> tuple[int, int, tuple[float, int, int]]:
        place = list(self._promised).index(waiting.id) if waiting.id in self._promised else len(self._promised)
        return place, waiting.id not in self._stopped, self.priority.key(waiting, self._seconds(waiting), now)

    def _reserve(self, state: State) -> list[Action]:
        """Reserve in order, start who fits now, and let give way who is over time."""
        now, space = state.now, space_of(state, self.placement)
        queue = sorted(state.queue, key=lambda waiting: self._key(waiting, now))
        actions: list[Action] = list(self._start_before(state, queue, space))
        started = {action.job.id for action in actions if isinstance(action, Start)}
        first = next((waiting for waiting in queue if waiting.id not in started), None)
        if first is None:
            return actions
        actions += self._make_way(state, first, space)
        ends = [end for run in state.running if (end := self._end(run)) > now]
        if ends:
            actions.append(Wake(min(ends)))
        return actions

    def _start_before(self, state: State, queue: list[Waiting], space: Space) -> Iterable[Start]:
        """Start the jobs that fit now beside the reservations of those before them."""
        now = state.now
        fitting = [place for place, one in enumerate(queue) if space.room(one.demand, one.nodes) >= one.nodes]
        if not fitting:
            return
        book = Book(state, self.placement)
        for run in state.running:
            book.hold(run, now, max(self._end(run), now + 1))
        for place, waiting in enumerate(queue[: fitting[-1] + 1]):
            before = None if place < self.reservations else now + 1
            booking = book.reserve(waiting, self._seconds(waiting), now, before)
            if booking is not None and booking.start == now:
                placement = book.occupy(booking, waiting, space)
                if placement is not None:
                    yield Start(waiting, placement)
                    if not any(space.totals):
                        return

    # Giving way.

    def _make_way(self, state: State, first: Waiting, space: Space) -> list[Action]:
        """Stop jobs that are over time if the first waiting job can start on their nodes, now or when they are free."""
        asked = [first.nodes * amount for amount in first.demand]
        over = [run for run in state.running if self._gives_way(run, asked, state.now)]
        chosen = _enough(over, first, space)
        if not chosen:
            return []
        actions: list[Action] = [self._stop(run, state.now) for run in chosen]
        if any(isinstance(action, Stop) and action.delay for action in actions):
            self._promised[first.id] = None
            return actions
        placement = space.place(first.nodes, first.demand)
        assert placement is not None
        return [*actions, Start(first, placement)]

    def _gives_way(self, run: Running, asked: list[int], now: int) -> bool:
        """Return whether a job is over time, and holds no more of anything than is asked for."""
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
        if interval is not None and work % interval <= self.cost:
            self._done[id_] = work - work % interval
            return Stop(run, "kill")
        self._done[id_] = work
        return Stop(run, "checkpoint", self.cost)


def _enough(over: list[Running], first: Waiting, space: Space) -> list[Running]:
    """Return jobs whose nodes make enough room, none that is not needed; none if they do not. Their room is given."""
    freed = []
    for run in sorted(over, key=lambda run: run.predicted_end):
        space.give(run.placement, run.demand)
        freed.append(run)
        if space.room(first.demand, first.nodes) >= first.nodes:
            break
    else:
        return []
    needed = []
    for run in freed:
        space.put(run.placement, run.demand)
        if space.room(first.demand, first.nodes) < first.nodes:
            space.give(run.placement, run.demand)
            needed.append(run)
    return needed
