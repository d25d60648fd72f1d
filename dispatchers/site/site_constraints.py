"""What a site asks of every schedule: the base class of constraints that plug in, and how they are named."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...base import InputError, Registry
from ...workloads import Machine
from ...workloads.machine_rules import Closure
from ..protocol import JobView
from ..registered import spec_of_inner

constraints = Registry("constraint", "hpcdispatch.constraints")
#: Between several constraints in a text.
_AND = "+"
#: What was a constraint, and is a field of the machine now, which holds under every dispatcher.
_OF_MACHINES = {"limit": "limits", "licence": "licences", "maintenance": "reservations", "power": "power"}


#: Nodes on which nothing may run for some time.
Closed = Closure


class SiteConstraint:
    """A constraint says what it asks in some of these methods; the rest ask for nothing.

    List schedules, the local search, CP-SAT, what starts a job, and the check of a finished simulation all go by what
    they return. `job` has the fields of :class:`~hpcdispatch.workloads.Job` but for the run time; what is said of one
    job and time must not change.

    Attributes
    ----------
    name
        What messages call it; by default that of the class.
    """

    name: str = ""

    def reset(self, machine: Machine) -> None:
        """Begin a simulation on a machine; raise ``ValueError`` if the options do not fit it."""

    def uses(self, job: JobView) -> Mapping[str, int]:
        """Return what a job takes while it runs, whole numbers by a name of this constraint's choice."""
        return {}

    def most(self, what: str) -> int:
        """Return how much of `what` running jobs may take together."""
        raise NotImplementedError(f"jobs use {what}, and most() does not say how much there is")

    def closed(self, begin: int, end: int) -> Iterable[Closed]:
        """Return what is closed at some time in [begin, end); a job may not be there for as long as it may run."""
        return ()

    def earliest(self, job: JobView, now: int) -> int:
        """Return the first second from `now` on at which a job may start."""
        return now

    def latest_end(self, job: JobView) -> int | None:
        """Return when a job that runs for as long as it may must have ended, or ``None``."""
        return None

    def factor(self, job: JobView, now: int) -> float:
        """Return by what the cost of a second's delay of a job is multiplied, above 0."""
        return 1.0


#: Constraints as they can be given: by name, several with ``+`` between them, or as objects.
Given = str | SiteConstraint | Sequence[str | SiteConstraint]


def create_constraints(given: Given) -> tuple[SiteConstraint, ...]:
    """Build constraints from ``NAME:key=value/key=value+NAME:...``; objects pass as they are.

    Raises
    ------
    InputError
        For an unknown name or option, or what is no :class:`SiteConstraint`.
    """
    parts = [given] if isinstance(given, str | SiteConstraint) else given
    return tuple(constraint for part in parts for constraint in _created(part))


def _created(given: Any) -> Iterator[SiteConstraint]:
    made = [given]
    if isinstance(given, str):
        texts = [text.strip() for text in given.split(_AND)] if given.strip() else []
        for name in (text.partition(":")[0] for text in texts):
            if name in _OF_MACHINES:
                known = f"it is {_OF_MACHINES[name]!r} of the machine now, which every dispatcher obeys"
                raise InputError(f"unknown constraint {name!r}: {known}; give a machine file with that field")
        made = [constraints.create(spec_of_inner(text)) for text in texts]
    for constraint in made:
        if not isinstance(constraint, SiteConstraint):
            raise InputError(f"constraint: expected a name or a SiteConstraint, got {constraint!r}")
        yield constraint


def label(part: Any) -> str:
    """Return what messages call a constraint or an objective."""
    return getattr(part, "name", "") or type(part).__name__
