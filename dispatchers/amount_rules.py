"""Amounts of the whole machine that running jobs share: limits, licences, and power under a cap."""

import math
from collections.abc import Iterator, Mapping

from ..workloads import Machine
from ..workloads.machine_rules import Limit, Power
from .views import JobView


class AmountRule:
    """A rule on an amount of the whole machine. Its limit never changes, unless a subclass says so.

    Attributes
    ----------
    name
        Name in messages.
    every
        Seconds after which the limit repeats, ``None``: it does not.
    """

    name: str = ""
    every: int | None = None

    def uses(self, job: JobView) -> Mapping[str, int]:
        """Return what a running job uses: whole amounts by name."""
        raise NotImplementedError

    def most(self, what: str) -> int:
        """Return the largest limit of an amount."""
        raise NotImplementedError

    def least(self, what: str) -> int:
        """Return the lowest limit of an amount at any time."""
        return self.most(what)

    def at(self, what: str, now: int) -> int:
        """Return the limit of an amount at a time."""
        return self.most(what) - next((missing for _, _, missing in self.lower(now, now + 1)), 0)

    def lower(self, begin: int, end: int) -> Iterator[tuple[int, int, int]]:
        """Yield begin, end and missing amount of the times in [begin, end) with a limit below the largest."""
        yield from ()

    def next_rise(self, now: int) -> int | None:
        """Return when the limit rises next after now, ``None`` if never."""
        return None


class RunningLimit(AmountRule):
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


class LicencesLeft(AmountRule):
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


class PowerCap(AmountRule):
    """Cap on the power of running jobs and the idle machine, in whole milliwatts."""

    name = "power"

    def __init__(self, power: Power) -> None:
        self.power = power
        self.every = power.every
        left = [self._above_idle(watts) for _, watts in power.caps]
        self._most, self._least = max(left), min(left)

    def _above_idle(self, watts: float) -> int:
        return math.floor(1000 * (watts - self.power.idle))

    def uses(self, job: JobView) -> Mapping[str, int]:
        """Return the milliwatts of a job."""
        return {"mW": math.ceil(round(1000 * self.power.of(job.nodes, job.per_node), 6))}

    def most(self, what: str) -> int:
        """Return the milliwatts that the highest cap leaves above the idle machine."""
        return self._most

    def least(self, what: str) -> int:
        """Return the milliwatts that the lowest cap leaves above the idle machine."""
        return self._least

    def lower(self, begin: int, end: int) -> Iterator[tuple[int, int, int]]:
        """Yield begin, end and missing milliwatts of the times in [begin, end) with a cap below the highest."""
        for first, last, watts in self.power.cap_steps(begin, end):
            missing = self._most - self._above_idle(watts)
            if missing:
                yield first, last, missing

    def next_rise(self, now: int) -> int | None:
        """Return when the cap rises next after now, ``None`` if never."""
        before = None
        for first, _, watts in self.power.cap_steps(now, now + 2 * (self.power.every or self.power.caps[-1][0] + 1)):
            if before is not None and watts > before and first > now:
                return first
            before = watts
        return None


def amount_rules(machine: Machine) -> tuple[AmountRule, ...]:
    """Return the machine's rules on amounts of the whole machine."""
    rules = machine.rules
    limits: list[AmountRule] = [RunningLimit(limit) for limit in rules.limits]
    if rules.licences:
        limits.append(LicencesLeft(rules.licences))
    if rules.power is not None and rules.power.caps:
        limits.append(PowerCap(rules.power))
    return tuple(limits)
