"""The running jobs as rows of the table that the scheduler of Slurm looks at."""

from __future__ import annotations

import numpy as np

from ...base import IntArray
from ...models.slurm import Held
from ..protocol import Running, State
from .known_jobs import whole_minutes

#: Jobs whose nodes are kept after they have ended.
_MANY = 1_000


class RunningRows:
    """Rows, with the nodes of each job worked out once.

    Parameters
    ----------
    epoch
        Seconds since 1970 at time 0.
    """

    def __init__(self, epoch: int) -> None:
        self._epoch = epoch
        self._nodes: dict[int, tuple[int, IntArray, IntArray]] = {}

    def of(self, state: State) -> list[Held]:
        """Return the running jobs by place in the trace, with the ends of their limits, in whole minutes."""
        jobs = state.running
        start = np.array([each.start for each in jobs.entries], dtype=np.int64)
        ends = start + whole_minutes(jobs.predicted_end - start) + self._epoch
        places = np.argsort(jobs.order)
        found = [jobs.entries[place] for place in places.tolist()]
        return [
            Held(end, *self._where(each), each.demand, each.order)
            for end, each in zip(ends[places].tolist(), found, strict=True)
        ]

    def started(self, order: int, now: int, nodes: IntArray, slots: IntArray) -> None:
        """Note the nodes of a job that starts."""
        self._nodes[order] = now, nodes, slots

    def forget(self, running: IntArray) -> None:
        """Forget the jobs that do not run, if they are many."""
        if len(self._nodes) > 4 * len(running) + _MANY:
            self._nodes = {order: self._nodes[order] for order in running.tolist() if order in self._nodes}

    def _where(self, running: Running) -> tuple[IntArray, IntArray]:
        """Return the nodes of a running job, and its slots on each."""
        found = self._nodes.get(running.order)
        if found is None or found[0] != running.start:
            nodes, slots = np.unique(running.placement, return_counts=True)
            found = self._nodes[running.order] = running.start, nodes, slots
        return found[1], found[2]


def by_order(state: State) -> list[Running]:
    """Return the running jobs by their places in the trace."""
    return sorted(state.running, key=lambda job: job.order)
