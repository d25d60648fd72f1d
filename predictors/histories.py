"""Ended jobs of a trace, in the order in which a scheduler learns of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np

from ..workloads import Job, Workload

#: What happens first at one instant, as in a simulation.
_KINDS: tuple[Literal["end", "submit", "start"], ...] = ("end", "submit", "start")
WEEK = 7 * 86_400


def events_of(history: Workload) -> Iterator[tuple[Literal["end", "submit", "start"], Job, int]]:
    """Yield what happened to the jobs of a trace, the job, and when, seconds, in the order of time.

    A job waits as long as recorded. Without a record it starts as it is submitted.
    """
    columns = history.columns
    submit = columns.submit
    wait = history.recorded_waits
    start = submit if wait is None else submit + np.nan_to_num(wait).astype(np.int64)
    end = start + columns.runtime
    when = np.concatenate((end, submit, start))
    kind = np.repeat(np.arange(3), len(submit))
    # A job of 0 s ends after it starts.
    kind[: len(submit)] += 3 * (end == start)
    row = np.tile(np.arange(len(submit)), 3)
    for place in np.lexsort((row, kind, when)).tolist():
        yield _KINDS[kind[place] % 3], history.jobs[row[place]], int(when[place])
