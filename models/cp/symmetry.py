"""Jobs that differ in nothing: an order of them loses no schedule."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..scheduling.list_schedules import Schedule
from ..scheduling.problem import Problem


def comparable(problem: Problem) -> Iterator[list[int]]:
    """Yield chains of jobs that may be started in that order without loss.

    They ask for the same, the weight does not rise along a chain and the due date does not fall, so that swapping two
    that are out of order never costs more. An order of jobs that dominate each other in demand or duration would lose
    schedules.
    """
    for group in problem.alike:
        by_urgency = group[np.lexsort((problem.due[group], -problem.weight[group]))]
        chain = [int(by_urgency[0])]
        for job in by_urgency[1:].tolist():
            if problem.due[job] >= problem.due[chain[-1]]:
                chain.append(job)
                continue
            if len(chain) > 1:
                yield chain
            chain = [job]
        if len(chain) > 1:
            yield chain


def rearranged(problem: Problem, schedule: Schedule, chains: list[list[int]]) -> Schedule:
    """Return the schedule with the starts and places of jobs that differ in nothing dealt out along each chain."""
    starts, counts = schedule.starts.copy(), schedule.counts.copy()
    for chain in chains:
        order = np.argsort(starts[chain], kind="stable")
        starts[chain], counts[chain] = starts[chain][order], counts[chain][order]
    return Schedule(starts, problem.cost(starts), counts)
