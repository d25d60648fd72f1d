"""Reservations on any machine that stay between decisions, or move up into freed intervals."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ...models import PlacementRule
from .. import overlay
from ..overlay import Overlay
from ..protocol import Placement, Running, State, Waiting
from ..space import PoolSpace, Space, space_of

#: How reservations move up after a job ends early.
Compress = Literal["until-stable", "once", "never"]


@dataclass(slots=True)
class JobBooking(overlay.Booking):
    """A job's interval and nodes in the profile.

    Attributes
    ----------
    waiting
        The waiting job, ``None`` once it runs.
    tried
        Number of freed intervals already searched for an earlier start.
    away
        Whether the job runs outside its reservation and is killed before that begins. It may then return.
    """

    waiting: Waiting | None = None
    tried: int = 0
    away: bool = False

    def is_for(self, waiting: Waiting) -> bool:
        """Return whether the reservation still matches a job that returned."""
        wanted = waiting.nodes, waiting.demand, waiting.predicted
        return (len(self.placement), self.demand, self.end - self.start) == wanted

    def exceeds(self, amounts: tuple[int, ...]) -> bool:
        """Return whether the slots need more of some resource than `amounts`."""
        slots = len(self.placement)
        return any(slots * amount > most for amount, most in zip(self.demand, amounts, strict=True))


class Reservations:
    """Running jobs and reservations by job id, on an availability profile.

    Parameters
    ----------
    state
        The first state.
    rule
        How to choose among nodes that are free long enough.

    Attributes
    ----------
    profile
        Free amounts over time, beside rules, running jobs and reservations.
    running, reserved
        Bookings of running and waiting jobs.
    freed
        Freed intervals, until they are cleared.
    """

    def __init__(self, state: State, rule: PlacementRule) -> None:
        self.rule = rule
        self._resources = state.machine.resources
        self.profile = self._open(state)
        self.running: dict[str, JobBooking] = {}
        self.reserved: dict[str, JobBooking] = {}
        self.freed: list[tuple[int, int]] = []
        #: Whether running jobs are on the profile that have outlasted their predictions.
        self._overruns = False

    def _open(self, state: State) -> Overlay:
        """Return the profile of the machine without jobs."""
        return Overlay(state, self.rule)

    def memory(self) -> dict[str, Any]:
        """Return running jobs and reservations, in order of booking.

        Amounts have the names of their resources: the machine that recalls them may lack those that no job is left for.
        """
        return {
            name: [
                (
                    id_,
                    each.start,
                    each.end,
                    each.placement.tolist(),
                    dict(zip(self._resources, each.demand, strict=True)),
                )
                for id_, each in held.items()
            ]
            for name, held in (("running", self.running), ("reserved", self.reserved))
        }

    def recall(self, state: State, memory: Mapping[str, Any]) -> None:
        """Restore the bookings, before any others."""
        for held, rows in ((self.running, memory["running"]), (self.reserved, memory["reserved"])):
            for id_, start, end, placement, amounts in rows:
                demand = tuple(amounts.get(name, 0) for name in self._resources)
                held[id_] = JobBooking(start, end, np.array(placement, dtype=np.int64), demand)
        if self.profile.ruled:
            for entry in state.queue:
                if entry.id in self.reserved:
                    booking = self.reserved[entry.id]
                    booking.bound = booking.start + entry.job.walltime
                    booking.uses = self.profile.limits_of(entry)[1]
                    booking.layout = self.profile.layout_of(entry)

    def follow(self, state: State) -> bool:
        """Update the profile. Return whether the reservations were made anew.

        They are if a running job's end is now later than planned.
        """
        self._overruns = False
        corrected = [self._follow_run(run, state) for run in state.running]
        alive = {run.id for run in state.running}
        for id_ in [id_ for id_ in self.running if id_ not in alive]:
            self._free(state.now, self.running.pop(id_).end)
        waiting = {entry.id: entry for entry in state.queue} if self.reserved else {}
        for id_ in list(self.reserved):
            self._drop_if_gone(id_, waiting.get(id_), state.now)
        if any(corrected):
            self._rebuild(state)
            return True
        passed = [id_ for id_, booking in self.reserved.items() if booking.end <= state.now]
        if passed:
            self._drop_passed(passed, list(waiting), state.now)
        self.profile.rebase(state, [*self.running.values(), *self.reserved.values()])
        return False

    def _drop_passed(self, passed: Sequence[str], queue: Sequence[str], now: int) -> None:
        """Drop reservations that passed without a start, and those of all jobs behind in the queue.

        They are then made anew in queue order.
        """
        gone = set(passed)
        first = next((place for place, id_ in enumerate(queue) if id_ in gone), len(queue))
        gone.update(queue[first:])
        for id_ in [id_ for id_ in self.reserved if id_ in gone]:
            booking = self.reserved.pop(id_)
            self._free(max(now, booking.start), booking.end)

    def _follow_run(self, run: Running, state: State) -> bool:
        """Book a running job up to its predicted end. Return whether that is later than planned."""
        now = state.now
        end = run.predicted_end
        booking = self.running.get(run.id)
        if booking is None:
            booking = self.running[run.id] = JobBooking(run.start, now, run.placement, run.demand)
        later = end > booking.end
        if not later:
            self._free(max(now, end), booking.end)
        booking.end = end
        if self.profile.ruled:
            self.profile.follow_run(booking, run, now)
            self._overruns = self._overruns or end <= now
        return later

    def _drop_if_gone(self, id_: str, entry: Waiting | None, now: int) -> None:
        """Drop the reservation of a job that left for good, or returned changed as `entry`."""
        booking = self.reserved[id_]
        run = self.running.get(id_)
        was_away = booking.away
        booking.away = entry is None and run is not None and run.end <= booking.start
        if was_away and not booking.away:
            self.freed.append((now, booking.end))  # It may move again.
        if entry is not None and booking.is_for(entry):
            booking.waiting = entry
        elif not booking.away:
            del self.reserved[id_]
            self._free(max(now, booking.start), booking.end)

    def _rebuild(self, state: State) -> None:
        """Make the reservations anew in their order, none earlier than before."""
        now = state.now
        self.profile.rebase(state, self.running.values())
        for id_, booking in sorted(self.reserved.items(), key=lambda item: item[1].start):
            waiting = booking.waiting
            assert waiting is not None
            fit = self.profile.earliest(waiting, max(now, booking.start))
            if fit is None:  # Rules of the machine leave it no room any more.
                del self.reserved[id_]
                continue
            booking.shift(*fit)
            booking.end = booking.start + waiting.predicted
            self.profile.add(booking)
            self.freed.append((now, booking.end))

    def _free(self, start: int, end: int) -> None:
        if end > start:
            self.freed.append((start, end))

    def reserve_new(self, state: State) -> None:
        """Reserve for the jobs without a reservation, in order of submission."""
        if len(self.reserved) < len(state.queue):
            for waiting in state.queue:
                if waiting.id not in self.reserved:
                    self.reserve(waiting, state.now)

    def reserve(self, waiting: Waiting, now: int, before: int | None = None) -> bool:
        """Reserve the first start in [now, before) where a job fits. Return whether there is one."""
        fit = self.profile.earliest(waiting, now, before)
        if fit is None:
            return False
        self.reserved[waiting.id] = booking = self._book(waiting, *fit)
        self.profile.add(booking)
        return True

    def _book(self, waiting: Waiting, start: int, placement: Placement, seconds: int | None = None) -> JobBooking:
        bound, uses = self.profile.limits_of(waiting, seconds)
        length = waiting.predicted if seconds is None else seconds
        layout = self.profile.layout_of(waiting)
        end = start + length
        return JobBooking(start, end, placement, waiting.demand, start + bound, uses, layout, waiting=waiting)

    def compress(self, how: Compress, now: int) -> None:
        """Move reservations up into freed intervals."""
        if self.freed and how == "until-stable":
            for booking in self.reserved.values():
                booking.tried = 0
            while self._move_first(now):
                pass
        elif self.freed and how == "once":
            for booking in self.reserved.values():
                if booking.start > now and not booking.away:
                    self._move(booking, now, booking.start)
        self.freed.clear()

    def _move_first(self, now: int) -> bool:
        """Move the first reservation that fits earlier. Return whether there was one.

        Before the intervals in `freed` nothing could move. So a job can only move to a start that uses one of them not
        yet tried.
        """
        fresh: dict[int, tuple[int, int, tuple[int, ...]]] = {}
        freed = len(self.freed)
        for booking in self.reserved.values():
            if booking.tried == freed or booking.start <= now or booking.away:
                continue
            if self.profile.ruled:  # Amounts of the whole machine may have become free, for any time.
                booking.tried = freed
                if self._move(booking, now, booking.start):
                    return True
                continue
            if booking.tried not in fresh:  # Range of the intervals freed since, and the most free amount in it.
                low = max(now, min(start for start, _ in self.freed[booking.tried :]))
                high = max(end for _, end in self.freed[booking.tried :])
                fresh[booking.tried] = low, high, self.profile.peak(low, high)
            low, high, peak = fresh[booking.tried]
            booking.tried = freed
            # Over its own interval it also uses its own nodes, so less than its whole amount suffices there.
            if booking.exceeds(peak) and not booking.start <= low < booking.end:
                continue
            after = max(now, low - (booking.end - booking.start) + 1)
            before = min(booking.start, high)
            if after < before and self._move(booking, after, before):
                return True
        return False

    def _move(self, booking: JobBooking, after: int, before: int) -> bool:
        """Move a reservation to a start in [after, before), if it fits there."""
        interval = booking.start, booking.end
        fit = self.profile.earlier(booking, after, before)
        if fit is None:
            return False
        self.freed.append(interval)
        self.profile.move(booking, *fit)
        return True

    def start_due(self, state: State) -> tuple[Iterator[tuple[Waiting, Placement]], bool, int | None]:
        """Return the starting jobs with nodes, whether one is late, and the start of the next reservation."""
        due = self.due(state.now)
        if due and self._overruns:
            self.profile.hold_overruns(self.running.values())
        started = list(self.start(due, state.now, space_of(state, self.rule))) if due else []
        later = (booking.start for booking in self.reserved.values() if booking.start > state.now)
        return iter(started), len(started) < len(due), min(later, default=None)

    def due(self, now: int) -> list[JobBooking]:
        """Return the due reservations."""
        return [booking for booking in self.reserved.values() if booking.start <= now and not booking.away]

    def start(self, due: Iterable[JobBooking], now: int, space: Space) -> Iterator[tuple[Waiting, Placement]]:
        """Yield the due jobs and their nodes, if these are free."""
        for booking in due:
            waiting = booking.waiting
            assert waiting is not None
            if not self._take_nodes(now, booking, waiting, space):
                if self.profile.ruled and not self._overruns:
                    self._postpone(booking, waiting.id, now)
                continue
            if booking.start < now:  # A late start occupies the profile for longer.
                self.profile.move(booking, now, booking.placement)
            del self.reserved[waiting.id]
            booking.waiting = None
            self.running[waiting.id] = booking
            yield waiting, booking.placement

    def _take_nodes(self, now: int, booking: JobBooking, waiting: Waiting, space: Space) -> bool:
        """Occupy the reserved nodes, or others free in the profile. Return whether there are any."""
        # Under rules the reserved nodes may have failed, or a late job would run into a closure.
        if not self.profile.ruled:
            if space.put(booking.placement, waiting.demand):
                return True
            if isinstance(space, PoolSpace):
                return False
        fit = self.profile.earlier(booking, now, now + 1)
        if fit is None or not space.put(fit[1], waiting.demand):
            return False
        self.profile.move(booking, booking.start, fit[1])
        return True

    def _postpone(self, booking: JobBooking, id_: str, now: int) -> None:
        """Move a due reservation that the rules no longer allow to the first start that they do."""
        fit = self.profile.earlier(booking, now)
        if fit is None:
            self.profile.remove(booking)
            del self.reserved[id_]
        else:
            self.profile.move(booking, *fit)

    def earliest_start(self, nodes: int, demand: tuple[int, ...], duration: int) -> int | None:
        """Return the first start at which slots fit beside all reservations, or ``None``."""
        return self.profile.earliest_of(nodes, demand, duration)

    def guaranteed(self, waiting: Waiting) -> int | None:
        """Return the begin of a job's reservation, or ``None``."""
        own = self.reserved.get(waiting.id)
        return None if own is None else own.start

    def gap(self, waiting: Waiting) -> tuple[int | None, Placement] | None:
        """Return for how many seconds a job's slots are free from now beside all reservations, and where.

        At most until its own reservation. ``None`` if they are not free. The seconds are ``None`` if they stay free.
        """
        now = self.profile.now
        own = self.reserved.get(waiting.id)
        gap = None if own is not None and own.start <= now else self._free_until(waiting, now)
        if gap is None:
            return None
        until, placement = gap
        if own is not None:
            until = own.start if until is None else min(until, own.start)
        return None if until is None else until - now, placement

    def _free_until(self, waiting: Waiting, now: int) -> tuple[int | None, Placement] | None:
        return self.profile.free_until(waiting)

    def occupy(self, waiting: Waiting, placement: Placement, seconds: int) -> None:
        """Record that a job starts in a gap, for at most `seconds`. Its own reservation stays."""
        booking = self._book(waiting, self.profile.now, placement, seconds)
        booking.waiting = None
        self.profile.add(booking)
        self.running[waiting.id] = booking

    def steps(self) -> list[tuple[int, int | None, int]]:
        """Return begin, end and free units of each time slot of a pool of one resource. 0 where over capacity."""
        return [(begin, end, max(0, free)) for begin, end, free in self.profile.steps()]
