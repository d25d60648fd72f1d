"""What conservative backfilling guarantees to the jobs of a trace, and what it has free at an instant."""

from __future__ import annotations

import numpy as np

from ...base import FloatArray
from ...dispatchers import Action, Conservative, Reject, State
from ...workloads import Job, Machine, Workload
from ..engine import simulate

#: Begin, end and free units of a time slot; no end, ``None``, of the last.
Step = tuple[int, int | None, int]
#: The job that stands in a trace for somebody who asks, and never runs.
_ASKS = "the job that asks what is free"


def guaranteed_starts(workload: Workload, at: int) -> tuple[list[Step], FloatArray]:
    """Simulate a pool under ``conservative`` with kills, and look at its availability list once.

    Parameters
    ----------
    workload
        On a pool of one resource.
    at
        The instant, seconds of the trace; jobs that arrive then have their reservations.

    Returns
    -------
    list
        Begin, end and free units of each time slot, as known at the instant; the last has no end, ``None``.
    FloatArray
        For every job that was not rejected its turnaround over that which its first reservation guaranteed, each at
        least 1 s, shape (jobs,).
    """
    asks = Job(_ASKS, at, 0, 1, per_node={workload.machine.resources[0]: 1})
    watched = _Watched()
    jobs = simulate(workload.with_jobs([*workload.jobs, asks]), watched, overrun="kill").jobs
    ran = np.flatnonzero((jobs["status"] != "rejected").to_numpy())
    took = (jobs["end"] - jobs["submit"]).to_numpy(dtype=np.float64)[ran]
    guaranteed = np.array([watched.guaranteed[place] for place in ran.tolist()], dtype=np.float64)
    return watched.steps, np.maximum(took, 1.0) / np.maximum(guaranteed, 1.0)


class _Watched:
    """Conservative backfilling that notes what it guarantees, and the list when somebody asks for it."""

    steps: list[Step]

    def reset(self, machine: Machine, rng: np.random.Generator) -> None:
        self._over = Conservative()
        self.guaranteed: dict[int, int] = {}

    def dispatch(self, state: State) -> list[Action]:
        """Note what is guaranteed to who is new, and go on."""
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
