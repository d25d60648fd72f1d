"""Eviction decisions by CP-SAT: slower than the table, and independent of it."""

from __future__ import annotations

from collections.abc import Sequence

from hpcdispatch.models.eviction import Eviction, RunningJob
from hpcdispatch.models.eviction.choices import ACTIONS, Choices
from hpcdispatch.models.eviction.evictable import Clock, checked, decided, infeasible, number


def prove(jobs: Sequence[RunningJob], nodes_needed: int, deadline: float, step: float = 1) -> Eviction:
    """Return a best decision for one deadline, proved by CP-SAT. The loss is first, then the time of checkpoints.

    Parameters and errors are those of :func:`hpcdispatch.models.eviction.plan`; losses must in addition be fewer than
    2**60 in sum, in their common unit.

    Raises
    ------
    ValueError
        For bad arguments.
    RuntimeError
        If CP-SAT ends without a proof.
    """
    nodes_needed, clock = checked(jobs, nodes_needed), Clock(step)
    deadline = number("plan", "deadline", deadline)
    total = sum(job.nodes for job in jobs)
    if nodes_needed > total:
        return infeasible(deadline, nodes_needed, total)
    if not nodes_needed:
        return decided(jobs, {}, clock, deadline)
    steps = clock.down(deadline)
    each = {(place, action): clock.in_time(job, action, steps) for place, job in enumerate(jobs) for action in ACTIONS}
    time = {key: taken for key, taken in each.items() if taken is not None}
    choices = Choices(jobs, nodes_needed, time)
    total_time = sum(time[key] * literal for key, literal in choices.does.items())
    choices.model.add(total_time <= steps)
    return decided(jobs, choices.best(total_time), clock, deadline)
