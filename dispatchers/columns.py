"""Waiting and running jobs as a dispatcher sees them: one by one, and as columns side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, ClassVar, Generic, TypeVar, overload

import numpy as np

from ..base import IntArray

T = TypeVar("T")


class Jobs(Sequence[T], Generic[T]):
    """A read-only sequence of jobs with read-only columns, arrays of shape (jobs,) in the same order.

    Parameters
    ----------
    entries
        The jobs.
    resources
        How many resources the machine has.
    table
        Returns the columns as :meth:`table` has them, for entries that change; otherwise they are made once, when one
        of them is first asked for.

    Attributes
    ----------
    FIELDS
        Names of the columns beside the demand.
    """

    FIELDS: ClassVar[tuple[str, ...]]

    def __init__(self, entries: Sequence[T], resources: int, table: Callable[[], IntArray] | None = None) -> None:
        self._entries = entries
        self._resources = resources
        self._table = cache(self.make_table) if table is None else table

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[T]:
        return iter(self._entries)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        return self._entries[index]

    def __repr__(self) -> str:
        return repr(list(self))

    def column(self, index: int) -> IntArray:
        """Return a column by its place in :data:`FIELDS`."""
        found: IntArray = self._table()[index]
        return found

    @property
    def table(self) -> IntArray:
        """The columns as the rows of one array: the fields, then the demand, resource by resource."""
        return self._table()

    def make_table(self) -> IntArray:
        """Make the table from the entries."""
        table = np.empty((len(self.FIELDS) + self._resources, len(self._entries)), dtype=np.int64)
        for place, entry in enumerate(self._entries):
            table[:, place] = self.row(entry)
        table.flags.writeable = False
        return table

    @classmethod
    def row(cls, entry: Any) -> tuple[int, ...]:
        """Return what the columns say of one job."""
        raise NotImplementedError

    @property
    def demand(self) -> IntArray:
        """What a slot asks for, in the order of the machine's resources, shape (jobs, resources)."""
        return self.table[len(self.FIELDS) :].T

    @property
    def order(self) -> IntArray:
        """Place in the trace, by which a job is known."""
        return self.column(0)

    @property
    def nodes(self) -> IntArray:
        """Node slots."""
        return self.column(1)


class WaitingJobs(Jobs[T]):
    """The queue, in order of submission."""

    FIELDS = ("order", "nodes", "predicted", "since", "submit")

    @classmethod
    def row(cls, entry: Any) -> tuple[int, ...]:
        """Return what the columns say of one job."""
        return (entry.order, entry.nodes, entry.predicted, entry.since, entry.job.submit, *entry.demand)

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


class RunningJobs(Jobs[T]):
    """The jobs on the machine, in order of their predicted end."""

    FIELDS = ("order", "nodes", "predicted_end", "start")

    @classmethod
    def row(cls, entry: Any) -> tuple[int, ...]:
        """Return what the columns say of one job."""
        return (entry.order, entry.nodes, entry.predicted_end, entry.start, *entry.demand)

    @property
    def predicted_end(self) -> IntArray:
        """When the job is expected to end, seconds; may lie in the past."""
        return self.column(2)

    @property
    def start(self) -> IntArray:
        """When this attempt began, seconds."""
        return self.column(3)
