"""Compiled list of waiting jobs without a reservation, by their time of arrival."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....base import IntArray
from ....models.compiled import borrowing
from .ranked_heap import RankedHeap, pop, push

#: A job, -1 if removed, its rank, least first, and its arrival, seconds.
UNRESERVED_JOB = np.dtype([(name, np.int64) for name in ("job", "rank", "instant")])
#: Entries in use, and jobs among them.
UNRESERVED_COUNTS = np.dtype([(name, np.int64) for name in ("entries", "jobs")])


class UnreservedJobs(NamedTuple):
    """Entries in order of arrival.

    Attributes
    ----------
    entries
        Jobs by arrival, of type :data:`UNRESERVED_JOB`. Shape (most,).
    entry
        Entry of each job, -1 if it has none.
    counts
        Counters of type :data:`UNRESERVED_COUNTS`, shape (1,).
    """

    entries: NDArray[np.void]
    entry: IntArray
    counts: NDArray[np.void]


def open_unreserved(jobs: int) -> UnreservedJobs:
    """Return an empty list with room for `jobs` jobs."""
    entries = np.empty(2 * jobs + 64, dtype=UNRESERVED_JOB)
    entry = np.full(jobs, -1, dtype=np.int64)
    return UnreservedJobs(entries, entry, np.zeros(1, dtype=UNRESERVED_COUNTS))


@borrowing
def put_in(unreserved: UnreservedJobs, job: int, rank: int, instant: int) -> None:
    """Add a job with its arrival, not before earlier entries."""
    entries = unreserved.entries
    counts = unreserved.counts[0]
    if counts.entries >= 2 * counts.jobs + 63:
        kept = 0
        for entry in range(counts.entries):
            if entries[entry].job >= 0:
                entries[kept].job = entries[entry].job
                entries[kept].rank = entries[entry].rank
                entries[kept].instant = entries[entry].instant
                unreserved.entry[entries[kept].job] = kept
                kept += 1
        counts.entries = kept
    entry = counts.entries
    entries[entry].job = job
    entries[entry].rank = rank
    entries[entry].instant = instant
    unreserved.entry[job] = entry
    counts.entries += 1
    counts.jobs += 1


@borrowing
def discard(unreserved: UnreservedJobs, job: int) -> None:
    """Remove a job, if present."""
    entry = unreserved.entry[job]
    if entry >= 0:
        unreserved.entry[job] = unreserved.entries[entry].job = -1
        unreserved.counts[0].jobs -= 1


@borrowing
def largest(unreserved: UnreservedJobs, batch: int, empty: RankedHeap, chosen: IntArray) -> int:
    """Find the best jobs by rank among those of the first arrival times.

    At most `batch` jobs, and of at most `batch` arrival times. All jobs if `batch` is -1.

    Parameters
    ----------
    empty
        Empty heap to sort in.
    chosen
        Receives the jobs.

    Returns
    -------
    Number of jobs.
    """
    entries = unreserved.entries
    counts = unreserved.counts[0]
    most = counts.jobs if batch < 0 else batch
    instants = 0
    last = -1
    for entry in range(counts.entries):
        if entries[entry].job < 0:
            continue
        if entries[entry].instant != last:
            last = entries[entry].instant
            instants += 1
            if instants > most:
                break
        rank = -entries[entry].rank  # Negated: the heap then has the worst of the best first.
        if empty.size[0] == most:
            if rank <= empty.rows[0, 0]:  # Among equal ranks, earlier entries are better.
                continue
            pop(empty)
        push(empty, rank, -entry, entries[entry].job)
    count = empty.size[0]
    for index in range(count - 1, -1, -1):
        chosen[index] = pop(empty)
    return int(count)
