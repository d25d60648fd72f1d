"""PBS as sites with several queues run it: queue by queue, backfilling behind the first job that waits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from ...models import PlacementRule
from ..protocol import Action, State
from .easy import EASY


@dataclass(frozen=True)
class PBS(EASY):
    """Jobs by the priority of their queue, first come first served in it, with EASY backfilling behind the first.

    A model of the default of PBS Professional: ``by_queue``, ``strict_ordering`` and ``backfill_depth`` 1 (Altair PBS
    Professional Administrator's Guide, chapter on scheduling). Sites add fair share and limits a user, which are not in
    it. The reservation is that of :class:`EASY`, for the first job in this order that does not fit.

    Attributes
    ----------
    placement
        ``"first-fit"`` or ``"best-fit"``.
    queues
        Names of queues with ``;`` between, the one of the highest priority first; jobs of other queues come after
        those. By default there is one queue, which is EASY.

    Raises
    ------
    ValueError
        If a queue is named twice.
    """

    placement: PlacementRule = "first-fit"
    queues: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        names = self.queues.split(";") if self.queues else []
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"queues must name each queue once, got {name!r} {names.count(name)} times")

    @cached_property
    def _ranks(self) -> dict[str, int]:
        return {name: rank for rank, name in enumerate(self.queues.split(";"))}

    def dispatch(self, state: State) -> Sequence[Action]:
        """Start from the head of the first queue, then backfill behind the first job that does not fit."""
        if not self.queues:
            return super().dispatch(state)
        ranks, last = self._ranks, len(self._ranks)
        return self.in_order(
            state, sorted(state.queue.entries, key=lambda waiting: ranks.get(waiting.job.queue, last))
        )  # fmt: skip
