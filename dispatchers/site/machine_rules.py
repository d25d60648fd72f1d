"""Rules of a machine as constraints, for planning dispatchers and for starting jobs."""

import math
from collections.abc import Iterable, Mapping

from ...workloads import Machine
from ...workloads.machine_rules import Closure, Limit, Outage, Power, Reservation
from ..protocol import JobView
from .site_constraints import SiteConstraint


class RunningLimit(SiteConstraint):
    """A limit on running jobs, or on their amounts."""

    name = "limit"

    def __init__(self, limit: Limit) -> None:
        self.limit = limit

    def uses(self, job: JobView) -> Mapping[str, int]:
        """Return one job, or its units of the resource, under the owner of the limit."""
        limit = self.limit
        if not limit.matches(job):
            return {}
        amount = 1 if limit.of == "jobs" else job.nodes * job.per_node.get(limit.of, 0)
        whose = "all" if limit.by == "all" else f"{limit.by} {getattr(job, limit.by)}"
        return {f"{limit.of} of {whose}": amount}

    def most(self, what: str) -> int:
        """Return the limit, equal for all owners."""
        return self.limit.most


class LicencesLeft(SiteConstraint):
    """Licences that jobs require."""

    name = "licences"

    def __init__(self, count: Mapping[str, int]) -> None:
        self.count = count

    def uses(self, job: JobView) -> Mapping[str, int]:
        """Return the licences of a job."""
        return job.licences

    def most(self, what: str) -> int:
        """Return the number of a licence."""
        return self.count.get(what, 0)


class PowerCap(SiteConstraint):
    """Cap on the power of running jobs and the idle machine, in whole milliwatts."""

    name = "power"

    def __init__(self, power: Power) -> None:
        self.power = power

    def uses(self, job: JobView) -> Mapping[str, int]:
        """Return the milliwatts of a job."""
        return {"mW": math.ceil(round(1000 * self.power.of(job.nodes, job.per_node), 6))}

    def most(self, what: str) -> int:
        """Return the milliwatts that the cap leaves above the idle machine."""
        assert self.power.cap is not None
        return math.floor(1000 * (self.power.cap - self.power.idle))


class ClosedNodes(SiteConstraint):
    """A reservation, a maintenance or an outage, for jobs outside of it."""

    def __init__(self, rule: Reservation | Outage) -> None:
        self.rule = rule
        named = "reservation " + rule.name if isinstance(rule, Reservation) and rule.name else "maintenance"
        self.name = named if isinstance(rule, Reservation) else "outage"
        self._nodes = 0

    def reset(self, machine: Machine) -> None:
        """Store the number of nodes."""
        self._nodes = machine.nodes

    def closed(self, begin: int, end: int) -> Iterable[Closure]:
        """Return the closures in [begin, end), as known at the begin."""
        return self.rule.closures(self._nodes, begin, end)


def machine_constraints(machine: Machine) -> tuple[SiteConstraint, ...]:
    """Return the machine's rules as constraints on jobs outside of reservations."""
    rules = machine.rules
    found: list[SiteConstraint] = [RunningLimit(limit) for limit in rules.limits]
    if rules.licences:
        found.append(LicencesLeft(rules.licences))
    if rules.power is not None and rules.power.cap is not None:
        found.append(PowerCap(rules.power))
    return (*found, *map(ClosedNodes, rules.closing))
