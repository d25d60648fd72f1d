"""EASY's schedule beside the real one up to now: exact as far as run times are known, and as expected from there on."""

from __future__ import annotations

import numpy as np

from ...base import BoolArray, FloatArray, IntArray
from ...models.lookahead import CLOCK, GONE, ShadowJobs, replay
from ...workloads import Machine
from ..lookahead.history import History
from ..protocol import State

#: The expected schedule begins anew from the exact one after so many seconds at least, or once the time has passed by
#: this part of what the exact one lags behind: what is gone through again is then at most so many times what is new.
_OFTEN, _PART = 3600, 0.25


class ExpectedEASY(History):
    """EASY's schedule by requests, which does not stop where a job may have ended that in reality runs or waits.

    The longest wait under EASY is known late where it matters: once jobs have started in its schedule that in reality
    wait for days. So beside the exact schedule another is kept, in which such jobs run for as long as is expected: what
    is predicted of them, times the run times of those that have ended by what was predicted of these, weighted by their
    amounts, up to the request; those of which no less than the request is predicted apart. It begins anew from the
    exact one time and again.

    Parameters
    ----------
    machine, now
        As for :class:`.History`.
    """

    def __init__(self, machine: Machine, now: int) -> None:
        super().__init__(machine, now, by_requests=True)
        self._expected: ShadowJobs | None = None
        self._begun = now
        self._ratios = 1.0, 1.0
        self._predicted = self._guessed = np.zeros(0, dtype=np.int64)

    def see(self, state: State, expected: State | None = None) -> None:
        """Take note of a state, and of what is predicted in another of the same jobs."""
        super().see(state)
        rows, predicted = self._last.waiting, (expected or state).queue.predicted
        self._predicted, self._guessed = (self._longer(column, 0) for column in (self._predicted, self._guessed))
        self._predicted[rows] = predicted
        asked = self.jobs.duration[rows]
        ratios = np.where(predicted < asked, *self._ratios)
        self._guessed[rows] = np.clip(np.rint(ratios * predicted), 1, asked)

    def ended(self, id_: str, ran: int) -> None:
        """Take note that a job has ended, and how long it ran in all, seconds; to be said before its end is seen."""
        row = self._row.get(id_)
        if row is not None:
            self._sightings.status[row] = GONE
            self.jobs.run[row], self.jobs.known[row] = ran, 1

    def longest_wait(self, now: int) -> int:
        """Return the longest wait under EASY so far, as it is known or expected."""
        exact = super().longest_wait(now)
        lag = now - int(self.jobs.state[CLOCK])
        if self._expected is None or now - self._begun > max(_OFTEN, _PART * lag):
            self._ratios = self._learned()
            self._begun, own = now, (self.jobs.start, self.jobs.running, self.jobs.least, self.jobs.state)
            start, running, least, state = (column.copy() for column in own)
            start[len(self._row) :] = -1
        else:
            _, _, _, _, _, _, start, running, least, state = self._expected
            start, running = self._longer(start, -1), self._longer(running, 0)
            least = np.concatenate((least, self.jobs.least[len(least) :]))
        self._expected = self.jobs._replace(start=start, running=running, least=least, state=state)
        return max(exact, int(replay(self._expected, len(self._row), now, self._guessed)))

    def _longer(self, column: IntArray, fill: int) -> IntArray:
        """Return a column with room for all jobs."""
        more = len(self.jobs.submit) - len(column)
        return np.concatenate((column, np.full(more, fill, dtype=np.int64))) if more else column

    def _learned(self) -> tuple[float, float]:
        """Return run times of those that have ended by what was predicted: less than the request, and no less."""
        some = len(self._row)
        ended = (self.jobs.known[:some] > 0) & (self.jobs.run[:some] > 0) & (self._predicted[:some] > 0)
        rows = np.flatnonzero(ended)
        run, predicted = self.jobs.run[rows], self._predicted[rows]
        amount = (self.jobs.need[rows] / np.maximum(self.machine.capacity.sum(axis=0), 1)).max(axis=1, initial=0)
        less = predicted < self.jobs.duration[rows]
        return _ratio(amount, run, predicted, less), _ratio(amount, run, predicted, ~less)


def _ratio(amount: FloatArray, run: IntArray, predicted: IntArray, some: BoolArray) -> float:
    """Return the run times of some jobs by the predicted ones, weighted by amounts; 1 if there are none."""
    whole = float((amount * predicted)[some].sum())
    return float((amount * run)[some].sum()) / whole if whole > 0 else 1.0
