"""What an environment lets a policy decide. A dispatcher lets it decide the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from operator import index
from typing import Any, Literal

import numpy as np

from ..base import BoolArray, InputError, IntArray
from ..base.checks import LONGEST, check_choice, check_flag, check_whole, shown
from ..dispatchers import EASY, create_dispatcher
from ..dispatchers.backfilling.list_scheduling import COMPILED
from ..models.events.steps import BACKFILL, INSPECT, PICK, SELECT

Behind = Literal["none", "easy", "sjbf"]
#: The environments, what each decides, and its options.
MODES = {"PickJob-v0": PICK, "Backfill-v0": BACKFILL, "Inspect-v0": INSPECT, "PolicySelect-v0": SELECT}
_OPTIONS = (("backfill", "commit"), (), ("base", "delay", "most", "backfill"), ("policies", "every"))
_BEHIND = ("none", "easy", "sjbf")
#: Dispatchers by name. Options are not accepted: those from a file of a stranger could read other files.
_LISTS = ("fcfs", "sjf", "ljf", "lxf")
_DISPATCHERS = (*_LISTS, "easy", "easy-sjbf")


@dataclass(frozen=True, slots=True)
class Rules:
    """The decisions of an environment.

    Attributes
    ----------
    id
        Of the environment, with or without ``hpcdispatch/``.
    visible
        How many waiting jobs are shown, at least 1.
    backfill
        What starts behind a chosen job that does not fit (``PickJob-v0``, ``Inspect-v0``): ``"none"``; by ``"easy"``,
        jobs that do not delay it in order of the queue; ``"sjbf"``, the shortest of them first.
    commit
        Whether a chosen job that does not fit stays chosen until it starts, as in RLScheduler (``PickJob-v0``).
    base
        ``"fcfs"``, ``"sjf"``, ``"ljf"`` or ``"lxf"``. The next job of this list scheduler is accepted or put off
        (``Inspect-v0``).
    delay, most
        For how many seconds a job is put off at most, and how often, before it starts unasked (``Inspect-v0``).
    policies
        Dispatchers to choose among, with ``+`` between: those of `base`, ``easy`` and ``easy-sjbf``
        (``PolicySelect-v0``).
    every
        Least seconds between two choices (``PolicySelect-v0``).
    """

    id: str
    visible: int = 128
    backfill: Behind = "easy"
    commit: bool = False
    base: str = "sjf"
    delay: int = 600
    most: int = 72
    policies: str = "fcfs+sjf+lxf+easy+easy-sjbf"
    every: int = 3600

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", str(self.id).removeprefix("hpcdispatch/"))
        try:
            check_choice("id", self.id, tuple(MODES))
            check_whole("visible", self.visible, 1, 100_000)
            check_choice("backfill", self.backfill, _BEHIND)
            check_flag("commit", self.commit)
            check_whole("delay", self.delay, 1, LONGEST)
            check_whole("most", self.most, 0)
            check_whole("every", self.every, 1, LONGEST)
            check_choice("base", self.base, _LISTS)
            for name in self.names:
                check_choice("policies", name, _DISPATCHERS)
            for each in fields(self)[2:]:
                if each.name not in _OPTIONS[self.mode] and getattr(self, each.name) != each.default:
                    raise ValueError(f"{each.name} is no option of {self.id}")
        except ValueError as error:
            raise InputError(f"environment: {error}") from None

    @classmethod
    def of(cls, spec: Any) -> Rules:
        """Return the rules of an environment. It is given as rules, a mapping, an environment or its ``spec``.

        Raises
        ------
        InputError
            If there are none, or one is out of its range.
        """
        spec = getattr(getattr(spec, "unwrapped", spec), "rules", spec)
        if isinstance(spec, Rules):
            return spec
        if hasattr(spec, "id") and hasattr(spec, "kwargs"):
            spec = {"id": spec.id, **{name: value for name, value in spec.kwargs.items() if name in NAMES}}
        if not isinstance(spec, Mapping) or "id" not in spec:
            raise InputError(f"env_spec: expected an environment, or options with 'id'; got {shown(spec)}")
        for name in spec:
            if name not in NAMES:
                raise InputError(f"environment: unknown option {shown(name)}; of decisions: {', '.join(NAMES[1:])}")
        return cls(**spec)

    @property
    def mode(self) -> int:
        """The type of decision."""
        return MODES[self.id]

    @property
    def names(self) -> list[str]:
        """The dispatchers to choose among."""
        return self.policies.split("+") if isinstance(self.policies, str) else [self.policies]

    @property
    def actions(self) -> int:
        """How many actions there are."""
        return 2 if self.mode == INSPECT else len(self.names) if self.mode == SELECT else self.visible

    def action(self, given: Any, mask: BoolArray | None = None) -> int:
        """Return an action as a whole number.

        Raises
        ------
        InputError
            If it is out of range, or not allowed by a mask, shape (actions,).
        """
        given = given.item() if isinstance(given, np.generic) else given
        try:
            action = index(given)
        except TypeError:
            action = -1
        if not 0 <= action < self.actions:
            raise InputError(f"{self.id}: action: expected 0 to {self.actions - 1}, got {shown(given)}")
        if mask is not None and not mask[action]:
            raise InputError(f"{self.id}: action: expected one of {mask.sum()} allowed, got {action}, masked")
        return action

    def array(self) -> IntArray:
        """Return the rules as compiled code has them."""
        parts: list[int] = []
        for name in self.names if self.mode == SELECT else [self.base]:
            made: Any = create_dispatcher(name)
            easy = isinstance(made, EASY)
            parts += (1, 0, made.shortest_first) if easy else (0, COMPILED[made.order], made.blocked == "skip")
        delay = self.every if self.mode == SELECT else self.delay
        behind = _BEHIND.index(self.backfill)
        return np.array([self.mode, behind, self.commit, delay, self.most, *parts], dtype=np.int64)

    def fields(self) -> dict[str, Any]:
        """Return the rules as a mapping, which :meth:`of` takes."""
        return asdict(self)


NAMES = tuple(each.name for each in fields(Rules))
