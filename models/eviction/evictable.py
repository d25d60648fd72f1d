"""Running jobs that can be evicted, and decisions about them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from numbers import Integral, Rational, Real
from operator import itemgetter
from typing import Any, Literal

from ...base import check_whole
from ...base.argument_types import names_wrong_types

Action = Literal["kill", "system", "application", "end"]
#: A loss. A float means the decimal number that it prints as.
Loss = float | Fraction

#: Relative tolerance within which a time counts as a whole number of steps.
_NEAR = 1e-9


@dataclass(frozen=True, slots=True)
class RunningJob:
    """A running job, and the cost of evicting it.

    Attributes
    ----------
    id
        Name, unique among the jobs.
    nodes
        Number of nodes that it frees, at least 1.
    loss
        Loss of a kill, at least 0. Node-hours since the last application checkpoint, or any other unit. Sums of losses
        are compared exactly, a float as the decimal that it prints as: 0.1 + 0.2 ties with 0.3. Computed losses that
        should tie must be integers or fractions.
    system_checkpoint
        Time to write a system checkpoint from now, at least 0. ``None`` if impossible.
    application_checkpoint
        The same for an application checkpoint, including the wait until it is due.
    restart
        Further loss when it restarts after eviction, in the unit of `loss`.
    ends
        Time from now until its predicted end, at least 0. ``None`` to ignore it. From then on it frees its nodes
        without checkpoint time.
    risk
        Mean loss of relying on that end, in the unit of `loss`. It is the probability of a later end times the loss in
        that case.

    Raises
    ------
    ValueError
        If a field is out of its range. The message names job, field, expected and received.
    """

    id: str
    nodes: int
    loss: Loss
    system_checkpoint: float | None = None
    application_checkpoint: float | None = None
    restart: Loss = 0
    ends: float | None = None
    risk: Loss = 0

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not self.id:
            raise ValueError(f"running job {self.id!r}: id must be a non-empty text, got {self.id!r}")
        where = f"running job {self.id}"
        object.__setattr__(self, "nodes", check_whole(f"{where}: nodes", self.nodes, 1))
        for name in ("loss", "restart", "risk"):
            object.__setattr__(self, name, number(where, name, getattr(self, name)))
        for name in ("system_checkpoint", "application_checkpoint", "ends"):
            object.__setattr__(self, name, number(where, name, getattr(self, name), optional=True))


@dataclass(frozen=True, slots=True)
class Storage:
    """Storage of checkpoints. The defaults are those of Theta.

    Attributes
    ----------
    aggregate
        Bandwidth of the file system, GB/s, above 0.
    node
        Largest bandwidth of one node, GB/s, above 0.

    Raises
    ------
    ValueError
        If a bandwidth is not finite or not above 0.
    """

    aggregate: float = 250.0
    node: float = 0.7

    def __post_init__(self) -> None:
        for name in ("aggregate", "node"):
            number("storage", name, getattr(self, name), above=True)


@dataclass(frozen=True, slots=True)
class Write:
    """A checkpoint to write.

    Attributes
    ----------
    volume
        Size on all nodes, GB, at least 0.
    least
        Seconds with an unlimited file system: those of the slowest node. At least 0.
    delay
        Seconds until it can begin, at least 0.

    Raises
    ------
    ValueError
        If a field is out of its range.
    """

    volume: float
    least: float
    delay: float = 0

    def __post_init__(self) -> None:
        for name in ("volume", "least", "delay"):
            object.__setattr__(self, name, number("write", name, getattr(self, name)))

    @classmethod
    def even(cls, nodes: int, size: float, storage: Storage, delay: float = 0) -> Write:
        """Return the checkpoint of `nodes` nodes with `size` GB each."""
        nodes = check_whole("checkpoint: nodes", nodes, 1)
        size = number("checkpoint", "size", size)
        return cls(nodes * size, size / storage.node, delay)

    def alone(self, storage: Storage) -> float:
        """Return the seconds to write it alone, without its delay (equation 1)."""
        return max(self.volume / storage.aggregate, self.least)

    def left(self, at: float) -> float:
        """Return the least GB still to write at time `at`, if the nodes write at full speed."""
        since = at - self.delay
        return (
            self.volume * max(0.0, 1 - since / self.least) if since > 0 and self.least else self.volume * (since <= 0)
        )

    def later(self, seconds: float) -> Write:
        """Return the checkpoint as seen `seconds` later."""
        return replace(self, delay=max(0, self.delay - seconds))


@dataclass(frozen=True, slots=True)
class WritingJob:
    """A running job, and the checkpoints that it can write.

    Attributes
    ----------
    id, nodes, loss
        As in :class:`hpcdispatch.models.eviction.RunningJob`.
    system, application
        Its checkpoints. ``None`` if impossible.
    restart, ends, risk
        As in a running job.
    """

    id: str
    nodes: int
    loss: Loss
    system: Write | None = None
    application: Write | None = None
    restart: Loss = 0
    ends: float | None = None
    risk: Loss = 0

    def __post_init__(self) -> None:
        where = f"running job {self.id}"
        object.__setattr__(self, "nodes", check_whole(f"{where}: nodes", self.nodes, 1))
        for name in ("loss", "restart", "risk"):
            object.__setattr__(self, name, number(where, name, getattr(self, name)))
        object.__setattr__(self, "ends", number(where, "ends", self.ends, optional=True))

    def alone(self, storage: Storage, rounded: Callable[[float], float] = float) -> RunningJob:
        """Return the job for checkpoints written one after another, with rounded seconds."""
        system, application = (
            None if write is None else write.delay + rounded(write.alone(storage))
            for write in (self.system, self.application)
        )
        return RunningJob(
            self.id, self.nodes, self.loss, system, application, restart=self.restart, ends=self.ends, risk=self.risk
        )


@dataclass(frozen=True, slots=True)
class Eviction:
    """Jobs to evict for a deadline, and the cost.

    Attributes
    ----------
    deadline
        Time by which the nodes are to be free.
    loss
        Sum of the losses of killed jobs, of restarts and of the risks of waiting for ends. Rounded once. Infinite if
        the nodes cannot be freed.
    checkpoint_time
        Sum of the times of the checkpoints, each rounded up to steps. Infinite if the nodes cannot be freed.
    actions
        Action by job id, in the order of the jobs: ``"kill"``, ``"system"`` or ``"application"`` (checkpoint), or
        ``"end"`` (wait for its end). A job without an action continues.
    freed
        Number of nodes that come free, at least the needed ones.
    reason
        Why the nodes cannot be freed. Empty if they can.
    """

    deadline: float
    loss: float
    checkpoint_time: float
    actions: Mapping[str, Action] = field(default_factory=dict)
    freed: int = 0
    reason: str = ""

    @property
    def feasible(self) -> bool:
        """Whether the nodes can be freed."""
        return not self.reason


def infeasible(deadline: float, nodes: int, total: int) -> Eviction:
    """Return the decision that `nodes` nodes cannot be freed."""
    reason = f"{nodes:,} nodes are needed, and the running jobs have {total:,}"
    return Eviction(deadline, math.inf, math.inf, {}, 0, reason)


#: Every kind of running job.
Evictable = RunningJob | WritingJob


@names_wrong_types
def cost(job: Evictable, action: Action) -> Fraction:
    """Return the exact loss of an action."""
    if action == "end":
        return exact(job.risk)
    return exact(job.restart) + (exact(job.loss) if action == "kill" else 0)


def decided(jobs: Sequence[RunningJob], actions: Mapping[str, Action], clock: Clock, deadline: float) -> Eviction:
    """Return the decision with some actions. Its cost is computed here."""
    steps = sum(clock.needed(job, actions[job.id]) or 0 for job in jobs if job.id in actions)
    return decided_at(jobs, actions, deadline, steps * clock.step)


def decided_at(jobs: Sequence[Evictable], actions: Mapping[str, Action], deadline: float, time: float) -> Eviction:
    """Return the decision with some actions. Their checkpoints take `time`."""
    chosen = {job.id: actions[job.id] for job in jobs if job.id in actions}
    loss = sum((cost(job, chosen[job.id]) for job in jobs if job.id in chosen), Fraction(0))
    return Eviction(deadline, float(loss), time, chosen, sum(job.nodes for job in jobs if job.id in chosen))


@dataclass(frozen=True, slots=True)
class Clock:
    """Times in steps.

    Attributes
    ----------
    step
        Length of a step, above 0.
    """

    step: float = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "step", number("plan", "step", self.step, above=True))

    def up(self, time: float) -> int:
        """Return a time in steps, rounded up."""
        return math.ceil(self._steps(time))

    def down(self, time: float) -> int:
        """Return a time in steps, rounded down."""
        return math.floor(self._steps(time))

    def needed(self, job: RunningJob, action: Action) -> int | None:
        """Return the checkpoint steps of an action. ``None`` if it is impossible."""
        if action in ("kill", "end"):
            return 0 if action == "kill" or job.ends is not None else None
        time = job.system_checkpoint if action == "system" else job.application_checkpoint
        return None if time is None else self.up(time)

    def in_time(self, job: RunningJob, action: Action, steps: int) -> int | None:
        """Return the checkpoint steps of an action that frees the nodes within `steps`. ``None`` if it does not."""
        needed = self.needed(job, action)
        latest = self.up(job.ends) if action == "end" and job.ends is not None else needed
        return needed if latest is not None and latest <= steps else None

    def _steps(self, time: Loss) -> float:
        """Return a time in steps. Rounding errors of floats are removed."""
        steps = float(time) / float(self.step)
        near = round(steps)
        return near if abs(steps - near) <= _NEAR * near else steps


def checked(jobs: Sequence[Evictable], nodes_needed: int) -> int:
    """Return the nodes needed as an int.

    Raises
    ------
    ValueError
        If two jobs share an id, or the nodes are not an integer of at least 0.
    """
    seen: set[str] = set()
    for job in jobs:
        if job.id in seen:
            raise ValueError(f"running job {job.id}: id must be unique, got it twice")
        seen.add(job.id)
    return check_whole("plan: nodes_needed", nodes_needed, 0)


def exact(value: Loss) -> Fraction:
    """Return a number as an exact fraction."""
    if isinstance(value, Fraction):
        return value
    return Fraction(int(value)) if isinstance(value, Integral) else Fraction(repr(float(value)))


def integers(losses: Sequence[Loss], where: str = "", bits: int | None = None) -> tuple[list[int], int]:
    """Return losses as exact multiples of one unit, and the number of units in 1.

    Raises
    ------
    ValueError
        If their sum needs more than `bits` bits.
    """
    fractions = [exact(loss) for loss in losses]
    unit = math.lcm(*(loss.denominator for loss in fractions))
    whole = [loss.numerator * (unit // loss.denominator) for loss in fractions]
    if bits is not None and sum(whole) >= 1 << bits:
        raise ValueError(f"{where}: losses must have a common unit of which they are fewer than 2**{bits} in sum")
    return whole, unit


def quickest(job: RunningJob, clock: Clock) -> tuple[Action, int] | None:
    """Return the checkpoint of the fewest steps, and its steps. ``None`` if impossible.

    Ties go to the application checkpoint, because the job works until then.
    """
    kinds: tuple[Action, ...] = ("application", "system")
    times = [(kind, steps) for kind in kinds if (steps := clock.needed(job, kind)) is not None]
    return min(times, key=itemgetter(1), default=None)


def no_time(job: RunningJob, clock: Clock, step: int) -> Action:
    """Return how a job best frees its nodes within some steps without a checkpoint: its own end, or a kill."""
    ends = clock.in_time(job, "end", step) is not None and cost(job, "end") <= cost(job, "kill")
    return "end" if ends else "kill"


def number(where: str, name: str, value: Any, *, above: bool = False, optional: bool = False) -> Any:
    """Return a finite number of at least 0, or above 0, as an int, a fraction or a float.

    ``None`` is returned as is if `optional`.

    Raises
    ------
    ValueError
        If it is something else.
    """
    if value is None and optional:
        return None
    good = isinstance(value, Real) and not isinstance(value, bool)
    if not good or not (isinstance(value, Rational) or math.isfinite(value)) or value < 0 or (above and not value):
        expected = f"a finite number {'>' if above else '>='} 0{' or None' if optional else ''}"
        raise ValueError(f"{where}: {name} must be {expected}, got {value!r}")
    if isinstance(value, Integral):
        return int(value)
    return value if isinstance(value, Fraction) else float(value)
