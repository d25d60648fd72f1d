"""Start times of arriving jobs under conservative backfilling, for every possible request."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...base import InputError
from ...dispatchers import Action, Conservative, State, Waiting
from ...simulation import simulate
from ...workloads import Machine, Workload

#: Processors and requested seconds.
Asked = tuple[int, int]


@dataclass(frozen=True, slots=True)
class ArrivalStarts:
    """The state and possible start times at the arrival of a job.

    Attributes
    ----------
    present
        Number of other jobs, running and waiting.
    starts
        The start of the reservation that it would get, by its request. ``None`` where it never fits.
    """

    present: int
    starts: Mapping[Asked, int | None]


def arrival_starts(workload: Workload, asked: Mapping[int, Sequence[Asked]]) -> dict[int, ArrivalStarts]:
    """Simulate a pool under ``conservative`` with kills. Compute when some jobs would start as they arrive.

    These requests reserve nothing. Every job continues with its own request. So it is what SA knows. Source: Cirne and
    Berman, "Adaptive selection of partition size for supercomputer requests", JSSPP 2000, section 2.

    Parameters
    ----------
    workload
        On a pool of one resource.
    asked
        The requests, processors and seconds, by the index of the job in the trace.

    Returns
    -------
    dict
        The state and start times of each job, by its index in the trace.

    Raises
    ------
    InputError
        If the machine is no pool of one resource, or there is no such job, or it fits no machine.
    """
    if workload.machine.capacity.size > 1:
        raise InputError(f"expected a pool of one resource, got {workload.machine.describe()}")
    asking = _Asking(asked)
    simulate(workload.head(max(asked, default=-1) + 1), asking, overrun="kill")
    missing = asked.keys() - asking.found.keys()
    if missing:
        raise InputError(f"asked: expected places of jobs that can run, 0 to {len(workload) - 1}, got {min(missing)}")
    return asking.found


class _Asking:
    """Conservative backfilling that answers jobs as they arrive."""

    def __init__(self, asked: Mapping[int, Sequence[Asked]]) -> None:
        self._asked = asked

    def reset(self, machine: Machine, rng: np.random.Generator) -> None:
        self._over = Conservative()
        self.found: dict[int, ArrivalStarts] = {}

    def dispatch(self, state: State) -> Sequence[Action]:
        """Answer new jobs one after the other, and continue."""
        for waiting in self._new(state):
            others = [other for other in state.queue if (other.since, other.order) < (state.now, waiting.order)]
            self._over.update(State(state.now, others, state.running, state.free, state.machine))
            starts = {
                request: self._over.earliest_start(1, (request[0],), request[1])
                for request in self._asked[waiting.order]
            }
            self.found[waiting.order] = ArrivalStarts(len(others) + len(state.running), starts)
        return self._over.dispatch(state)

    def _new(self, state: State) -> list[Waiting]:
        """Return the jobs of interest that have just arrived. They are in trace order."""
        arrivals = []
        for waiting in reversed(state.queue.entries):
            if waiting.since < state.now:
                break
            if waiting.order in self._asked and waiting.order not in self.found:
                arrivals.append(waiting)
        return arrivals[::-1]
