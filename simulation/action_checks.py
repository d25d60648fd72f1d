"""Does an action of a dispatcher make sense: what it names, where it puts it, for how long."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..dispatchers import NODE_ZERO, Placement, Start
from ..workloads import Machine
from .overrun import Overrun
from .sim_event import SimEvent
from .simulation_errors import ActionError


class ActionChecks:
    """What the event manager asks before it acts; every refusal says when, for which job, and what was expected."""

    machine: Machine
    overrun: Overrun
    events: dict[str, SimEvent]
    current_time: int
    _name: str

    def _where(self) -> str:
        return f"{self._name} at t={self.current_time}"

    def _find(self, named: Any, verb: str, waiting: bool) -> SimEvent:
        id_ = named if isinstance(named, str) else getattr(named, "id", None)
        if not isinstance(id_, str):
            raise ActionError(f"{self._where()}: cannot {verb}: expected a job or its id, got {named!r}")
        event = self.events.get(id_)
        if event is None or (event.waiting if waiting else event.running) is None:
            wanted = "waiting" if waiting else "running"
            raise ActionError(f"{self._where()}: cannot {verb} job {id_}: it is not {wanted}")
        return event

    def _shape(self, event: SimEvent, action: Start) -> tuple[int, int, tuple[int, ...]]:
        """Return index, slots and demand of the shape that is started, -1 for the request itself."""
        if action.shape is None:
            return -1, event.job.nodes, event.demand
        shapes = event.waiting.job.shapes  # type: ignore[union-attr]
        if not 0 <= action.shape < len(shapes):
            raise ActionError(f"{self._where()}: job {event.id}: shape must be below {len(shapes)}, got {action.shape}")
        view = shapes[action.shape]
        return action.shape, view.nodes, view.demand

    def _placement(self, event: SimEvent, action: Start, nodes: int) -> Placement:
        if action.placement is NODE_ZERO and nodes == 1:
            return NODE_ZERO
        placement = np.asarray(action.placement)
        if placement.shape != (nodes,) or placement.dtype.kind not in "iu":
            raise ActionError(
                f"{self._where()}: job {event.id}: placement must be {nodes} node indices,"
                f" got {placement.dtype} of shape {placement.shape}"
            )
        if placement.min() < 0 or placement.max() >= self.machine.nodes:
            raise ActionError(
                f"{self._where()}: job {event.id}: placement must lie in 0..{self.machine.nodes - 1}, got {placement}"
            )
        # It is kept for as long as the job runs: whoever may write to it must not.
        return (
            placement if placement.dtype == np.int64 and not placement.flags.writeable else placement.astype(np.int64)
        )

    def _limit(self, event: SimEvent, action: Start) -> int | None:
        """Return after how many seconds a job is killed."""
        limit = None if action.limit is None else self._seconds(action.limit, f"job {event.id}: limit")
        if limit is not None and limit < 1:
            raise ActionError(f"{self._where()}: job {event.id}: limit must be >= 1 s, got {limit}")
        if self.overrun.mode == "run":
            return limit
        walltime = event.job.walltime if event.shape < 0 else event.job.shapes[event.shape].walltime
        return walltime if limit is None else min(limit, walltime)

    def _seconds(self, value: Any, what: str) -> int:
        try:
            return operator.index(value)
        except TypeError:
            raise ActionError(f"{self._where()}: {what} must be a whole number of seconds, got {value!r}") from None
