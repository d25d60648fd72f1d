"""What to believe of a job that has outrun its prediction.

Tsafrir, Etsion and Feitelson, "Backfilling using system-generated predictions rather than user runtime
estimates", IEEE TPDS 18(6), 2007: the job is not killed at its prediction; the prediction grows by a given
amount at each miss, up to the requested time.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ..base.checks import check_whole
from ..workloads import Job

TSAFRIR_INCREMENTS: tuple[int, ...] = (
    60, 300, 900, 1800, 3600, 7200, 18_000, 36_000, 72_000, 180_000, 360_000,
)  # fmt: skip
"""Seconds added at the first, second, ... miss: 1, 5, 15, 30 min, then 1, 2, 5, 10, 20, 50, 100 h."""

SC15_INCREMENTS: tuple[int, ...] = (
    TSAFRIR_INCREMENTS[0],
    *(after - before for before, after in pairwise(TSAFRIR_INCREMENTS)),
)
"""Seconds added at each miss where the schedule counts from the *first* prediction.

It becomes that + 1 min, then that + 5 min, and so on: increments of 1, 4, 10, 15, 30 min, 1, 3, 5, 10, 30,
50 h. The simulator behind Gaussier et al., "Improving backfilling by using machine learning to predict
running times", SC 2015, has it so.
"""


def tsafrir_correction(job: Job, elapsed: int, misses: int, increments: Sequence[int] = TSAFRIR_INCREMENTS) -> float:
    """Return the corrected prediction of the whole run time of a running job.

    It is ``elapsed + increments[misses]``, the last increment repeating, and at most the requested time as
    long as that is still ahead. A job that has reached its requested time goes on with the increments.

    Parameters
    ----------
    job
        The running job.
    elapsed
        How long it has run, seconds.
    misses
        How often it was corrected before; 0 at the first.
    increments
        What each miss adds, seconds, all above 0.

    Returns
    -------
    float
        Seconds since the start of the job, greater than `elapsed`.

    Raises
    ------
    ValueError
        If `misses` is negative.
    """
    check_whole(f"job {job.id}: misses", misses, 0)
    corrected = elapsed + increments[min(misses, len(increments) - 1)]
    return float(min(corrected, job.walltime) if elapsed < job.walltime else corrected)
