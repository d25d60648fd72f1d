"""Which dispatchers decide over a whole trace in compiled code, and the trace that they do so on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...base import IntArray
from ...models.backfilling import FIRST_SLOT, STARTED, go_on, whole_trace
from ..protocol import Dispatcher
from .easy import EASY
from .list_scheduling import FCFS

#: Decisions that are taken at a time.
_DECISIONS = 1 << 16


def in_compiled_code(dispatcher: Dispatcher, nodes: int) -> bool:
    """Return whether FCFS or EASY decides, themselves and nobody who stands on them, and takes the first nodes."""
    kind = type(dispatcher)
    if kind is FCFS and dispatcher.blocked != "wait":  # type: ignore[attr-defined]
        return False
    if kind is EASY and dispatcher.promises != "predictions":  # type: ignore[attr-defined]
        return False
    return kind in (FCFS, EASY) and (nodes == 1 or dispatcher.placement == "first-fit")  # type: ignore[attr-defined]


class CompiledTrace:
    """A trace under a dispatcher that decides :func:`in_compiled_code`, as :func:`~.models.backfilling.whole_trace`.

    Parameters
    ----------
    dispatcher
        Who decides.
    columns
        Of the jobs: submission, time on the machine, prediction, seconds, and what they take; each of shape (jobs,).
    walltime
        What they request, seconds, shape (jobs,).
    room
        The slots of each node, or the units of a pool.

    Attributes
    ----------
    lengths
        What is predicted of the jobs.
    """

    def __init__(
        self, dispatcher: Dispatcher, columns: tuple[IntArray, IntArray, IntArray, IntArray], walltime: IntArray,
        room: IntArray,
    ) -> None:  # fmt: skip
        self._trace = whole_trace(*columns, room)
        self._backfilling = type(dispatcher) is EASY
        _, self._work, self.lengths, self._amount = columns
        self._walltime = walltime
        self._decisions = np.empty((_DECISIONS, 4), dtype=np.int64)
        self._ended = np.empty(_DECISIONS + self._trace.running.shape[1] + 1, dtype=np.int64)

    def go_on(self) -> tuple[IntArray, IntArray]:
        """Go on for a while.

        Returns
        -------
        Time, waiting, running and started jobs of each decision, shape (decisions, 4), and the jobs that ended, in this
        order, shape (jobs,), both until the next call only; the simulation has ended when both are empty.
        """
        decided, gone = go_on(self._trace, self._decisions, self._ended, self._backfilling)
        return self._decisions[:decided], self._ended[:gone]

    def attempts(self, jobs: IntArray) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Return the attempts of jobs that have left, those of a job one after the other; here each has one.

        Returns
        -------
        The place in `jobs`, the start, the seconds on the machine and the request of each.
        """
        return np.arange(len(jobs)), self._trace.jobs[STARTED, jobs], self._work[jobs], self._walltime[jobs]

    def placements(self, jobs: IntArray) -> list[NDArray[np.int32]]:
        """Return the nodes of the slots of jobs, on more than one node."""
        first, placed = self._trace.jobs[FIRST_SLOT, jobs], self._trace.placed
        return [placed[at:end] for at, end in zip(first.tolist(), (first + self._amount[jobs]).tolist(), strict=True)]
