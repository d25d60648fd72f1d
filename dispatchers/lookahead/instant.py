"""What the look-ahead dispatcher sees at one instant, and what it decides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ...base import IntArray
from ...models.lookahead import Queue
from ...workloads import Machine
from ..protocol import Placement, Running, Waiting
from ..space import NodeSpace, PoolSpace


@dataclass(frozen=True, slots=True)
class Instant:
    """The jobs and the room for them.

    Attributes
    ----------
    now
        Time, seconds.
    machine
        What the jobs run on.
    queue, running
        Who waits and who runs, as in the state.
    rows
        Where those that wait stand in the history, shape (waiting,).
    waiting
        Those that wait as arrays.
    free
        What is free on all nodes together, shape (resources,).
    space
        The free room, which a decision fills.
    """

    now: int
    machine: Machine
    queue: Sequence[Waiting]
    running: Sequence[Running]
    rows: IntArray
    waiting: Queue
    free: IntArray
    space: PoolSpace | NodeSpace


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
