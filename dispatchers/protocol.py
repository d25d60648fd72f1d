"""What a dispatcher is shown and what it may answer: :class:`State` in, actions out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..base import IntArray
from ..workloads import Checkpoint, Job, Machine, Shape
from .columns import RunningJobs, WaitingJobs

#: Node index of every slot of a job, in any order; an index appears as often as the node holds slots.
Placement = NDArray[np.int64]
#: How a running job gives way.
How = Literal["kill", "checkpoint"]


class ShapeView:
    """An alternative request of a moldable job as a dispatcher sees it: without its run time.

    Attributes
    ----------
    nodes, per_node, demand
        Slots; what a slot asks for, by name and in the order of the machine's resources.
    walltime
        Walltime, seconds.
    predicted
        Predicted remaining run time on it, seconds, at least 1.
    """

    __slots__ = ("demand", "nodes", "per_node", "predicted", "walltime")

    def __init__(self, shape: Shape, job: Job, machine: Machine) -> None:
        self.nodes = shape.nodes
        self.walltime = shape.walltime
        self.per_node = job.per_node if shape.per_node is None else shape.per_node
        self.demand = machine.demand(self.per_node)
        self.predicted = shape.walltime


class JobView:
    """A job as a dispatcher sees it: the fields of :class:`~hpcdispatch.workloads.Job` but for the run time.

    Reading ``runtime`` raises :class:`AttributeError`. After a resubmission `walltime` is the enlarged request.
    """

    __slots__ = (
        "array", "checkpoint", "deadline", "exclusive", "group", "id", "kind", "law", "licences", "name", "nodes",
        "per_node",
        "priority", "qos",
        "queue", "reservation", "shapes", "submit", "user", "walltime",
    )  # fmt: skip

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

    @property
    def runtime(self) -> int:
        """Not known to a dispatcher."""
        raise AttributeError(f"job {self.id}: dispatchers see predictions only; the run time is not known yet")

    def with_shapes_predicted(self, predicted: Callable[[ShapeView], int]) -> JobView:
        """Return it with other predictions of its shapes, seconds, at least 1; itself if it has none."""
        if not self.shapes:
            return self
        shown, shapes = copy(self), [copy(shape) for shape in self.shapes]
        for shape in shapes:
            shape.predicted = max(1, predicted(shape))
        shown.shapes = tuple(shapes)
        return shown

    def __deepcopy__(self, memo: dict[int, Any]) -> JobView:
        """Return itself: nothing of it changes."""
        return self

    def __repr__(self) -> str:
        """Name the job and its request."""
        return f"JobView(id={self.id!r}, submit={self.submit}, nodes={self.nodes}, walltime={self.walltime})"


class Waiting:
    """A job in the queue.

    Attributes
    ----------
    job
        Its request.
    predicted
        Predicted remaining run time, seconds, at least 1.
    since
        When it entered the queue: its submission, or the last time it came back.
    attempt
        How often it was started before.
    order
        Its place in the trace, the last tie-breaker.
    nodes, demand
        Its node slots, and the amounts a slot asks for in the order of the machine's resources.
    law
        The distribution of its whole run time, seconds: of a predictor that gives distributions, what it makes of the
        job; else the job's own. ``None`` where nothing is known.
    done
        Seconds of its work that are done, on its own request, as it comes back after it gave way.
    """

    __slots__ = ("attempt", "demand", "done", "job", "law", "nodes", "order", "predicted", "since")

    def __init__(
        self,
        job: JobView,
        predicted: int,
        since: int,
        attempt: int,
        order: int,
        demand: tuple[int, ...],
        law: Any = None,
        done: int = 0,
    ) -> None:
        self.job = job
        self.predicted = predicted
        self.since = since
        self.attempt = attempt
        self.order = order
        self.nodes = job.nodes
        self.demand = demand
        self.law = law
        self.done = done

    @property
    def id(self) -> str:
        """Id of the job."""
        return self.job.id

    @property
    def walltime(self) -> int:
        """What is left of the walltime, seconds, at least 1."""
        left = self.job.walltime - self.done
        return left if left > 1 else 1

    @property
    def place(self) -> tuple[int, int, int]:
        """What the queue is sorted by: when it entered, then by priority, then by the trace."""
        return self.since, -self.job.priority, self.order

    @property
    def tie(self) -> int:
        """Its priority and its place in the trace as one number, least first."""
        return self.order - (self.job.priority << 31)

    def shown_as(
        self, *, job: JobView | None = None, predicted: int | None = None, demand: tuple[int, ...] | None = None
    ) -> Waiting:
        """Return the job as another dispatcher is to see it, with what is given in place of its own."""
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
        """Return itself: nothing of it changes while the job waits."""
        return self

    def __repr__(self) -> str:
        """Name the job and its prediction."""
        return f"Waiting({self.job.id!r}, predicted={self.predicted}, since={self.since}, attempt={self.attempt})"


class Running:
    """A job on the machine.

    Attributes
    ----------
    job
        Its request.
    start
        When this attempt began.
    predicted_end
        When it is expected to end. May lie in the past, for a job that outran its prediction: see
        :meth:`expected_end`.
    kill_at
        When it will be killed if it still runs, or ``None``.
    placement
        Node index of each of its slots.
    nodes, demand
        Slots and amounts a slot, of the shape it runs on.
    stopping
        Whether it is being checkpointed and leaves the machine at `predicted_end`.
    done
        Seconds of its work, on the shape it runs on, that it had done when this attempt began.
    restart
        Seconds at the start of this attempt in which it does not work yet, as it comes back after it gave way.
    requested
        Seconds that this attempt may take by the request of the shape it runs on.
    """

    __slots__ = (
        "demand",
        "done",
        "job",
        "kill_at",
        "nodes",
        "order",
        "placement",
        "predicted_end",
        "restart",
        "start",
        "stopping",
        "walltime",
    )

    def __init__(self, job: JobView, start: int, placement: Placement, demand: tuple[int, ...], order: int) -> None:
        self.job = job
        self.start = start
        self.predicted_end = start
        self.kill_at: int | None = None
        self.placement = placement
        self.nodes = len(placement)
        self.demand = demand
        self.order = order
        self.stopping = False
        self.done = self.restart = 0
        self.walltime = job.walltime

    @property
    def id(self) -> str:
        """Id of the job."""
        return self.job.id

    def __deepcopy__(self, memo: dict[int, Any]) -> Running:
        """Return a copy with the same request and placement, of which nothing changes."""
        copied: Running = copy(self)
        return copied

    def expected_end(self, now: int) -> int:
        """Return the predicted end, or the next second if that has passed."""
        return self.predicted_end if self.predicted_end > now else now + 1

    def walltime_end(self, now: int) -> int:
        """Return when it has to end by its request; what is expected where that has passed."""
        end = self.start + self.walltime
        if self.kill_at is not None and self.kill_at < end:
            end = self.kill_at
        return end if end > now and not self.stopping else self.expected_end(now)

    def corrected_end(self, whole: float, now: int) -> int:
        """Return when it ends, after `now`, if its work takes `whole` seconds in all, or is killed if that is sooner.

        Raises
        ------
        OverflowError, ValueError
            If `whole` is not finite.
        """
        end = max(self.start + self.restart + math.ceil(whole) - self.done, now + 1)
        return end if self.kill_at is None else min(end, max(self.kill_at, now + 1))

    def shown_as(self, *, predicted_end: int) -> Running:
        """Return the job as another dispatcher is to see it, with another predicted end."""
        shown = Running(self.job, self.start, self.placement, self.demand, self.order)
        shown.kill_at, shown.stopping, shown.done, shown.restart = self.kill_at, self.stopping, self.done, self.restart
        shown.predicted_end, shown.walltime = predicted_end, self.walltime
        return shown

    def __repr__(self) -> str:
        """Name the job and its times."""
        return f"Running({self.job.id!r}, start={self.start}, predicted_end={self.predicted_end})"


class _StateFields(NamedTuple):
    now: int
    queue: WaitingJobs[Waiting]
    running: RunningJobs[Running]
    free: IntArray
    machine: Machine


class State(_StateFields):
    """The system at one instant, after completions and arrivals.

    Everything in it is read-only and holds for this call only: copy what is to be kept. Plain sequences of jobs may be
    given for `queue` and `running`: they get their columns when these are asked for.

    Attributes
    ----------
    now
        Time, seconds.
    queue
        Waiting jobs in order of submission; ties by priority, then in the order of the trace. A sequence of
        :class:`Waiting`, and the same as columns: read-only integer arrays ``order``, ``nodes``, ``predicted``,
        ``since``, ``submit`` and ``walltime`` of shape (jobs,) and ``demand`` of shape (jobs, resources).
    running
        Running jobs in order of their predicted end; ties in the order of their start. A sequence of :class:`Running`,
        and the same as columns ``order``, ``nodes``, ``predicted_end``, ``start`` and ``demand``.
    free
        Free amounts, integer array of shape (nodes, resources).
    machine
        The machine.
    """

    __slots__ = ()

    def __new__(
        cls, now: int, queue: Sequence[Waiting], running: Sequence[Running], free: IntArray, machine: Machine
    ) -> State:
        """Return the state; a tuple, since one is made for every decision, and frozen dataclasses are slow to make."""
        if not isinstance(queue, WaitingJobs):
            queue = WaitingJobs(queue, len(machine.resources))
        if not isinstance(running, RunningJobs):
            running = RunningJobs(running, len(machine.resources))
        return tuple.__new__(cls, (now, queue, running, free, machine))


@dataclass(slots=True)  # Not frozen: it is made for every job, and that takes four times as long.
class Start:
    """Start a waiting job now.

    Attributes
    ----------
    job
        The waiting job: its :class:`Waiting` entry, its :class:`JobView` or its id.
    placement
        Node index of each slot.
    limit
        Kill it after so many seconds; ``None`` leaves that to the simulation's overrun policy.
    shape
        Index into the job's `shapes`; ``None`` for the request itself.
    write
        Seconds at the end of `limit` in which the job writes a checkpoint, if it has not ended before: it then keeps
        all it has done, and comes back at the limit as a job that was killed there does.
    """

    job: Any
    placement: Sequence[int] | Placement
    limit: int | None = None
    shape: int | None = None
    write: int = 0


@dataclass(frozen=True, slots=True)
class Stop:
    """Take a running job off the machine; it goes back to the queue.

    Attributes
    ----------
    job
        The running job: its :class:`Running` entry, its :class:`JobView` or its id.
    how
        ``"kill"``: at once; the work since its last application checkpoint, or all of it, is lost. ``"checkpoint"``: it
        stops working now, keeps its nodes for `delay` seconds while its state is written, and loses nothing.
    delay
        Seconds until the nodes are free; only with ``"checkpoint"``. With 0 they are free for the actions that follow.
    """

    job: Any
    how: How = "kill"
    delay: int = 0


@dataclass(frozen=True, slots=True)
class Wake:
    """Ask to be called again at a time in the future, even if nothing else happens then."""

    at: int


@dataclass(frozen=True, slots=True)
class Reject:
    """Take a waiting job out of the queue for good.

    Attributes
    ----------
    job
        The waiting job: its :class:`Waiting` entry, its :class:`JobView` or its id.
    reason
        Kept in the records.
    """

    job: Any
    reason: str


Action = Start | Stop | Wake | Reject


def id_of(named: object) -> str:
    """Return the id of the job that an action names, by its entry, its view or its id."""
    return named if isinstance(named, str) else str(named.id)  # type: ignore[attr-defined]


def well_formed(actions: object) -> bool:
    """Return whether an answer is a sequence of actions whose jobs have ids, and whose placements are node indices.

    Whoever looks at what another dispatcher wants hands on what is not as it is, so that the simulation says so.
    """
    return isinstance(actions, Sequence) and all(map(_well_formed, actions))


def _well_formed(action: object) -> bool:
    named, placement = getattr(action, "job", ""), getattr(action, "placement", ())
    if not isinstance(named if isinstance(named, str) else getattr(named, "id", None), str):
        return False
    try:
        nodes = np.asarray(placement)
    except ValueError:  # Lists of different lengths.
        return False
    return nodes.ndim == 1 and (not nodes.size or nodes.dtype.kind in "iu")


@runtime_checkable
class Dispatcher(Protocol):
    """Decides which waiting job starts when and where, and which running one gives way.

    Two more methods are used where a dispatcher has them: ``reset(machine, rng)`` is called before a simulation, so
    that one object serves for several (`rng` is a ``numpy.random.Generator`` of the simulation's seed), and
    ``report()`` after each decision returns a mapping of what is to be kept of it in ``Result.decisions``.
    """

    def dispatch(self, state: State) -> Sequence[Action]:
        """Return what is to be done now, in order.

        Called once an instant at which jobs ended, arrived, came back or a :class:`Wake` is due, if any job waits.
        """
        ...
