"""Compiled list of waiting jobs without a reservation, by their time of arrival."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ....base import IntArray
from ....models.compiled import borrowing
from .ranked_heap import RankedHeap, pop, push

_JOB, _RANK, _INSTANT = range(3)
#: Counters: entries, and jobs.
_ENTRIES, _JOBS = range(2)


class UnreservedJobs(NamedTuple):
    """Entries in order of arrival.

    Attributes
    ----------
    entries
        Job of each entry, -1 if removed, its rank, least first, and its arrival. Shape (3, most).
    entry
        Entry of each job, -1 if it has none.
    numbers
        Counters of entries and jobs.
    """

    entries: IntArray
    entry: IntArray
    numbers: IntArray


def open_unreserved(jobs: int) -> UnreservedJobs:
    """Return an empty list with room for `jobs` jobs."""
    entries = np.empty((3, 2 * jobs + 64), dtype=np.int64)
    entry = np.full(jobs, -1, dtype=np.int64)
    return UnreservedJobs(entries, entry, np.zeros(2, dtype=np.int64))


@borrowing
def put_in(unreserved: UnreservedJobs, job: int, rank: int, instant: int) -> None:
    """Add a job with its arrival, not before earlier entries."""
    entries = unreserved.entries
    numbers = unreserved.numbers
    if numbers[_ENTRIES] >= 2 * numbers[_JOBS] + 63:
        kept = 0
        for entry in range(numbers[_ENTRIES]):
            if entries[_JOB, entry] >= 0:
                for row in range(3):
                    entries[row, kept] = entries[row, entry]
                unreserved.entry[entries[_JOB, kept]] = kept
                kept += 1
        numbers[_ENTRIES] = kept
    entry = numbers[_ENTRIES]
    entries[_JOB, entry] = job
    entries[_RANK, entry] = rank
    entries[_INSTANT, entry] = instant
    unreserved.entry[job] = entry
    numbers[_ENTRIES] += 1
    numbers[_JOBS] += 1


@borrowing
def discard(unreserved: UnreservedJobs, job: int) -> None:
    """Remove a job, if present."""
    entry = unreserved.entry[job]
    if entry >= 0:
        unreserved.entry[job] = unreserved.entries[_JOB, entry] = -1
        unreserved.numbers[_JOBS] -= 1


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
    numbers = unreserved.numbers
    most = numbers[_JOBS] if batch < 0 else batch
    instants = 0
    last = -1
    for entry in range(numbers[_ENTRIES]):
        if entries[_JOB, entry] < 0:
            continue
        if entries[_INSTANT, entry] != last:
            last = entries[_INSTANT, entry]
            instants += 1
            if instants > most:
                break
        rank = -entries[_RANK, entry]  # Negated: the heap then has the worst of the best first.
        if empty.size[0] == most:
            if rank <= empty.rows[0, 0]:  # Among equal ranks, earlier entries are better.
                continue
            pop(empty)
        push(empty, rank, -entry, entries[_JOB, entry])
    count = empty.size[0]
    for index in range(count - 1, -1, -1):
        chosen[index] = pop(empty)
    return int(count)
