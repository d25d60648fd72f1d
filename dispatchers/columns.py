"""Waiting and running jobs as a dispatcher sees them: one by one, and as columns side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any, ClassVar, Generic, Protocol, TypeVar, overload

import numpy as np

from ..base import IntArray

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)
#: Stands for the demand among the columns that were made.
_DEMAND = -1


class Follower(Protocol[T_contra]):
    """What is told of every job that comes or leaves."""

    def changed(self, job: T_contra, came: bool) -> bool:
        """Take note of a job that came or left; return whether to be told of more."""
        ...


F = TypeVar("F", bound=Follower[Any])


class Jobs(Sequence[T], Generic[T]):
    """A read-only sequence of jobs with read-only columns, arrays of shape (jobs,) in the same order.

    Parameters
    ----------
    entries
        The jobs.
    resources
        How many resources the machine has.
    table
        Returns the columns as the rows of one array, the fields before the demand, for entries that change; otherwise a
        column is made when it is first asked for, and kept.
    slots
        Returns how many slots of which demand the jobs have, for entries that change.

    Attributes
    ----------
    FIELDS
        Where an entry has what stands in the columns beside the demand.
    entries
        The jobs; to be looked at only.
    followers
        What is told of changes, by its key, where the columns are kept.
    """

    FIELDS: ClassVar[tuple[str, ...]]

    def __init__(
        self,
        entries: Sequence[T],
        resources: int,
        table: Callable[[], IntArray] | None = None,
        slots: Callable[[], Mapping[tuple[int, ...], int]] | None = None,
    ) -> None:
        self.entries = entries
        self._resources = resources
        self._table = table
        self._slots = slots
        self._made: dict[int, IntArray] = {}
        self.followers: dict[Hashable, Any] = {}

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[T]:
        return iter(self.entries)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        return self.entries[index]

    def __repr__(self) -> str:
        return repr(list(self))

    @property
    def kept(self) -> bool:
        """Whether the columns are kept up to date from state to state; else each is made by a walk over the jobs."""
        return self._table is not None

    @property
    def slots(self) -> Mapping[tuple[int, ...], int]:
        """How many slots of which demand they have, all jobs together."""
        return self._slots() if self._slots is not None else slots_of(self.entries)

    @property
    def table(self) -> IntArray:
        """All columns as the rows of one array, the fields before the demand, shape (columns, jobs)."""
        if self._table is not None:
            return self._table()
        made = np.stack([*map(self.column, range(len(self.FIELDS))), *self.demand.T])
        made.flags.writeable = False
        return made

    def followed(self, key: Hashable, make: Callable[[Sequence[T]], F]) -> F:
        """Return what follows the jobs under a key, made of those that are here if nothing does."""
        follower: F | None = self.followers.get(key)
        if follower is None:
            follower = self.followers[key] = make(self.entries)
        return follower

    def column(self, index: int) -> IntArray:
        """Return a column by its place in :data:`FIELDS`."""
        if self._table is not None:
            kept: IntArray = self._table()[index]
            return kept
        if index not in self._made:
            values = map(attrgetter(self.FIELDS[index]), self.entries)
            self._made[index] = np.fromiter(values, dtype=np.int64, count=len(self.entries))
            self._made[index].flags.writeable = False
        return self._made[index]

    @property
    def demand(self) -> IntArray:
        """What a slot asks for, in the order of the machine's resources, shape (jobs, resources)."""
        if self._table is not None:
            return self._table()[len(self.FIELDS) :].T
        if _DEMAND not in self._made:
            values = chain.from_iterable(map(attrgetter("demand"), self.entries))
            made = np.fromiter(values, dtype=np.int64, count=len(self.entries) * self._resources)
            made.flags.writeable = False
            self._made[_DEMAND] = made.reshape(-1, self._resources)
        return self._made[_DEMAND]

    @property
    def order(self) -> IntArray:
        """Place in the trace, by which a job is known."""
        return self.column(0)

    @property
    def nodes(self) -> IntArray:
        """Node slots."""
        return self.column(1)


def slots_of(entries: Sequence[Any]) -> dict[tuple[int, ...], int]:
    """Return how many slots of which demand jobs have."""
    slots: Counter[tuple[int, ...]] = Counter()
    for job in entries:
        slots[job.demand] += job.nodes
    return dict(slots)


class WaitingJobs(Jobs[T]):
    """The queue, in order of submission."""

    FIELDS = ("order", "nodes", "predicted", "since", "job.submit", "walltime")

    @property
    def predicted(self) -> IntArray:
        """Predicted remaining run time, seconds, at least 1."""
        return self.column(2)

    @property
    def since(self) -> IntArray:
        """When the job entered the queue, seconds."""
        return self.column(3)

    @property
    def submit(self) -> IntArray:
        """When the job was submitted, seconds."""
        return self.column(4)

    @property
    def walltime(self) -> IntArray:
        """What is left of the walltime, seconds, at least 1."""
        return self.column(5)


class RunningJobs(Jobs[T]):
    """The jobs on the machine, in order of their predicted end."""

    FIELDS = ("order", "nodes", "predicted_end", "start")

    @property
    def predicted_end(self) -> IntArray:
        """When the job is expected to end, seconds; may lie in the past."""
        return self.column(2)

    @property
    def start(self) -> IntArray:
        """When this attempt began, seconds."""
        return self.column(3)
