"""Availability profile of a state: what is free over time, on each node and of each amount of the whole machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any, Literal

import numpy as np

from ..base import BoolArray, IntArray, check_whole
from ..models import PlacementRule, Quotas, pool_placement, quotas_beside
from ..models.profiles.timeline import (
    NEVER,
    Asks,
    RoomReservations,
    Timeline,
    add_row,
    add_running,
    any_fits,
    fit_now,
    hold_amounts,
    keep,
    make_asks,
    one_of,
    open_kept,
    start_now,
    with_room,
)
from ..workloads.machine_rules import Closure
from .actions import Start
from .columns import JobSequence
from .own_reservation import inside
from .profile_search import ProfileSearch, open_line, rule_number, slot_nodes
from .rule_book import ClosedRows, RuleBook, Shared, as_request, no_amounts, read_rule_book
from .space import NodeSpace
from .views import Placement, Running, StateView, Waiting

#: What the run times of jobs count by against other jobs.
CountBy = Literal["predictions", "walltimes"]
_BY_WALLTIME, _BY_PREDICTION = attrgetter("walltime"), attrgetter("predicted")
#: Queue length from which compiled code is faster than plain numbers on a pool.
LONG = 256


class Profile(ProfileSearch):
    """What is free from now on. It is private to its owner: no other dispatcher sees its changes.

    On it are running jobs, closed nodes (maintenance, announced outages and failures, reservations for other jobs) and
    the amounts of the whole machine: licences, limits, and the power under a cap. A pool is one node.

    A job that names a reservation of the machine may use that one alone. Others are closed to it.

    A job counts by its predicted run time against other jobs. By its walltime it must end before nodes close or a cap
    gets lower. With ``overrun="run"`` a job may run past its walltime, so that these cannot be guaranteed.

    Parameters
    ----------
    state
        The present state.
    placement
        ``"first-fit"`` fills nodes in their order. ``"best-fit"`` fills the node with the least free share first.
        ``"compact"`` uses few groups of the machine's levels.
    by
        What jobs count by against other jobs: ``"predictions"`` or ``"walltimes"``.

    Attributes
    ----------
    behind
        The job at which the last ``start_now(jobs, skip=False)`` stopped, and those behind it. Empty if none stopped.
    """

    __slots__ = (
        "_asks",
        "_behind",
        "_by_walltime",
        "_given",
        "_horizon",
        "_inside",
        "_kept",
        "_line",
        "_placement",
        "_places",
        "_plain",
        "_shared",
        "_span",
        "_taken",
        "_whole",
        "behind",
    )

    def __init__(self, state: StateView, placement: PlacementRule = "first-fit", by: CountBy = "predictions") -> None:
        self._state = state
        self._by_walltime = by == "walltimes"
        self._placement: PlacementRule = placement
        self._book: RuleBook | None = read_rule_book(state)
        #: The room of each reservation that a job has named.
        self._inside: dict[str, Profile] = {}
        #: What starts first, in plain numbers: on a pool with one kept job before nodes close, on nodes without rules.
        self._plain: PoolCount | NodeCount | None = None
        if len(state.queue.entries) < LONG:
            if state.free.size == 1:
                until = NEVER if self._book is None else self._book.plain_until(state.now)
                self._plain = PoolCount(state, self._by_walltime, until) if until > state.now else None
            elif self._book is None and len(state.free) > 1:
                self._plain = NodeCount(state, placement)
        self._rule = rule_number(placement, len(state.free))
        self._shared: Shared | None = None
        self._line: Timeline | None = None
        self._asks: Asks | None = None
        #: Most seconds for which a waiting job counts.
        self._span = 0
        self._places: dict[int, int] | None = None
        self._kept: RoomReservations | None = None
        #: Places in the queue of the jobs of `behind`, if they are known.
        self._behind: IntArray | None = None
        #: Latest end of a job with kept room.
        self._horizon = state.now
        self.behind: Sequence[Waiting] = ()
        self._given: dict[int, int] = {}
        #: First and last row of jobs that were taken here, half-open.
        self._taken: list[tuple[int, int]] = []
        self._until = NEVER
        #: Whether running jobs and closures are on it. Without closures, a start now needs none of them.
        self._whole = False

    def earliest(
        self,
        job: Waiting,
        shape: int | None = None,
        seconds: int | None = None,
        after: int | None = None,
        before: int | None = None,
    ) -> tuple[int, Placement] | None:
        """Return the first start of a job at which all its slots fit, and the node of each slot.

        Parameters
        ----------
        job
            A waiting job.
        shape
            Index into the job's `shapes`. ``None`` for the request itself.
        seconds
            For how long it runs at most, if it will be started with this limit. ``None``: by prediction and walltime.
        after, before
            The start is in [`after`, `before`), seconds. By default from now on.

        Returns
        -------
        tuple or None
            ``None`` if there is no such start.
        """
        begin = self.now if after is None else max(after, self.now)
        last = NEVER if before is None else before
        if isinstance(self._plain, PoolCount):
            wanted: Any = job if shape is None else job.job.shapes[shape]
            start = self._plain.earliest(wanted.nodes * wanted.demand[0], begin)
            longest = _longest(job) if shape is None else max(wanted.predicted, wanted.walltime)
            if start + (longest if seconds is None else seconds) <= self._plain.until:
                return (start, pool_placement(wanted.nodes)) if start < last else None
        own = self._own(job)
        if own is not None:
            return own.earliest(job, shape, seconds, after, self._last_inside(job, before))
        self._leave_plain()
        return self._earliest(self._one(job, shape, seconds), begin, last)

    def _earliest(self, asks: Asks, begin: int, last: int) -> tuple[int, Placement] | None:
        return self._search(asks, begin, last, begin > self.now or last > self.now + 1)

    def start_now(self, jobs: Sequence[Waiting], skip: bool = True, keep_amounts: bool = True) -> list[Start]:
        """Start the jobs that fit now, in order, and leave the room that is kept. All in one compiled call.

        A job that lacks licences, power or a limit stops no other. The first of these keeps what it lacks: a later job
        gets it if it ends before, or leaves enough.

        Parameters
        ----------
        jobs
            Waiting jobs, such as ``state.queue``.
        skip
            Whether to try the jobs behind one that does not start. Otherwise they wait, see :attr:`behind`.
        keep_amounts
            Whether a job that lacks an amount of the whole machine keeps it. Otherwise it may wait for ever while
            smaller ones use it.

        Returns
        -------
        list
            The starts. Their room is taken.
        """
        behind, self.behind = self.behind, ()
        if not len(jobs):
            return []
        if self._names_reservations(jobs):
            starts = self._start_inside(jobs)
            return starts + self.start_now([job for job in jobs if self._own(job) is None], skip, keep_amounts)
        queue = self._state.queue
        entries = jobs.entries if isinstance(jobs, JobSequence) else jobs
        if self._plain is not None:
            started = self._plain.start_now(entries, skip)
            if started is not None:
                if not skip and len(started) < len(entries):
                    self.behind = entries[len(started) :]
                    if entries is queue.entries:
                        self._behind = np.arange(len(started), len(entries))
                return started
            self._leave_plain()
        if entries is queue.entries:
            return self._start(entries, self._queue_asks(), np.arange(len(entries)), skip, keep_amounts)
        if len(behind) and self._behind is not None and entries == behind[1:]:
            return self._start(queue.entries, self._queue_asks(), self._behind[1:], skip, keep_amounts)
        places = self._queue_places()
        positions = [places.get(id(job), -1) for job in entries]
        if min(positions) >= 0:
            return self._start(queue.entries, self._queue_asks(), np.array(positions), skip, keep_amounts)
        return self._start(entries, self._asks_of(entries), np.arange(len(entries)), skip, keep_amounts)

    def keep(self, job: Waiting, at: int | None = None, shape: int | None = None, seconds: int | None = None) -> None:
        """Keep room for a job: from now on a job starts only if this one still fits somewhere at that time.

        This is the reservation of EASY. It names no nodes, while :meth:`take` does. Only :meth:`start_now` heeds it.
        With several, each fits beside those before.

        Parameters
        ----------
        job, shape, seconds
            As for :meth:`earliest`.
        at
            When, seconds. By default at its earliest start. If there is none, nothing is kept.

        Raises
        ------
        ValueError
            If the job does not fit at the given time.
        """
        if shape is None and seconds is None and self._plain is not None and self._plain.keep(job, at):
            return
        own = self._own(job)
        if own is not None:
            own.keep(job, at, shape, seconds)
            return
        self._leave_plain()
        self._settle()
        plain = shape is None and seconds is None
        if plain and self._behind is not None and len(self.behind) and job is self.behind[0]:
            asks, place = self._queue_asks(), int(self._behind[0])
        else:
            asks, place = self._one(job, shape, seconds), 0
        if at is None:
            self._keep(asks, place, -1)  # Its start is often not needed.
            return
        fit = self._earliest(one_of(asks, place), at, at + 1)
        if fit is None:
            raise ValueError(f"job {job.id}: keep: does not fit at {at}; ask earliest(job) for a start")
        self._keep(asks, place, at)
        self._horizon = max(self._horizon, at + int(max(asks.seconds[place], asks.bound[place])))

    def _keep(self, asks: Asks, place: int, at: int) -> None:
        kept = self._all_kept()
        keep(kept.memory, asks.memory, asks.demand.shape[1], asks.need.shape[1], place, at)

    def _all_kept(self) -> RoomReservations:
        """Return the jobs with kept room, with space for one more and one for each key."""
        kept = self._kept
        keys = len(self._shared_amounts().keys)
        count = 0 if kept is None else int(kept.number[0])
        if kept is None or count + keys + 2 > len(kept.at):
            self._kept = longer = open_kept(2 * count + keys + 4, self._state.free.shape[1], keys)
            if kept is not None:
                _, asks, *others = kept
                for before, after in zip((*asks[1:], *others), (*longer.asks[1:], *longer[2:]), strict=True):
                    after[: len(before)] = before
            return longer
        return kept

    def _settle(self) -> None:
        """Find the start of the job that keeps room at its earliest one."""
        kept = self._kept
        last = -1 if kept is None else int(kept.number[0]) - 1
        if kept is None or last < 0 or kept.at[last] >= 0:
            return
        kept.number[0] = last
        fit = self._earliest(one_of(kept.asks, last), self.now, NEVER)
        if fit is not None:
            kept.at[last] = fit[0]
            kept.number[0] = last + 1
            self._horizon = max(self._horizon, fit[0] + int(max(kept.asks.seconds[last], kept.asks.bound[last])))

    def take(
        self, job: Waiting, start: int, placement: Placement, shape: int | None = None, seconds: int | None = None
    ) -> None:
        """Take the nodes of a job from a start on, whether or not they are free.

        This is the reservation of conservative backfilling. It names nodes, while :meth:`keep` does not.

        Raises
        ------
        ValueError
            If the start is before now.
        """
        if start < self.now:
            raise ValueError(f"job {job.id}: take: a start must be from {self.now} on, got {start}")
        self._leave_plain()
        self._settle()
        asks = self._one(job, shape, seconds)
        own = self._own(job)
        if own is not None:  # Its nodes are closed to others. Licences, limits and power are not.
            own.take(job, start, placement, shape, seconds)
            nothing = np.zeros(asks.demand.shape[1], dtype=np.int64)
            self._take(asks, start, nothing, _NONE)
            return
        self._take(asks, start, asks.demand[0], np.array(placement, dtype=np.int64))

    def _take(self, asks: Asks, start: int, demand: IntArray, nodes: IntArray) -> None:
        span = int(max(asks.seconds[0], asks.bound[0]))
        self._reach(start + span, whole=start > self.now)
        line = self._room(1, len(nodes))
        end, bound = start + int(asks.seconds[0]), start + int(asks.bound[0])
        first = int(line.header[0]["rows"])
        add_row(line.memory, start, end, bound, demand, asks.need[0], nodes, np.ones_like(nodes))
        self._taken.append((first, first + 1))

    def give(self, running: Running, at: int | None = None, delay: int = 0) -> None:
        """Free the nodes of a running job from a time on, as its stop then would.

        Parameters
        ----------
        running
            A running job.
        at
            When it stops, seconds. By default now.
        delay
            Seconds for which it keeps its nodes then, as for a checkpoint.
        """
        self._leave_plain()
        self._settle()
        self._given[running.order] = (self.now if at is None else max(at, self.now)) + delay
        self._rebuild(self._until if self._whole else self.now, whole=True)

    def fit_now(self, jobs: Sequence[Waiting]) -> BoolArray:
        """Return which jobs could each start now, alone. Shape (jobs,). Takes nothing."""
        self._leave_plain()
        if not len(jobs):
            return np.zeros(0, dtype=np.bool_)
        if self._names_reservations(jobs):
            own = [self._own(job) for job in jobs]
            others = [job for job, room in zip(jobs, own, strict=True) if room is None]
            fits = iter(self.fit_now(others).tolist())
            pairs = zip(jobs, own, strict=True)
            return np.array([next(fits) if room is None else room.fit_now([job])[0] for job, room in pairs])
        asks = self._asks_of(list(jobs))
        line = self._reach(self.now + int(max(asks.seconds.max(), asks.bound.max())), whole=self._book is not None)
        return fit_now(line.memory, asks.memory, self._rule)

    def may_lack(self) -> bool:
        """Return whether waiting and running jobs could exceed an amount of the whole machine together."""
        return bool(self._shared_amounts().keys)

    def held_back(self, jobs: Sequence[Waiting]) -> tuple[BoolArray, list[Waiting]]:
        """Return which jobs an amount of the whole machine holds back now, such as a licence, and who keep one.

        Each job is judged alone. Of those that lack an amount, the first keeps it, as in :meth:`start_now`: a later job
        is held back, too, unless it ends before enough is free, or leaves enough. Nodes do not count.

        Parameters
        ----------
        jobs
            Waiting jobs, in the order in which they come first.

        Returns
        -------
        held, keepers
            Shape (jobs,), and the first job that lacks each amount, in order.
        """
        held, keeps = np.zeros((2, len(jobs)), dtype=np.bool_)
        keys = len(self._shared_amounts().keys)
        if not keys or not len(jobs):
            return held, []
        self._leave_plain()
        asks = self._asks_of(list(jobs))
        self._reach(self.now + int(max(asks.seconds.max(), asks.bound.max())), whole=True)
        line = self._room(keys + 1, keys + 1)
        kept = open_kept(keys + 2, line.demand.shape[1], keys)
        hold_amounts(line.memory, asks.memory, kept.memory, held, keeps)
        return held, [jobs[place] for place in np.flatnonzero(keeps).tolist()]

    def free_until(
        self, job: Waiting, at: int | None = None, shape: int | None = None
    ) -> tuple[int | None, Placement] | None:
        """Return until when a job's slots stay free from a time on, by default now, and their nodes.

        The first is ``None`` if they stay free for ever. The result is ``None`` if they are not free.
        """
        own = self._own(job)
        if own is not None:
            return own.free_until(job, at, shape)
        self._leave_plain()
        self._settle()
        asks = self._one(job, shape, 1)
        begin = self.now if at is None else max(at, self.now)
        return self._free_until(asks, begin)

    def closures(self, until: int) -> list[Closure]:
        """Return the closures of nodes that begin before a time, also those that are on now."""
        return [] if self._book is None else self._book.closures(self.now, until)

    def next_fall(self, until: int) -> int | None:
        """Return when nodes close or a shared amount falls next, after now and before a time. ``None`` if never."""
        falls = [closure.begin for closure in self.closures(until)]
        falls += [begin for _, begin, _, _ in self._shared_amounts().steps(until)]
        return min((time for time in falls if time > self.now), default=None)

    def quotas(self, jobs: Sequence[Waiting], until: int) -> Quotas | None:
        """Return the shared amounts of jobs as limits of a plan, in seconds from now. ``None`` without any.

        A running job counts by its prediction, or by its walltime where that reaches a falling limit.

        Parameters
        ----------
        jobs
            The jobs of the plan.
        until
            Limits are known up to this time, seconds.
        """
        shared = self._shared_amounts()
        need = shared.need_of_all(jobs)
        scarce = need.sum(axis=0) > shared.free
        steps = list(shared.steps(until))
        for place, *_ in steps:
            scarce[place] |= bool(need[:, place].any())
        if not scarce.any():
            return None
        now = self.now
        running = self._state.running.entries
        falls = [begin for _, begin, *_ in steps if begin > now]
        fall = min(falls, default=NEVER)
        ends = [max(run.predicted_end, now + 1) for run in running]
        ends = [
            bound if (bound := run.walltime_end(now)) > fall else end for run, end in zip(running, ends, strict=True)
        ]
        rows = [(0, end - now, row) for end, row in zip(ends, shared.need_of_all(running), strict=True)]
        for place, begin, end, missing in steps:
            row = np.zeros(len(shared.keys), dtype=np.int64)
            row[place] = missing
            rows.append((max(begin - now, 0), min(end, until + 1) - now, row))
        begins = np.array([begin for begin, *_ in rows], dtype=np.int64)
        stops = np.array([end for _, end, _ in rows], dtype=np.int64)
        taken = np.array([row for *_, row in rows], dtype=np.int64).reshape(-1, len(shared.keys))
        return quotas_beside(need[:, scarce], shared.most[scarce], stops, taken[:, scarce], begins)

    def _names_reservations(self, jobs: Sequence[Waiting]) -> bool:
        """Return whether any of these jobs names a reservation of the machine."""
        book = self._book
        return book is not None and bool(book.named) and any(job.job.reservation in book.named for job in jobs)

    def _own(self, job: Waiting) -> Profile | None:
        """Return the room of the reservation that a job names, ``None`` if it names none."""
        book, name = self._book, job.job.reservation
        if book is None or name not in book.named:
            return None
        if name not in self._inside:
            queue = [entry for entry in self._state.queue.entries if entry.job.reservation == name] or [job]
            seen = inside(self._state, book.open_inside(name), book.named[name], queue)
            self._inside[name] = Profile(seen, self._placement, "walltimes" if self._by_walltime else "predictions")
        return self._inside[name]

    def _last_inside(self, job: Waiting, before: int | None) -> int | None:
        """Return before when a job must start in the reservation that it names. The last one closes for ever."""
        assert self._book is not None
        reservation = self._book.named[job.job.reservation]
        if reservation.every is not None:
            return before
        return reservation.end if before is None else min(before, reservation.end)

    def _start_inside(self, jobs: Sequence[Waiting]) -> list[Start]:
        """Start the jobs that fit now in the reservations that they name."""
        starts = []
        for job in jobs:
            own = self._own(job)
            fit = None if own is None else own.earliest(job, before=self.now + 1)
            if fit is not None:
                self.take(job, self.now, fit[1])
                starts.append(Start(job, fit[1]))
        return starts

    def _one(self, job: Waiting, shape: int | None, seconds: int | None) -> Asks:
        """Return what a job asks for."""
        if shape is None and seconds is None:
            return self._asks_of((job,))
        wanted: Any = job if shape is None else job.job.shapes[shape]
        request = job.job if shape is None else as_request(job.job, shape)
        length = wanted.walltime if self._by_walltime else wanted.predicted
        bound = request.walltime
        if seconds is not None:
            length = bound = check_whole("seconds", seconds, 1)
        need = self._shared_amounts().need_of(request)
        slots, lengths, bounds, demand = map(np.array, ([wanted.nodes], [length], [bound], [wanted.demand]))
        return make_asks(slots, lengths, bounds, demand, need[None], self._layouts_of((job,)))

    def _asks_of(self, jobs: Sequence[Waiting]) -> Asks:
        """Return what jobs ask for, from the entries."""
        if self._by_walltime:
            rows = [(job.nodes, job.walltime, job.job.walltime, *job.demand) for job in jobs]
        else:
            rows = [(job.nodes, job.predicted, job.job.walltime, *job.demand) for job in jobs]
        columns = np.array(rows, dtype=np.int64).T
        need = self._shared_amounts().need_of_all(jobs)
        return make_asks(columns[0], columns[1], columns[2], columns[3:].T, need, self._layouts_of(jobs))

    def _layouts_of(self, jobs: Sequence[Waiting]) -> IntArray | None:
        return None if self._book is None else self._book.layouts_of(jobs)

    def _queue_asks(self) -> Asks:
        """Return what the waiting jobs ask for, in queue order."""
        if self._asks is None:
            table = self._state.queue.table
            seconds = table[5] if self._by_walltime else table[2]
            bound = table[5]
            entries = self._state.queue.entries
            if self._book is not None:  # A job that ran before may run for its whole walltime again.
                bound = np.array([entry.job.walltime for entry in entries], dtype=np.int64)
            need = self._shared_amounts().need_of_all(entries)
            self._asks = make_asks(table[1], seconds, bound, table[6:].T, need, self._layouts_of(entries))
            if self._book is not None:
                self._span = int(max(seconds.max(), bound.max()))
        return self._asks

    def _queue_places(self) -> Mapping[int, int]:
        if self._places is None:
            self._places = {id(entry): place for place, entry in enumerate(self._state.queue.entries)}
        return self._places

    def _start(
        self, jobs: Sequence[Waiting], asks: Asks, order: IntArray, skip: bool, keep_amounts: bool
    ) -> list[Start]:
        kept = self._all_kept()
        if keep_amounts:
            return self._start_beside(kept, jobs, asks, order, skip)
        held = kept.held.copy()
        kept.held[:] = 1  # An amount that another job holds already is not kept.
        starts = self._start_beside(kept, jobs, asks, order, skip)
        kept.held[:] = held
        return starts

    def _start_beside(
        self, kept: RoomReservations, jobs: Sequence[Waiting], asks: Asks, order: IntArray, skip: bool
    ) -> list[Start]:
        begin = self.now
        until = begin
        starts: list[Start] = []
        # A job that lacks a shared amount stops no other. So without any, the first that does not fit stops all.
        first_only = not skip and not self._shared_amounts().keys
        if not self._any_fits(asks, order[:1] if first_only else order):  # The profile need not be built.
            if first_only:
                self._set_behind(jobs, order)
            if skip or first_only:
                return starts
        if self._book is not None:  # All closures that a job could reach must be on it.
            span = self._span if asks is self._asks else int(max(asks.seconds.max(), asks.bound.max()))
            until = max(self._horizon, begin + span)
        while True:
            line = self._reach(until, whole=kept.number[0] > 0)
            nodes = len(line.free)
            rows = len(order) + int(kept.number[0]) + len(kept.held)
            entries = (
                rows
                if nodes == 1
                else min(int(asks.slots[order].sum()), nodes * len(order)) + nodes * (rows - len(order))
            )
            line = self._room(rows, entries)
            first = int(line.header[0]["rows"])
            chosen = np.empty(len(order), dtype=np.int64)
            count, stopped, left = start_now(
                line.memory, asks.memory, order, skip, kept.memory, self._until, self._rule, chosen
            )
            if count:
                self._taken.append((first, first + count))
            for row, place in enumerate(chosen[:count].tolist(), first):
                if nodes == 1:
                    placement = pool_placement(jobs[place].nodes)
                else:
                    placement = slot_nodes(line, line.first[row], line.last[row])
                starts.append(Start(jobs[place], placement))
            if left < 0:
                break
            order = order[left:]
            self._settle()
            until = max(until, self._horizon)
        if stopped >= 0:
            self._set_behind(jobs, order[stopped:])
        return starts

    def _set_behind(self, jobs: Sequence[Waiting], order: IntArray) -> None:
        """Remember the jobs that wait behind the first of these, and that one."""
        first = int(order[0])
        straight = bool((order == np.arange(first, first + len(order))).all())
        self.behind = jobs[first : first + len(order)] if straight else [jobs[place] for place in order.tolist()]
        self._behind = order if jobs is self._state.queue.entries else None

    def _any_fits(self, asks: Asks, order: IntArray) -> bool:
        """Return whether any of these jobs fits into the free sums."""
        free = self._state.free if self._line is None else self._line.free
        return any_fits(free, asks.memory, asks.need.shape[1], order)

    def _shared_amounts(self) -> Shared:
        if self._shared is None:
            self._shared = _NO_AMOUNTS if self._book is None else self._book.shared(self._state)
        return self._shared

    def _leave_plain(self) -> None:
        """Go on with arrays where plain numbers do not suffice."""
        plain, self._plain = self._plain, None
        if plain is None:
            return
        for start in plain.starts:
            self.take(start.job, self.now, np.asarray(start.placement))
        if plain.kept is not None:
            self._keep(self._one(plain.kept, None, None), 0, -1)

    def _build(self, until: int) -> None:
        self._rebuild(until, whole=True)

    def _room(self, rows: int, entries: int) -> Timeline:
        assert self._line is not None
        self._line = line = with_room(self._line, rows, entries)
        return line

    def _reach(self, until: int, whole: bool) -> Timeline:
        """Return the profile with all closures up to a time, and with running jobs if they may matter."""
        whole = whole or self._book is not None
        if self._line is None or until > self._until:
            self._rebuild(until, whole)
        assert self._line is not None
        if whole and not self._whole:
            running = self._state.running
            pool = len(self._line.free) == 1
            self._line = with_room(self._line, len(running), len(running) if pool else int(running.nodes.sum()))
            self._add_running(self._line, None)
        return self._line

    def _rebuild(self, until: int, whole: bool) -> None:
        """Build the profile with closures up to a time at least, and take again what was taken here."""
        before = self._line
        line = self._built(until, whole)
        taken, self._taken = self._taken, []
        for first, last in taken:
            assert before is not None
            line = with_room(line, last - first, int(before.last[last - 1] - before.first[first]))
            self._taken.append((int(line.header[0]["rows"]), int(line.header[0]["rows"]) + last - first))
            for row in range(first, last):
                entry, end = before.first[row], before.last[row]
                begin, finish, bound = before.begin[row], before.end[row], before.bound[row]
                node, slots = before.node[entry:end], before.slots[entry:end]
                add_row(
                    line.memory, int(begin), int(finish), int(bound), before.demand[row], before.need[row], node, slots
                )
        self._line = line

    def _built(self, until: int, whole: bool) -> Timeline:
        """Return the profile without what was taken here."""
        state = self._state
        machine = state.machine
        book = self._book
        shared = self._shared_amounts()
        closed = None if book is None else book.closed(self.now, until)
        self._until = NEVER if closed is None else closed.until
        pool = machine.nodes == 1
        # Room for the waiting jobs, too, so that it seldom grows.
        rows = 2 * len(state.running) * whole + min(len(state.queue.entries), LONG) + len(shared.keys) + 2
        entries = rows
        if not pool:
            entries = min(int(state.queue.nodes.sum()), LONG * machine.nodes) + (2 + len(shared.keys)) * machine.nodes
            entries += int(state.running.nodes.sum()) if whole else 0
        line = open_line(state, book, closed, shared, (state.free, shared.free), (rows, entries))
        self._whole = False
        if whole:
            self._add_running(line, closed)
        return line

    def _add_running(self, line: Timeline, closed: ClosedRows | None) -> None:
        """Add the running jobs."""
        self._whole = True
        state = self._state
        jobs = state.running
        now = state.now
        if not len(jobs):
            return
        table = jobs.table
        end = np.maximum(table[2], now + 1)
        bound = end
        if self._by_walltime or (closed is not None and (closed.partial or len(line.shared))):
            bound = np.array([run.walltime_end(now) for run in jobs.entries], dtype=np.int64)
            end = bound if self._by_walltime else end
        if self._given:
            given = np.array([self._given.get(order, NEVER) for order in table[0].tolist()])
            end = np.minimum(end, given)
            bound = np.minimum(bound, given)
        begin = np.full(len(end), now)
        need = self._shared_amounts().need_of_all(jobs.entries)
        inside: list[int] = []
        if self._book is not None and self._book.named:  # Their nodes are closed while their reservation is on.
            for place, run in enumerate(jobs.entries):
                open_from = self._book.reserved_until(run.job.reservation, now)
                if open_from is not None:
                    begin[place] = open_from
                    inside.append(place)
        asks = make_asks(table[1], end, bound, table[4:].T, need)
        if inside:  # Their shared amounts are in use from now on. So these have rows of their own.
            nothing = np.zeros_like(inside)
            amounts = make_asks(nothing, end[inside], bound[inside], np.zeros_like(table[4:].T[inside]), need[inside])
            add_running(line.memory, amounts.memory, np.full(len(inside), now), end[inside], bound[inside], _NONE)
            asks.need[inside] = 0
        placed = _NONE if len(line.free) == 1 else np.concatenate([run.placement for run in jobs.entries])
        add_running(line.memory, asks.memory, begin, end, bound, placed)


class NodeCount:
    """The profile of nodes without rules as long as jobs start in order and no room is kept.

    Attributes
    ----------
    starts
        Starts so far.
    kept
        No job.
    """

    __slots__ = ("_space", "kept", "starts")

    def __init__(self, state: StateView, placement: PlacementRule) -> None:
        self._space = NodeSpace(state.free, state.machine, placement)
        self.starts: list[Start] = []
        self.kept: Waiting | None = None

    def keep(self, job: Waiting, at: int | None) -> bool:
        """Return false: it keeps no room."""
        return False

    def start_now(self, jobs: Sequence[Waiting], skip: bool) -> list[Start] | None:
        """Start the jobs that fit now, as :meth:`Profile.start_now` does. ``None`` if jobs are to be skipped."""
        if skip:
            return None
        starts: list[Start] = []
        for job in jobs:
            placement = self._space.place(job.nodes, job.demand)
            if placement is None:
                break
            starts.append(Start(job, placement))
        self.starts += starts
        return starts


class PoolCount:
    """The profile of a pool of one resource up to the next closure, in plain numbers. It keeps room for one job.

    Attributes
    ----------
    until
        When the pool closes next, seconds. Jobs that may run longer need the whole profile.
    starts
        Starts so far.
    kept
        The job with kept room.
    """

    __slots__ = ("_ends", "_extra", "_free", "_length", "_shadow", "_state", "kept", "starts", "until")

    def __init__(self, state: StateView, by_walltime: bool, until: int) -> None:
        self._state = state
        self.until = until
        self._free = int(state.free[0, 0])
        self._length = _BY_WALLTIME if by_walltime else _BY_PREDICTION
        self._shadow: int | None = None
        self._extra = 0
        self._ends: Sequence[tuple[int, int]] | None = None
        self.starts: list[Start] = []
        self.kept: Waiting | None = None

    def keep(self, job: Waiting, at: int | None) -> bool:
        """Keep room for a job at its earliest start. Return whether this is the only one, and `at` is that start."""
        if self.kept is not None:
            return False
        if at is not None and (at + _longest(job) > self.until or at != self._first(job)):
            return False
        self.kept = job
        return True

    def start_now(self, jobs: Sequence[Waiting], skip: bool) -> list[Start] | None:
        """Start the jobs that fit now, as :meth:`Profile.start_now` does. ``None`` if a closure matters."""
        free = self._free
        if not free:
            return []
        now = self._state.now
        length = self._length
        open_for = self.until - now
        extra = self._extra
        starts: list[Start] = []
        for job in jobs:
            amount = job.nodes * job.demand[0]
            if amount > free:
                if skip:
                    continue
                break
            if self.kept is not None:
                if self._shadow is None:
                    self._reserve(self.kept)
                    extra = self._extra
                assert self._shadow is not None
                if self._shadow + _longest(self.kept) > self.until:
                    return None
                if now + length(job) > self._shadow:
                    if amount > extra:
                        if skip:
                            continue
                        break
                    extra -= amount
            if _longest(job) > open_for:
                return None
            starts.append(Start(job, pool_placement(job.nodes)))
            free -= amount
            if not free:
                break
        if starts:
            self._free = free
            self._extra = extra
            self.starts += starts
            self._ends = None
        return starts

    def _first(self, job: Waiting) -> int:
        """Return the earliest start of a job."""
        return self.earliest(job.nodes * job.demand[0], self._state.now)

    def _reserve(self, job: Waiting) -> None:
        """Compute the shadow time of the kept job, and the extra amount then."""
        self._shadow = self._first(job)
        self._extra = self._free - job.nodes * job.demand[0]
        for end, freed in self._all_ends():
            if end > self._shadow:
                break
            self._extra += freed

    def earliest(self, amount: int, after: int) -> int:
        """Return when an amount is free, seconds, from a time on. :data:`.NEVER` if it never is."""
        free = self._free
        start = after
        for end, freed in self._all_ends():
            if end > start:
                if free >= amount:
                    break
                start = end
            free += freed
        return start if free >= amount else NEVER

    def _all_ends(self) -> Sequence[tuple[int, int]]:
        """Return end and amount of running and starting jobs, by end."""
        if self._ends is None:
            now = self._state.now
            running = self._state.running.entries
            if self._length is _BY_WALLTIME:
                ends = sorted((run.walltime_end(now), run.nodes * run.demand[0]) for run in running)
            else:
                ends = [(run.expected_end(now), run.nodes * run.demand[0]) for run in running]
            if self.starts:
                jobs = [start.job for start in self.starts]
                ends += [(now + self._length(job), job.nodes * job.demand[0]) for job in jobs]
                ends.sort()
            self._ends = ends
        return self._ends


def _longest(job: Waiting) -> int:
    """Return the most seconds for which a job counts: by its prediction or its whole walltime."""
    walltime = job.job.walltime
    return job.predicted if job.predicted > walltime else walltime


_NONE = np.zeros(0, dtype=np.int64)
_NO_AMOUNTS = no_amounts()
