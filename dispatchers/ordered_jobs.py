"""Ordered waiting and running jobs, with columns for dispatchers that are kept up to date."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from operator import attrgetter
from typing import Any, Generic, TypeVar

import numpy as np

from ..base import IntArray
from .columns import JobSequence, RunningJobs, WaitingJobs, slots_of
from .protocol import Running, Waiting, id_of

T = TypeVar("T")
#: Sort key of the queue.
by_place = attrgetter("place")
_FEW = 64


class KeptColumns:
    """Table of :class:`~hpcdispatch.dispatchers.columns.JobSequence`, with insertion and removal of jobs.

    The jobs are in the middle of an array with room at both ends. A change moves only the shorter side.
    """

    def __init__(self, table: IntArray) -> None:
        self._grow(table)

    def __deepcopy__(self, memo: dict[int, Any]) -> KeptColumns:
        """Return a copy. Its view must belong to its own table."""
        return KeptColumns(self.shown)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the table for pickling, as for a copy."""
        return KeptColumns, (self.shown.copy(),)

    @property
    def shown(self) -> IntArray:
        """Read-only table."""
        return self._read_only[:, self._first : self._last]

    def put(self, index: int, row: tuple[int, ...]) -> None:
        """Insert a job before `index`."""
        if self._last == self._all.shape[1] or not self._first:
            self._grow(self.shown)
        at = self._first + index
        if 2 * index < self._last - self._first:
            self._all[:, self._first - 1 : at - 1] = self._all[:, self._first : at]
            self._first -= 1
            at -= 1
        else:
            self._all[:, at + 1 : self._last + 1] = self._all[:, at : self._last]
            self._last += 1
        self._all[:, at] = row

    def take(self, index: int) -> None:
        """Remove the job at `index`."""
        at = self._first + index
        if 2 * index < self._last - self._first:
            self._all[:, self._first + 1 : at + 1] = self._all[:, self._first : at]
            self._first += 1
        else:
            self._all[:, at : self._last - 1] = self._all[:, at + 1 : self._last]
            self._last -= 1

    def _grow(self, table: IntArray) -> None:
        count = table.shape[1]
        room = max(_FEW, count)
        larger = np.zeros((len(table), count + 2 * room), dtype=np.int64)
        larger[:, room : room + count] = table
        self._all = larger
        self._first = room
        self._last = room + count
        self._read_only = larger.view()
        self._read_only.flags.writeable = False


class OrderedJobs(Generic[T]):
    """Jobs in order of a rank. Ties keep the order of insertion.

    Parameters
    ----------
    view
        Class that dispatchers see.
    resources
        Number of resources of the machine.
    rank
        Rank of a job. It must not change while the job is present.

    Attributes
    ----------
    entries
        The jobs. Read only.
    shown
        The same for dispatchers. Columns are kept up to date while they are used.
    """

    def __init__(self, view: type[JobSequence[T]], resources: int, rank: Callable[[T], Any]) -> None:
        self.entries: list[T] = []
        self.shown = view(self.entries, resources, self._table, self._counted)
        self._resources = resources
        self._rank = rank
        self._ranks: list[Any] = []
        self._fields = attrgetter(*view.FIELDS)
        self._columns: KeptColumns | None = None
        self._slots: dict[tuple[int, ...], int] | None = None
        self._changes = 0
        self._followers = self.shown.followers

    def add(self, job: T) -> None:
        """Insert a job at its position."""
        ranks, rank = self._ranks, self._rank(job)
        index = len(ranks)
        if index and rank < ranks[-1]:
            index = bisect_right(ranks, rank)
        ranks.insert(index, rank)
        self.entries.insert(index, job)
        if self._columns is not None and self._still_asked_for():
            self._columns.put(index, self._row(job))
        if self._slots is not None:
            self._count(job, 1)
        if self._followers:
            self._tell(job, True)

    def remove(self, job: T) -> None:
        """Remove a job."""
        entries, index = self.entries, 0
        if entries[0] is not job:
            index = bisect_left(self._ranks, self._rank(job))
            while entries[index] is not job:
                index += 1
        del entries[index], self._ranks[index]
        if self._columns is not None and self._still_asked_for():
            self._columns.take(index)
        if self._slots is not None:
            self._count(job, -1)
        if self._followers:
            self._tell(job, False)

    def _tell(self, job: T, came: bool) -> None:
        """Report a change to the followers, and drop those that want no more."""
        done = [key for key, follower in self._followers.items() if not follower.changed(job, came)]
        for key in done:
            del self._followers[key]

    def _still_asked_for(self) -> bool:
        """Drop the columns if unused while about all jobs changed. Building them anew then costs no more."""
        self._changes += 1
        if self._changes > len(self.entries) + _FEW:
            self._columns = None
        return self._columns is not None

    def _counted(self) -> Mapping[tuple[int, ...], int]:
        if self._slots is None:
            self._slots = slots_of(self.entries)
        return self._slots

    def _count(self, job: Any, sign: int) -> None:
        assert self._slots is not None
        slots = self._slots.get(job.demand, 0) + sign * job.nodes
        if slots:
            self._slots[job.demand] = slots
        else:
            del self._slots[job.demand]

    def _table(self) -> IntArray:
        self._changes = 0
        if self._columns is None:
            rows = chain.from_iterable(map(self._row, self.entries))
            shape = len(self.entries), len(self.shown.FIELDS) + self._resources
            self._columns = KeptColumns(np.fromiter(rows, dtype=np.int64, count=math.prod(shape)).reshape(shape).T)
        return self._columns.shown

    def _row(self, job: Any) -> tuple[int, ...]:
        """Return the columns of one job."""
        return (*self._fields(job), *job.demand)


class WaitingQueue(OrderedJobs[Waiting]):
    """Waiting jobs in order of `since`. Ties by priority, then by trace order."""

    def __init__(self, resources: int) -> None:
        super().__init__(WaitingJobs, resources, by_place)


class JobsOnMachine(OrderedJobs[Running]):
    """Running jobs in order of predicted end. Ties in order of prediction."""

    def __init__(self, resources: int) -> None:
        super().__init__(RunningJobs, resources, attrgetter("predicted_end"))

    def expect(self, running: Running, end: int) -> None:
        """Change a job's predicted end and its position."""
        self.remove(running)
        running.predicted_end = end
        self.add(running)


class Changes(Generic[T]):
    """Jobs that arrived or left since the last look, and jobs that are present.

    Parameters
    ----------
    jobs
        Initial jobs. All count as changed.

    Attributes
    ----------
    present
        Present jobs by id.
    """

    def __init__(self, jobs: Iterable[T]) -> None:
        self.present: dict[str, T] = {id_of(job): job for job in jobs}
        self._touched = dict.fromkeys(self.present)

    def changed(self, job: T, came: bool) -> bool:
        """Record an arrival or departure."""
        id_ = id_of(job)
        if came:
            self.present[id_] = job
        elif self.present.get(id_) is job:
            del self.present[id_]
        self._touched[id_] = None
        return True

    def taken(self) -> Iterable[str]:
        """Return the ids of jobs that arrived or left, and reset them."""
        touched, self._touched = self._touched, {}
        return touched


class ChangesSeen(Generic[T]):
    """Changes of jobs between successive states, which may have separate lists."""

    def __init__(self) -> None:
        self._changes: Changes[T] | None = None

    def look(self, jobs: JobSequence[T]) -> tuple[Mapping[str, T], Iterable[str]]:
        """Return the present jobs by id, and ids of jobs that arrived or left since the last look.

        The ids may include jobs that are still present.
        """
        before = self._changes
        changes = jobs.followed(self, Changes)
        touched = changes.taken()
        if before is not None and before is not changes:
            touched = dict.fromkeys([*before.present, *before.taken(), *touched])
        self._changes = changes
        return changes.present, touched
