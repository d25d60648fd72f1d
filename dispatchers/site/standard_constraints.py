"""Built-in constraints: on what runs at the same time (jobs, cores, licences, watts), and on when jobs run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Literal

from ...base import InputError
from ...base.checks import check_choice, check_number, check_whole
from ...workloads import Machine
from ..protocol import JobView
from .site_constraints import Closed, SiteConstraint

#: Whose jobs are counted together.
By = Literal["user", "group", "queue", "all"]


class JobPattern:
    """Which jobs a constraint is about: those whose name, queue and user match patterns with ``*`` and ``?``."""

    def __init__(self, job: str = "*", queue: str = "*", user: str = "*") -> None:
        self.job, self.queue, self.user = job, queue, user

    def matches(self, job: JobView) -> bool:
        """Return whether a job is one of them."""
        named = ((job.name, self.job), (job.queue, self.queue), (job.user, self.user))
        return all(fnmatchcase(value, pattern) for value, pattern in named)


class RunningLimit(SiteConstraint):
    """At most so many running jobs, or units of a resource, of each user, group or queue, or of all together.

    Parameters
    ----------
    most
        How many, at least 0.
    of
        ``"jobs"``, or a resource such as ``"core"``.
    by
        Whose jobs are counted together.
    job, queue, user
        Only jobs whose name, queue and user match these patterns are counted and limited.
    """

    name = "limit"

    def __init__(
        self, most: int, of: str = "jobs", by: By = "user", job: str = "*", queue: str = "*", user: str = "*"
    ) -> None:
        self.amount = check_whole("most", most, 0)
        check_choice("by", by, By)
        self.of, self.by = of, by
        self.which = JobPattern(job, queue, user)

    def reset(self, machine: Machine) -> None:
        """Compare with the resources of the machine."""
        if self.of != "jobs":
            _check_resources("of", (self.of,), machine)

    def uses(self, job: JobView) -> Mapping[str, int]:
        """Return a job, or its units of the resource, under whose it is."""
        if not self.which.matches(job):
            return {}
        amount = 1 if self.of == "jobs" else job.nodes * job.per_node.get(self.of, 0)
        return {"all jobs" if self.by == "all" else f"{self.by} {getattr(job, self.by)}": amount}

    def most(self, what: str) -> int:
        """Return the limit, the same for all."""
        return self.amount


class Licence(SiteConstraint):
    """A licence of which there are so many; jobs that need it are known by their name, queue or user.

    Parameters
    ----------
    count
        How many there are, at least 0.
    job, queue, user
        The jobs whose name, queue and user match these patterns need it.
    each
        How many such a job needs.
    per
        ``"job"``, or ``"slot"``: as many for each of its node slots.
    """

    name = "licence"

    def __init__(
        self, count: int, job: str = "*", queue: str = "*", user: str = "*", each: int = 1,
        per: Literal["job", "slot"] = "job",
    ) -> None:  # fmt: skip
        self.count = check_whole("count", count, 0)
        self.each = check_whole("each", each, 1)
        check_choice("per", per, ("job", "slot"))
        self.per = per
        self.which = JobPattern(job, queue, user)

    def uses(self, job: JobView) -> Mapping[str, int]:
        """Return the licences of a job that needs them."""
        if not self.which.matches(job):
            return {}
        return {"licences": self.each * (job.nodes if self.per == "slot" else 1)}

    def most(self, what: str) -> int:
        """Return how many there are."""
        return self.count


class PowerCap(SiteConstraint):
    """A cap on the power that all running jobs draw: so many watts for each unit of a resource that they hold.

    It counts what runs, so it holds whatever jobs were predicted to do. What the machine draws when it is idle is to be
    taken off the cap.

    Parameters
    ----------
    cap
        Watts, above 0.
    watts
        Watts a unit of each resource, as ``"core:12;gpu:250"`` or a mapping; a resource that is not named draws none.
        Counted in whole milliwatts.
    """

    name = "power"

    def __init__(self, cap: float, watts: str | Mapping[str, float]) -> None:
        if not 0 < cap < math.inf:
            raise ValueError(f"cap must be > 0 watts and finite, got {cap}")
        self.cap = cap
        self.watts = amounts_of("watts", watts)

    def reset(self, machine: Machine) -> None:
        """Compare with the resources of the machine."""
        _check_resources("watts", self.watts, machine)

    def uses(self, job: JobView) -> Mapping[str, int]:
        """Return the milliwatts of a job."""
        slot = sum(round(1000 * self.watts.get(name, 0)) * amount for name, amount in job.per_node.items())
        return {"mW": job.nodes * slot}

    def most(self, what: str) -> int:
        """Return the cap in milliwatts."""
        return math.floor(1000 * self.cap)


def amounts_of(option: str, given: str | Mapping[str, float]) -> dict[str, float]:
    """Read ``name:number;name:number``, or a mapping, of numbers that are finite and not negative.

    Raises
    ------
    ValueError
        If it is something else.
    """
    expected = f"{option} must be name:number;name:number with numbers >= 0, got {given!r}"
    try:
        pairs = given.items() if isinstance(given, Mapping) else [entry.rsplit(":", 1) for entry in given.split(";")]
        amounts = {str(name).strip(): float(amount) for name, amount in pairs}
    except ValueError:
        raise ValueError(expected) from None
    if not amounts or not all(0 <= amount < math.inf for amount in amounts.values()):
        raise ValueError(expected)
    return amounts


def _check_resources(option: str, names: Mapping[str, float] | tuple[str, ...], machine: Machine) -> None:
    for name in names:
        if name not in machine.resources:
            known = ", ".join(machine.resources)
            raise InputError(f"{option}: unknown resource {name!r}; the machine has: {known}")


class Maintenance(SiteConstraint):
    """Nodes on which nothing runs in [begin, end), once or again and again.

    A job is started there only if it ends before, should it run for all the time that it requested. So with
    ``overrun=kill`` no job ever runs into it, whatever was predicted; with ``overrun=run`` one that exceeds its request
    may.

    Parameters
    ----------
    begin, end
        Seconds on the clock of the simulation.
    nodes
        Indices and ranges, as ``"0-15;20"``, or a sequence of indices; all nodes by default.
    every
        Seconds from one begin to the next, at least `end` - `begin`; ``None``: once.
    """

    name = "maintenance"

    def __init__(self, begin: int, end: int, nodes: str | Sequence[int] = "all", every: int | None = None) -> None:
        self.begin, self.end = check_whole("begin", begin, 0), check_whole("end", end, 0)
        if self.end <= self.begin:
            raise ValueError(f"end must be > begin = {self.begin}, got {self.end}")
        self.every = None if every is None else check_whole("every", every, self.end - self.begin)
        self.given = nodes
        self.nodes = () if nodes == "all" else nodes_of(nodes)

    def reset(self, machine: Machine) -> None:
        """Find the nodes; all of them must be there."""
        if self.given == "all":
            self.nodes = tuple(range(machine.nodes))
        if max(self.nodes) >= machine.nodes:
            raise ValueError(f"nodes must lie in 0..{machine.nodes - 1}, got {max(self.nodes)}")

    def closed(self, begin: int, end: int) -> Iterable[Closed]:
        """Return the windows that overlap with [begin, end)."""
        if self.every is None:
            if self.begin < end and begin < self.end:
                yield Closed(self.nodes, self.begin, self.end)
            return
        first = max(0, (begin - self.end) // self.every + 1)
        for number in range(first, max(first, math.ceil((end - self.begin) / self.every))):
            shift = number * self.every
            yield Closed(self.nodes, self.begin + shift, self.end + shift)


class Deadline(SiteConstraint):
    """Jobs must have ended by a time: so many seconds after their submission, or the same for all.

    Hard: such a job is not started if it would end later, should it run for all the time that it requested; once that
    is so it is rejected. With ``overrun=kill`` no job ends late. Plans put no such job after its latest start; where
    no plan does, each is left to come as it may.

    Soft: a second's delay of such a job costs ``1 + weight * exp(-max(0, slack) / (k * walltime))`` times as much,
    where slack is the time until its latest start: the urgency of the apparent tardiness cost rule (Vepsalainen and
    Morton, Management Science 33, 1987). Nothing is rejected.

    Parameters
    ----------
    within
        Seconds after submission, above 0.
    at
        Seconds on the clock of the simulation; the earlier of both if both are given.
    kind
        ``"hard"`` or ``"soft"``.
    job, queue, user
        Only for jobs whose name, queue and user match these patterns.
    weight, k
        Of the soft kind, above 0.
    """

    name = "deadline"

    def __init__(
        self, within: int | None = None, at: int | None = None, kind: Literal["hard", "soft"] = "hard",
        job: str = "*", queue: str = "*", user: str = "*", weight: float = 10.0, k: float = 2.0,
    ) -> None:  # fmt: skip
        if within is None and at is None:
            raise ValueError("within or at must be given, got neither")
        self.within = None if within is None else check_whole("within", within, 1)
        self.at = None if at is None else check_whole("at", at, 0)
        check_choice("kind", kind, ("hard", "soft"))
        check_number("weight", weight, above=0)
        check_number("k", k, above=0)
        self.kind, self.weight, self.k = kind, weight, k
        self.which = JobPattern(job, queue, user)

    def due(self, job: JobView) -> int | None:
        """Return when a job must have ended, or ``None``."""
        if not self.which.matches(job):
            return None
        times = (None if self.within is None else job.submit + self.within, self.at)
        return min(time for time in times if time is not None)

    def latest_end(self, job: JobView) -> int | None:
        """Return that, of the hard kind."""
        return self.due(job) if self.kind == "hard" else None

    def factor(self, job: JobView, now: int) -> float:
        """Return the urgency, of the soft kind."""
        due = self.due(job) if self.kind == "soft" else None
        if due is None:
            return 1.0
        slack = max(0, due - job.walltime - now)
        return 1 + self.weight * math.exp(-slack / (self.k * job.walltime))


def nodes_of(given: str | Sequence[int]) -> tuple[int, ...]:
    """Return indices of nodes from ``"0-15;20"`` or a sequence, rising, each once.

    Raises
    ------
    ValueError
        If it is something else, or there is none.
    """
    expected = f"nodes must be all, or indices and ranges such as 0-15;20, got {given!r}"
    try:
        found = set(given) if not isinstance(given, str) else set()
        for part in given.split(";") if isinstance(given, str) else ():
            first, _, last = part.partition("-")
            found |= set(range(int(first), int(last or first) + 1))
    except ValueError:
        raise ValueError(expected) from None
    if not found or min(found) < 0:
        raise ValueError(expected)
    return tuple(sorted(found))
