"""Input and decision of the look-ahead dispatcher at one instant."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...base import BoolArray, IntArray
from ...models import PlacementRule
from ...models.lookahead.guarantees import MachineRoom, Queue
from ...models.lookahead.planning import ALL_FIT, LISTED, NONE_FITS, SEARCHED, LookaheadPlan
from ...workloads.machine_rules import Closure
from ..backfilling.easy import walltime_order
from ..fitting import amounts_of, fitting
from ..problems import Held, closed_rows, held, summed
from ..profile import Profile
from ..protocol import Placement, State, Waiting
from ..rule_book import closures_ahead, has_rules
from ..space import Space, space_of

#: Names of the origins of starts in reports.
ORIGINS = {
    "status": {NONE_FITS: "none", ALL_FIT: "trivial", LISTED: "feasible", SEARCHED: "feasible"},
    "used": {NONE_FITS: "none", ALL_FIT: "none", LISTED: "list", SEARCHED: "search"},
}


@dataclass(frozen=True, slots=True)
class RoomUnderRules:
    """What the rules of a machine leave now.

    Attributes
    ----------
    state
        The state without the jobs that an amount of the whole machine holds back, such as a licence. A plan knows nodes
        alone: such a job would take the nodes of its planned start from others in vain.
    profile
        Room beside all jobs, which a decision fills.
    keepers
        The jobs held back that keep an amount from later jobs, oldest first.
    """

    state: State
    profile: Profile
    keepers: Sequence[Waiting]

    @classmethod
    def of(cls, state: State, rule: PlacementRule) -> RoomUnderRules | None:
        """Return what the rules leave at a state. ``None`` without rules."""
        if not has_rules(state):
            return None
        profile = state.profile(rule)
        if not len(state.queue):
            return cls(state, profile, ())
        held, keepers = profile.held_back(state.queue)
        left = [job for job, back in zip(state.queue, held.tolist(), strict=True) if not back]
        return cls(state.showing(left) if held.any() else state, profile, keepers)


@dataclass(frozen=True, slots=True)
class DecisionInput:
    """Jobs, and the room for them.

    Attributes
    ----------
    state
        Present state.
    amount
        Amounts of each waiting job, shape (waiting, resources).
    fits
        Whether it can start now, shape (waiting,).
    together
        Whether all waiting jobs may fit together.
    space
        Free room, which a decision fills.
    available
        Free amounts on all nodes together, by resource.
    closures
        Present and future closures beside the running jobs.
    ruled
        What the rules of the machine leave. ``None`` without rules.
    literally
        Whether guarantees on a pool use walltimes instead of predictions.
    """

    state: State
    amount: IntArray
    fits: BoolArray
    together: bool
    space: Space
    available: Sequence[int]
    closures: Sequence[Closure]
    ruled: RoomUnderRules | None = None
    literally: bool = False

    @classmethod
    def of(
        cls, state: State, rule: PlacementRule, literally: bool = False, ruled: RoomUnderRules | None = None
    ) -> DecisionInput:
        """Create the input of a decision. `rule` chooses nodes. With `literally`, guarantees use walltimes.

        On nodes the whole plan then uses walltimes. A moldable job is planned on its own request.
        """
        closures = closures_ahead(state)
        if literally and state.machine.nodes > 1:
            state, literally = by_walltimes(state), False
        space = space_of(state, rule)
        amount = amounts_of(state.queue)
        fits, together = fitting(state, amount, space)
        if ruled is not None and fits.any():
            fits = fits & ruled.profile.fit_now(state.queue)
            together = False
        return cls(state, amount, fits, together, space, tuple(space.totals), closures, ruled, literally)

    @property
    def waiting(self) -> Queue:
        """Waiting jobs in the form of the models."""
        _, _, predicted, _, submit = self.state.queue.table[:5]
        # A copy, because read-only columns would compile the plan once more.
        return Queue(np.maximum(self.state.now - submit, 0), predicted.copy(), self.amount, self.fits)

    @property
    def busy(self) -> MachineRoom:
        """Running jobs by predicted ends, in the form of the models."""
        running = self.state.running
        now = self.state.now
        capacity = np.maximum(self.state.machine.capacity.sum(axis=0), 1)
        free = np.array(self.available, dtype=np.int64)
        busy = MachineRoom(np.maximum(running.predicted_end - now, 1), amounts_of(running), free, capacity)
        if not self.closures:
            return busy
        closed = summed(self.beside_closed())
        # As rows in memory: columns would compile the plan once more.
        closes, opens = map(np.ascontiguousarray, (closed.begin, closed.end))
        return busy._replace(closes=closes, opens=opens, closed=closed.amount)

    def beside_closed(self) -> Held:
        """Return the closed amounts beside running jobs, a row per time and node."""
        state = self.state
        busy = held(state.running, state.now, state.machine.capacity, pooled=False)
        return closed_rows(self.closures, state, busy)


def by_walltimes(state: State) -> State:
    """Return a state with walltimes as predictions. The same state if they are equal."""
    queue = state.queue
    running = state.running
    now = state.now
    same = (queue.predicted == queue.walltime).all() and all(
        run.walltime_end(now) == run.predicted_end for run in running
    )
    if same:
        return state
    asked = [waiting.shown_as(predicted=waiting.walltime) for waiting in queue]
    return state.showing(asked, walltime_order(now, running))


@dataclass(frozen=True, slots=True)
class Decision:
    """Jobs that start now with their nodes, and how they were found.

    Attributes
    ----------
    starts
        Positions in the queue with nodes, already placed.
    origin
        Origin of the starts, see :class:`.LookaheadPlan`.
    candidates, requested
        Number of planned jobs, and their amounts.
    objective
        Sum of weight times start, seconds from now.
    guarantees
        Number of jobs with a guaranteed start.
    guaranteed
        Guaranteed starts of the oldest jobs, seconds from now, -1 for none. Only if guarantees stay between decisions.
    """

    starts: Sequence[tuple[int, Placement]] = ()
    origin: int = NONE_FITS
    candidates: int = 0
    requested: int = 0
    objective: float = math.nan
    guarantees: int = 0
    guaranteed: IntArray | None = None


def decided(starts: Sequence[tuple[int, Placement]], planned: LookaheadPlan) -> Decision:
    """Return a decision of the model with the placed starts."""
    return Decision(
        starts=starts,
        origin=int(planned.origin),
        candidates=int(planned.candidates),
        requested=int(planned.requested),
        objective=float(planned.objective),
        guarantees=int(planned.guarantees),
    )
