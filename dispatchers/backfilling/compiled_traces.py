"""Which dispatchers decide over a whole trace in compiled code, and the trace that they do so on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...base import IntArray
from ...models.backfilling import FIRST_SLOT, STARTED, go_on, whole_trace
from ..compiled_steps import CompiledSteps
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


class CompiledTrace(CompiledSteps):
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
        """See :meth:`.CompiledSteps.go_on`."""
        decided, gone = go_on(self._trace, self._decisions, self._ended, self._backfilling)
        return self._decisions[:decided], self._ended[:gone]

    def attempts(self, jobs: IntArray) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Return the one attempt of each of the jobs."""
        return np.arange(len(jobs)), self._trace.jobs[STARTED, jobs], self._work[jobs], self._walltime[jobs]

    def placements(self, jobs: IntArray) -> list[NDArray[np.int32]] | None:
        """See :meth:`.CompiledSteps.placements`."""
        if not len(self._trace.room):
            return None
        first, placed = self._trace.jobs[FIRST_SLOT, jobs], self._trace.placed
        return [placed[at:end] for at, end in zip(first.tolist(), (first + self._amount[jobs]).tolist(), strict=True)]
