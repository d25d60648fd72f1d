"""Waiting and running jobs as a dispatcher sees them, and the fields of a state."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..base import IntArray
from ..workloads import Checkpoint, Job, Machine, Shape
from .columns import RunningJobs, WaitingJobs

#: Node index of each slot of a job, in any order. An index appears once per slot on that node.
Placement = NDArray[np.int64]


class ShapeView:
    """An alternative request of a moldable job, without its run time.

    Attributes
    ----------
    nodes, per_node, demand
        Slots, and amounts per slot by name and in order of the machine's resources.
    walltime
        Walltime, seconds.
    predicted
        Predicted remaining run time on it, seconds, at least 1.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.dispatchers import ShapeView
    >>> from hpcdispatch.testing import moldable
    >>> workload = moldable()
    >>> shape = ShapeView(workload.jobs[0].shapes[0], workload.jobs[0], workload.machine)
    >>> shape.nodes, shape.walltime == workload.jobs[0].shapes[0].walltime
    (2, True)
    """

    __slots__ = ("demand", "nodes", "per_node", "predicted", "walltime")

    def __init__(self, shape: Shape, job: Job, machine: Machine) -> None:
        self.nodes = shape.nodes
        self.walltime = shape.walltime
        self.per_node = job.per_node if shape.per_node is None else shape.per_node
        self.demand = machine.demand(self.per_node)
        self.predicted = shape.walltime


@dataclass(slots=True, init=False, eq=False, repr=False)
class JobView:
    """A job as a dispatcher sees it: the fields of :class:`~hpcdispatch.workloads.Job` except the run time.

    Reading ``runtime`` raises :class:`AttributeError`. After a resubmission, `walltime` is the new one.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.dispatchers import JobView
    >>> view = JobView(hd.Job("a", submit=0, runtime=100, walltime=900, user="ada"), hd.Machine(("core",), [[4]]))
    >>> view.walltime, view.user, hasattr(view, "runtime")
    (900, 'ada', False)
    """

    id: str
    submit: int
    walltime: int
    nodes: int
    per_node: Mapping[str, int]
    user: str
    group: str
    name: str
    queue: str
    kind: str
    shapes: tuple[ShapeView, ...]
    checkpoint: Checkpoint | None
    law: Any
    deadline: int | None
    array: str
    reservation: str
    priority: int
    qos: str
    exclusive: bool
    licences: Mapping[str, int]
    together: str
    spread: tuple[int, int] | None
    within: str
    within_groups: int
    within_wait: int | None
    slots: tuple[Mapping[str, int], ...] | None

    def __init__(self, job: Job, machine: Machine) -> None:
        self.id = job.id
        self.submit = job.submit
        self.walltime = job.walltime
        self.nodes = job.nodes
        self.per_node = job.per_node
        self.user = job.user
        self.group = job.group
        self.name = job.name
        self.queue = job.queue
        self.kind = job.kind
        self.shapes = tuple(ShapeView(shape, job, machine) for shape in job.shapes) if job.shapes else ()
        self.checkpoint = job.checkpoint
        self.law = job.law
        self.deadline = job.deadline
        self.array = job.array
        self.reservation = job.reservation
        self.priority = job.priority
        self.qos = job.qos
        self.exclusive = job.exclusive
        self.licences = job.licences
        self.together = job.together
        self.spread = job.spread
        self.within = job.within
        self.within_groups = job.within_groups
        self.within_wait = job.within_wait
        self.slots = job.slots

    @property
    def runtime(self) -> int:
        """Unknown to dispatchers."""
        raise AttributeError(f"job {self.id}: dispatchers see predictions only; the run time is not known yet")

    def with_shapes_predicted(self, predicted: Callable[[ShapeView], int]) -> JobView:
        """Return a view with other predictions of its shapes, seconds, at least 1. Itself if it has none."""
        if not self.shapes:
            return self
        shown = copy(self)
        shapes = [copy(shape) for shape in self.shapes]
        for shape in shapes:
            shape.predicted = max(1, predicted(shape))
        shown.shapes = tuple(shapes)
        return shown

    def __deepcopy__(self, memo: dict[int, Any]) -> JobView:
        """Return itself, because it never changes."""
        return self

    def __repr__(self) -> str:
        """Return the job and its request."""
        return f"JobView(id={self.id!r}, submit={self.submit}, nodes={self.nodes}, walltime={self.walltime})"


@dataclass(slots=True, eq=False, repr=False)
class Waiting:
    """A job in the queue.

    Attributes
    ----------
    job
        Its request.
    predicted
        Predicted remaining run time, seconds, at least 1.
    since
        Time of entry into the queue: its submission, or its last return.
    attempt
        Number of earlier starts.
    order
        Position in the trace, the last tie-breaker.
    nodes, demand
        Node slots, and amounts per slot in order of the machine's resources.
    law
        Distribution of the whole run time, seconds. From the predictor if it gives distributions, else the job's own.
        ``None`` if unknown.
    done
        Seconds of work already done, on its own request, after a preemption.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.dispatchers import EASY
    >>> from hpcdispatch.testing import tiny
    >>> class Watched(EASY):
    ...     "EASY that prints the queue at 20 s."
    ...
    ...     def dispatch(self, state):
    ...         if state.now == 20:
    ...             print([(waiting.job.id, waiting.predicted, state.now - waiting.since) for waiting in state.queue])
    ...         return super().dispatch(state)
    >>> result = hd.simulate(tiny(), Watched())
    [('c', 60, 10), ('d', 40, 0)]
    """

    job: JobView
    predicted: int
    since: int
    attempt: int
    order: int
    demand: tuple[int, ...]
    law: Any = None
    done: int = 0
    nodes: int = field(init=False)

    def __post_init__(self) -> None:
        self.nodes = self.job.nodes

    @property
    def id(self) -> str:
        """Id of the job."""
        return self.job.id

    @property
    def walltime(self) -> int:
        """Remaining walltime, seconds, at least 1."""
        left = self.job.walltime - self.done
        return left if left > 1 else 1

    @property
    def place(self) -> tuple[int, int, int]:
        """Sort key of the queue: entry, priority, trace order."""
        return self.since, -self.job.priority, self.order

    @property
    def tie(self) -> int:
        """Priority and position in the trace as one number, least first."""
        return self.order - (self.job.priority << 31)

    def shown_as(
        self, *, job: JobView | None = None, predicted: int | None = None, demand: tuple[int, ...] | None = None
    ) -> Waiting:
        """Return a copy for another dispatcher, with some values replaced."""
        return Waiting(
            self.job if job is None else job,
            self.predicted if predicted is None else predicted,
            self.since,
            self.attempt,
            self.order,
            self.demand if demand is None else demand,
            self.law,
            self.done,
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> Waiting:
        """Return itself, because it never changes while the job waits."""
        return self

    def __repr__(self) -> str:
        """Return the job and its prediction."""
        return f"Waiting({self.job.id!r}, predicted={self.predicted}, since={self.since}, attempt={self.attempt})"


@dataclass(slots=True, eq=False, repr=False)
class Running:
    """A running job.

    Attributes
    ----------
    job
        Its request.
    start
        Start of this attempt.
    predicted_end
        Predicted end. May be in the past if the job overruns its prediction: see :meth:`expected_end`.
    kill_at
        When it will be killed if it still runs, or ``None``.
    placement
        Node index of each slot.
    nodes, demand
        Slots, and amounts per slot, of its shape.
    stopping
        Whether it is being checkpointed and leaves the machine at `predicted_end`.
    done
        Seconds of work, on its shape, done before this attempt.
    restart
        Seconds of restart at the begin of this attempt, without work.
    walltime
        Seconds that this attempt may take, by the walltime of its shape.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.dispatchers import EASY
    >>> from hpcdispatch.testing import tiny
    >>> class Watched(EASY):
    ...     "EASY that prints what runs at 20 s."
    ...
    ...     def dispatch(self, state):
    ...         if state.now == 20:
    ...             print([(running.job.id, running.start, running.predicted_end) for running in state.running])
    ...         return super().dispatch(state)
    >>> result = hd.simulate(tiny(), Watched())
    [('a', 0, 100), ('b', 0, 120)]
    """

    job: JobView
    start: int
    placement: Placement
    demand: tuple[int, ...]
    order: int
    predicted_end: int = field(init=False)
    kill_at: int | None = field(default=None, init=False)
    nodes: int = field(init=False)
    stopping: bool = field(default=False, init=False)
    done: int = field(default=0, init=False)
    restart: int = field(default=0, init=False)
    walltime: int = field(init=False)

    def __post_init__(self) -> None:
        self.predicted_end, self.nodes, self.walltime = self.start, len(self.placement), self.job.walltime

    @property
    def id(self) -> str:
        """Id of the job."""
        return self.job.id

    def __deepcopy__(self, memo: dict[int, Any]) -> Running:
        """Return a copy that shares request and placement, which never change."""
        return copy(self)

    def expected_end(self, now: int) -> int:
        """Return the predicted end, or the next second if that has passed."""
        return self.predicted_end if self.predicted_end > now else now + 1

    def walltime_end(self, now: int) -> int:
        """Return the end of its walltime, or the expected end if that has passed."""
        end = self.start + self.walltime
        if self.kill_at is not None and self.kill_at < end:
            end = self.kill_at
        return end if end > now and not self.stopping else self.expected_end(now)

    def corrected_end(self, whole: float, now: int) -> int:
        """Return its end after `now` for `whole` seconds of work in total, or its kill if sooner.

        Raises
        ------
        OverflowError, ValueError
            If `whole` is not finite.
        """
        end = max(self.start + self.restart + math.ceil(whole) - self.done, now + 1)
        return end if self.kill_at is None else min(end, max(self.kill_at, now + 1))

    def shown_as(self, *, predicted_end: int) -> Running:
        """Return a copy for another dispatcher, with another predicted end."""
        shown = Running(self.job, self.start, self.placement, self.demand, self.order)
        shown.kill_at = self.kill_at
        shown.stopping = self.stopping
        shown.done = self.done
        shown.restart = self.restart
        shown.predicted_end = predicted_end
        shown.walltime = self.walltime
        return shown

    def __repr__(self) -> str:
        """Return the job and its times."""
        return f"Running({self.job.id!r}, start={self.start}, predicted_end={self.predicted_end})"


by_end = attrgetter("predicted_end")


class StateView(Protocol):
    """The fields of a state: see :class:`.State`."""

    @property
    def now(self) -> int: ...  # noqa: D102

    @property
    def queue(self) -> WaitingJobs[Waiting]: ...  # noqa: D102

    @property
    def running(self) -> RunningJobs[Running]: ...  # noqa: D102

    @property
    def free(self) -> IntArray: ...  # noqa: D102

    @property
    def machine(self) -> Machine: ...  # noqa: D102
