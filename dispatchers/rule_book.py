"""Rules of a machine in availability profiles: closed nodes, and amounts of the whole machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from copy import copy
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from ..base import IntArray
from ..models.profiles.timeline import ANY_LAYOUT, NEVER
from ..workloads import Machine
from ..workloads.job import slot_units
from ..workloads.machine_rules import Closure, Failures, Outage, Reservation
from .amount_rules import amount_rules
from .columns import JobSequence
from .own_reservation import open_inside
from .views import JobView, Running, StateView, Waiting

#: Key of the rule book among the followers of the running jobs.
_BOOK = "rule book"
#: A constraint of the machine, and its name for an amount: ``(limit, "jobs of user ann")``.
Key = tuple[int, str]
#: How far ahead a start is searched on a profile, seconds, and the most repetitions of a reservation or a cap.
_FAR, _REPEATED = 366 * 86400, 400
#: How far ahead plans of whole schedules know closures, seconds, and the most repetitions of one.
_AHEAD, _WINDOWS = 180 * 86400, 500
_NONE = np.zeros(0, dtype=np.int64)
#: Level, most groups, time from which they are only preferred, and where a profile has the unequal slots.
Layout = tuple[int, int, int, int]


class ClosedRows(NamedTuple):
    """Closed nodes from a time on.

    Attributes
    ----------
    since, until
        All closures that end after the first and begin before the second are here, seconds.
    valid
        The rows are the same until this time.
    begin, end
        Of each row, seconds. Shape (rows,).
    demand
        Closed amounts per node, shape (rows, resources).
    last, node, slots
        End of each row's nodes among all, shape (rows,), the nodes, and 1 for each.
    times
        Begin, end and begin again of the rows, as a profile takes them. Shape (3, rows).
    fall_at, fall_free
        Begins of closures, shape (falls,), and what they leave. :data:`.NEVER` where nothing closes. Shape (falls,
        nodes, resources).
    partial
        Whether any closure leaves a part of a node. Then the walltimes of running jobs matter.
    """

    since: int
    until: int
    valid: int
    begin: IntArray
    end: IntArray
    demand: IntArray
    last: IntArray
    node: IntArray
    slots: IntArray
    times: IntArray
    fall_at: IntArray
    fall_free: IntArray
    partial: bool


class Shared:
    """The amounts of the whole machine that waiting jobs compete for, at one decision.

    Attributes
    ----------
    now
        Seconds.
    keys
        The amounts. Only those that running and waiting jobs could exceed together.
    most, free
        Their largest limits, and what running jobs leave of these. Shape (keys,).
    """

    def __init__(self, book: RuleBook | None, now: int, keys: Sequence[Key], used: Counter[Key]) -> None:
        self._book = book
        self.now = now
        self.keys = list(keys)
        self.most = np.array([book.most[key] for key in keys] if book is not None else [], dtype=np.int64)
        self.free = self.most - np.array([used[key] for key in keys], dtype=np.int64)

    def free_now(self) -> IntArray:
        """Return what running jobs leave of the present limits. Shape (keys,)."""
        if self._book is None:
            return self.free
        limits = [self._book.parts[part].at(what, self.now) for part, what in self.keys]
        return self.free - self.most + np.array(limits, dtype=np.int64)

    def need_of(self, request: JobView) -> IntArray:
        """Return the shared amounts of a job, or of its shape. Shape (keys,)."""
        if self._book is None or not self.keys:
            return _NONE
        uses = self._book.ask(request)
        return np.array([uses.get(key, 0) for key in self.keys], dtype=np.int64)

    def need_of_all(self, jobs: Sequence[Waiting] | Sequence[Running]) -> IntArray:
        """Return the shared amounts of waiting or running jobs, shape (jobs, keys)."""
        if self._book is None or not self.keys:
            return np.empty((len(jobs), 0), dtype=np.int64)
        rows = [[uses.get(key, 0) for key in self.keys] for uses in map(self._book.uses, jobs)]
        return np.array(rows, dtype=np.int64).reshape(-1, len(self.keys))

    def steps(self, until: int) -> Iterator[tuple[int, int, int, int]]:
        """Yield place of the key, begin, end and missing amount where a limit is below its largest."""
        for place, (part, _) in enumerate(self.keys):
            assert self._book is not None
            for begin, end, missing in self._book.parts[part].lower(self.now, until):
                yield place, begin, end, missing


class RuleBook:
    """The rules of a machine, with what is kept of them between decisions.

    Parameters
    ----------
    machine
        The machine. With unannounced outages they count once they have begun.

    Attributes
    ----------
    closing, floating
        Rules that close nodes at fixed times, and those that move with the present.
    longest
        Longest walltime on each node beside floating reservations, seconds. Shape (nodes,), or (0,) without any.
    named
        Reservations by name.
    parts
        Constraints on shared amounts.
    most
        Limits of the amounts that jobs have used so far.
    read
        Whether a profile with these rules has been made.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        rules = machine.rules.closing
        self.closing = [rule for rule in rules if not getattr(rule, "floating", False)]
        self.floating = [rule for rule in rules if isinstance(rule, Reservation) and rule.floating]
        self.longest = _NONE
        if self.floating:
            self.longest = np.full(machine.nodes, NEVER)
            for rule in self.floating:
                nodes = np.array(rule.indices(machine.nodes))
                self.longest[nodes] = np.minimum(self.longest[nodes], rule.begin)
        self.named = {rule.name: rule for rule in machine.rules.reservations if rule.name}
        #: The machine as the jobs of a reservation see it.
        self._inside: dict[str, Machine] = {}
        self.parts = amount_rules(machine)
        self.read = False
        self.most: dict[Key, int] = {}
        #: By job and its request, of which a moldable job has several.
        self._uses: dict[tuple[int, int, tuple[int, ...]], dict[Key, int]] = {}
        #: The most on any request, by moldable job.
        self._most_of: dict[int, Counter[Key]] = {}
        self._closed: ClosedRows | None = None
        #: From when to when, half-open, :meth:`plain_until` returns the third, seconds.
        self._plain_until = 0, 0, 0
        #: Whether jobs may ask for groups of nodes, or have unequal slots.
        self.layouts = machine.rules.layouts
        self._level_of = {name: row for row, name in enumerate(machine.level_names)}
        #: Unequal slots of jobs so far, as a profile takes them, and where it has those of each kind.
        self._packs = [0]
        self._packs_at: dict[tuple[int, ...], int] = {}

    def layout(self, job: JobView, since: int) -> Layout:
        """Return how the slots of a job that waits since some time lie on nodes."""
        if not (job.within or job.slots):
            return ANY_LAYOUT
        level = -1
        if job.within:
            if job.within not in self._level_of:
                raise ValueError(unknown_level(job.id, job.within, self.machine))
            level = self._level_of[job.within]
        until = NEVER if job.within_wait is None else since + job.within_wait
        return level, job.within_groups if job.within else 0, until if job.within else 0, self._packs_of(job)

    def _packs_of(self, job: JobView) -> int:
        """Return where a profile has the unequal slots of a job, 0 for none."""
        if not job.slots:
            return 0
        sizes = tuple(sorted(slot_units(f"job {job.id}", job.slots)[1], reverse=True))
        at = self._packs_at.get(sizes)
        if at is None:
            self._packs.append(len(sizes))
            at = self._packs_at[sizes] = len(self._packs)
            self._packs += sizes
        return at

    def layouts_of(self, jobs: Sequence[Waiting]) -> IntArray | None:
        """Return the layouts of waiting jobs, shape (4, jobs). ``None`` if no job of the machine has any."""
        if not self.layouts:
            return None
        rows = [self.layout(job.job, job.since) for job in jobs]
        return np.array(rows, dtype=np.int64).reshape(-1, 4).T

    def packs(self, jobs: Sequence[Waiting]) -> IntArray:
        """Return the unequal slots as a profile for these jobs takes them."""
        if self.layouts:
            for job in jobs:
                self._packs_of(job.job)
        return np.array(self._packs if self._packs_at else (), dtype=np.int64)

    def next_easing(self, jobs: Sequence[Waiting], now: int) -> int | None:
        """Return when a waiting job next stops waiting for groups of nodes, ``None`` if none does."""
        if not self.layouts:
            return None
        times = [job.since + job.job.within_wait for job in jobs if job.job.within_wait is not None]
        return min((time for time in times if time > now), default=None)

    def changed(self, job: Running, came: bool) -> bool:
        """Ignore arrivals and departures. The book stays with the running jobs."""
        return True

    def uses(self, job: Waiting | Running) -> dict[Key, int]:
        """Return the shared amounts of a job by key. Kept per job."""
        key = job.order, job.nodes, job.demand
        uses = self._uses.get(key)
        if uses is None:
            uses = self._uses[key] = self.ask(request_of(job))
        return uses

    def _most_uses(self, job: Waiting) -> Counter[Key]:
        """Return the largest shared amounts of a moldable job on any of its requests, by key. Kept per job."""
        most = self._most_of.get(job.order)
        if most is None:
            most = Counter(self.uses(job))
            for shape in range(len(job.job.shapes)):
                most |= Counter(self.ask(as_request(job.job, shape)))
            self._most_of[job.order] = most
        return most

    def ask(self, request: JobView) -> dict[Key, int]:
        """Return the shared amounts of a request by key. Nodes that are kept without a job have none."""
        uses: dict[Key, int] = {}
        if not request.nodes:
            return uses
        for place, part in enumerate(self.parts):
            for what, amount in part.uses(request).items():
                if amount:
                    uses[place, what] = amount
                    if (place, what) not in self.most:
                        self.most[place, what] = part.most(what)
        return uses

    def shared(self, state: StateView) -> Shared:
        """Return the shared amounts at a decision."""
        if not self.parts:
            return Shared(self, state.now, (), Counter())
        used: Counter[Key] = Counter()
        asked: Counter[Key] = Counter()
        for run in state.running.entries:
            used.update(self.uses(run))
        for job in state.queue.entries:
            asked.update(self._most_uses(job) if job.job.shapes else self.uses(job))
        keys = [key for key, amount in asked.items() if amount + used[key] > self.parts[key[0]].least(key[1])]
        return Shared(self, state.now, keys, used)

    def reserved_until(self, name: str, now: int) -> int | None:
        """Return the end of the present window of a reservation. ``None`` if it is not on."""
        reservation = self.named.get(name) if name else None
        return None if reservation is None else next((end for _, end in reservation.windows(now, now + 1)), None)

    def open_inside(self, name: str) -> Machine:
        """Return the machine as it is open to the jobs of a reservation."""
        found = self._inside.get(name)
        if found is None:
            found = self._inside[name] = open_inside(self.machine, self.named[name])
        return found

    def horizon(self) -> int:
        """Return how far ahead a start is searched, seconds."""
        periods = [rule.every for rule in self.closing if isinstance(rule, Reservation) and rule.every is not None]
        periods += [part.every for part in self.parts if part.every is not None]
        return min(_FAR, _REPEATED * min(periods, default=_FAR))

    def closed(self, now: int, until: int) -> ClosedRows:
        """Return the closed nodes from now on, up to a time at least."""
        closed_rows = self._closed
        if closed_rows is None or not closed_rows.since <= now < closed_rows.valid or closed_rows.until < until:
            closed_rows = self._closed = self._ahead(now, now + 2 * (until - now))
        return closed_rows

    def plain_until(self, now: int) -> int:
        """Return up to when no rule limits jobs that have ended by then, seconds. `now` if some rule does at once."""
        since, valid, until = self._plain_until
        if not since <= now < valid:
            until, valid = 0, NEVER
            if not (self.parts or self.floating or self.named or self.layouts):
                until, valid = self._next_begin(now)
            self._plain_until = now, valid, until
        return max(until, now)

    def _next_begin(self, now: int) -> tuple[int, int]:
        """Return when the first nodes close or have closed, and when this changes next. Seconds."""
        begins, changes = [NEVER], [NEVER]
        for rule in self.closing:
            for closure in _closures_of_period(rule, self.machine, now):
                begins.append(closure.begin)
                changes.append(closure.begin if closure.begin > now else closure.end)
        outage = self.machine.rules.next_outage(now)
        return min(begins), min(changes) if outage is None else min(*changes, outage)

    def closures(self, now: int, until: int) -> list[Closure]:
        """Return the closures that begin before a time and end after now, those of floating reservations as well."""
        count = self.machine.nodes
        return [each for rule in (*self.closing, *self.floating) for each in rule.closures(count, now, until)]

    def closes_before(self, now: int, until: int) -> bool:
        """Return whether any nodes close before a time, or are closed now."""
        closed_rows = self.closed(now, until)
        return bool(((closed_rows.begin < until) & (closed_rows.end > now)).any())

    def _ahead(self, now: int, until: int) -> ClosedRows:
        count = self.machine.nodes
        times, rows = [], []
        for rule in self.closing:
            amounts_of = {}  # A rule closes the same amounts each time, of few sets of nodes.
            for closure in rule.closures(count, now, until):
                times += [time for time in (closure.begin, closure.end) if time > now]
                if closure.nodes not in amounts_of:
                    amounts_of[closure.nodes] = list(closed_amounts_of(closure, self.machine))
                rows += [(closure.begin, closure.end, *each) for each in amounts_of[closure.nodes]]
        outage = self.machine.rules.next_outage(now)
        times += [] if outage is None else [outage]
        fall_at, fall_free, partial = _falls_of_closures(rows, now, self.machine.capacity)
        row_begin = np.array([begin for begin, *_ in rows], dtype=np.int64)
        row_end = np.array([end for _, end, *_ in rows], dtype=np.int64)
        node = np.concatenate([_NONE, *(nodes for *_, nodes, _ in rows)])
        return ClosedRows(
            since=now,
            until=until,
            valid=min(times, default=NEVER),
            begin=row_begin,
            end=row_end,
            demand=np.array([amounts for *_, amounts in rows], dtype=np.int64).reshape(-1, len(self.machine.resources)),
            last=np.cumsum([len(nodes) for *_, nodes, _ in rows], dtype=np.int64),
            node=node,
            slots=np.ones_like(node),
            times=np.stack((row_begin, row_end, row_begin)),
            fall_at=fall_at,
            fall_free=fall_free,
            partial=partial,
        )

    def as_known(self, now: int) -> RuleBook:
        """Return the rules as they are known now, for a forecast. Later outages without announcement are not there."""
        known = copy(self)
        parts = (rule.as_known(now) if isinstance(rule, Failures) else rule for rule in self.closing)
        known.closing = [rule for rule in parts if rule is not None]
        known._closed = None
        return known

    def next_change(self, now: int) -> int | None:
        """Return when nodes open or a limit rises next, ``None`` if never."""
        changes: list[int] = []
        for rule in self.closing:
            end = next_end(rule, self.machine, now)
            changes += [] if end is None else [end]
        changes += [rise for part in self.parts if (rise := part.next_rise(now)) is not None]
        least = min(changes, default=NEVER)
        return None if least == NEVER else least


def next_end(rule: Reservation | Outage | Failures, machine: Machine, now: int) -> int | None:
    """Return the end of a rule's next known closure, or ``None``."""
    return next((each.end for each in _closures_of_period(rule, machine, now) if each.end > now), None)


def _closures_of_period(rule: Reservation | Outage | Failures, machine: Machine, now: int) -> Iterator[Closure]:
    """Yield the known closures of a rule from now on: all, or those of one period if it repeats."""
    every = getattr(rule, "every", None) or rule.end
    return rule.closures(machine.nodes, now, max(now + every + 1, rule.end))


def _falls_of_closures(
    rows: Sequence[tuple[int, int, IntArray, tuple[int, ...]]], now: int, capacity: IntArray
) -> tuple[IntArray, IntArray, bool]:
    """Return when nodes close after now, what is left of each then, and whether some close in part.

    `rows` are begins, ends, nodes and closed amounts per node. Nodes that do not close at a time have :data:`NEVER`.
    """
    begins = sorted({begin for begin, *_ in rows if begin > now})
    left = np.full((len(begins), *capacity.shape), NEVER)
    changes = [(begin, 1, nodes, np.array(amounts)) for begin, _, nodes, amounts in rows]
    changes += [(end, -1, nodes, np.array(amounts)) for _, end, nodes, amounts in rows]
    changes.sort(key=itemgetter(0), reverse=True)
    closed = np.zeros_like(capacity)
    partial = False
    for free, time in zip(left, begins, strict=True):
        closes = np.zeros(capacity.shape, dtype=np.bool_)
        while changes and changes[-1][0] <= time:
            at, sign, nodes, amounts = changes.pop()
            closed[nodes] += sign * amounts
            if sign > 0 and at == time:
                closes[nodes] |= amounts > 0
        free[closes] = np.maximum(capacity - closed, 0)[closes]
        partial = partial or bool((free[closes] > 0).any())
    return np.array(begins, dtype=np.int64), left, partial


def as_request(job: JobView, shape: int) -> JobView:
    """Return a job with the request of one of its shapes."""
    wanted = job.shapes[shape]
    request = copy(job)
    request.nodes, request.per_node, request.walltime = wanted.nodes, wanted.per_node, wanted.walltime
    return request


def request_of(job: Waiting | Running) -> JobView:
    """Return a job with the request that it waits for or runs on: its own, or that of one of its shapes."""
    here = job.nodes, job.demand
    places = (place for place, shape in enumerate(job.job.shapes) if (shape.nodes, shape.demand) == here)
    place = next(places, None)
    return job.job if place is None else as_request(job.job, place)


def on_shape(entry: Waiting, shape: int) -> Waiting:
    """Return a waiting job with one of its shapes as its own request. It keeps all its shapes."""
    wanted = entry.job.shapes[shape]
    return entry.shown_as(job=as_request(entry.job, shape), predicted=wanted.predicted, demand=wanted.demand)


def unknown_level(id_: str, level: str, machine: Machine) -> str:
    """Return the message about a job that asks for a level that a machine does not have."""
    known = ", ".join(machine.levels) or "none"
    return f"job {id_}: within: unknown level {level!r}; the machine has: {known}; give it levels in its file"


def no_amounts() -> Shared:
    """Return the shared amounts of a machine without rules: none."""
    return Shared(None, 0, (), Counter())


def closures_ahead(state: StateView, walltimes: int = 4) -> list[Closure]:
    """Return the closures up to so many longest walltimes after the last predicted end."""
    if not state.machine.rules.closing:
        return []
    last = state.running.predicted_end.max(initial=state.now)
    longest = state.queue.walltime.max(initial=0)
    ahead = bounded_ahead(state.machine, int(last) - state.now + walltimes * int(longest))
    return list(state.machine.rules.closures(state.machine.nodes, state.now, state.now + ahead))


def bounded_ahead(machine: Machine, ahead: int = _AHEAD) -> int:
    """Return `ahead`, at most :data:`_WINDOWS` repetitions of a reservation, seconds."""
    periods = (each.every for each in machine.reservations if each.every is not None)
    return min(ahead, _WINDOWS * min(periods, default=ahead))


def closed_amounts_of(closure: Closure, machine: Machine) -> Iterator[tuple[IntArray, tuple[int, ...]]]:
    """Yield groups of nodes with equal closed amounts, and the amounts per node."""
    nodes = np.array(closure.nodes, dtype=np.int64)
    if closure.amounts is not None:
        yield nodes, tuple(closure.amounts.get(name, 0) for name in machine.resources)
        return
    kinds, kind_of = np.unique(machine.capacity[nodes], axis=0, return_inverse=True)
    for kind, amounts in enumerate(kinds.tolist()):
        yield nodes[kind_of.reshape(-1) == kind], tuple(amounts)


def rule_book(state: StateView) -> RuleBook | None:
    """Return the rules of a state's machine, kept with its running jobs. ``None`` without rules."""
    running = state.running
    book: RuleBook | None = running.followers.get(_BOOK)
    if book is None and state.machine.rules:
        book = running.followers[_BOOK] = RuleBook(state.machine)
    return book


def read_rule_book(state: StateView) -> RuleBook | None:
    """Return what :func:`rule_book` does, for a dispatcher that takes its room from there."""
    book = rule_book(state)
    if book is not None:
        book.read = True
    return book


def has_rules(state: StateView) -> bool:
    """Return whether rules of the machine limit the jobs of a state."""
    return rule_book(state) is not None


def keep_book(running: JobSequence[Any], machine: Machine) -> RuleBook:
    """Keep the rules of a machine with running jobs, also those that the machine of their states does not show."""
    book = running.followers[_BOOK] = RuleBook(machine)
    return book


def keep_rules(state: StateView, book: RuleBook) -> None:
    """Keep a book with the running jobs of another state."""
    state.running.followers[_BOOK] = book
