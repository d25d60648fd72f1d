"""Eviction with concurrent checkpoints that share the bandwidth of the file system.

The eviction paper (Maurya et al., DS-RT 2020) writes one checkpoint after another, each at full bandwidth. Waits for
application checkpoints add up like writes. But a job of few nodes leaves bandwidth unused, and jobs can wait at the
same time.

Here any number of checkpoints are written at once. Their rates may change over time. The rates sum to at most the
bandwidth of the file system. The nodes of a job bound its rate.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

from ...base.argument_types import names_wrong_types
from .evictable import Action, Eviction, Storage, Write, WritingJob, checked, decided_at, infeasible, number

#: Ticks per second of the solver's clock. Times are rounded up to ticks, so no plan is late.
_TICKS = 1000


@names_wrong_types
def finish(writes: Sequence[Write], storage: Storage) -> float:
    """Return the seconds until all these checkpoints can be written.

    It is the maximum of two terms:

    * Delay + least time of each checkpoint.
    * x + (least remaining GB of all checkpoints at x) / aggregate bandwidth, for x = 0 and each delay.

    No plan is faster, because the file system cannot write more after x. Some plan is as fast. Every write may continue
    until the end. So the last moments before the end are the tightest set of equal length (minimum cut). Between two
    delays the remaining GB fall convexly.
    """
    if not writes:
        return 0.0
    moments = {0.0, *(write.delay for write in writes)}
    alone = (write.delay + write.least for write in writes)
    shared = (at + sum(write.left(at) for write in writes) / storage.aggregate for at in moments)
    return max(*alone, *shared)


@names_wrong_types
def plan_sharing(
    jobs: Sequence[WritingJob], nodes_needed: int, deadlines: Sequence[float], storage: Storage
) -> list[Eviction]:
    """Choose the jobs to evict for each deadline: least loss, then earliest end of all checkpoints.

    Exact, except that times are rounded up to milliseconds. CP-SAT takes some tens of milliseconds per deadline with a
    new answer. :func:`finish` gives :attr:`Eviction.checkpoint_time`.

    Parameters
    ----------
    jobs
        Running jobs.
    nodes_needed
        Number of nodes to free, at least.
    deadlines
        Seconds, in any order.
    storage
        Storage of the checkpoints.

    Raises
    ------
    ValueError
        If two jobs share an id, or an argument is out of its range. Also if the losses sum to 2**60 or more in their
        common unit.
    RuntimeError
        If CP-SAT ends without a proof.
    """
    nodes_needed = checked(jobs, nodes_needed)
    deadlines = [number("plan", "deadline", deadline) for deadline in deadlines]
    total = sum(job.nodes for job in jobs)
    if nodes_needed > total:
        return [infeasible(deadline, nodes_needed, total) for deadline in deadlines]
    evictions: dict[float, Eviction] = {}
    last: Eviction | None = None
    for deadline in sorted(set(deadlines), reverse=True):
        if last is None or last.checkpoint_time > deadline or _relied(jobs, last) > deadline:
            last = _solve(jobs, nodes_needed, deadline, storage)
        evictions[deadline] = Eviction(deadline, last.loss, last.checkpoint_time, last.actions, last.freed)
    return [evictions[deadline] for deadline in deadlines]


def _relied(jobs: Sequence[WritingJob], eviction: Eviction) -> float:
    """Return when the last job ends that a decision lets end by itself. 0 if none."""
    return max((job.ends or 0 for job in jobs if eviction.actions.get(job.id) == "end"), default=0)


def _solve(jobs: Sequence[WritingJob], nodes_needed: int, deadline: float, storage: Storage) -> Eviction:
    limit = math.floor(Fraction(deadline) * _TICKS)
    now: list[tuple[int, Action]] = [(place, "kill") for place in range(len(jobs))]
    now += [(place, "end") for place, job in enumerate(jobs) if job.ends is not None and job.ends <= deadline]
    kinds: tuple[Action, ...] = ("system", "application")
    writes: dict[tuple[int, Action], Write] = {
        (place, kind): write
        for place, job in enumerate(jobs)
        for kind in kinds
        if (write := getattr(job, kind)) is not None and _ticks(write.delay + write.least) <= limit
    }
    from .choices import Choices  # noqa: PLC0415 - OR-Tools is slow to import, used only here

    choices = Choices(jobs, nodes_needed, [*now, *writes])
    end = choices.model.new_int_var(0, limit, "end")
    saves = [(write, choices.does[key]) for key, write in writes.items()]
    choices.model.add(end >= sum(_ticks(write.volume / storage.aggregate) * literal for write, literal in saves))
    for write, literal in saves:
        rest = sum(_ticks(other.left(write.delay) / storage.aggregate) * also for other, also in saves)
        choices.model.add(end >= _ticks(write.delay + write.least)).only_enforce_if(literal)
        choices.model.add(end >= _ticks(write.delay) + rest).only_enforce_if(literal)
    actions = choices.best(end)
    chosen = [write for (place, kind), write in writes.items() if actions.get(jobs[place].id) == kind]
    return decided_at(jobs, actions, deadline, finish(chosen, storage))


def _ticks(seconds: float) -> int:
    return math.ceil(Fraction(seconds) * _TICKS)
