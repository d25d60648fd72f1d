"""Starts that leave EASY able to take over: a bound on the longest wait under any dispatcher."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...base.checks import LONGEST
from ...models.lookahead import all_safe, safe_starts
from ..backfilling.closed_times import closures_ahead
from ..fitting import amounts_of, sums_suffice
from ..protocol import Action, Start, State, Wake, id_of
from ..space import space_of
from .history import History

#: Waits up to here are not bounded, seconds.
LEAST = 3600
#: Nobody is held while more wait: what EASY, by requests, would make of a crowd says least of what becomes of it.
MOST_WAITING = 256


class Guard:
    """Lets those start after which EASY could still keep every wait within a bound.

    The bound is a multiple of the longest wait expected under EASY, so far and of those that wait in its schedule. If
    EASY, deciding from now on, could not keep it with all that a dispatcher starts, only those start with whom it
    could, the first that the dispatcher names first, and beside them whom EASY would start.

    Parameters
    ----------
    factor
        The bound as a multiple of the longest wait under EASY; infinite for none.
    least
        The least bound, seconds.

    Attributes
    ----------
    held
        Whether anything was changed at the last decision.
    """

    def __init__(self, factor: float, least: int) -> None:
        self._factor, self._least = factor, least
        self.held = False

    def kept(self, state: State, actions: Sequence[Action], history: History) -> Sequence[Action]:
        """Return what is done of what a dispatcher wants to do.

        All of it passes where more than :data:`MOST_WAITING` wait, where jobs have several shapes, where nodes are of
        several kinds or shared, where a part of the machine closes soon, where more is done than jobs started, and
        where that cannot be done, so that the simulation says so.

        Parameters
        ----------
        state, actions
            The system, and what the dispatcher answers.
        history
            Has seen the state.
        """
        self.held = False
        if self._factor == math.inf or len(state.queue) > MOST_WAITING:
            return actions
        named = [action for action in actions if isinstance(action, Start)]
        starts = {id_of(action.job): action for action in named}
        plain = len(starts) == len(named) and all(isinstance(action, Start | Wake) for action in actions)
        if not plain or len(starts) >= len(state.queue) or history.molds() or not sums_suffice(state):
            return actions
        nodes = state.machine.nodes
        if any(each.amounts is not None or len(each.nodes) < nodes for each in closures_ahead(state, 1)):
            return actions
        wanted = history.places(starts)
        if (wanted < 0).any() or (amounts_of(state.queue)[wanted].sum(axis=0) > state.free.sum(axis=0)).any():
            return actions
        stands, bound = history.standing(state), self._bound(history.longest_wait(state.now))
        if all_safe(stands, wanted, bound):
            return actions
        safe = safe_starts(stands, wanted, max(bound, self._bound(history.longest_ahead(state.now))))
        self.held = not np.array_equal(safe, wanted) and _possible(state, wanted.tolist(), starts)
        if not self.held:
            return actions
        wakes = (action for action in actions if isinstance(action, Wake))
        return [*_placed(state, safe.tolist(), starts), *wakes]

    def _bound(self, longest: int) -> int:
        return max(self._least, int(min(self._factor * longest, LONGEST)))


def _possible(state: State, places: Sequence[int], wanted: dict[str, Start]) -> bool:
    """Return whether those in these places of the queue find room together where they are wanted."""
    space, nodes = space_of(state, "first-fit"), len(state.free)
    for waiting in map(state.queue.__getitem__, places):
        placement = np.asarray(wanted[waiting.id].placement)
        if len(placement) != waiting.nodes or placement.min() < 0 or placement.max() >= nodes:
            return False
        if not space.put(placement, waiting.demand):
            return False
    return True


def _placed(state: State, places: Sequence[int], given: dict[str, Start]) -> list[Start]:
    """Return the starts of those in these places of the queue that find room, as they were wanted or on any nodes."""
    space, placed = space_of(state, "first-fit"), list[Start]()
    for place in places:
        waiting = state.queue[place]
        start = given.get(waiting.id, Start(waiting, ()))
        if len(start.placement) and space.put(np.asarray(start.placement), waiting.demand):
            placed.append(start)
        elif (nodes := space.place(waiting.nodes, waiting.demand)) is not None:
            placed.append(replace(start, placement=nodes))
    return placed
