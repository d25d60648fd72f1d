"""What the event manager works on: events with their work, views of its lists, and plans."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Generic, SupportsIndex, TypeVar, overload

from ..dispatchers import Action, Running, Waiting
from ..workloads import Job
from .accasim_compat import Event
from .recorder import COMPLETED, Attempt

T = TypeVar("T")


class ReadOnly(Sequence[T], Generic[T]):
    """A sequence that shows a list, without a copy and without a way to change it."""

    __slots__ = ("_items",)

    def __init__(self, items: list[T]) -> None:
        self._items = items

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[T]:
        return iter(self._items)

    @overload
    def __getitem__(self, index: SupportsIndex) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: SupportsIndex | slice) -> T | Sequence[T]:
        return self._items[index]

    def __repr__(self) -> str:
        return repr(list(self))


class SimEvent(Event):  # type: ignore[misc]
    """A job in the simulator: AccaSim's event, with what is left of its work and its attempts so far."""

    def __init__(self, job: Job, order: int, demand: tuple[int, ...]) -> None:
        # AccaSim's constructor reads its process-wide constants; the attributes it sets are these.
        self.id = job.id
        self.queued_time = job.submit
        self.duration = job.runtime
        self.start_time: int | None = None
        self.end_time: int | None = None
        self._requested_nodes = job.nodes
        self._requested_resources = job.per_node
        self.job = job
        self.order = order
        self.demand = demand
        self.remaining = job.runtime
        self.shape = -1
        self.waiting: Waiting | None = None
        self.running: Running | None = None
        self.due = COMPLETED
        self.ends_at = -1
        self.entered = job.submit
        self.misses = 0
        self.stopped_at = 0
        self.attempts: list[Attempt] = []

    def runtime_of(self, shape: int) -> int:
        """Return the run time of the whole job on a shape, -1 for the request itself."""
        return self.job.runtime if shape < 0 else self.job.shapes[shape].runtime

    def remaining_on(self, shape: int) -> int:
        """Return the seconds of work that are left, on a shape; rounded up where it is not the current one."""
        if shape == self.shape:
            return self.remaining
        whole, target = self.runtime_of(self.shape), self.runtime_of(shape)
        return target if self.remaining == whole else -(-self.remaining * target // max(whole, 1))


class Plan(list[Action]):
    """The actions of one decision, of the length that AccaSim's main loop checks: the jobs that were queued.

    `ns` is how long the dispatcher took, ``None`` if it was not asked.
    """

    def __init__(self, actions: Sequence[Action], length: int, report: Any, ns: int | None, queued: int) -> None:
        super().__init__(actions)
        self.length = length
        self.report = report
        self.ns = ns
        self.queued = queued

    def __len__(self) -> int:
        return self.length
