"""List scheduling: the queue in some order, each job started where it fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from ...base import FloatArray
from ...base.checks import check_choice
from ...models import PlacementRule
from ...models.backfilling import fill_smallest_first
from ..options import PlacementOption
from ..protocol import Action, Start, State
from ..space import space_of
from .counted import counted, start_at

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

    uses: ClassVar[tuple[str, ...]] = ("numba",)
    placement: PlacementRule = "first-fit"
    blocked: Blocked = "wait"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("blocked", self.blocked, Blocked)

    def key(self, state: State) -> FloatArray | None:
        """Return the number by which the waiting jobs are tried, least first; ``None`` for the order of submission."""
        return None

    def dispatch(self, state: State) -> Sequence[Action]:
        """Start what fits, in order."""
        if not state.free.any():
            return []
        space, key, skip = space_of(state, self.placement), self.key(state), self.blocked == "skip"
        numbers = None if key is None else counted(state)
        if numbers is not None and key is not None:
            places = fill_smallest_first(numbers.free, state.queue.nodes, numbers.unit, key, skip)
            return start_at(state, space, places.tolist())
        actions: list[Action] = []
        for waiting in state.queue if key is None else map(state.queue.__getitem__, np.argsort(key, kind="stable")):
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

    def key(self, state: State) -> FloatArray:
        """Return the predictions."""
        return state.queue.predicted.astype(np.float64)


@dataclass(frozen=True)
class LJF(ListScheduler):
    """Longest predicted job first; ties by submission."""

    def key(self, state: State) -> FloatArray:
        """Return the predictions, below zero."""
        return -state.queue.predicted.astype(np.float64)


@dataclass(frozen=True)
class LXF(ListScheduler):
    """Largest expansion factor (wait + prediction) / prediction first; starts greedily whatever fits.

    The expansion factor counts the wait since the job was submitted.
    """

    blocked: Blocked = "skip"

    def key(self, state: State) -> FloatArray:
        """Return the wait by the prediction, below zero."""
        return (state.queue.submit - state.now) / state.queue.predicted
