"""Dispatching on the fly: nothing is promised to anybody."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import ClassVar

import numpy as np

from ...base.checks import check_choice, check_least
from ...models import PlacementRule
from ...workloads import Machine
from ..protocol import Action, Start, State, Waiting
from ..space import Space, space_of

_by_prediction = attrgetter("predicted")


class OnTheFly:
    """Start jobs by their estimates alone, as soon as there is room (Gainaru et al., IJHPCA 2019, section 4.2).

    Whenever something is free, the first job of the order that fits starts. Nobody gets a reservation and nobody is
    killed. A job of several slots, or of large ones, could wait for ever while others take what becomes free bit by
    bit. Therefore time counts from when a job did not fit and one that asks for less of something started: `drain`
    seconds later everybody waits until it fits. Jobs that all ask for the same never meet this.

    Parameters
    ----------
    drain
        Seconds; ``None`` lets a large job wait for ever.
    placement
        ``"first-fit"`` or ``"best-fit"``.
    """

    uses: ClassVar[tuple[str, ...]] = ()
    #: Whether long estimates come first.
    longest: bool = False

    def __init__(self, drain: float | None = 86_400, placement: PlacementRule = "first-fit") -> None:
        check_least("drain", drain, 0)
        check_choice("placement", placement, PlacementRule)
        self.drain = math.inf if drain is None else drain
        self.placement = placement
        self._passed: dict[str, int] = {}

    def reset(self, machine: Machine, rng: np.random.Generator | None = None) -> None:
        """Forget who was passed over."""
        self._passed.clear()

    def ordered(self, queue: Iterable[Waiting]) -> list[Waiting]:
        """Return the queue in the order of the policy; ties by submission."""
        return sorted(queue, key=_by_prediction, reverse=self.longest)

    def dispatch(self, state: State) -> Sequence[Action]:
        """Start what fits, in order, unless a large job has waited long enough."""
        space = space_of(state, self.placement)
        if not any(space.totals):
            return []
        actions: list[Action] = []
        queue: Iterable[Waiting] = state.queue
        if self._passed:
            served = self._serve(state, space, actions)
            if served is None:
                return actions
            queue = served
        self._start(self.ordered(queue), space, actions, state.now)
        return actions

    def _serve(self, state: State, space: Space, actions: list[Action]) -> list[Waiting] | None:
        """Start the jobs that were passed over long ago; return the others, or ``None`` if one must be waited for."""
        known = {entry.id: entry for entry in state.queue if entry.id in self._passed}
        self._passed = {id_: self._passed[id_] for id_ in known}
        for id_ in sorted(known, key=self._passed.__getitem__):
            if state.now - self._passed[id_] < self.drain:
                break
            placement = space.place(known[id_].nodes, known[id_].demand)
            if placement is None:
                return None
            actions.append(Start(known.pop(id_), placement))
            del self._passed[id_]
        started = {action.job.id for action in actions if isinstance(action, Start)}
        return [entry for entry in state.queue if entry.id not in started]

    def _start(self, queue: Iterable[Waiting], space: Space, actions: list[Action], now: int) -> None:
        """Start what fits, and note who is passed over."""
        started: set[tuple[int, ...]] = set()
        waits = []
        for waiting in queue:
            placement = space.place(waiting.nodes, waiting.demand)
            if placement is None:
                waits.append(waiting)
            else:
                actions.append(Start(waiting, placement))
                started.add((waiting.nodes, *waiting.demand))
        passed: dict[tuple[int, ...], bool] = {}
        for waiting in waits if started and self.drain < math.inf else ():
            asked = (waiting.nodes, *waiting.demand)
            if asked not in passed:
                passed[asked] = any(_less(one, asked) for one in started)
            if passed[asked]:
                self._passed.setdefault(waiting.id, now)


class SEJF(OnTheFly):
    """On the fly, shortest estimated job first: nobody gets a reservation, nobody is killed; ties by submission."""


class LEJF(OnTheFly):
    """On the fly, longest estimated job first: nobody gets a reservation, nobody is killed; ties by submission."""

    longest = True


def _less(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Return whether one, slots and amounts of each, asks for less of something than the other, in a slot or in all."""
    return one != other and (
        any(mine < theirs for mine, theirs in zip(one[1:], other[1:], strict=True))
        or any(one[0] * mine < other[0] * theirs for mine, theirs in zip(one[1:], other[1:], strict=True))
    )
