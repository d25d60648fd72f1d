"""Greedy choice of jobs to evict (Maurya et al., DS-RT 2020, section IV.C.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...base import IntArray
from ...base.argument_types import names_wrong_types
from ..compiled import compiled
from .evictable import (
    Action,
    Clock,
    Eviction,
    RunningJob,
    checked,
    decided,
    exact,
    infeasible,
    no_time,
    number,
    quickest,
)
from .loss_table import KILLED, SAVED, ByteArray

#: Longer than any deadline, in steps.
_NEVER = 1 << 62


@names_wrong_types
def greedy(jobs: Sequence[RunningJob], nodes_needed: int, deadline: float, step: float = 1) -> Eviction:
    """Checkpoint the jobs of largest loss in time, then kill those of smallest loss (section IV.C.1).

    In falling order of loss each job gets its quickest checkpoint. This ends when enough nodes are free or the next
    checkpoint would be late. Then the other jobs are killed from the end of the order, until enough nodes are free. A
    job predicted to end in time is left to end, if that risks no more than a kill.

    Parameters and errors are those of :func:`hpcdispatch.models.eviction.plan`.
    """
    return greedy_by_deadline(jobs, nodes_needed, [deadline], step)[0]


@names_wrong_types
def greedy_by_deadline(
    jobs: Sequence[RunningJob], nodes_needed: int, deadlines: Sequence[float], step: float = 1
) -> list[Eviction]:
    """Return :func:`greedy` for each deadline. The jobs are sorted once."""
    clock = Clock(step)
    core = GreedyCore.of(jobs, nodes_needed, deadlines, clock)
    total = sum(job.nodes for job in jobs)
    if core.needed > total:
        return [infeasible(deadline, core.needed, total) for deadline in deadlines]
    return [
        decided(jobs, _actions(jobs, core.order.tolist(), row, clock, int(limit)), clock, deadline)
        for row, limit, deadline in zip(core.run()[0].tolist(), core.limits, deadlines, strict=True)
    ]


class GreedyCore(NamedTuple):
    """Input arrays of the compiled part of :func:`greedy_by_deadline`.

    Attributes
    ----------
    order
        Positions of the jobs in falling order of loss, shape (jobs,).
    freed, save
        Their nodes, and steps of their quickest checkpoints, in that order.
    needed
        Number of nodes to free.
    limits
        Deadlines in steps.
    """

    order: IntArray
    freed: IntArray
    save: IntArray
    needed: int
    limits: IntArray

    @classmethod
    def of(cls, jobs: Sequence[RunningJob], nodes_needed: int, deadlines: Sequence[float], clock: Clock) -> GreedyCore:
        """Return the jobs as arrays. Arguments and errors are those of :func:`greedy_by_deadline`."""
        limits = [clock.down(number("plan", "deadline", deadline)) for deadline in deadlines]
        order = sorted(range(len(jobs)), key=lambda place: -exact(jobs[place].loss))
        saves = [quickest(jobs[place], clock) for place in order]
        columns = order, [jobs[place].nodes for place in order], [save[1] if save else _NEVER for save in saves]
        first, freed, save = np.array(columns, dtype=np.int64).reshape(3, -1)
        return cls(first, freed, save, checked(jobs, nodes_needed), np.array(limits, dtype=np.int64))

    def run(self) -> tuple[ByteArray, int]:
        """Return the action of each job by deadline, in array order, and the number of jobs considered."""
        does, looked = _greedy(self.freed, self.save, self.needed, self.limits)
        return does, int(looked)


def _actions(
    jobs: Sequence[RunningJob], order: Sequence[int], row: Sequence[int], clock: Clock, limit: int
) -> dict[str, Action]:
    """Return the actions of one deadline."""
    actions: dict[str, Action] = {}
    for place, does in zip(order, row, strict=True):
        save = quickest(jobs[place], clock) if does == SAVED else None
        if save is not None:
            actions[jobs[place].id] = save[0]
        elif does == KILLED:
            actions[jobs[place].id] = no_time(jobs[place], clock, limit)
    return actions


@compiled
def _greedy(nodes: IntArray, save: IntArray, needed: int, limits: IntArray) -> tuple[ByteArray, int]:
    """Return the action of each job by deadline, shape (deadlines, jobs), and the number of jobs considered."""
    does = np.zeros((len(limits), len(nodes)), dtype=np.uint8)
    looked = 0
    for row in range(len(limits)):
        freed, used = 0, 0
        for job in range(len(nodes)):
            looked += 1
            if freed >= needed or save[job] > limits[row] - used:
                break
            does[row, job] = SAVED
            freed += nodes[job]
            used += save[job]
        for job in range(len(nodes) - 1, -1, -1):
            if freed >= needed:
                break
            looked += 1
            if does[row, job] != SAVED:
                does[row, job] = KILLED
                freed += nodes[job]
    return does, looked
