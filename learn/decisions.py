"""Decisions of an environment from the state that a dispatcher sees."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..base import BoolArray, IntArray
from ..dispatchers import Action, Start, State, Wake, space_of
from ..dispatchers.backfilling.orders import create_order, sort_jobs
from ..dispatchers.registered import reset_part
from ..models.events import open_events
from ..models.events.job_orders import ORDERS
from ..models.events.observations import Observation
from ..models.events.steps import (
    BEGIN,
    INSPECT,
    SELECT,
    TWO_LEVELS,
    ParallelSimulations,
    decide,
    look,
    resume,
    side_by_side,
)
from ..workloads import Machine
from .rules import Rules, create_part


class Decider:
    """The decisions of an environment, one instant after the other. It remembers what lasts longer than an instant.

    Parameters
    ----------
    rules
        Of the environment.

    Attributes
    ----------
    observation, mask
        Of the present decision, shape (visible, columns) and (actions,).
    visible
        Visible jobs by their positions in the trace, -1 for none. Shape (visible,).
    """

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self._columns = rules.columns
        self._compiled_rules = rules.compiled_rules()
        self._observation: Observation = np.zeros((1, rules.visible, len(self._columns.names)), dtype=np.float32)
        self._mask = np.ones((1, rules.actions), dtype=np.bool_)
        self.visible: IntArray = np.full(rules.visible, -1, dtype=np.int64)
        self._order = None if rules.order in ORDERS else create_order(rules.order)
        self._parts = [create_part(name) for name in rules.names] if rules.mode == SELECT else []
        self.reset(None)

    @property
    def observation(self) -> NDArray[np.float32]:
        """The observation of the present decision."""
        shown: NDArray[np.float32] = self._observation[0]
        return shown

    @property
    def mask(self) -> BoolArray:
        """The allowed actions of the present decision."""
        allowed: BoolArray = self._mask[0]
        return allowed

    def reset(self, machine: Machine | None, rng: np.random.Generator | None = None) -> None:
        """Forget the last simulation."""
        if self._order is not None and hasattr(self._order, "reset"):
            self._order.reset(machine)
        if machine is not None:
            for part in self._parts:
                reset_part(part, machine, rng)
        self._held: str | None = None
        self._put_off: dict[str, int] = {}
        self._skips = 0
        self._part = 0
        self._until = -1
        self._wake = -1
        self._steps: ParallelSimulations | None = None
        self._running = 0

    def open(self, state: State) -> bool:
        """Begin the decisions of an instant. Return whether one is needed."""
        self._state = state
        self._actions: list[Action] = []
        if self.rules.mode == SELECT:
            if state.now < self._until:
                self._actions.extend(self._parts[self._part].dispatch(state))
                return False
            steps, _ = self._resumed(state)
            look(steps, self._compiled_rules, self._columns.array, self._observation, self._mask)
            self.visible[:] = steps.visible[0]
            return True
        steps, running = self._resumed(state)
        self._steps, self._running = steps, running
        ids = [waiting.id for waiting in state.queue.entries]
        if self._held in ids:
            steps.stages.next_row[0] = running + ids.index(str(self._held))
        if self.rules.mode in (INSPECT, TWO_LEVELS):
            steps.put_off[0, running:] = [self._put_off.get(name, 0) for name in ids]
            steps.stages.skips[0] = self._skips
        resume(steps, running, state.now)
        return self._decide(BEGIN)

    def act(self, action: int) -> bool:
        """Take an action of the present decision. Return whether another one is needed at this instant."""
        state = self._state
        if self.rules.mode == SELECT:
            self._part = action
            self._until = state.now + self.rules.every
            self._actions.extend(self._parts[action].dispatch(state))
            return False
        assert self._steps is not None
        before = self._steps.put_off[0].copy(), int(self._steps.stages.skips[0])
        asks = self._decide(action)
        later = np.flatnonzero(self._steps.put_off[0] > before[0])
        for row in later.tolist():
            self._put_off[state.queue.entries[row - self._running].id] = int(self._steps.put_off[0, row])
        if (len(later) or self._skips > before[1]) and self._wake <= state.now:
            self._wake = state.now + self.rules.delay
            self._actions.append(Wake(self._wake))
        return asks

    def actions(self) -> Sequence[Action]:
        """Return the actions of this instant, when no further decision is needed."""
        state, steps = self._state, self._steps
        if self.rules.mode == SELECT or steps is None:
            return self._actions
        held = int(steps.stages.next_row[0])
        self._held = state.queue.entries[held - self._running].id if self.rules.commit and held >= 0 else None
        space = space_of(state, "first-fit")
        for row in steps.started[0, : steps.stages.started[0]].tolist():
            waiting = state.queue.entries[row - self._running]
            placement = space.place(waiting.nodes, waiting.demand)
            if placement is not None:
                self._put_off.pop(waiting.id, None)
                self._actions.append(Start(waiting, placement))
        if self._order is not None and hasattr(self._order, "started"):
            for action in self._actions:
                if isinstance(action, Start):
                    self._order.started(action.job, state.now)
        return self._actions

    def _decide(self, action: int) -> bool:
        steps = self._steps
        assert steps is not None
        asks = decide(steps, action, self._compiled_rules, self._columns.array, self._observation, self._mask)
        self.visible[:] = steps.visible[0]
        # Also before the first decision: a held job may have started.
        self._skips = int(steps.stages.skips[0])
        return asks

    def _resumed(self, state: State) -> tuple[ParallelSimulations, int]:
        """Return the state as a simulation before this instant, and its number of running jobs."""
        queue = state.queue
        running = state.running
        nodes = len(state.free) > 1
        demands = {each.demand for each in queue.entries} | {each.demand for each in running.entries}
        alike = nodes and len(demands) == 1
        primary = state.machine.primary
        units = (primary, 1)
        if alike:
            amount = np.concatenate((running.nodes, queue.nodes))[:, None]
            demand = np.array(demands.pop())
            asked = demand > 0
            free = np.array([(state.free[:, asked] // demand[asked]).min(axis=1).sum()])
            units = (0, int(demand[primary]))
        else:
            amount = np.concatenate((running.nodes[:, None] * running.demand, queue.nodes[:, None] * queue.demand))
            free = state.free.sum(axis=0)
        count, now = len(running), state.now
        left = np.array([each.expected_end(now) - now for each in running.entries], dtype=np.int64)
        predicted = np.concatenate((left, queue.predicted)).astype(np.int64)
        submit = np.concatenate((np.full(count, now), queue.submit)).astype(np.int64)
        walltime = np.concatenate((left, queue.walltime)).astype(np.int64)
        whole = free + amount[:count].sum(axis=0)
        amount = np.minimum(amount, whole)  # of jobs that wait for nodes that are closed
        eligible: IntArray = np.full(len(amount), now, dtype=np.int64)
        events = open_events(submit, predicted, predicted, walltime, amount, whole, eligible=eligible)
        steps = side_by_side(events, 1, self.rules.visible, len(self._columns.traits), units)
        steps.trace[0] = np.concatenate((running.order, queue.order))
        if self._columns.traits:
            views = [each.job for each in running.entries] + [each.job for each in queue.entries]
            steps.traits[0] = self._columns.of_views(views)
        if self._order is not None:
            place = {id(waiting): count + row for row, waiting in enumerate(queue.entries)}
            for number, waiting in enumerate(sort_jobs(self.rules.order, self._order, state)):
                steps.ranks[0, place[id(waiting)]] = number
        if self.rules.mode == SELECT:
            resume(steps, count, now)
        return steps, count
