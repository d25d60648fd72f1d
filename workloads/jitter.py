"""Shift submission times at random by little, to separate an effect from chance."""

from dataclasses import replace

import numpy as np

from ..base import InputError, check_whole, seconds_of
from ..base.argument_types import names_wrong_types
from .closed_loops import reacting
from .workload import Workload


@names_wrong_types
def jitter(workload: Workload, seconds: int | str, rng: np.random.Generator, after: int = -1) -> Workload:
    """Return the workload with every submission after a time shifted by a few seconds.

    The shifts are whole numbers, uniform in [0, `seconds`]. The jobs are sorted again by submission; ties keep their
    order. Submissions that follow the ends of other jobs, see :func:`.closed_loop`, are not shifted.

    Parameters
    ----------
    workload
        The workload to shift; it is not changed.
    seconds
        The largest shift, at least 0: whole seconds, or text such as ``"1m"``.
    rng
        Random numbers for the shifts, one per job in trace order.
    after
        Seconds. Jobs submitted up to then are not shifted.

    Raises
    ------
    InputError
        If `seconds` is no whole number of at least 0, nor a time.

    Examples
    --------
    >>> import numpy as np
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.workloads import jitter
    >>> shifted = jitter(hd.example(), "1m", np.random.default_rng(1))
    >>> int(abs(shifted.columns.submit - hd.example().columns.submit).max()) <= 60
    True
    """
    most = _seconds(seconds)
    shifts = rng.integers(0, most, size=len(workload), endpoint=True)
    fixed = (workload.columns.submit <= after) | reacting(workload.columns)
    submit = workload.columns.submit + np.where(fixed, 0, shifts)
    order = np.argsort(submit, kind="stable")
    jobs = workload.columns.take(order, submit=submit[order])
    records = None if workload.records is None else workload.records.iloc[order].reset_index(drop=True)
    note = f"submissions shifted by 0 to {most} s"
    provenance = replace(workload.provenance, notes=(*workload.provenance.notes, note))
    return replace(workload, jobs=jobs, records=records, provenance=provenance)


def _seconds(given: int | str) -> int:
    """Return a number of seconds, or those in a text."""
    try:
        if not isinstance(given, str):
            check_whole("seconds", given, 0)
        return seconds_of(given)
    except ValueError as error:
        raise InputError(f"jitter: {'seconds: ' if isinstance(given, str) else ''}{error}") from None
