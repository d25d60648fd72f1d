"""Waiting jobs without a reservation, by the instants at which they entered the queue; compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...base import IntArray
from ..compiled import borrowing
from .ranked_heap import RankedHeap, pop, push

#: The numbers: how many entries and instants there are, and how many jobs are in.
_ENTRIES, _INSTANTS, _JOBS = range(3)


class UnreservedJobs(NamedTuple):
    """Entries in order of the instant, the rank and the place of the job.

    Attributes
    ----------
    jobs, ranks, instants
        Of each entry: the job, its rank, the least first, and the number of its instant; shape (entries,).
    following
        The next entry that is in, from one that is not on; itself for one that is.
    entry
        Of each job, -1 if it is not in.
    first
        The first entry of each instant.
    numbers
        How many there are.
    """

    jobs: IntArray
    ranks: IntArray
    instants: IntArray
    following: IntArray
    entry: IntArray
    first: IntArray
    numbers: IntArray


def open_unreserved(jobs: int, entries: int) -> UnreservedJobs:
    """Return room for jobs that are put in so many times in all."""
    most = entries + 1
    return UnreservedJobs(
        jobs=np.zeros(most, dtype=np.int64),
        ranks=np.zeros(most, dtype=np.int64),
        instants=np.zeros(most, dtype=np.int64),
        following=np.zeros(most, dtype=np.int64),
        entry=np.full(jobs, -1, dtype=np.int64),
        first=np.zeros(most, dtype=np.int64),
        numbers=np.zeros(3, dtype=np.int64),
    )


@borrowing
def put_in(unreserved: UnreservedJobs, came: RankedHeap) -> None:
    """Put jobs in, by their ranks, that entered the queue at an instant, later than all before; take them out there."""
    numbers = unreserved.numbers
    unreserved.first[numbers[_INSTANTS]] = numbers[_ENTRIES]
    numbers[_JOBS] += came.size[0]
    while came.size[0] > 0:
        rank, entry = came.rows[0, 0], numbers[_ENTRIES]
        job = pop(came)
        unreserved.jobs[entry], unreserved.ranks[entry] = job, rank
        unreserved.instants[entry] = numbers[_INSTANTS]
        unreserved.following[entry] = unreserved.entry[job] = entry
        numbers[_ENTRIES] += 1
    numbers[_INSTANTS] += 1
    unreserved.following[numbers[_ENTRIES]] = numbers[_ENTRIES]


@borrowing
def discard(unreserved: UnreservedJobs, job: int) -> None:
    """Take a job out, if it is in."""
    entry = unreserved.entry[job]
    if entry >= 0:
        unreserved.entry[job] = -1
        unreserved.following[entry] = entry + 1
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
    numbers = unreserved.numbers
    most = numbers[_JOBS] if batch < 0 else batch
    entry, instants = _next(unreserved, 0), 0
    while entry < numbers[_ENTRIES] and instants < most:
        instant, count = unreserved.instants[entry], 0
        while entry < numbers[_ENTRIES] and unreserved.instants[entry] == instant and count < most:
            push(empty, unreserved.ranks[entry], entry, unreserved.jobs[entry])
            entry = _next(unreserved, entry + 1)
            count += 1
        instants += 1
        if instant + 1 == numbers[_INSTANTS]:
            break
        entry = _next(unreserved, max(entry, unreserved.first[instant + 1]))
    found = min(most, empty.size[0])
    for index in range(found):
        chosen[index] = pop(empty)
    empty.size[0] = 0
    return int(found)


@borrowing
def _next(unreserved: UnreservedJobs, entry: int) -> int:
    """Return the first entry from one on that is in; as many as there are if there is none."""
    following, found = unreserved.following, entry
    while following[found] != found:
        found = following[found]
    while following[entry] != entry:
        later = following[entry]
        following[entry] = found
        entry = later
    return int(found)
