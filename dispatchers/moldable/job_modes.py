"""Modes of moldable jobs, one per size, for dispatchers that decide size and start together."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...base import BoolArray
from ...models import fitting as fitting_in
from ..fitting import amounts_of
from ..fitting import fitting as fitting_on
from ..protocol import Start, State, Waiting
from ..space import Space
from .rigid_jobs import allowed_sizes, as_rigid


class Mode(NamedTuple):
    """A job on one of its sizes.

    Attributes
    ----------
    waiting
        The job as a rigid one.
    shape
        Index of its shape. ``None`` for its own request.
    """

    waiting: Waiting
    shape: int | None


class JobModes:
    """Modes of waiting jobs, cached while they wait."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[Waiting, list[Mode]]] = {}

    def of(self, waiting: Waiting, state: State) -> list[Mode]:
        """Return the modes of a job that the rules of the machine ever allow.

        Without dominated ones: those that need as much as another and no less time.
        """
        kept = self._kept.get(waiting.order)
        if kept is None or kept[0] is not waiting:
            kept = self._kept[waiting.order] = (waiting, _undominated(waiting, state))
        return kept[1]

    def of_queue(self, state: State) -> list[list[Mode]]:
        """Return the modes of all waiting jobs, and drop those of others."""
        modes = [self.of(waiting, state) for waiting in state.queue]
        self._kept = {waiting.order: self._kept[waiting.order] for waiting in state.queue}
        return modes

    def fastest(self, waiting: Waiting, state: State) -> Waiting:
        """Return a job in its fastest mode."""
        return min((mode.waiting for mode in self.of(waiting, state)), key=lambda entry: entry.predicted)

    def shaped(self, start: Start) -> Start:
        """Return the start of a mode as a start of the moldable job."""
        shape = next(mode.shape for mode in self._kept[start.job.order][1] if mode.waiting is start.job)
        return start if shape is None else replace(start, shape=shape)


def modes_that_fit(state: State, space: Space, modes: Sequence[Waiting], *, pooled: bool) -> BoolArray:
    """Return which modes each fit now: on the nodes, or if `pooled`, on the pool of all nodes."""
    ahead = State(state.now, modes, state.running, state.free, state.machine)
    need = amounts_of(ahead.queue)
    if pooled:
        return fitting_in(need, np.array(space.totals, dtype=np.int64))[0]
    return fitting_on(ahead, need, space)[0]


def _undominated(waiting: Waiting, state: State) -> list[Mode]:
    modes = [Mode(as_rigid(waiting, size), size.shape) for size in allowed_sizes(waiting, state)]
    costs = [(*(mode.waiting.nodes * unit for unit in mode.waiting.demand), mode.waiting.predicted) for mode in modes]
    return [
        mode
        for place, (mode, cost) in enumerate(zip(modes, costs, strict=True))
        if not any(
            all(less <= own for less, own in zip(other, cost, strict=True)) and (other != cost or before < place)
            for before, other in enumerate(costs)
        )
    ]
