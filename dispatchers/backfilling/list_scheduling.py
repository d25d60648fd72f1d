"""List scheduling: the queue in some order, each job started where it fits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from ...base.checks import check_choice
from ...models import PlacementRule
from ..options import PlacementOption
from ..protocol import Action, Start, State, Waiting
from ..space import space_of

#: What happens when a job does not fit: the ones behind it wait as well, or are tried.
Blocked = Literal["wait", "skip"]


@dataclass(frozen=True)
class ListScheduler(PlacementOption):
    """Start jobs in a fixed order, each where it fits.

    Attributes
    ----------
    blocked
        What happens when a job does not fit: ``"wait"`` holds back all behind it, ``"skip"`` tries them.
    placement
        ``"first-fit"`` or ``"best-fit"``.
    """

    uses: ClassVar[tuple[str, ...]] = ()
    placement: PlacementRule = "first-fit"
    blocked: Blocked = "wait"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("blocked", self.blocked, Blocked)

    def ordered(self, state: State) -> Iterable[Waiting]:
        """Return the queue in the order of the policy."""
        return state.queue

    def dispatch(self, state: State) -> Sequence[Action]:
        """Start what fits, in order."""
        space = space_of(state, self.placement)
        actions: list[Action] = []
        for waiting in self.ordered(state):
            placement = space.place(waiting.nodes, waiting.demand)
            if placement is not None:
                actions.append(Start(waiting, placement))
            elif self.blocked == "wait":
                break
        return actions


@dataclass(frozen=True)
class FCFS(ListScheduler):
    """First come, first served: in order of submission; a job that does not fit holds back all behind it."""


@dataclass(frozen=True)
class SJF(ListScheduler):
    """Shortest predicted job first; ties by submission."""

    def ordered(self, state: State) -> list[Waiting]:
        """Return the queue, shortest prediction first."""
        return sorted(state.queue, key=lambda waiting: waiting.predicted)


@dataclass(frozen=True)
class LJF(ListScheduler):
    """Longest predicted job first; ties by submission."""

    def ordered(self, state: State) -> list[Waiting]:
        """Return the queue, longest prediction first."""
        return sorted(state.queue, key=lambda waiting: -waiting.predicted)


@dataclass(frozen=True)
class LXF(ListScheduler):
    """Largest expansion factor (wait + prediction) / prediction first; starts greedily whatever fits.

    The expansion factor counts the wait since the job was submitted.
    """

    blocked: Blocked = "skip"

    def ordered(self, state: State) -> list[Waiting]:
        """Return the queue, largest expansion factor first; ties by submission."""
        now = state.now
        return sorted(state.queue, key=lambda waiting: (waiting.job.submit - now) / waiting.predicted)
