"""Running jobs that can give way, and what a decision about them is."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from numbers import Integral, Rational, Real
from operator import itemgetter
from typing import Any, Literal

from ...base.checks import check_whole

Action = Literal["kill", "system", "application", "end"]
#: A loss; a float stands for the decimal that it is printed as.
Loss = float | Fraction

#: How near to a whole number of steps a time counts as one, as a share of it.
_NEAR = 1e-9


@dataclass(frozen=True, slots=True)
class RunningJob:
    """A job that runs now, and what it costs to have it give way.

    Attributes
    ----------
    id
        Name, unique among the jobs.
    nodes
        How many it would free, at least 1.
    loss
        What is lost if it is killed, at least 0: node-hours since its last application checkpoint, or in any other
        unit. Sums of losses are compared exactly, a float as the decimal that it is printed as: 0.1 + 0.2 ties with
        0.3. What is computed and is to tie should be whole numbers or fractions.
    system_checkpoint
        Time from now on that a system checkpoint takes, at least 0; ``None`` where there can be none.
    application_checkpoint
        The same of an application checkpoint, with the wait for the moment when it is due.
    restart
        What is lost besides when it starts again after it was killed or checkpointed, in the unit of `loss`.
    ends
        Time from now on at which it is predicted to end by itself, at least 0; ``None`` where nothing is relied on. It
        then frees its nodes for every deadline from there on, and takes no time of checkpoints.
    risk
        What relying on that loses on average, in the unit of `loss`: the probability that it does not end in time,
        times what is then lost.

    Raises
    ------
    ValueError
        If a field is out of its range; the message names job, field, expected and received.
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
    """What checkpoints are written to. The defaults are Theta's.

    Attributes
    ----------
    aggregate
        Bandwidth of the file system, GB/s, above 0.
    node
        The most that one node writes, GB/s, above 0.

    Raises
    ------
    ValueError
        If one of them is no finite number above 0.
    """

    aggregate: float = 250.0
    node: float = 0.7

    def __post_init__(self) -> None:
        for name in ("aggregate", "node"):
            number("storage", name, getattr(self, name), above=True)


@dataclass(frozen=True, slots=True)
class Write:
    """A checkpoint that is written.

    Attributes
    ----------
    volume
        Its size on all nodes, GB, at least 0.
    least
        Seconds it takes if the file system is no limit: that of the slowest node; at least 0.
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
        nodes, size = check_whole("checkpoint: nodes", nodes, 1), number("checkpoint", "size", size)
        return cls(nodes * size, size / storage.node, delay)

    def alone(self, storage: Storage) -> float:
        """Return the seconds that it takes, its delay not counted, if nothing else is written: equation 1."""
        return max(self.volume / storage.aggregate, self.least)

    def left(self, at: float) -> float:
        """Return the GB that are left at a time, at least: if it was written as fast as its nodes can."""
        since = at - self.delay
        return (
            self.volume * max(0.0, 1 - since / self.least) if since > 0 and self.least else self.volume * (since <= 0)
        )

    def later(self, seconds: float) -> Write:
        """Return it as it is so many seconds from now."""
        return replace(self, delay=max(0, self.delay - seconds))


@dataclass(frozen=True, slots=True)
class WritingJob:
    """A running job, and the checkpoints it can write.

    Attributes
    ----------
    id, nodes, loss
        As those of :class:`hpcdispatch.models.eviction.RunningJob`.
    system, application
        Its checkpoints; ``None`` where there can be none.
    restart, ends, risk
        As those of a running job.
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
        """Return it for checkpoints that are written one after another, the seconds of each rounded."""
        system, application = (
            None if write is None else write.delay + rounded(write.alone(storage))
            for write in (self.system, self.application)
        )
        return RunningJob(
            self.id, self.nodes, self.loss, system, application, restart=self.restart, ends=self.ends, risk=self.risk
        )


@dataclass(frozen=True, slots=True)
class Eviction:
    """Who gives way, and what that costs.

    Attributes
    ----------
    deadline
        By when the nodes are to be free.
    loss
        Sum of the losses of the killed jobs, of the restarts, and of the risks of waiting for ends, rounded once;
        infinite if the nodes cannot be freed.
    checkpoint_time
        Sum of the times of the checkpoints, each rounded up to steps; infinite if the nodes cannot be freed.
    actions
        Job id to ``"kill"``, ``"system"`` or ``"application"`` (checkpoint) or ``"end"`` (it is left to end by itself),
        in the order of the jobs; a job that is not named runs on.
    freed
        Nodes that come free, at least as many as are needed.
    reason
        Why the nodes cannot be freed; empty if they can.
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
    """Return the decision that so many nodes cannot be freed."""
    reason = f"{nodes:,} nodes are needed, and the running jobs have {total:,}"
    return Eviction(deadline, math.inf, math.inf, {}, 0, reason)


#: Every kind of running job.
Evictable = RunningJob | WritingJob


def cost(job: Evictable, action: Action) -> Fraction:
    """Return what an action loses, exactly."""
    if action == "end":
        return exact(job.risk)
    return exact(job.restart) + (exact(job.loss) if action == "kill" else 0)


def decided(jobs: Sequence[RunningJob], actions: Mapping[str, Action], clock: Clock, deadline: float) -> Eviction:
    """Return the decision of some actions; what it costs is added up here."""
    steps = sum(clock.needed(job, actions[job.id]) or 0 for job in jobs if job.id in actions)
    return decided_at(jobs, actions, deadline, steps * clock.step)


def decided_at(jobs: Sequence[Evictable], actions: Mapping[str, Action], deadline: float, time: float) -> Eviction:
    """Return the decision of some actions whose checkpoints take a time."""
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
        """Return how many steps a time takes."""
        return math.ceil(self._steps(time))

    def down(self, time: float) -> int:
        """Return how many whole steps there are in a time."""
        return math.floor(self._steps(time))

    def needed(self, job: RunningJob, action: Action) -> int | None:
        """Return how many steps of writing an action takes; ``None`` if it cannot be."""
        if action in ("kill", "end"):
            return 0 if action == "kill" or job.ends is not None else None
        time = job.system_checkpoint if action == "system" else job.application_checkpoint
        return None if time is None else self.up(time)

    def in_time(self, job: RunningJob, action: Action, steps: int) -> int | None:
        """Return how many steps of writing an action takes that frees the nodes within `steps`; ``None`` if none."""
        needed = self.needed(job, action)
        latest = self.up(job.ends) if action == "end" and job.ends is not None else needed
        return needed if latest is not None and latest <= steps else None

    def _steps(self, time: Loss) -> float:
        """Return a time in steps, a whole number where it is one but for the rounding of floats."""
        steps = float(time) / float(self.step)
        near = round(steps)
        return near if abs(steps - near) <= _NEAR * near else steps


def checked(jobs: Sequence[Evictable], nodes_needed: int) -> int:
    """Return the nodes needed as an int.

    Raises
    ------
    ValueError
        If two jobs have the same id, or the nodes are no whole number of at least 0.
    """
    seen: set[str] = set()
    for job in jobs:
        if job.id in seen:
            raise ValueError(f"running job {job.id}: id must be unique, got it twice")
        seen.add(job.id)
    return check_whole("plan: nodes_needed", nodes_needed, 0)


def exact(value: Loss) -> Fraction:
    """Return what a number stands for."""
    if isinstance(value, Fraction):
        return value
    return Fraction(int(value)) if isinstance(value, Integral) else Fraction(repr(float(value)))


def integers(losses: Sequence[Loss], where: str = "", bits: int | None = None) -> tuple[list[int], int]:
    """Return losses as whole multiples of one unit, exactly, and how many units make 1.

    Raises
    ------
    ValueError
        If their sum takes more than so many bits.
    """
    fractions = [exact(loss) for loss in losses]
    unit = math.lcm(*(loss.denominator for loss in fractions))
    whole = [loss.numerator * (unit // loss.denominator) for loss in fractions]
    if bits is not None and sum(whole) >= 1 << bits:
        raise ValueError(f"{where}: losses must have a common unit of which they are fewer than 2**{bits} in sum")
    return whole, unit


def quickest(job: RunningJob, clock: Clock) -> tuple[Action, int] | None:
    """Return the checkpoint of the fewest steps and how many, ``None`` if there can be none.

    Of equals it is the application's, as the job does some more work until then.
    """
    kinds: tuple[Action, ...] = ("application", "system")
    times = [(kind, steps) for kind in kinds if (steps := clock.needed(job, kind)) is not None]
    return min(times, key=itemgetter(1), default=None)


def no_time(job: RunningJob, clock: Clock, step: int) -> Action:
    """Return how a job best frees its nodes within some steps without a checkpoint: at its own end, or killed."""
    ends = clock.in_time(job, "end", step) is not None and cost(job, "end") <= cost(job, "kill")
    return "end" if ends else "kill"


def number(where: str, name: str, value: Any, *, above: bool = False, optional: bool = False) -> Any:
    """Return a finite number of at least 0, or above 0, as an int, a fraction or a float, or ``None`` where it may be.

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
