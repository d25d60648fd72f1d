"""Rules of a machine under every dispatcher: reservations, outages, licences, limits and power."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from fnmatch import fnmatchcase
from operator import itemgetter
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from ..base import LONGEST, BoolArray, IntArray, check_choice, check_number, check_whole, shown
from ..base.checks import LARGEST, check_text

#: Most windows of a reservation that are enumerated to find all overlaps, and otherwise to find some.
_WINDOWS, _SOME = 100_000, 1_000
#: Nodes by number: all, indices and ranges as in ``"0-15;20"``, or a sequence of indices.
Nodes = str | Sequence[int]


class Closure(NamedTuple):
    """Nodes, or amounts of them, that no other job may use for some time.

    Attributes
    ----------
    nodes
        Their indices.
    begin, end
        Begin and end, seconds on the clock of the simulation, half-open.
    amounts
        Closed amounts of each node, by resource; ``None``: the whole node.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.dispatchers.cp import HCP3, Closed, SiteConstraint
    >>> from hpcdispatch.testing import tiny
    >>> class Maintenance(SiteConstraint):
    ...     "The machine is closed from 100 to 400 s."
    ...
    ...     def closed(self, begin, end):
    ...         return [Closed((0,), 100, 400)]
    >>> hd.simulate(tiny(), HCP3(constraints=[Maintenance()])).jobs["start"].tolist()
    [0, 460, 400, 20, 460]
    """

    nodes: Sequence[int]
    begin: int
    end: int
    amounts: Mapping[str, int] | None = None


class _Timed:
    """A rule with a begin and an end, once or repeated."""

    __slots__ = ()
    begin: int
    end: int
    nodes: Nodes

    @property
    def _period(self) -> int | None:
        return getattr(self, "every", None)

    def _check(self, where: str) -> None:
        for name in ("begin", "end"):
            object.__setattr__(self, name, check_whole(f"{where}: {name}", getattr(self, name), 0, LONGEST))
        if self.end <= self.begin:
            raise ValueError(f"{where}: end must be > begin = {self.begin}, got {self.end}")
        if self.nodes != "all":
            object.__setattr__(self, "nodes", nodes_of(where, self.nodes))

    def indices(self, machine_nodes: int) -> tuple[int, ...]:
        """Return the indices of the nodes on a machine with `machine_nodes` nodes."""
        return tuple(range(machine_nodes)) if self.nodes == "all" else tuple(map(int, self.nodes))

    def windows(self, begin: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield begin and end of the windows that overlap with [begin, end)."""
        every = self._period or LONGEST
        first = max(0, (begin - self.end) // every + 1)
        while self.begin + first * every < end:
            yield self.begin + first * every, self.end + first * every
            first += 1
            if self._period is None:
                return


#: End of the last step of a cap that does not repeat, seconds: later than any start.
_FOR_EVER = int(np.iinfo(np.int64).max)


@dataclass(frozen=True, slots=True)
class Reservation(_Timed):
    """Nodes kept free in [begin, end) for some jobs, or for none (maintenance).

    A job runs in it if its `reservation` has this name. It starts from `begin` on, on these nodes, and ends before
    `end` by its walltime. Any other job starts on these nodes only if it ends before `begin` by its walltime. Thus with
    ``overrun="kill"`` no other job ever runs there. With ``"run"`` one that exceeds its walltime may.

    Attributes
    ----------
    begin, end
        Seconds on the clock of the workload.
    nodes
        ``"all"``, indices and ranges such as ``"0-15;20"``, or a sequence of indices.
    name
        Its name for jobs; empty for maintenance.
    amounts
        Reserved amounts of each node, by resource, as of a pool; ``None``: the whole node.
    users
        Users whose jobs may name it; empty: all.
    every
        Seconds from one begin to the next, at least ``end - begin``; ``None``: once.
    floating
        Whether `begin` and `end` are relative to the present at any time, as with Slurm's ``TIME_FLOAT``. No other job
        may then run there for longer than `begin`.

    Raises
    ------
    ValueError
        If a field is out of its range.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from dataclasses import replace
    >>> from hpcdispatch.testing import tiny
    >>> from hpcdispatch.workloads import Reservation
    >>> machine = replace(tiny().machine, reservations=(Reservation(100, 400),))
    >>> hd.simulate(replace(tiny(), machine=machine), "easy").jobs["start"].tolist()
    [0, 400, 450, 20, 510]
    """

    begin: int
    end: int
    nodes: Nodes = "all"
    name: str = ""
    amounts: Mapping[str, int] | None = None
    users: tuple[str, ...] = ()
    every: int | None = None
    floating: bool = False

    def __post_init__(self) -> None:
        where = f"reservation {self.name}".rstrip()
        self._check(where)
        if self.every is not None:
            check_whole(f"{where}: every", self.every, self.end - self.begin, LONGEST)
        if self.floating and (self.every is not None or self.name or self.amounts is not None):
            raise ValueError(f"{where}: a floating one has no name and no amounts, and does not repeat")
        check_text(f"{where}: name", self.name)
        object.__setattr__(
            self, "users", (self.users,) if isinstance(self.users, str) else _several(where, self, "users")
        )
        if self.users and not self.name:
            raise ValueError(f"{where}: users {shown(self.users)} need its name for their jobs; give one")
        for user in self.users:
            check_text(f"{where}: users", user)
        if self.amounts is not None:
            object.__setattr__(self, "amounts", _counts(f"{where}: amounts", self.amounts))

    @property
    def closes_only(self) -> bool:
        """Whether it is a maintenance of whole nodes. Such ones may overlap."""
        return not self.name and self.amounts is None

    def closures(self, machine_nodes: int, now: int, end: int) -> Iterator[Closure]:
        """Yield its closures in [now, end) for jobs outside it."""
        nodes = self.indices(machine_nodes)
        if self.floating:
            if self.begin < end - now:
                yield Closure(nodes, now + self.begin, now + self.end, self.amounts)
            return
        for begin, stop in self.windows(now, end):
            yield Closure(nodes, begin, stop, self.amounts)


@dataclass(frozen=True, slots=True)
class Outage(_Timed):
    """Nodes that are down in [begin, end). Jobs that run there at its begin end then.

    Attributes
    ----------
    begin, end
        Seconds on the clock of the workload.
    nodes
        As of :class:`Reservation`.
    announced
        Whether it is known in advance. Then a job starts there only if it ends before the outage by its walltime.
    requeue
        Whether the jobs return to the queue. They keep the work of their last checkpoint. Otherwise they end as
        ``"killed"``, with the failed node as the reason.

    Raises
    ------
    ValueError
        If a field is out of its range.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from dataclasses import replace
    >>> from hpcdispatch.testing import tiny
    >>> from hpcdispatch.workloads import Outage
    >>> machine = replace(tiny().machine, outages=(Outage(100, 400),))
    >>> hd.simulate(replace(tiny(), machine=machine), "easy").jobs["start"].tolist()
    [0, 400, 450, 20, 510]
    """

    begin: int
    end: int
    nodes: Nodes = "all"
    announced: bool = True
    requeue: bool = False

    def __post_init__(self) -> None:
        self._check("outage")

    def closures(self, machine_nodes: int, now: int, end: int) -> Iterator[Closure]:
        """Yield its closures in [now, end), if it is known at `now`."""
        if self.begin < end and now < self.end and (self.announced or self.begin <= now):
            yield Closure(self.indices(machine_nodes), self.begin, self.end)


class Failures:
    """All unannounced outages of a machine as one rule: at any time few of many are on.

    Parameters
    ----------
    outages
        The outages. None of them is announced.

    Attributes
    ----------
    begin, end
        Of the first and of the last, seconds.
    """

    def __init__(self, outages: Sequence[Outage]) -> None:
        self._outages = sorted(outages, key=lambda each: each.begin)
        self._begins = np.array([each.begin for each in self._outages], dtype=np.int64)
        #: Latest end of each outage and of all before it.
        self._over = np.maximum.accumulate([each.end for each in self._outages])
        self.begin, self.end = int(self._begins[0]), int(self._over[-1])

    def indices(self, machine_nodes: int) -> tuple[int, ...]:
        """Return the indices of all nodes that fail at some time."""
        return tuple(sorted({node for each in self._outages for node in each.indices(machine_nodes)}))

    def closures(self, machine_nodes: int, now: int, end: int) -> Iterator[Closure]:
        """Yield the closures that are on at `now`, by their end. Later ones are not known then."""
        first = int(np.searchsorted(self._over, now, "right"))
        last = int(np.searchsorted(self._begins, now, "right")) if now < end else first
        closures = [closure for each in self._outages[first:last] for closure in each.closures(machine_nodes, now, end)]
        yield from sorted(closures, key=lambda closure: closure.end)

    def as_known(self, now: int) -> Failures | None:
        """Return those that have begun by a time. ``None`` if there are none."""
        begun = self._outages[: int(np.searchsorted(self._begins, now, "right"))]
        return Failures(begun) if begun else None

    def next_begin(self, now: int) -> int | None:
        """Return when nodes fail next after a time, for the engine alone. ``None`` if never."""
        place = int(np.searchsorted(self._begins, now, "right"))
        return int(self._begins[place]) if place < len(self._begins) else None


class NamedJob(Protocol):
    """The fields of a job that rules use."""

    @property
    def user(self) -> str: ...  # noqa: D102

    @property
    def group(self) -> str: ...  # noqa: D102

    @property
    def queue(self) -> str: ...  # noqa: D102

    @property
    def qos(self) -> str: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit on running jobs or used resources. It is per user, group or queue, or for all.

    Attributes
    ----------
    most
        The largest amount, at least 0.
    of
        ``"jobs"``, or a resource such as ``"core"``.
    by
        Jobs that are counted together: of one ``"user"``, ``"group"`` or ``"queue"``, or ``"all"``.
    user, group, queue
        Patterns with ``*`` and ``?``. Only jobs that match are counted and limited.
    among
        Combinations of user, group, queue and QOS. Only jobs with one of these are counted and limited; empty: all.

    Raises
    ------
    ValueError
        If a field is out of its range.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from dataclasses import replace
    >>> from hpcdispatch.testing import pool
    >>> from hpcdispatch.workloads import Limit
    >>> workload = pool(40)
    >>> limited = replace(workload, machine=replace(workload.machine, limits=(Limit(1, "jobs", by="all"),)))
    >>> [round(hd.simulate(each, "easy").summary()["wait_mean"]) for each in (workload, limited)]
    [7288, 39502]
    """

    most: int
    of: str = "jobs"
    by: Literal["user", "group", "queue", "all"] = "user"
    user: str = "*"
    group: str = "*"
    queue: str = "*"
    among: tuple[tuple[str, str, str, str], ...] = ()

    def __post_init__(self) -> None:
        check_whole("limit: most", self.most, 0)
        check_choice("limit: by", self.by, ("user", "group", "queue", "all"))
        among = _several("limit", self, "among")
        if not all(isinstance(each, list | tuple) and len(each) == 4 for each in among):
            raise ValueError(f"limit: among must be users, groups, queues and QOS, got {shown(self.among)}")
        object.__setattr__(self, "among", tuple(map(tuple, among)))
        for name in ("of", "user", "group", "queue"):
            check_text(f"limit: {name}", getattr(self, name))

    def matches(self, job: NamedJob) -> bool:
        """Return whether a job counts."""
        if self.among and (job.user, job.group, job.queue, job.qos) not in self.among:
            return False
        named = ((job.user, self.user), (job.group, self.group), (job.queue, self.queue))
        return all(pattern == "*" or fnmatchcase(value, pattern) for value, pattern in named)


@dataclass(frozen=True, slots=True)
class Power:
    """The power of the machine, and a cap on it.

    Attributes
    ----------
    watts
        Watts per unit of each resource in use. An unnamed resource has none.
    idle
        Further watts of the machine at all times.
    cap
        Most watts of running jobs and `idle` together; ``None``: no cap. A cap that changes is given as pairs of a
        time, seconds on the clock of the workload, and the watts from then on. The first time is 0.
    every
        Seconds after which the pairs repeat, such as 86,400; ``None``: never.

    Raises
    ------
    ValueError
        If a number is negative or not finite, a cap is not above `idle`, or times do not rise from 0.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from dataclasses import replace
    >>> from hpcdispatch.testing import tiny
    >>> from hpcdispatch.workloads import Power
    >>> machine = replace(tiny().machine, power=Power({"core": 10.0}, idle=20.0, cap=60.0))
    >>> hd.simulate(replace(tiny(), machine=machine), "easy").attempts["watts"].tolist()
    [10.0, 10.0, 20.0, 40.0, 10.0]
    """

    watts: Mapping[str, float]
    idle: float = 0.0
    cap: float | Sequence[tuple[int, float]] | None = None
    every: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.watts, Mapping) or not self.watts:
            raise ValueError(f"power: watts must be watts by resource, got {shown(self.watts)}")
        for name, amount in (*self.watts.items(), ("idle", self.idle)):
            check_number(f"power: {name}", amount, least=0)
        if isinstance(self.cap, list | tuple):
            object.__setattr__(self, "cap", self._checked_pairs(self.cap))
        elif self.every is not None:
            raise ValueError(f"power: every = {self.every} needs pairs of time and watts as cap, got {shown(self.cap)}")
        for _, watts in self.caps:
            check_number("power: cap", watts, least=0)
            if not self.idle < watts < math.inf:
                raise ValueError(f"power: cap must be > idle = {self.idle:g} watts and finite, got {watts}")

    def _checked_pairs(self, given: Sequence[Any]) -> tuple[tuple[int, float], ...]:
        if not given or not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in given):
            raise ValueError(f"power: cap must be watts, or pairs of time and watts, got {shown(given)}")
        if self.every is not None:
            check_whole("power: every", self.every, 1, LONGEST)
        most = LONGEST if self.every is None else self.every - 1
        times = [check_whole("power: time of a cap", time, 0, most) for time, _ in given]
        if times[0] != 0 or sorted(set(times)) != times:
            raise ValueError(f"power: times of the cap must rise from 0, got {shown(times)}")
        return tuple((int(time), watts) for time, watts in given)

    @property
    def caps(self) -> tuple[tuple[int, float], ...]:
        """Pairs of a time and the cap from then on, watts. Empty without a cap."""
        if self.cap is None:
            return ()
        return ((0, self.cap),) if not isinstance(self.cap, tuple) else self.cap

    def cap_steps(self, begin: int, end: int) -> Iterator[tuple[int, int, float]]:
        """Yield begin, end and cap (watts) of the steps in [begin, end)."""
        caps = self.caps
        shift = 0 if self.every is None else begin // self.every * self.every
        while shift < end and caps:
            last = _FOR_EVER if self.every is None else shift + self.every
            # A file may have years of steps; those before `begin` are not looked at one by one.
            place = max(bisect_right(caps, begin - shift, key=itemgetter(0)) - 1, 0)
            while place < len(caps) and shift + caps[place][0] < end:
                time, watts = caps[place]
                place += 1
                yield shift + time, shift + caps[place][0] if place < len(caps) else last, watts
            if self.every is None:
                return
            shift += self.every

    def of(self, nodes: int, per_node: Mapping[str, int]) -> float:
        """Return the watts of a job with `nodes` slots."""
        return nodes * sum(self.watts.get(name, 0.0) * amount for name, amount in per_node.items())


@dataclass(frozen=True, slots=True)
class MachineRules:
    """All rules of a machine.

    Attributes
    ----------
    reservations, outages, limits, power
        As in their classes.
    licences
        Number of licences, by name. A job uses those of its `licences` while it runs.
    layouts
        Whether jobs ask for groups of the machine's levels, or have unequal slots.
    closing
        The rules that close nodes at some time: reservations, announced outages, and all others as one.

    Raises
    ------
    ValueError
        If reservations that overlap exceed a node together, or two share a name. Only maintenance of whole nodes may
        overlap. Also if they leave no time for other jobs.
    """

    reservations: tuple[Reservation, ...] = ()
    outages: tuple[Outage, ...] = ()
    licences: Mapping[str, int] | None = None
    limits: tuple[Limit, ...] = ()
    power: Power | None = None
    layouts: bool = field(default=False, compare=False)
    closing: tuple[Reservation | Outage | Failures, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name, kind in (("reservations", Reservation), ("outages", Outage), ("limits", Limit)):
            rules = _several("machine", self, name)
            if not all(isinstance(each, kind) for each in rules):
                raise ValueError(f"machine: {name} must be of {kind.__name__}, got {shown(rules)}")
            object.__setattr__(self, name, rules)
        if self.power is not None and not isinstance(self.power, Power):
            raise ValueError(f"machine: power must be of Power, got {shown(self.power)}")
        object.__setattr__(
            self, "licences", _counts("machine: licences", {} if self.licences is None else self.licences)
        )
        names = [each.name for each in self.reservations if each.name]
        if len(set(names)) < len(names):
            raise ValueError(f"machine: reservations must have names that differ, got {shown(names)}")
        known = [each for each in self.outages if each.announced]
        sudden = [each for each in self.outages if not each.announced]
        object.__setattr__(self, "closing", (*self.reservations, *known, *([Failures(sudden)] if sudden else ())))

    def __bool__(self) -> bool:
        """Return whether there are any rules."""
        return bool(self.reservations or self.outages or self.licences or self.limits or self.power or self.layouts)

    def check(self, resources: Sequence[str], capacity: IntArray) -> None:
        """Check that the rules fit the machine; otherwise raise ``ValueError``."""
        named = [(f"limit: of {each.of!r}", each.of) for each in self.limits if each.of != "jobs"]
        named += [("power: watts", name) for name in (self.power.watts if self.power else ())]
        for each in self.closing:
            where = f"reservation {each.name}".rstrip() if isinstance(each, Reservation) else "outage"
            last = max(each.indices(len(capacity)))
            amounts = getattr(each, "amounts", None) or {}
            if last >= len(capacity):
                raise ValueError(f"{where}: nodes must lie in 0..{len(capacity) - 1}, got {last}")
            named += [(where, name) for name in amounts]
            for node in each.indices(len(capacity)) if amounts else ():
                there = dict(zip(resources, capacity[node].tolist(), strict=True))
                for name, amount in amounts.items():
                    if amount > there.get(name, amount):
                        raise ValueError(
                            f"{where}: asks for {amount} of {name} on node {node}, which has {there[name]}"
                        )
        for where, name in named:
            if name not in resources:
                raise ValueError(f"{where}: unknown resource {name!r}; the machine has: {', '.join(resources)}")
        if self.reservations:
            self._check_together(resources, capacity)

    def _check_together(self, resources: Sequence[str], capacity: IntArray) -> None:
        """Check that reservations that are on at one time fit the nodes, and that other jobs may run at some time."""

        def taken(several: Iterable[Reservation]) -> IntArray:
            return sum((_taken(each, resources, capacity) for each in several), np.zeros_like(capacity))

        def excess(several: Sequence[Reservation]) -> tuple[str, int]:
            """Return the reservations that do not fit a node together, and the node. No text if all fit."""
            closing = taken(each for each in several if each.closes_only)
            over = taken(each for each in several if not each.closes_only) > capacity
            over |= (closing > 0) & (taken(each for each in several if each.name) > 0)
            if not over.any():
                return "", -1
            node = int(np.flatnonzero(over.any(axis=1))[0])
            return _names(each for each in several if node in each.indices(len(capacity))), node

        timed = [each for each in self.reservations if not each.floating]
        times, again, whole = _bounds(timed)
        on = _on(timed, times)
        several = [[timed[place] for place in np.flatnonzero(pattern)] for pattern in np.unique(on, axis=0)]
        near = [] if whole else [[other for other in timed if _meet(each, other)] for each in timed]
        several += [
            [each, other] for each in timed for other in timed if near and other is not each and _meet(each, other)
        ]
        for group in several:
            names, node = excess(group)
            if names:
                raise ValueError(f"machine: reservations {names} overlap on node {node}")
        for group in near:  # None of them overlap in the enumerated windows, and no two ever.
            names, _ = excess(group)
            if names:
                raise ValueError(
                    f"machine: reservations {names}: expected periods that repeat together in {_WINDOWS:,} windows, "
                    f"got {', '.join(str(each.every) for each in group if each.every)}; change a period or an amount"
                )
        always = [each for each in self.reservations if each.floating and each.begin == 0]
        steady = np.unique(on[times >= again], axis=0)
        shut = [always + [timed[place] for place in np.flatnonzero(pattern)] for pattern in steady]
        if shut and all((taken(each) >= capacity).all() for each in shut):
            names = _names(each for each in self.reservations if any(each in several for several in shut))
            raise ValueError(f"machine: reservation {names}: leaves no node to other jobs at any time")

    def next_outage(self, now: int) -> int | None:
        """Return when nodes go down next after a time, for the engine alone. ``None`` if never."""
        begins = [rule.begin for rule in self.closing if isinstance(rule, Outage) and rule.begin > now]
        sudden = None if self.failures is None else self.failures.next_begin(now)
        return min([*begins, *([] if sudden is None else [sudden])], default=None)

    @property
    def failures(self) -> Failures | None:
        """The unannounced outages, if there are any."""
        return next((rule for rule in self.closing if isinstance(rule, Failures)), None)

    def closures(self, machine_nodes: int, now: int, end: int) -> Iterator[Closure]:
        """Yield the closures in [now, end) that are known at `now`, for jobs outside reservations."""
        for rule in self.closing:
            yield from rule.closures(machine_nodes, now, end)

    def reservation(self, name: str) -> Reservation | None:
        """Return the reservation with a name, ``None`` if there is none."""
        return next((each for each in self.reservations if each.name == name), None)

    def is_on(self, name: str, now: int) -> bool:
        """Return whether a reservation of this name contains the time. Without a name, return false."""
        reservation = self.reservation(name) if name else None
        return reservation is not None and any(reservation.windows(now, now + 1))

    def fields(self) -> dict[str, Any]:
        """Return the given rules for JSON; :meth:`read` reads them back."""
        rules = {each.name: getattr(self, each.name) for each in fields(self) if each.init}
        parts = {name: list(map(given_fields, value)) for name, value in rules.items() if isinstance(value, tuple)}
        power = {} if self.power is None else {"power": given_fields(self.power)}
        return {
            name: value for name, value in {**parts, "licences": dict(self.licences or {}), **power}.items() if value
        }

    @classmethod
    def read(cls, found: Mapping[str, Any]) -> MachineRules:
        """Return rules from fields of a JSON object. Other fields are ignored.

        Raises
        ------
        ValueError
            If a field is invalid. The message names it.
        """
        values: dict[str, Any] = {}
        for name, kind in (("reservations", Reservation), ("outages", Outage), ("limits", Limit)):
            rows = found.get(name, [])
            if not isinstance(rows, Sequence) or isinstance(rows, str):
                raise ValueError(f"field {name!r}: expected a list of objects, got {shown(rows)}")
            values[name] = tuple(_read(kind, row, f"field {name!r}") for row in rows)
        if found.get("power") is not None:
            values["power"] = _read(Power, found["power"], "field 'power'")
        return cls(licences=found.get("licences", {}), **values)


def given_fields(part: Any) -> dict[str, Any]:
    """Return the fields of a rule, or of another dataclass, that differ from their defaults."""
    members = ((each.name, getattr(part, each.name), each.default) for each in fields(part))
    return {name: value for name, value, default in members if default is MISSING or value != default}


def _read(kind: Any, record: Any, where: str) -> Any:
    known = {each.name: each.default is MISSING for each in fields(kind)}
    if not isinstance(record, Mapping):
        raise ValueError(f"{where}: expected an object with {', '.join(known)}, got {shown(record)}")
    for name in record:
        if name not in known:
            raise ValueError(f"{where}: unknown field {shown(name)}; known: {', '.join(known)}")
    for name, needed in known.items():
        if needed and name not in record:
            raise ValueError(f"{where}: expected field {name!r}, got none")
    try:
        return kind(**record)
    except TypeError as error:
        raise ValueError(f"{where}: {error}") from None


def _several(where: str, rule: Any, name: str) -> tuple[Any, ...]:
    value = getattr(rule, name)
    if not isinstance(value, list | tuple):
        raise ValueError(f"{where}: {name} must be a list or tuple, got {shown(value)}")
    return tuple(value)


def _counts(where: str, given: Any) -> dict[str, int]:
    if not isinstance(given, Mapping):
        raise ValueError(f"{where} must be whole numbers by name, got {shown(given)}")
    return {str(name): check_whole(f"{where}: {name}", amount, 0) for name, amount in given.items()}


def _names(several: Iterable[Reservation]) -> str:
    return " and ".join(each.name or f"of {each.begin}..{each.end}" for each in several)


def _taken(reservation: Reservation, resources: Sequence[str], capacity: IntArray) -> IntArray:
    """Return what a reservation takes while it is on, shape (nodes, resources)."""
    taken = np.zeros_like(capacity)
    nodes = list(reservation.indices(len(capacity)))
    amounts = reservation.amounts
    taken[nodes] = capacity[nodes] if amounts is None else [amounts.get(name, 0) for name in resources]
    return taken


def _bounds(several: Sequence[Reservation]) -> tuple[IntArray, int, bool]:
    """Return begins and ends of windows until all repeat together, and since when they do.

    The third is false if a reservation has more than :data:`_WINDOWS` windows until then. Only its first ones, and as
    many since then, are returned.
    """
    again = max((each.end for each in several), default=0)
    last = again + math.lcm(*(each.every or 1 for each in several))
    bounds, whole = [np.array([again])], True
    for each in several:
        every = each.every or LARGEST
        count = 1 if each.every is None else (last - each.begin) // every + 1
        first = (again - each.begin) // every
        begins = each.begin + every * np.arange(count if count <= _WINDOWS else _SOME)
        bounds += [begins, begins + (each.end - each.begin)]
        if count > _WINDOWS:
            whole = False
            bounds += [begins + first * every, begins + first * every + (each.end - each.begin)]
    return np.unique(np.concatenate(bounds)), again, whole


def _meet(one: Reservation, other: Reservation) -> bool:
    """Return whether two reservations are on at one time, now or later. They do not float."""
    if one.every is None:
        return any(other.windows(one.begin, one.end))
    if other.every is None:
        return any(one.windows(other.begin, other.end))
    step = math.gcd(one.every, other.every)  # Their begins lie apart by each multiple of it, plus a rest.
    rest = (other.begin - one.begin) % step
    return rest < one.end - one.begin or step - rest < other.end - other.begin


def _on(several: Sequence[Reservation], times: IntArray) -> BoolArray:
    """Return which reservations are on at which times, shape (times, reservations)."""
    on = np.zeros((len(times), len(several)), np.bool_)
    for place, each in enumerate(several):
        since = times - each.begin
        on[:, place] = (since >= 0) & (since % (each.every or LARGEST) < each.end - each.begin)
    return on


def nodes_of(where: str, given: Nodes) -> tuple[int, ...]:
    """Return sorted indices of nodes from ``"0-15;20"`` or a sequence, without repetitions.

    Raises
    ------
    ValueError
        If the value is something else, or empty.
    """
    expected = f"{where}: nodes must be all, or indices and ranges such as 0-15;20, got {shown(given)}"
    try:
        nodes = set() if isinstance(given, str) else {check_whole(where, node, 0) for node in given}
        for part in given.split(";") if isinstance(given, str) else ():
            first, _, last = part.partition("-")
            nodes |= set(range(int(first), int(last or first) + 1))
    except (TypeError, ValueError):
        raise ValueError(expected) from None
    if not nodes or min(nodes) < 0:
        raise ValueError(expected)
    return tuple(sorted(nodes))


def refuse_reservation(job: Any, rules: MachineRules) -> str:
    """Return why a job can never run in its reservation. The text is empty if it can."""
    reservation = rules.reservation(job.reservation)
    if reservation is None:
        known = ", ".join(each.name for each in rules.reservations if each.name) or "none"
        return f"unknown reservation {job.reservation!r}; the machine has: {known}"
    if reservation.users and job.user not in reservation.users:
        return f"reservation {reservation.name} is not for user {job.user!r}"
    if reservation.end - reservation.begin < job.walltime:
        return f"its walltime of {job.walltime} s is longer than reservation {reservation.name}"
    return ""
