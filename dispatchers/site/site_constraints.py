"""Constraints of a site on every schedule: the base class of plug-ins, and their names."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...base import InputError, Registry, shown
from ...base.argument_types import names_wrong_types
from ...workloads import Machine
from ...workloads.machine_rules import Closure
from ..protocol import JobView
from ..registered import spec_of_inner

constraints = Registry("constraint", "hpcdispatch.constraints")
#: Separator between constraints in a text: a plus outside of brackets.
_AND = re.compile(r"\+(?![^()]*\))")
#: Former constraints that are now fields of the machine, under every dispatcher.
_OF_MACHINES = {"limit": "limits", "licence": "licences", "maintenance": "reservations", "power": "power"}


#: Nodes that are closed for some time.
Closed = Closure


class SiteConstraint:
    """A site constraint overrides some of these methods. The others have no effect.

    List schedules, local search, CP-SAT, the start of jobs, and the check of a finished simulation all use them. `job`
    has the fields of :class:`~hpcdispatch.workloads.Job` except the run time. The answer for one job and time must
    never change.

    Attributes
    ----------
    name
        Name in messages. By default that of the class.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.dispatchers.cp import HCP3, SiteConstraint
    >>> from hpcdispatch.testing import tiny
    >>> class OneLicence(SiteConstraint):
    ...     "Every job needs the only licence."
    ...
    ...     def uses(self, job):
    ...         return {"licence": 1}
    ...
    ...     def most(self, what):
    ...         return 1
    >>> hd.simulate(tiny(), HCP3(constraints=[OneLicence()])).jobs["start"].tolist()
    [0, 190, 130, 100, 240]
    """

    name: str = ""

    def reset(self, machine: Machine) -> None:
        """Begin a simulation on a machine. Raise ``ValueError`` if the options do not fit it."""

    def uses(self, job: JobView) -> Mapping[str, int]:
        """Return what a running job uses: whole amounts by name, as ``{"licences": 2}``. The names are free."""
        return {}

    def most(self, what: str) -> int:
        """Return the limit of an amount: how much of `what` all running jobs may use together."""
        raise NotImplementedError(f"jobs use {what}, and most() does not say how much there is")

    def closed(self, begin: int, end: int) -> Iterable[Closed]:
        """Return the closures of nodes in [begin, end). No job may use them if its walltime reaches one."""
        return ()

    def earliest(self, job: JobView, now: int) -> int:
        """Return the earliest start of a job from `now` on, seconds."""
        return now

    def latest_end(self, job: JobView) -> int | None:
        """Return when a job must have ended, by its walltime, or ``None``."""
        return None

    def started(self, job: JobView, now: int) -> None:
        """Note that a job starts now. For constraints on past starts."""

    def factor(self, job: JobView, now: int) -> float:
        """Return a factor above 0. It multiplies the cost of the job's delay."""
        return 1.0


#: Forms of constraints: names joined by ``+``, or objects.
Given = str | SiteConstraint | Sequence[str | SiteConstraint]


@names_wrong_types
def create_constraints(given: Given) -> tuple[SiteConstraint, ...]:
    """Create constraints from ``NAME(value;key=value)+NAME(...)``. Objects are returned as they are.

    Values without a key are the options in their order. ``NAME:key=value/key=value`` means the same.

    Raises
    ------
    InputError
        For an unknown name or option, or an object that is not a :class:`SiteConstraint`.

    Examples
    --------
    >>> from hpcdispatch.dispatchers.cp import create_constraints
    >>> [type(constraint).__name__ for constraint in create_constraints("never-together(a;b)+at-most(user;2)")]
    ['NeverTogether', 'AtMostOf']
    """
    parts = [given] if isinstance(given, str | SiteConstraint) else given
    return tuple(constraint for part in parts for constraint in _created(part))


def _created(given: Any) -> Iterator[SiteConstraint]:
    made = [given]
    if isinstance(given, str):
        texts = [text.strip() for text in _AND.split(given)] if given.strip() else []
        for name in (re.split("[:(]", text)[0] for text in texts):
            if name in _OF_MACHINES:
                known = f"it is {_OF_MACHINES[name]!r} of the machine now, which every dispatcher obeys"
                raise InputError(f"unknown constraint {name!r}: {known}; give a machine file with that field")
        made = [_from_text(text) for text in texts]
    for constraint in made:
        if not isinstance(constraint, SiteConstraint):
            base = "subclass hpcdispatch.dispatchers.cp.SiteConstraint"
            raise InputError(f"constraint: expected a name or a SiteConstraint, got {shown(constraint)}; {base}")
        yield constraint


def _from_text(text: str) -> Any:
    """Create one constraint from ``NAME(value;key=value)`` or ``NAME:key=value/key=value``."""
    name, bracket, rest = text.partition("(")
    if not bracket or ":" in name:
        return constraints.create(spec_of_inner(text))
    if not rest.endswith(")") or "(" in rest:
        raise InputError(f"constraint {shown(text)}: expected NAME(value;key=value), with one pair of brackets")
    known = constraints.options(name)
    given: dict[str, str] = {}
    for place, item in enumerate(rest[:-1].split(";") if rest[:-1].strip() else ()):
        key, equals, value = (part.strip() for part in item.partition("="))
        if not equals:
            if place >= len(known):
                raise InputError(f"constraint {shown(text)}: expected at most {len(known)} values")
            key, value = known[place].name, key
        if key in given:
            raise InputError(f"constraint {shown(text)}: option {shown(key)} is given twice")
        given[key] = value
    return constraints.create(name, False, **given)


def label(part: Any) -> str:
    """Return the name of a constraint or an objective in messages."""
    return getattr(part, "name", "") or type(part).__name__
