"""What the look-ahead dispatcher sees at one instant, and what it decides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...base import IntArray
from ...models import PlacementRule
from ...models.lookahead import Queue
from ..fitting import fitting, needs
from ..protocol import Placement, State
from ..space import NodeSpace, PoolSpace, space_of


@dataclass(frozen=True, slots=True)
class Instant:
    """The jobs and the room for them.

    Attributes
    ----------
    state
        Now.
    waiting
        Those that wait as arrays.
    free
        What is free on all nodes together, shape (resources,).
    space
        The free room, which a decision fills.
    together
        Whether there may be room for all that wait.
    """

    state: State
    waiting: Queue
    free: IntArray
    space: PoolSpace | NodeSpace
    together: bool

    @classmethod
    def of(cls, state: State, rule: PlacementRule) -> Instant:
        """Look at a state, with nodes to be chosen by `rule`."""
        queue, space = state.queue, space_of(state, rule)
        need = needs(queue)
        fits, together = fitting(state, need, space)
        waiting = Queue(np.maximum(state.now - queue.submit, 0), queue.predicted, need, fits)
        return cls(state, waiting, np.array(space.totals, dtype=np.int64), space, together)


@dataclass(frozen=True, slots=True)
class Decision:
    """Who starts now and where, and how that was found.

    Attributes
    ----------
    starts
        Places in the queue with their nodes, for which room is taken.
    status
        ``none`` (nobody fits now), ``trivial`` (all fit), ``feasible``.
    candidates, requested
        How many jobs were planned, and the amounts they ask for.
    objective
        The sum of weight times start, seconds from now.
    used
        Whose plan it is, ``list`` or ``search``, or ``none``.
    promises
        How many jobs were promised a start.
    """

    starts: Sequence[tuple[int, Placement]] = ()
    status: str = "none"
    candidates: int = 0
    requested: int = 0
    objective: float = math.nan
    used: str = "none"
    promises: int = 0
