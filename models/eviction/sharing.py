"""Eviction where checkpoints are written at the same time and share the bandwidth of the file system.

In the eviction paper (Maurya et al., DS-RT 2020) checkpoints are written one after another, as if each filled the
bandwidth of the file system, and the waits for application checkpoints add up like the writes. But a job of few nodes
leaves bandwidth unused, and jobs wait at the same time. Here any number of checkpoints are written at once, at rates
that may change over time and sum to at most that of the file system; the rate of a job is bounded by that of its nodes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from ortools.sat.python import cp_model

from .checkpointing import Sizes, Storage, node_hours, since_last, until_next
from .proof import chosen, solved
from .running_jobs import Action, Eviction, Loss, checked, decided_at, infeasible, integers, number, too_many, whole

#: Ticks of the solver's clock in a second; times are rounded up to them, so that no plan is late.
_TICKS = 1000


@dataclass(frozen=True, slots=True)
class Write:
    """A checkpoint that is written beside others.

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

    def left(self, at: float) -> float:
        """Return the GB that are left at a time, at least: if it was written as fast as its nodes can."""
        since = at - self.delay
        return (
            self.volume * max(0.0, 1 - since / self.least) if since > 0 and self.least else self.volume * (since <= 0)
        )


@dataclass(frozen=True, slots=True)
class WritingJob:
    """A running job, and the checkpoints it can write.

    Attributes
    ----------
    id, nodes, loss
        As those of :class:`hpcdispatch.models.eviction.RunningJob`.
    system, application
        Its checkpoints; ``None`` where there can be none.
    """

    id: str
    nodes: int
    loss: Loss
    system: Write | None = None
    application: Write | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "nodes", whole(f"running job {self.id}", "nodes", self.nodes, 1))
        object.__setattr__(self, "loss", number(f"running job {self.id}", "loss", self.loss))


def writing_job(
    id: str, nodes: int, elapsed: float, sizes: Sizes | None, storage: Storage, *, kept: float = 0
) -> WritingJob:
    """Return a running job with its checkpoints, as :func:`~.checkpointing.running_job` does."""
    if sizes is None:
        return WritingJob(id, nodes, node_hours(nodes, elapsed))
    loss = node_hours(nodes, since_last(elapsed, sizes.interval, kept))
    system = Write(nodes * sizes.system_size, sizes.system_size / storage.node) if sizes.system_size else None
    size, application = sizes.application_size, None
    if sizes.interval is not None:
        application = Write(nodes * size, size / storage.node, until_next(elapsed, sizes.interval, kept))
    return WritingJob(id, nodes, loss, system, application)


def finish(writes: Sequence[Write], storage: Storage) -> float:
    """Return the seconds until all of some checkpoints can be written.

    It is the largest of delay + least of each, and of x + (what is at least left of all at x) / aggregate bandwidth
    over x = 0 and the delays. No plan is faster, as after x the file system cannot take more. And there is one that is
    as fast: every write may go on until the end, so that of all sets of moments as long, those before the end are the
    tightest (minimum cut); what is left falls convexly between two delays.
    """
    if not writes:
        return 0.0
    moments = {0.0, *(write.delay for write in writes)}
    alone = (write.delay + write.least for write in writes)
    shared = (at + sum(write.left(at) for write in writes) / storage.aggregate for at in moments)
    return max(*alone, *shared)


def plan_sharing(
    jobs: Sequence[WritingJob], nodes_needed: int, deadlines: Sequence[float], storage: Storage
) -> list[Eviction]:
    """Find who gives way for each deadline: least loss, then earliest end of all checkpoints.

    Exact but for the times, which are rounded up to milliseconds; by CP-SAT, which takes some tens of milliseconds for
    each deadline with another answer. :attr:`Eviction.checkpoint_time` is that of :func:`finish`.

    Parameters
    ----------
    jobs
        What runs.
    nodes_needed
        How many nodes are to be freed at least.
    deadlines
        Seconds, in any order.
    storage
        What is written to.

    Raises
    ------
    ValueError
        If two jobs share an id, an argument is out of its range, or the losses, in their common unit, are not fewer
        than 2**60 in sum.
    RuntimeError
        If CP-SAT ends without a proof.
    """
    nodes_needed = checked(jobs, nodes_needed)
    deadlines = [number("plan", "deadline", deadline) for deadline in deadlines]
    total = sum(job.nodes for job in jobs)
    if nodes_needed > total:
        return [infeasible(deadline, too_many(nodes_needed, total)) for deadline in deadlines]
    found: dict[float, Eviction] = {}
    last: Eviction | None = None
    for deadline in sorted(set(deadlines), reverse=True):
        if last is None or last.checkpoint_time > deadline:
            last = _solve(jobs, nodes_needed, deadline, storage)
        found[deadline] = Eviction(deadline, last.loss, last.checkpoint_time, last.actions, last.freed)
    return [found[deadline] for deadline in deadlines]


def _solve(jobs: Sequence[WritingJob], nodes_needed: int, deadline: float, storage: Storage) -> Eviction:
    losses, _ = integers([job.loss for job in jobs])
    if sum(losses) >= 1 << 60:
        raise ValueError("plan: losses must have a common unit of which they are fewer than 2**60 in sum")
    limit = math.floor(Fraction(deadline) * _TICKS)
    model = cp_model.CpModel()
    kills: dict[tuple[int, Action], cp_model.IntVar] = {
        (place, "kill"): model.new_bool_var(f"kill {job.id}") for place, job in enumerate(jobs)
    }
    kinds: tuple[Action, ...] = ("system", "application")
    writes = {
        (place, kind): write
        for place, job in enumerate(jobs)
        for kind in kinds
        if (write := getattr(job, kind)) is not None and _ticks(write.delay + write.least) <= limit
    }
    saves = {key: model.new_bool_var(f"{key[1]} {jobs[key[0]].id}") for key in writes}
    does = {**kills, **saves}
    for place in range(len(jobs)):
        model.add_at_most_one(does[place, kind] for kind in ("kill", *kinds) if (place, kind) in does)
    model.add(sum(jobs[place].nodes * literal for (place, _), literal in does.items()) >= nodes_needed)
    end = model.new_int_var(0, limit, "end")
    model.add(end >= sum(_ticks(writes[key].volume / storage.aggregate) * literal for key, literal in saves.items()))
    for key, literal in saves.items():
        at = writes[key].delay
        rest = sum(_ticks(writes[other].left(at) / storage.aggregate) * one for other, one in saves.items())
        model.add(end >= _ticks(at + writes[key].least)).only_enforce_if(literal)
        model.add(end >= _ticks(at) + rest).only_enforce_if(literal)
    loss = sum(losses[place] * literal for (place, _), literal in kills.items())
    model.minimize(loss)
    model.add(loss == sum(losses[place] for place, kind in chosen(solved(model), does) if kind == "kill"))
    model.minimize(end)
    actions = {jobs[place].id: kind for place, kind in chosen(solved(model), does)}
    made = [writes[place, kind] for (place, job) in enumerate(jobs) for kind in kinds if actions.get(job.id) == kind]
    return decided_at(jobs, actions, deadline, finish(made, storage))


def _ticks(seconds: float) -> int:
    return math.ceil(Fraction(seconds) * _TICKS)
