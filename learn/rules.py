"""What an environment lets a policy decide. A dispatcher lets it decide the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from operator import index
from typing import Any, Literal

import numpy as np

from ..base import BoolArray, InputError
from ..base.checks import LONGEST, check_choice, check_flag, check_whole, shown
from ..dispatchers import EASY, ListScheduler, create_dispatcher
from ..dispatchers.backfilling.orders import create_order, orders
from ..dispatchers.protocol import Dispatcher
from ..dispatchers.registered import registry
from ..models.events.job_orders import GIVEN, ORDERS
from ..models.events.steps import BACKFILL, CHOSEN, INSPECT, PICK, SELECT, TWO_LEVELS, StepRules
from .columns import DEFAULT, Selection, names_of, selected

Behind = Literal["none", "easy", "sjbf"]
#: The environments, what each decides, and its options.
MODES = {
    "PickJob-v0": PICK,
    "Backfill-v0": BACKFILL,
    "Inspect-v0": INSPECT,
    "PolicySelect-v0": SELECT,
    "TwoLevel-v0": TWO_LEVELS,
}
_OPTIONS = (
    ("backfill", "commit"),
    (),
    ("base", "delay", "most", "backfill"),
    ("policies", "every"),
    ("head", "fill", "skip", "commit", "delay", "most"),
)
#: Options of all environments.
_ALWAYS = ("visible", "observe", "order")
_BEHIND = ("none", "easy", "sjbf")
_POLICY = "policy"
#: List schedulers by name, with the order of each in compiled code.
_LISTS = {"fcfs": ORDERS["submission"], **{name: code for name, code in ORDERS.items() if name != "submission"}}
#: Dispatchers that compiled code has.
_COMPILED = ("fcfs", "sjf", "ljf", "lxf", "easy", "easy-sjbf")


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
        The next job of this list scheduler is accepted or put off: ``"fcfs"``, or an order that compiled code has, such
        as ``"sjf"`` or ``"f1"`` (``Inspect-v0``).
    delay, most
        For how many seconds a job is put off at most, and how often, before it starts unasked (``Inspect-v0``). In
        ``TwoLevel-v0``, for how many seconds nothing starts, and how often in a row.
    policies
        Dispatchers to choose among, with ``+`` between. An order, such as ``f1``, is the list scheduler with this order
        (``PolicySelect-v0``).
    every
        Least seconds between two choices (``PolicySelect-v0``).
    head
        What chooses the next job, which gets a reservation if it does not fit: ``"policy"``, or an order as for `base`
        (``TwoLevel-v0``).
    fill
        What starts behind a job with a reservation: ``"policy"``, or as for `backfill` (``TwoLevel-v0``).
    skip
        Whether one more action, the last, starts nothing for now (``TwoLevel-v0``).
    order
        Order of the rows: any registered one. If there are more jobs than rows, the first in this order are visible.
    observe
        Names of the columns of an observation, see :mod:`.columns`. By default the eight of all environments.

    Examples
    --------
    >>> from hpcdispatch.learn import Rules
    >>> rules = Rules("PickJob-v0", visible=16, backfill="sjbf")
    >>> rules.visible, rules.order
    (16, 'submission')
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
    head: str = _POLICY
    fill: str = _POLICY
    skip: bool = False
    order: str = "submission"
    observe: tuple[str, ...] = ()

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
            check_choice("base", self.base, tuple(_LISTS))
            check_choice("head", self.head, (_POLICY, *_LISTS))
            check_choice("fill", self.fill, (_POLICY, *_BEHIND))
            check_flag("skip", self.skip)
            for each in fields(self):
                used = each.name in ("id", *_ALWAYS) or each.name in _OPTIONS[self.mode]
                if not used and getattr(self, each.name) != each.default:
                    raise ValueError(f"{each.name} is no option of {self.id}")
            if not isinstance(self.policies, str):
                raise ValueError(f"policies must be names with + between, got {shown(self.policies)}")
            if not isinstance(self.order, str):
                raise ValueError(f"order must be the name of an order, got {shown(self.order)}")
            create_order(self.order)
            for name in self.names if self.mode == SELECT else ():
                create_part(name)
            object.__setattr__(self, "observe", names_of(self.observe))
        except InputError as error:
            told = str(error)
            raise InputError(told if told.startswith("environment: ") else f"environment: {told}") from None
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
        return self.policies.split("+")

    @property
    def columns(self) -> Selection:
        """The columns of an observation."""
        return selected(self.observe or (*DEFAULT, *(("reserved",) if self.mode == TWO_LEVELS else ())))

    @property
    def compiled(self) -> bool:
        """Whether compiled code has the order of the rows and all dispatchers."""
        return self.order in ORDERS and (self.mode != SELECT or set(self.names) <= set(_COMPILED))

    @property
    def actions(self) -> int:
        """How many actions there are."""
        if self.mode == SELECT:
            return len(self.names)
        return 2 if self.mode == INSPECT else self.visible + self.skip

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

    def compiled_rules(self) -> StepRules:
        """Return the rules as compiled code has them."""
        parts: list[tuple[int, int, int]] = []
        if self.mode == TWO_LEVELS:
            parts = [(0, CHOSEN if self.head == _POLICY else _LISTS[self.head], 0)]
        for name in self.names if self.mode == SELECT else [self.base] if self.mode == INSPECT else []:
            made: Any = create_part(name)
            if isinstance(made, EASY):
                parts.append((1, 0, int(made.shortest_first)))
            else:
                parts.append((0, _LISTS.get(name, 0), int(isinstance(made, ListScheduler) and made.blocked == "skip")))
        delay = self.every if self.mode == SELECT else self.delay
        fill = self.fill if self.mode == TWO_LEVELS else self.backfill
        behind = (*_BEHIND, _POLICY).index(fill)
        sort = ORDERS.get(self.order, GIVEN)
        easy, order, flag = np.array(parts, dtype=np.int64).reshape(-1, 3).T.copy()
        commit, skip = int(self.commit), int(self.skip)
        return StepRules(self.mode, behind, commit, delay, self.most, sort, skip, easy, order, flag)

    def fields(self) -> dict[str, Any]:
        """Return the rules as a mapping, which :meth:`of` takes."""
        return asdict(self)


def create_part(name: str) -> Dispatcher:
    """Create a dispatcher to choose: a registered one, or the list scheduler of a registered order.

    Raises
    ------
    InputError
        If it is neither.
    """
    known = name not in registry.names() and name.partition(":")[0] in orders.names()
    return ListScheduler(order=name) if known else create_dispatcher(name)


NAMES = tuple(each.name for each in fields(Rules))
