"""Waiting and running jobs as a dispatcher sees them: as entries and as columns."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any, ClassVar, Generic, Protocol, TypeVar, overload

import numpy as np

from ..base import IntArray

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)
#: Key of the demand among cached columns.
_DEMAND = -1


class Follower(Protocol[T_contra]):
    """Receiver of all arrivals and departures of jobs."""

    def changed(self, job: T_contra, came: bool) -> bool:
        """Process an arrival or departure. Return whether to receive more."""
        ...


F = TypeVar("F", bound=Follower[Any])


class JobSequence(Sequence[T], Generic[T]):
    """A read-only sequence of jobs with read-only columns, arrays of shape (jobs,) in the same order.

    Parameters
    ----------
    entries
        The jobs.
    resources
        Number of resources of the machine.
    table
        For changing entries: function that returns all columns as rows of one array, fields before the demand.
        Otherwise, columns are created at first use and cached.
    slots
        For changing entries: function that returns the number of slots per demand.

    Attributes
    ----------
    FIELDS
        Attributes of an entry in the columns, besides the demand.
    entries
        The jobs. Read only.
    followers
        Receivers of changes by key, if columns are kept up to date.
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
        """Whether the columns are kept up to date between states. Otherwise they are built from the entries."""
        return self._table is not None

    @property
    def slots(self) -> Mapping[tuple[int, ...], int]:
        """Number of slots per demand, over all jobs."""
        return self._slots() if self._slots is not None else slots_of(self.entries)

    @property
    def table(self) -> IntArray:
        """All columns as rows of one array, fields before the demand. Shape (columns, jobs)."""
        if self._table is not None:
            return self._table()
        made = np.stack([*map(self.column, range(len(self.FIELDS))), *self.demand.T])
        made.flags.writeable = False
        return made

    def close(self) -> None:
        """Build columns from the entries from now on, so that no cycle of objects keeps their owner."""
        self._table = self._slots = None

    def followed(self, key: Hashable, make: Callable[[Sequence[T]], F]) -> F:
        """Return the follower with a key. If there is none, create it from the present jobs."""
        follower: F | None = self.followers.get(key)
        if follower is None:
            follower = self.followers[key] = make(self.entries)
        return follower

    def column(self, index: int) -> IntArray:
        """Return a column by its position in :data:`FIELDS`."""
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
        """Amounts per slot, in order of the machine's resources. Shape (jobs, resources)."""
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
        """Position in the trace, which identifies a job."""
        return self.column(0)

    @property
    def nodes(self) -> IntArray:
        """Node slots."""
        return self.column(1)


def slots_of(entries: Sequence[Any]) -> dict[tuple[int, ...], int]:
    """Return the number of slots per demand."""
    slots: Counter[tuple[int, ...]] = Counter()
    for job in entries:
        slots[job.demand] += job.nodes
    return dict(slots)


class WaitingJobs(JobSequence[T]):
    """The queue, in order of submission."""

    FIELDS = ("order", "nodes", "predicted", "since", "job.submit", "walltime")

    @property
    def predicted(self) -> IntArray:
        """Predicted remaining run time, seconds, at least 1."""
        return self.column(2)

    @property
    def since(self) -> IntArray:
        """Time of entry into the queue, seconds."""
        return self.column(3)

    @property
    def submit(self) -> IntArray:
        """Submission, seconds."""
        return self.column(4)

    @property
    def walltime(self) -> IntArray:
        """Remaining walltime, seconds, at least 1."""
        return self.column(5)


class RunningJobs(JobSequence[T]):
    """Running jobs, in order of predicted end."""

    FIELDS = ("order", "nodes", "predicted_end", "start")

    @property
    def predicted_end(self) -> IntArray:
        """Predicted end, seconds. May be in the past."""
        return self.column(2)

    @property
    def start(self) -> IntArray:
        """Start of this attempt, seconds."""
        return self.column(3)


class NewJobs:
    """Follower of a queue: the jobs that came since the last look.

    Parameters
    ----------
    jobs
        The waiting jobs at first.
    """

    def __init__(self, jobs: Sequence[Any]) -> None:
        self._new = list(jobs)

    def changed(self, job: Any, came: bool) -> bool:
        """Record an arrival."""
        if came:
            self._new.append(job)
        return True

    def taken(self) -> list[Any]:
        """Return the new jobs, and forget them."""
        new, self._new = self._new, []
        return new
