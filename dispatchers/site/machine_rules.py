"""The rules of a machine as constraints: what dispatchers that plan, and what starts jobs, go by."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from ...workloads import Machine
from ...workloads.machine_rules import Closure, Limit, Outage, Power, Reservation
from ..protocol import JobView
from .site_constraints import SiteConstraint


class RunningLimit(SiteConstraint):
    """A limit on running jobs, or on what they hold."""

    name = "limit"

    def __init__(self, limit: Limit) -> None:
        self.limit = limit

    def uses(self, job: JobView) -> Mapping[str, int]:
        """Return a job, or its units of the resource, under whose it is."""
        limit = self.limit
        if not limit.matches(job):
            return {}
        amount = 1 if limit.of == "jobs" else job.nodes * job.per_node.get(limit.of, 0)
        whose = "all" if limit.by == "all" else f"{limit.by} {getattr(job, limit.by)}"
        return {f"{limit.of} of {whose}": amount}

    def most(self, what: str) -> int:
        """Return the limit, the same for all."""
        return self.limit.most


class LicencesLeft(SiteConstraint):
    """The licences that jobs name."""

    name = "licences"

    def __init__(self, count: Mapping[str, int]) -> None:
        self.count = count

    def uses(self, job: JobView) -> Mapping[str, int]:
        """Return the licences of a job."""
        return job.licences

    def most(self, what: str) -> int:
        """Return how many there are."""
        return self.count.get(what, 0)


class PowerCap(SiteConstraint):
    """The cap on what running jobs and the idle machine draw together, counted in whole milliwatts."""

    name = "power"

    def __init__(self, power: Power) -> None:
        self.power = power

    def uses(self, job: JobView) -> Mapping[str, int]:
        """Return the milliwatts of a job."""
        return {"mW": math.ceil(round(1000 * self.power.of(job.nodes, job.per_node), 6))}

    def most(self, what: str) -> int:
        """Return what the cap leaves above the idle machine, in milliwatts."""
        assert self.power.cap is not None
        return math.floor(1000 * (self.power.cap - self.power.idle))


class ClosedNodes(SiteConstraint):
    """A reservation, a maintenance or an outage, for jobs that do not run in it."""

    def __init__(self, rule: Reservation | Outage) -> None:
        self.rule = rule
        named = "reservation " + rule.name if isinstance(rule, Reservation) and rule.name else "maintenance"
        self.name = named if isinstance(rule, Reservation) else "outage"
        self._nodes = 0

    def reset(self, machine: Machine) -> None:
        """Take the number of the nodes."""
        self._nodes = machine.nodes

    def closed(self, begin: int, end: int) -> Iterable[Closure]:
        """Return what is closed at some time in [begin, end), as far as that is known at the begin."""
        return self.rule.closures(self._nodes, begin, end)


def machine_constraints(machine: Machine) -> tuple[SiteConstraint, ...]:
    """Return the rules of a machine as constraints on jobs that are in no reservation."""
    rules = machine.rules
    found: list[SiteConstraint] = [RunningLimit(limit) for limit in rules.limits]
    if rules.licences:
        found.append(LicencesLeft(rules.licences))
    if rules.power is not None and rules.power.cap is not None:
        found.append(PowerCap(rules.power))
    return (*found, *map(ClosedNodes, rules.closing))
