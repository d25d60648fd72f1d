"""Equal jobs: fix their order without losing a schedule."""

from collections.abc import Iterator

import numpy as np

from ...base import IntArray
from ...base.argument_types import names_wrong_types
from ..scheduling.list_schedules import Schedule
from ..scheduling.problem import Problem


@names_wrong_types
def comparable(problem: Problem) -> Iterator[list[int]]:
    """Yield chains of equal jobs that may start in this order without loss.

    The jobs of a chain have equal demands. Along it, weights never rise and due dates never fall. So swapping two jobs
    into this order never costs more. Jobs that only dominate each other in demand or duration have no such order.
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


@names_wrong_types
def only_chain(problem: Problem) -> IntArray | None:
    """Return the order of the jobs if all form one chain, else ``None``.

    ``None`` also for a single job. The list in this order is then optimal. All occupied amounts are occupied from now
    on, so free amounts only grow. The k-th start is no later than in any other schedule, and the more urgent job has
    it. This holds on nodes too: equal slots fit wherever one fits.
    """
    late = problem.held_from.any() or (problem.quotas is not None and problem.quotas.held_from.any())
    if problem.jobs < 2 or problem.earliest.any() or late:
        return None
    chains = list(comparable(problem)) if len(problem.alike) == 1 else []
    whole = len(chains) == 1 and len(chains[0]) == problem.jobs
    return np.array(chains[0], dtype=np.int64) if whole else None


@names_wrong_types
def rearranged(problem: Problem, schedule: Schedule) -> Schedule:
    """Return the schedule with starts and placements of equal jobs sorted along each chain."""
    chains = list(comparable(problem))
    if not chains:
        return schedule
    starts = schedule.starts.copy()
    counts = schedule.counts.copy()
    for chain in chains:
        order = np.argsort(starts[chain], kind="stable")
        starts[chain], counts[chain] = starts[chain][order], counts[chain][order]
    return Schedule(starts, problem.cost(starts), counts)
