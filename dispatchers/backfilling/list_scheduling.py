"""List scheduling: the queue in some order, each job started where it fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

from ...base.checks import check_choice
from ...models.backfilling import EXPANSION, LONGEST, SHORTEST
from ..options import PlacementOption
from ..protocol import Action, Start, State, Waiting
from .counted import indexed, start_at
from .slot_space import room_of

#: What happens when a job does not fit: the ones behind it wait as well, or are tried.
Blocked = Literal["wait", "skip"]


class Key(Protocol):
    """What a policy sorts by."""

    def __call__(self, predicted: Any, submit: Any, now: int) -> Any:
        """Return the number by which a waiting job is tried, least first: of one job, or of all from their columns."""
        ...


@dataclass(frozen=True)
class ListScheduler(PlacementOption):
    """Start jobs in a fixed order, each where it fits.

    Attributes
    ----------
    blocked
        What happens when a job does not fit: ``"wait"`` holds back all behind it, ``"skip"`` tries them.
    key
        What a policy sorts by; ties, and where it is ``None`` all, by submission.
    order
        The same as an order of :func:`.models.events.best_allowed`.
    """

    uses: ClassVar[tuple[str, ...]] = ("numba",)
    memoryless: ClassVar[bool] = True
    key: ClassVar[Key | None] = None
    order: ClassVar[int | None] = None
    blocked: Blocked = "wait"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("blocked", self.blocked, Blocked)

    def dispatch(self, state: State) -> Sequence[Action]:
        """Start what fits, in order."""
        queue, now, key, skip = state.queue.entries, state.now, self.key, self.blocked == "skip"
        index = indexed(state) if self.order is not None else None
        if self.order is not None and index is not None:
            chosen = index.in_order(state, self.order, skip)
            return start_at(state, room_of(state, self.placement), chosen) if chosen else ()
        space = room_of(state, self.placement)
        waits: Sequence[Waiting] = queue
        if key is not None:
            waits = sorted(queue, key=lambda waiting: key(waiting.predicted, waiting.job.submit, now))
        actions: list[Action] = []
        for waiting in waits:
            placement = space.place(waiting.nodes, waiting.demand)
            if placement is not None:
                actions.append(Start(waiting, placement))
            elif not skip:
                break
        return actions


@dataclass(frozen=True)
class FCFS(ListScheduler):
    """First come, first served: in order of submission; a job that does not fit holds back all behind it."""


@dataclass(frozen=True)
class SJF(ListScheduler):
    """Shortest predicted job first; ties by submission."""

    key: ClassVar[Key | None] = staticmethod(lambda predicted, submit, now: predicted)
    order: ClassVar[int | None] = SHORTEST


@dataclass(frozen=True)
class LJF(ListScheduler):
    """Longest predicted job first; ties by submission."""

    key: ClassVar[Key | None] = staticmethod(lambda predicted, submit, now: -predicted)
    order: ClassVar[int | None] = LONGEST


@dataclass(frozen=True)
class LXF(ListScheduler):
    """Largest expansion factor (wait + prediction) / prediction first; starts greedily whatever fits.

    The expansion factor counts the wait since the job was submitted.
    """

    key: ClassVar[Key | None] = staticmethod(lambda predicted, submit, now: (submit - now) / predicted)
    order: ClassVar[int | None] = EXPANSION
    blocked: Blocked = "skip"
