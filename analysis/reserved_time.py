"""When the reservation of a job was over, in place of the job."""

from __future__ import annotations

import numpy as np

from ..base import FloatArray
from ..simulation import Result


def reserved_response(result: Result) -> FloatArray:
    """Return the seconds from the submission of each job to the end of its last reservation, shape (jobs,).

    The response time of equation 2 of A. Gainaru et al. (ICPP 2019) as printed: the failed reservations, the waits
    between them, and the whole of the one in which the job succeeds. Of a job that never started, and of one that
    outlasted its request, to its end.

    Raises
    ------
    ValueError
        If the records do not hold what was requested.
    """
    attempts, jobs = result.attempts, result.jobs
    if "request" not in attempts:
        raise ValueError("attempts must have a column 'request', got a result that was made without")
    ends = (attempts["start"] + attempts["request"]).groupby(attempts["id"]).max()
    reserved = jobs["id"].map(ends).fillna(0).to_numpy(dtype=float)
    found: FloatArray = np.maximum(reserved, jobs["end"].to_numpy(dtype=float)) - jobs["submit"].to_numpy(dtype=float)
    return found
