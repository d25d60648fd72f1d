"""List scheduling: try the queue in some order, and start each job that fits."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from ...base import part_label
from ...models.backfilling.easy import SUBMISSION
from ...models.backfilling.job_queue import EXPANSION, LONGEST, SHORTEST
from ...workloads import Machine
from ..options import Preset
from ..protocol import Action, Start, State, Waiting, id_of
from ..rule_book import has_rules
from ..space import space_of
from .counted import indexed, start_at
from .orders import OrderOption, is_submission

#: If a job does not fit: later jobs wait too, or are tried.
Blocked = Literal["wait", "skip"]
#: Orders of :func:`.models.backfilling.fill`.
COMPILED = {"submission": SUBMISSION, "sjf": SHORTEST, "ljf": LONGEST, "lxf": EXPANSION}


@dataclass(frozen=True)
class ListScheduler(OrderOption):
    """First come, first served: a job that does not fit blocks all jobs behind it.

    Other orders are possible, and so is skipping jobs that do not fit.

    Attributes
    ----------
    placement
        ``"first-fit"`` fills nodes in their order. ``"best-fit"`` fills the node with the least free share first.
        ``"compact"`` uses few groups of the machine's levels.
    order
        Order in which waiting jobs are tried: ``"submission"``, ``"priority"``, ``"sjf"``, ``"fairshare"`` or another
        registered one, with its options as in ``fairshare:half_life=3600``. Or an object with ``ranks(state)``.
    blocked
        What happens if a job does not fit: ``"wait"`` blocks all jobs behind it, ``"skip"`` tries them.
    commit
        Whether a job that blocks others is kept in front until it starts, whatever the order says later.

    Raises
    ------
    ValueError
        For ``commit`` with ``blocked="skip"``, under which no job blocks others.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.dispatchers import FCFS
    >>> from hpcdispatch.testing import tiny
    >>> hd.simulate(tiny(), FCFS()).jobs["start"].tolist()
    [0, 0, 100, 160, 160]
    >>> hd.simulate(tiny(), FCFS(order="sjf", blocked="skip")).jobs["start"].tolist()
    [0, 0, 250, 20, 50]
    """

    uses: ClassVar[tuple[str, ...]] = ("numba",)
    on_profile: ClassVar[bool] = True
    plans_closures: ClassVar[bool] = True
    blocked: Blocked = "wait"
    commit: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.commit and self.blocked == "skip":
            raise ValueError("commit must be false with blocked=skip, under which no job blocks others")

    @cached_property
    def _blocking(self) -> list[str]:
        """The id of the job that was kept at the last decision; empty if there is none."""
        return []

    def reset(self, machine: Machine | None, rng: np.random.Generator | None = None) -> None:
        """Reset the order, and forget the job that is kept."""
        super().reset(machine, rng)
        self._blocking.clear()

    @property
    def name(self) -> str:
        """Name in messages: ``FCFS``, or its order. A subclass has its own name."""
        if type(self) is not ListScheduler:
            return type(self).__name__
        return "FCFS" if is_submission(self.order) else part_label(self.order).upper()

    @property
    def compiled_order(self) -> int | None:
        """The number of its order in compiled code, ``None`` if that has another, or a job is kept in front."""
        if self.commit and not is_submission(self.order):
            return None
        return COMPILED.get(self.order) if isinstance(self.order, str) else None

    def dispatch(self, state: State) -> Sequence[Action]:
        """Start the jobs that fit, in order."""
        skip = self.blocked == "skip"
        if has_rules(state):
            started = state.profile(self.placement).start_now(self.sorted_queue(state), skip)
            self._keep_first(state, started)
            self.tell_order(started, state.now)
            return started
        order = self.compiled_order
        # In order of submission, only the head matters.
        index = None if order is None or order == SUBMISSION else indexed(state)
        if index is not None and order is not None:
            chosen = index.in_order(state, order, skip)
            return start_at(state, space_of(state, self.placement), chosen) if chosen else ()
        space = space_of(state, self.placement)
        actions: list[Action] = []
        for waiting in self.sorted_queue(state):
            placement = space.place(waiting.nodes, waiting.demand)
            if placement is not None:
                actions.append(Start(waiting, placement))
            elif not skip:
                break
        self._keep_first(state, actions)
        self.tell_order(actions, state.now)
        return actions

    def sorted_queue(self, state: State) -> Sequence[Waiting]:
        """Return the waiting jobs in order, the one that is kept in front."""
        queue = super().sorted_queue(state)
        if not self._blocking:
            return queue
        kept = next((job for job in queue if job.id in self._blocking), None)
        return queue if kept is None else [kept, *(job for job in queue if job is not kept)]

    def _keep_first(self, state: State, started: Sequence[Action]) -> None:
        """Keep the first job that did not start."""
        if not self.commit:
            return
        gone = {id_of(action.job) for action in started if isinstance(action, Start)}
        first = next((job.id for job in self.sorted_queue(state) if job.id not in gone), None)
        self._blocking[:] = [] if first is None else [first]


FCFS = ListScheduler
SJF = Preset(ListScheduler, ListScheduler(order="sjf"), "Shortest predicted job first.", frozenset({"order"}))
LJF = Preset(ListScheduler, ListScheduler(order="ljf"), "Longest predicted job first.", frozenset({"order"}))
LXF = Preset(
    ListScheduler,
    ListScheduler(order="lxf", blocked="skip"),
    "Largest expansion factor first, and whatever else fits.",
    frozenset({"order"}),
)
