"""What an environment lets a policy decide. A dispatcher lets it decide the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

import numpy as np

from ..base import InputError, IntArray
from ..base.checks import LONGEST, check_choice, check_flag, check_whole, shown
from ..dispatchers import create_dispatcher
from ..dispatchers.backfilling.compiled_traces import entry_of
from ..dispatchers.backfilling.list_scheduling import COMPILED, ListScheduler
from ..models.events.steps import BACKFILL, INSPECT, PICK

Behind = Literal["none", "easy", "sjbf"]
#: The environments, and what each decides.
MODES = {"PickJob-v0": PICK, "Backfill-v0": BACKFILL, "Inspect-v0": INSPECT, "PolicySelect-v0": -1}
_BEHIND = ("none", "easy", "sjbf")


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
        The list scheduler. Its next job is accepted or put off (``Inspect-v0``), such as ``"sjf"``.
    delay, most
        For how many seconds a job is put off at most, and how often, before it starts unasked (``Inspect-v0``).
    policies
        Dispatchers to choose among, with ``+`` between (``PolicySelect-v0``).
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
        except ValueError as error:
            raise InputError(f"environment: {error}") from None
        if self.mode == INSPECT:
            made = create_dispatcher(self.base)
            if type(made) is not ListScheduler or made.order not in COMPILED:
                expected = "a list scheduler in one of the orders " + ", ".join(COMPILED)
                raise InputError(f"environment: base: expected {expected}, got {shown(self.base)}")
        if self.mode < 0:
            for name in self.names:
                if entry_of(create_dispatcher(name)) is None:
                    expected = "fcfs, sjf, ljf, lxf, easy or easy-sjbf"
                    raise InputError(f"environment: policies: expected {expected}, got {shown(name)}")

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
        if not isinstance(spec, Mapping) or "id" not in spec or not set(spec) <= NAMES:
            raise InputError(f"env_spec: expected an environment, or 'id' and {', '.join(NAMES)}; got {shown(spec)}")
        return cls(**spec)

    @property
    def mode(self) -> int:
        """The type of decision: a compiled mode, or -1 for a choice of dispatchers."""
        return MODES[self.id]

    @property
    def names(self) -> list[str]:
        """The dispatchers to choose among."""
        return self.policies.split("+") if isinstance(self.policies, str) else [self.policies]

    @property
    def actions(self) -> int:
        """How many actions there are."""
        return 2 if self.mode == INSPECT else self.visible if self.mode >= 0 else len(self.names)

    def array(self) -> IntArray:
        """Return the rules as compiled code has them."""
        base: Any = create_dispatcher(self.base) if self.mode == INSPECT else ListScheduler()
        order, skip = COMPILED[base.order], base.blocked == "skip"
        behind = _BEHIND.index(self.backfill)
        return np.array([self.mode, behind, self.commit, order, skip, self.delay, self.most], dtype=np.int64)

    def fields(self) -> dict[str, Any]:
        """Return the rules as a mapping, which :meth:`of` takes."""
        return asdict(self)


NAMES = {each.name for each in fields(Rules)}
