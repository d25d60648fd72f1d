"""Waiting jobs without a reservation, by the instants at which they entered the queue; compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...base import IntArray
from ..compiled import compiled

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


@compiled
def put_in(unreserved: UnreservedJobs, came: IntArray) -> None:
    """Put jobs in that entered the queue at an instant, later than all before.

    Parameters
    ----------
    came
        The jobs in their order, and their ranks, shape (2, jobs).
    """
    numbers, order = unreserved.numbers, np.argsort(came[1], kind="mergesort")
    unreserved.first[numbers[_INSTANTS]] = numbers[_ENTRIES]
    for index in order:
        job, entry = came[0, index], numbers[_ENTRIES]
        unreserved.jobs[entry], unreserved.ranks[entry] = job, came[1, index]
        unreserved.instants[entry] = numbers[_INSTANTS]
        unreserved.following[entry] = unreserved.entry[job] = entry
        numbers[_ENTRIES] += 1
    numbers[_INSTANTS] += 1
    numbers[_JOBS] += len(order)
    unreserved.following[numbers[_ENTRIES]] = numbers[_ENTRIES]


@compiled
def discard(unreserved: UnreservedJobs, job: int) -> None:
    """Take a job out, if it is in."""
    entry = unreserved.entry[job]
    if entry >= 0:
        unreserved.entry[job] = -1
        unreserved.following[entry] = entry + 1
        unreserved.numbers[_JOBS] -= 1


@compiled
def largest(unreserved: UnreservedJobs, batch: int) -> IntArray:
    """Return the next batch by rank: of those of the first instants, as many as a batch has jobs; -1: all."""
    numbers = unreserved.numbers
    most = numbers[_JOBS] if batch < 0 else batch
    entries, entry, instants = [0 for _ in range(0)], _next(unreserved, 0), 0
    while entry < numbers[_ENTRIES] and instants < most:
        instant, count = unreserved.instants[entry], 0
        while entry < numbers[_ENTRIES] and unreserved.instants[entry] == instant and count < most:
            entries.append(entry)
            entry = _next(unreserved, entry + 1)
            count += 1
        instants += 1
        if instant + 1 == numbers[_INSTANTS]:
            break
        entry = _next(unreserved, max(entry, unreserved.first[instant + 1]))
    found = np.array(entries, dtype=np.int64)
    order = np.argsort(unreserved.ranks[found], kind="mergesort")
    chosen: IntArray = unreserved.jobs[found[order[:most]]]
    return chosen


@compiled
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
