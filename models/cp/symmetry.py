"""Jobs that differ in nothing: an order of them loses no schedule."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...base import IntArray
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


def only_chain(problem: Problem) -> IntArray | None:
    """Return the order of the jobs if all ask for the same and none is less urgent than the next.

    Then no schedule costs less than that list. What is free only grows, as all that is held is held from now on, so
    that the k-th start is no later than in any other schedule; and the more urgent job has the earlier one. So it is on
    nodes, too: slots that are alike fit wherever one of them fits. ``None`` otherwise, or for a single job.
    """
    late = problem.held_from.any() or (problem.quotas is not None and problem.quotas.held_from.any())
    if problem.jobs < 2 or problem.earliest.any() or late:
        return None
    chains = list(comparable(problem)) if len(problem.alike) == 1 else []
    whole = len(chains) == 1 and len(chains[0]) == problem.jobs
    return np.array(chains[0], dtype=np.int64) if whole else None


def rearranged(problem: Problem, schedule: Schedule) -> Schedule:
    """Return the schedule with the starts and places of jobs that differ in nothing dealt out along each chain."""
    chains = list(comparable(problem))
    if not chains:
        return schedule
    starts, counts = schedule.starts.copy(), schedule.counts.copy()
    for chain in chains:
        order = np.argsort(starts[chain], kind="stable")
        starts[chain], counts[chain] = starts[chain][order], counts[chain][order]
    return Schedule(starts, problem.cost(starts), counts)
