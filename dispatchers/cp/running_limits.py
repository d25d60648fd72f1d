"""Built-in constraints on what runs at the same time: jobs and cores of a user, licences, watts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Literal

from ...base import InputError
from ...base.checks import check_choice, check_whole
from ...workloads import Machine
from ..protocol import JobView
from .site_constraints import SiteConstraint

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
