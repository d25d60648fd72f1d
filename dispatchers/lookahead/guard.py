"""Guard of starts: EASY must be able to take over, which bounds waits under any dispatcher."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...base import LONGEST
from ...models.lookahead.taking_over import all_safe, safe_starts
from ..fitting import amounts_of, sums_suffice
from ..protocol import Action, Start, State, Wake, id_of
from ..rule_book import closures_ahead, has_rules
from ..space import space_of
from .history import History

#: Waits up to this are not bounded, seconds.
LEAST = 3600
#: With more waiting jobs the guard is off. EASY's schedule by walltimes then predicts real waits too poorly.
MOST_WAITING = 256


class Guard:
    """Allows only starts after which EASY could keep every wait within a bound.

    The bound is a multiple of the longest wait expected under EASY, so far and of jobs waiting in its schedule. If
    EASY, deciding from now on, could not keep it after all proposed starts, only some start. They are those after which
    it still could, in the proposed order. EASY's own starts are added.

    Parameters
    ----------
    factor
        The bound as a multiple of the longest wait under EASY. Infinite for none.
    least
        Smallest bound, seconds.

    Attributes
    ----------
    held
        Whether the last decision was changed.
    unbounded
        The first reason of this simulation why decisions passed unchecked; empty for none. Long queues do not count.
    """

    def __init__(self, factor: float, least: int) -> None:
        self._factor, self._least = factor, least
        self.held, self.unbounded = False, ""

    def kept(self, state: State, actions: Sequence[Action], history: History) -> Sequence[Action]:
        """Return the allowed actions of a dispatcher.

        All actions pass unchanged in these cases:

        * More than :data:`MOST_WAITING` jobs wait.
        * Jobs have several shapes.
        * Nodes differ or are shared.
        * A part of the machine closes soon.
        * The jobs could exceed licences, limits or power together.
        * There are other actions than starts and timers.
        * The actions are impossible, so that the simulation reports them.

        Parameters
        ----------
        state, actions
            State, and answer of the dispatcher.
        history
            History that includes the state.
        """
        self.held = False
        if self._factor == math.inf or len(state.queue) > MOST_WAITING:
            return actions
        named = [action for action in actions if isinstance(action, Start)]
        starts = {id_of(action.job): action for action in named}
        plain = len(starts) == len(named) and all(isinstance(action, Start | Wake) for action in actions)
        if not plain or len(starts) >= len(state.queue):
            return actions
        reason = _why_unchecked(state, history)
        if reason:
            self.unbounded = self.unbounded or reason
            return actions
        wanted = history.places(starts)
        if (wanted < 0).any() or (amounts_of(state.queue)[wanted].sum(axis=0) > state.free.sum(axis=0)).any():
            return actions
        stands = history.standing(state)
        bound = self._bound(history.longest_wait(state.now))
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


def _why_unchecked(state: State, history: History) -> str:
    """Return why sums of resources do not tell what EASY could do; empty if they do."""
    if history.molds():
        return "jobs have several shapes"
    if not sums_suffice(state):
        return "nodes differ, or jobs share them"
    if has_rules(state) and state.profile().may_lack():
        return "jobs may lack licences, power or room in a limit"
    nodes = state.machine.nodes
    parts = any(each.amounts is not None or len(each.nodes) < nodes for each in closures_ahead(state, 1))
    return "a part of the machine closes" if parts else ""


def _possible(state: State, places: Sequence[int], wanted: dict[str, Start]) -> bool:
    """Return whether the jobs at these queue positions fit together on their proposed nodes."""
    space = space_of(state, "first-fit")
    nodes = len(state.free)
    for waiting in map(state.queue.__getitem__, places):
        placement = np.asarray(wanted[waiting.id].placement)
        if len(placement) != waiting.nodes or placement.min() < 0 or placement.max() >= nodes:
            return False
        if not space.put(placement, waiting.demand):
            return False
    return True


def _placed(state: State, places: Sequence[int], given: dict[str, Start]) -> list[Start]:
    """Return the starts that fit of these queue positions, on proposed or any nodes. Under rules, on any."""
    if has_rules(state):
        starts = state.profile().start_now([state.queue[place] for place in places])
        return [replace(given.get(start.job.id, start), placement=start.placement) for start in starts]
    space = space_of(state, "first-fit")
    placed = list[Start]()
    for place in places:
        waiting = state.queue[place]
        start = given.get(waiting.id, Start(waiting, ()))
        if len(start.placement) and space.put(np.asarray(start.placement), waiting.demand):
            placed.append(start)
        elif (nodes := space.place(waiting.nodes, waiting.demand)) is not None:
            placed.append(replace(start, placement=nodes))
    return placed
