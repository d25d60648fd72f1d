"""The look-ahead plan on many nodes: who starts now and where."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...base import IntArray
from ...models import (
    PlacementRule,
    Problem,
    Schedule,
    best_of,
    comparable,
    improve,
    list_orders,
    list_schedule,
    rearranged,
)
from ...models.lookahead.planning import MOST_FITTING, weights
from ...models.lookahead.promises import Queue, Settings
from ..problems import problem_of
from ..protocol import Placement, State, Waiting


@dataclass(frozen=True)
class NodePlan:
    """What a plan says.

    Attributes
    ----------
    start
        Who starts now, as places in the queue, each with its nodes: the oldest if it was promised that, then by weight.
    candidates, requested
        How many jobs were planned, and the amounts they ask for.
    objective
        The sum of weight times start, seconds from now.
    searched
        Whether the local search found better than every list.
    promised
        Whether the oldest job holds a start.
    """

    start: list[tuple[int, Placement]]
    candidates: int
    requested: int
    objective: float
    searched: bool
    promised: bool


def plan_on_nodes(state: State, queue: Queue, settings: Settings, rule: PlacementRule) -> NodePlan:
    """Plan the jobs that fit now and the most urgent others, every job on nodes of its own until its end.

    If the oldest job is past its time, it first gets its earliest start and the nodes of that; the others are planned
    around it. Then the best of five list schedules is improved by a local search.

    Parameters
    ----------
    state
        Now.
    queue
        ``state.queue`` as arrays.
    settings
        As for :func:`hpcdispatch.models.lookahead.planning.plan`; of the promises only the due time counts.
    rule
        How nodes are chosen.
    """
    weight = weights(queue, settings.age_scale)
    oldest = int(np.argmax(queue.wait))
    late = settings.due >= 0 and settings.guards > 0 and queue.wait[oldest] >= settings.due
    by_weight = np.argsort(-weight, kind="stable")
    fits = queue.fits[by_weight]
    chosen = fits & (np.cumsum(fits) <= MOST_FITTING) | ~fits & (np.cumsum(~fits) <= settings.blocked)
    places = by_weight[chosen & ((by_weight != oldest) | (not late))]
    promise = _promise(state, state.queue[oldest], rule) if late else None
    start = []
    if promise is not None and promise.starts[0] == 0:
        start.append((oldest, np.repeat(np.arange(len(promise.counts[0])), promise.counts[0])))
    if not len(places):
        return NodePlan(start, 0, 0, 0.0, False, promise is not None)
    problem, scale = problem_of(state, [state.queue[place] for place in places], weight[places], pooled=False)
    if promise is not None:
        problem = _beside(problem, promise, state.queue[oldest])
    orders = list_orders(problem)
    listed, which = best_of(problem, orders, rule)
    best = None
    if listed is not None:
        found, _ = improve(problem, orders[which], settings.iterations, np.random.default_rng(0), rule)
        best = rearranged(problem, found, list(comparable(problem)))
        now = np.flatnonzero(best.starts == 0).tolist()
        start += [(int(places[index]), np.repeat(np.arange(problem.nodes), best.counts[index])) for index in now]
    return NodePlan(
        start=start,
        candidates=len(places),
        requested=int(problem.need.sum()),
        objective=best.cost / scale if best is not None else math.nan,
        searched=best is not None and listed is not None and best.cost < listed.cost,
        promised=promise is not None,
    )


def _promise(state: State, waiting: Waiting, rule: PlacementRule) -> Schedule | None:
    """Return the earliest start of a job beside what runs, and its nodes."""
    alone, _ = problem_of(state, [waiting], np.ones(1), pooled=False)
    return list_schedule(alone, np.zeros(1, dtype=np.int64), rule)


def _beside(problem: Problem, promise: Schedule, waiting: Waiting) -> Problem:
    """Return the problem with the start that is promised to one more job held."""
    nodes = np.flatnonzero(promise.counts[0])
    begin = np.full(len(nodes), promise.starts[0])
    amount: IntArray = promise.counts[0][nodes][:, None] * np.array(waiting.demand)
    return problem.beside(begin, begin + waiting.predicted, nodes, amount)
