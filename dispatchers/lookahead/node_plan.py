"""The look-ahead plan on many nodes: who starts now and where."""

from __future__ import annotations

import math
from collections.abc import Sequence

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
from ...models.lookahead import Settings, candidates, weights
from ..problems import Held, held, problem_beside
from ..protocol import Placement, Waiting
from .instant import Decision, Instant

#: Jobs that fit now and whose order is searched, at most: the time of a decision grows with their square.
MOST_SEARCHED = 40


def plan_on_nodes(seen: Instant, settings: Settings, rule: PlacementRule) -> Decision:
    """Plan the jobs that fit now and the most urgent others, every job on nodes of its own until its end.

    If the oldest job is past its time, it first gets its earliest start and the nodes of that; the others are planned
    around it. Then the best of five list schedules is improved by a local search. Who starts now: the oldest if it was
    promised that, then by weight.

    Of a crowd that fits now the local search looks at the `MOST_SEARCHED` most urgent; the others start beside those if
    they can.

    Parameters
    ----------
    seen
        Now.
    settings
        As for :func:`hpcdispatch.models.lookahead.plan`; of the promises only the due time counts.
    rule
        How nodes are chosen.
    """
    state, queue, capacity = seen.state, seen.waiting, seen.state.machine.capacity
    weight = weights(queue, settings.age_scale)
    places = candidates(queue.fits, weight, np.zeros(0, dtype=np.int64), settings.blocked)
    busy = held(state.running, state.now, capacity, pooled=False)
    promise, oldest = None, int(np.argmax(queue.wait))
    if settings.due >= 0 and settings.guards > 0 and queue.wait[oldest] >= settings.due:
        places = places[places != oldest]
        promise = _promise(state.queue[oldest], busy, capacity, rule)
    chosen = [] if promise is None else _now(promise, [oldest])
    if promise is not None:
        busy = busy.beside(_hold(promise, state.queue[oldest]))
    if not len(places):
        return Decision(_put(seen, chosen), "feasible", objective=0.0, used="list", promises=int(promise is not None))
    problem, scale = problem_beside(busy, capacity, [state.queue[place] for place in places], weight[places])
    best, searched = _best(problem, np.flatnonzero(queue.fits[places])[MOST_SEARCHED:], settings.iterations, rule)
    chosen += _now(best, places.tolist()) if best is not None else []
    return Decision(
        starts=_put(seen, chosen),
        status="feasible",
        candidates=len(places),
        requested=int(problem.need.sum()),
        objective=best.cost / scale if best is not None else math.nan,
        used="search" if searched else "list",
        promises=int(promise is not None),
    )


def _promise(waiting: Waiting, busy: Held, capacity: IntArray, rule: PlacementRule) -> Schedule | None:
    """Return the earliest start of a job beside what is held, and its nodes."""
    problem, _ = problem_beside(busy, capacity, [waiting], np.ones(1))
    return list_schedule(problem, np.zeros(1, dtype=np.int64), rule)


def _hold(promise: Schedule, waiting: Waiting) -> Held:
    """Return what a job will hold."""
    nodes = np.flatnonzero(promise.counts[0])
    begin = np.full(len(nodes), promise.starts[0])
    return Held(begin, begin + waiting.predicted, nodes, promise.counts[0][nodes][:, None] * np.array(waiting.demand))


def _best(problem: Problem, crowd: IntArray, iterations: int, rule: PlacementRule) -> tuple[Schedule | None, bool]:
    """Return the best schedule found, and whether the search found better than every list.

    The jobs of the `crowd` are put behind the others in their order, once the best order of those is found.
    """
    others = np.delete(np.arange(problem.jobs), crowd)
    few = problem.of_jobs(others) if len(crowd) else problem
    orders = list_orders(few)
    listed, which = best_of(few, orders, rule)
    if listed is None:
        return None, False
    found, _ = improve(few, orders[which], iterations, np.random.default_rng(0), rule)
    best = rearranged(few, found, list(comparable(few)))
    searched = best.cost < listed.cost
    if len(crowd):
        order = np.concatenate((others[np.argsort(best.starts, kind="stable")], crowd))
        return list_schedule(problem, order, rule), searched
    return best, searched


def _now(schedule: Schedule, places: Sequence[int]) -> list[tuple[int, Placement]]:
    """Return who starts now, of jobs at `places` in the queue, and the nodes."""
    nodes, now = np.arange(schedule.counts.shape[1]), np.flatnonzero(schedule.starts == 0).tolist()
    return [(places[job], np.repeat(nodes, schedule.counts[job])) for job in now]


def _put(seen: Instant, chosen: Sequence[tuple[int, Placement]]) -> list[tuple[int, Placement]]:
    """Take room for those that find it on their nodes; return them."""
    return [(place, nodes) for place, nodes in chosen if seen.space.put(nodes, seen.state.queue[place].demand)]
