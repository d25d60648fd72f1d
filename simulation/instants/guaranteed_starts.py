"""The guaranteed starts of conservative backfilling on a trace, and its free units at an instant."""

from __future__ import annotations

import numpy as np

from ...base import FloatArray
from ...dispatchers import Action, Conservative, Reject, State
from ...workloads import Job, Machine, Workload
from ..engine import simulate

#: Begin, end and free units of a time slot. The last one has no end, ``None``.
Step = tuple[int, int | None, int]
#: An added job that reads the free units and never runs.
_ASKS = "the job that asks what is free"


def guaranteed_starts(workload: Workload, at: int) -> tuple[list[Step], FloatArray]:
    """Simulate a pool under ``conservative`` with kills, and read its availability list once.

    Parameters
    ----------
    workload
        On a pool of one resource.
    at
        The instant, seconds of the trace. Jobs that arrive then already have reservations.

    Returns
    -------
    list
        Begin, end and free units of each time slot, as known at the instant. The last one has no end, ``None``.
    FloatArray
        For every job that was not rejected: its turnaround over the one its first reservation guaranteed. Both count as
        at least 1 s. Shape (jobs,).
    """
    asks = Job(_ASKS, at, 0, 1, per_node={workload.machine.resources[0]: 1})
    watched = _Watched()
    jobs = simulate(workload.with_jobs([*workload.jobs, asks]), watched, overrun="kill").jobs
    ran = np.flatnonzero((jobs["status"] != "rejected").to_numpy())
    took = (jobs["end"] - jobs["submit"]).to_numpy(dtype=np.float64)[ran]
    guaranteed = np.array([watched.guaranteed[place] for place in ran.tolist()], dtype=np.float64)
    return watched.steps, np.maximum(took, 1.0) / np.maximum(guaranteed, 1.0)


class _Watched:
    """Conservative backfilling that records its guaranteed starts, and its list when the added job arrives."""

    steps: list[Step]

    def reset(self, machine: Machine, rng: np.random.Generator) -> None:
        self._over = Conservative()
        self.guaranteed: dict[int, int] = {}

    def dispatch(self, state: State) -> list[Action]:
        """Record the guaranteed starts of new jobs, and dispatch."""
        asks = [waiting for waiting in state.queue if waiting.id == _ASKS]
        if asks:
            others = [waiting for waiting in state.queue if waiting.id != _ASKS]
            state = State(state.now, others, state.running, state.free, state.machine)
        self._over.update(state)
        for waiting in reversed(state.queue):
            if waiting.order in self.guaranteed:
                break
            start = self._over.guaranteed(waiting)
            assert start is not None
            self.guaranteed[waiting.order] = start + waiting.predicted - waiting.job.submit
        if asks:
            self.steps = self._over.steps()
        return [*self._over.dispatch(state), *(Reject(waiting, "it only asks") for waiting in asks)]
