"""Eviction where checkpoints are written at the same time and share the bandwidth of the file system.

In the eviction paper (Maurya et al., DS-RT 2020) checkpoints are written one after another, as if each filled the
bandwidth of the file system, and the waits for application checkpoints add up like the writes. But a job of few nodes
leaves bandwidth unused, and jobs wait at the same time. Here any number of checkpoints are written at once, at rates
that may change over time and sum to at most that of the file system; the rate of a job is bounded by that of its nodes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from .evictable import Action, Eviction, Storage, Write, WritingJob, checked, decided_at, infeasible, number

#: Ticks of the solver's clock in a second; times are rounded up to them, so that no plan is late.
_TICKS = 1000


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
        return [infeasible(deadline, nodes_needed, total) for deadline in deadlines]
    found: dict[float, Eviction] = {}
    last: Eviction | None = None
    for deadline in sorted(set(deadlines), reverse=True):
        if last is None or last.checkpoint_time > deadline or _relied(jobs, last) > deadline:
            last = _solve(jobs, nodes_needed, deadline, storage)
        found[deadline] = Eviction(deadline, last.loss, last.checkpoint_time, last.actions, last.freed)
    return [found[deadline] for deadline in deadlines]


def _relied(jobs: Sequence[WritingJob], found: Eviction) -> float:
    """Return when the last job ends whose end a decision relies on; 0 if it relies on none."""
    return max((job.ends or 0 for job in jobs if found.actions.get(job.id) == "end"), default=0)


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
    from .choices import Choices  # noqa: PLC0415 - OR-Tools is slow to import, and of use here alone

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
