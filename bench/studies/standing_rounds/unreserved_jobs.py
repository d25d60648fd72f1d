"""Waiting jobs without a reservation, by the instants at which they entered the queue; compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ....base import IntArray
from ....models.compiled import borrowing
from .ranked_heap import RankedHeap, pop, push

_JOB, _RANK, _INSTANT = range(3)
#: The numbers: how many entries there are, and how many jobs are in.
_ENTRIES, _JOBS = range(2)


class UnreservedJobs(NamedTuple):
    """Entries in the order in which jobs were put in.

    Attributes
    ----------
    entries
        Of each entry: the job, -1 for one that was taken out; its rank, the least first; its instant; shape (3, most).
    entry
        Of each job, -1 if it is not in.
    numbers
        How many there are.
    """

    entries: IntArray
    entry: IntArray
    numbers: IntArray


def open_unreserved(jobs: int) -> UnreservedJobs:
    """Return room for so many jobs."""
    entries, entry = np.empty((3, 2 * jobs + 64), dtype=np.int64), np.full(jobs, -1, dtype=np.int64)
    return UnreservedJobs(entries, entry, np.zeros(2, dtype=np.int64))


@borrowing
def put_in(unreserved: UnreservedJobs, job: int, rank: int, instant: int) -> None:
    """Put a job in that entered the queue at an instant, not before those that were put in before."""
    entries, numbers = unreserved.entries, unreserved.numbers
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
    entries[_JOB, entry], entries[_RANK, entry], entries[_INSTANT, entry] = job, rank, instant
    unreserved.entry[job] = entry
    numbers[_ENTRIES] += 1
    numbers[_JOBS] += 1


@borrowing
def discard(unreserved: UnreservedJobs, job: int) -> None:
    """Take a job out, if it is in."""
    entry = unreserved.entry[job]
    if entry >= 0:
        unreserved.entry[job] = unreserved.entries[_JOB, entry] = -1
        unreserved.numbers[_JOBS] -= 1


@borrowing
def largest(unreserved: UnreservedJobs, batch: int, empty: RankedHeap, chosen: IntArray) -> int:
    """Find the next batch by rank: of those of the first instants, as many as a batch has jobs; -1: all.

    Parameters
    ----------
    empty
        A heap to sort in.
    chosen
        Filled with the jobs.

    Returns
    -------
    How many they are.
    """
    entries, numbers = unreserved.entries, unreserved.numbers
    most, instants, last = numbers[_JOBS] if batch < 0 else batch, 0, -1
    for entry in range(numbers[_ENTRIES]):
        if entries[_JOB, entry] < 0:
            continue
        if entries[_INSTANT, entry] != last:
            last = entries[_INSTANT, entry]
            instants += 1
            if instants > most:
                break
        rank = -entries[_RANK, entry]  # So that the heap has the last of the best first.
        if empty.size[0] == most:
            if rank <= empty.rows[0, 0]:  # Of those with the same rank the first entries are better.
                continue
            pop(empty)
        push(empty, rank, -entry, entries[_JOB, entry])
    found = empty.size[0]
    for index in range(found - 1, -1, -1):
        chosen[index] = pop(empty)
    return int(found)
