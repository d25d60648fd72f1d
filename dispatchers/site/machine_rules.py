"""Rules of a machine as constraints, for planning dispatchers and for starting jobs."""

from collections.abc import Iterable, Mapping

from ...workloads import Machine
from ...workloads.machine_rules import Closure, Failures, Outage, Reservation
from ..amount_rules import AmountRule, amount_rules
from ..protocol import JobView
from .site_constraints import SiteConstraint


class SharedAmount(SiteConstraint):
    """A limit, licences or a cap. A cap that changes counts with its highest value."""

    def __init__(self, rule: AmountRule) -> None:
        self.rule = rule
        self.name = rule.name

    def uses(self, job: JobView) -> Mapping[str, int]:
        """Return the amounts of a job."""
        return self.rule.uses(job)

    def most(self, what: str) -> int:
        """Return the limit of an amount."""
        return self.rule.most(what)


class ClosedNodes(SiteConstraint):
    """A reservation, a maintenance or an outage, for jobs outside of it."""

    def __init__(self, rule: Reservation | Outage | Failures) -> None:
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
    return (*map(SharedAmount, amount_rules(machine)), *map(ClosedNodes, machine.rules.closing))
