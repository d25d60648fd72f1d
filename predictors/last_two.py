"""A user's next job runs as long as that user's last ones did."""

from __future__ import annotations

from collections import deque
from typing import ClassVar, Literal

from ..base.checks import MOST_STEPS, check_choice, check_whole
from ..workloads import Job
from .correction import SC15_INCREMENTS, TSAFRIR_INCREMENTS, tsafrir_correction

_INCREMENTS = {"tsafrir": TSAFRIR_INCREMENTS, "sc15": SC15_INCREMENTS}


class LastTwo:
    """The mean run time of the user's last two finished jobs, never above the request.

    The predictor of EASY++ (Tsafrir, Etsion and Feitelson, IEEE TPDS 18(6), 2007). Details:

    - The last jobs are the ones that *ended* last, whenever they were submitted.
    - A user with fewer than `count` finished jobs gets the requested time. Both published implementations of EASY++, in
      PYSS and in the simulator of the SC'15 study, do the same.
    - The prediction is made once, at submission. (PYSS renews it while the job waits; the SC'15 study does not.)
    - Jobs whose user is unknown count as one user's.
    - A job that outruns its prediction is corrected, see `tsafrir_correction`.

    Parameters
    ----------
    count
        How many of the last jobs, at least 1.
    correction
        How the schedule of 1, 5, 15, 30 min, 1, 2, 5, ... h is read: ``"tsafrir"`` adds each amount to the
        time elapsed, ``"sc15"`` to the first prediction, as the simulator of that study does.

    Raises
    ------
    ValueError
        If an option is out of its range.
    """

    uses: ClassVar[tuple[str, ...]] = ()

    def __init__(self, *, count: int = 2, correction: Literal["tsafrir", "sc15"] = "tsafrir") -> None:
        self.count = check_whole("count", count, 1, MOST_STEPS, "so many run times of each user are kept")
        check_choice("correction", correction, tuple(_INCREMENTS))
        self.correction = correction
        self._runtimes: dict[str, deque[int]] = {}

    def predict(self, job: Job, now: int) -> float:
        """Return the mean of the user's last run times or the requested time, whichever is less, seconds."""
        last = self._runtimes.get(job.user, ())
        if len(last) < self.count:
            return float(job.walltime)
        return min(sum(last) / self.count, float(job.walltime))

    def correct(self, job: Job, elapsed: int, misses: int) -> float:
        """Return `elapsed` plus the increment of this miss, seconds, see `tsafrir_correction`."""
        return tsafrir_correction(job, elapsed, misses, _INCREMENTS[self.correction])

    def observe(self, job: Job) -> None:
        """Remember the run time of a finished job as its user's latest."""
        last = self._runtimes.get(job.user)
        if last is None:
            last = self._runtimes[job.user] = deque(maxlen=self.count)
        last.append(job.runtime)

    def reset(self) -> None:
        """Forget all users."""
        self._runtimes.clear()
