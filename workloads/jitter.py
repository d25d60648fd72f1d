"""Small random shifts of the submission times, to tell a difference from an accident."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..base import InputError
from .workload import Workload


def jitter(workload: Workload, seconds: int, rng: np.random.Generator, after: int = -1) -> Workload:
    """Return the workload with every submission after a time shifted by a few seconds.

    The shifts are whole numbers, uniform in [0, `seconds`]. The jobs are sorted anew by submission; ties
    keep their order.

    Parameters
    ----------
    workload
        What to shift; it stays as it is.
    seconds
        The largest shift, >= 0.
    rng
        Where the shifts are drawn from, one a job in trace order.
    after
        Seconds; jobs that were submitted up to then stay.

    Raises
    ------
    InputError
        If `seconds` is negative.
    """
    if seconds < 0:
        raise InputError(f"jitter: seconds must be >= 0, got {seconds}")
    shifts = rng.integers(0, seconds, size=len(workload), endpoint=True)
    submit = workload.columns.submit + np.where(workload.columns.submit > after, shifts, 0)
    order = np.argsort(submit, kind="stable")
    jobs = workload.columns.take(order, submit=submit[order])
    records = None if workload.records is None else workload.records.iloc[order].reset_index(drop=True)
    note = f"submissions shifted by 0 to {seconds} s"
    provenance = replace(workload.provenance, notes=(*workload.provenance.notes, note))
    return replace(workload, jobs=jobs, records=records, provenance=provenance)
