"""Predict a user's next run time from the last ones. Correct predictions of jobs that overrun.

Tsafrir, Etsion and Feitelson, "Backfilling using system-generated predictions rather than user runtime estimates", IEEE
TPDS 18(6), 2007. A job is not killed at its prediction. The prediction grows by a given amount at each miss, up to the
walltime.
"""

from collections import deque
from itertools import pairwise
from typing import ClassVar, Literal

from ..base import check_choice, check_whole
from ..base.checks import MOST_STEPS
from ..base.corrections import TSAFRIR_INCREMENTS, tsafrir_correction
from ..workloads import Job

SC15_INCREMENTS: tuple[int, ...] = tuple(after - before for before, after in pairwise((0, *TSAFRIR_INCREMENTS)))
"""Seconds added at each miss where the schedule counts from the *first* prediction.

It becomes that + 1 min, then that + 5 min, and so on. The increments are 1, 4, 10, 15, 30 min, 1, 3, 5, 10, 30, 50 h.
The simulator of Gaussier et al. has it so: "Improving backfilling by using machine learning to predict running times",
SC 2015.
"""

_INCREMENTS = {"tsafrir": TSAFRIR_INCREMENTS, "sc15": SC15_INCREMENTS}


class LastTwo:
    """The mean run time of the user's last two finished jobs, never above the walltime.

    The predictor of EASY++ (Tsafrir, Etsion and Feitelson, IEEE TPDS 18(6), 2007). Details:

    * The last jobs are those that *ended* last, regardless of submission.
    * A user with fewer than `count` ended jobs gets the walltime. Both published implementations of EASY++ do so, in
      PYSS and in the simulator of the SC'15 study.
    * The prediction is made once, at submission. (PYSS renews it while the job waits. The SC'15 study does not.)
    * Jobs with unknown users count as one user's.
    * A job that overruns its prediction is corrected, see `tsafrir_correction`.

    Parameters
    ----------
    count
        Number of last jobs, at least 1.
    correction
        Meaning of the increments of 1, 5, 15, 30 min, 1, 2, 5, ... h: ``"tsafrir"`` adds each to the elapsed time.
        ``"sc15"`` adds it to the first prediction, and rounds the mean down to whole seconds, as the simulator of that
        study does. By name also any registered correction.

    Raises
    ------
    ValueError
        If an option is out of its range.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.predictors import LastTwo
    >>> predictor = LastTwo()
    >>> job = hd.Job("a", submit=0, runtime=100, walltime=900, user="ada")
    >>> predictor.predict(job, now=0)
    900.0
    >>> predictor.observe(job)
    >>> predictor.observe(hd.Job("b", submit=0, runtime=200, walltime=900, user="ada"))
    >>> predictor.predict(job, now=300)
    150.0
    """

    uses: ClassVar[tuple[str, ...]] = ()

    def __init__(self, *, count: int = 2, correction: Literal["tsafrir", "sc15"] = "tsafrir") -> None:
        self.count = check_whole("count", count, 1, MOST_STEPS, "so many run times of each user are kept")
        check_choice("correction", correction, tuple(_INCREMENTS))
        self.correction = correction
        self._runtimes: dict[str, deque[int]] = {}

    def predict(self, job: Job, now: int) -> float:
        """Return the mean of the user's last run times, at most the walltime, seconds."""
        last = self._runtimes.get(job.user, ())
        if len(last) < self.count:
            return float(job.walltime)
        mean = sum(last) // self.count if self.correction == "sc15" else sum(last) / self.count
        return min(float(mean), float(job.walltime))

    def correct(self, job: Job, elapsed: int, misses: int) -> float:
        """Return `elapsed` plus the increment of this miss, seconds. See `tsafrir_correction`."""
        return tsafrir_correction(job, elapsed, misses, _INCREMENTS[self.correction])

    def observe(self, job: Job) -> None:
        """Store the run time of an ended job as its user's latest."""
        self._runtimes.setdefault(job.user, deque(maxlen=self.count)).append(job.runtime)

    def reset(self) -> None:
        """Drop all users."""
        self._runtimes.clear()
