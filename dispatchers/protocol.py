"""Interface of dispatchers: :class:`State` in, actions out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..base import IntArray
from ..workloads import Checkpoint, Job, Machine, Shape
from .columns import RunningJobs, WaitingJobs

#: Node index of each slot of a job, in any order. An index appears once per slot on that node.
Placement = NDArray[np.int64]
#: How a running job is stopped.
How = Literal["kill", "checkpoint"]


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


class _StateFields(NamedTuple):
    now: int
    queue: WaitingJobs[Waiting]
    running: RunningJobs[Running]
    free: IntArray
    machine: Machine


class State(_StateFields):
    """The system at one instant, after completions and arrivals.

    Everything in it is read-only and valid for this call only. Copy what you keep. `queue` and `running` may be plain
    sequences of jobs. Their columns are then created on use.

    Attributes
    ----------
    now
        Time, seconds.
    queue
        Waiting jobs in order of submission. Ties by priority, then by trace order. A sequence of :class:`Waiting`. The
        same as columns: read-only integer arrays ``order``, ``nodes``, ``predicted``, ``since``, ``submit`` and
        ``walltime`` of shape (jobs,), and ``demand`` of shape (jobs, resources).
    running
        Running jobs in order of predicted end. Ties in order of start. A sequence of :class:`Running`. The same as
        columns ``order``, ``nodes``, ``predicted_end``, ``start`` and ``demand``.
    free
        Free amounts, integer array of shape (nodes, resources).
    machine
        The machine.
    """

    __slots__ = ()

    def __new__(
        cls, now: int, queue: Sequence[Waiting], running: Sequence[Running], free: IntArray, machine: Machine
    ) -> State:
        """Return the state. It is a tuple, because frozen dataclasses are slow to create for each decision."""
        if not isinstance(queue, WaitingJobs):
            queue = WaitingJobs(queue, len(machine.resources))
        if not isinstance(running, RunningJobs):
            running = RunningJobs(running, len(machine.resources))
        return tuple.__new__(cls, (now, queue, running, free, machine))


@dataclass(slots=True)  # Not frozen: one is created per job, and freezing takes four times as long.
class Start:
    """Start a waiting job now.

    Attributes
    ----------
    job
        The waiting job: its :class:`Waiting` entry, its :class:`JobView` or its id.
    placement
        Node index of each slot.
    limit
        Seconds after which to kill it. ``None`` for the simulation's overrun policy.
    shape
        Index into the job's `shapes`. ``None`` for the request itself.
    write
        Seconds at the end of `limit` in which the job writes a checkpoint, unless it ends before. It then keeps all its
        work, and returns to the queue at the limit like a killed job.
    """

    job: Any
    placement: Sequence[int] | Placement
    limit: int | None = None
    shape: int | None = None
    write: int = 0


@dataclass(frozen=True, slots=True)
class Stop:
    """Stop a running job. It returns to the queue.

    Attributes
    ----------
    job
        The running job: its :class:`Running` entry, its :class:`JobView` or its id.
    how
        ``"kill"``: at once. The work since its last application checkpoint, or all of it, is lost. ``"checkpoint"``: it
        stops working now, occupies its nodes for `delay` seconds while its state is written, and loses nothing.
    delay
        Seconds until the nodes are free. Only with ``"checkpoint"``. With 0 they are free for the next actions.
    """

    job: Any
    how: How = "kill"
    delay: int = 0


@dataclass(frozen=True, slots=True)
class Wake:
    """Request a call at a future time, even if nothing else happens then."""

    at: int


@dataclass(frozen=True, slots=True)
class Reject:
    """Remove a waiting job from the queue for good.

    Attributes
    ----------
    job
        The waiting job: its :class:`Waiting` entry, its :class:`JobView` or its id.
    reason
        Stored in the records.
    """

    job: Any
    reason: str


Action = Start | Stop | Wake | Reject


def id_of(named: object) -> str:
    """Return the id of an action's job, given as entry, view or id."""
    return named if isinstance(named, str) else str(named.id)  # type: ignore[attr-defined]


def well_formed(actions: object) -> bool:
    """Return whether an answer is a sequence of actions with job ids and node indices.

    Wrappers pass malformed answers through unchanged, so that the simulation reports them.
    """
    return isinstance(actions, Sequence) and all(map(_well_formed, actions))


def _well_formed(action: object) -> bool:
    named = getattr(action, "job", "")
    placement = getattr(action, "placement", ())
    if not isinstance(named if isinstance(named, str) else getattr(named, "id", None), str):
        return False
    try:
        nodes = np.asarray(placement)
    except ValueError:  # Lists of different lengths.
        return False
    return nodes.ndim == 1 and (not nodes.size or nodes.dtype.kind in "iu")


@runtime_checkable
class Dispatcher(Protocol):
    """Decides which waiting jobs start, when and where, and which running jobs stop.

    Two further methods are optional. ``reset(machine, rng)`` is called before each simulation, so that an object can be
    reused. `rng` is a ``numpy.random.Generator`` with the simulation's seed. ``report()`` is called after each
    decision. It returns a mapping to store in ``Result.decisions``.
    """

    def dispatch(self, state: State) -> Sequence[Action]:
        """Return the actions for now, in order.

        Called once at each instant with job ends, arrivals, returns or a due :class:`Wake`, if any job waits.
        """
        ...
