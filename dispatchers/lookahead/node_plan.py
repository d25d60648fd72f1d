"""The look-ahead plan on many nodes: who starts now and where."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...base import FloatArray, IntArray
from ...models import (
    WHENEVER,
    PlacementRule,
    Problem,
    Schedule,
    best_of,
    improve,
    list_orders,
    list_schedule,
    rearranged,
)
from ...models.lookahead import Settings, candidates, weights
from ..problems import closed_amounts, held, problem_beside, summed
from ..protocol import Placement, Waiting
from .instant import Decision, Instant
from .node_guarantees import guarantee_on_nodes
from .pool_plan import put

_NO_NODES = np.zeros((0, 0), dtype=np.int64)
#: Up to so many nodes every job of a plan has nodes of its own; on more that would take seconds.
MOST_NODES = 256
#: Jobs that fit now and whose order is searched where they have, at most: the time grows with their square.
MOST_SEARCHED = 40


def plan_on_nodes(seen: Instant, settings: Settings, rule: PlacementRule) -> Decision:
    """Plan the jobs that fit now and the most urgent others between what is held for the oldest.

    On up to `MOST_NODES` nodes every job has nodes of its own until its end, and of a crowd that fits now the local
    search looks at the `MOST_SEARCHED` most urgent; the others start beside those if they can. On more nodes those that
    start now have places on them, and later all share the sums of the resources; who starts now does not delay there
    the oldest job that is past its time.

    The oldest jobs are guaranteed starts first, see :func:`.guarantee_on_nodes`. Then the best of some list schedules
    is improved by a local search, among those in which planned jobs start no later than guaranteed, if any list does
    so. Who starts now: the oldest if it was guaranteed that, then by weight.

    Parameters
    ----------
    seen
        Now.
    settings
        As for :func:`hpcdispatch.models.lookahead.plan`.
    rule
        How nodes are chosen, where every job has some.
    """
    state, queue, capacity, free = seen.state, seen.waiting, seen.state.machine.capacity, _NO_NODES
    if len(capacity) > MOST_NODES:
        capacity, free = capacity.sum(axis=0, keepdims=True), state.free
    weight = weights(queue.wait, queue.duration, settings.age_scale)
    places = candidates(queue.fits, weight, np.zeros(0, dtype=np.int64), settings.blocked)
    planned = np.bincount(places, minlength=len(weight)) > 0
    busy = held(state.running, state.now, capacity, pooled=len(capacity) == 1)
    if seen.closures:
        closed = seen.beside_closed()
        busy = busy.beside(summed(closed) if len(capacity) == 1 else closed)
        free = np.maximum(free - closed_amounts(seen.closures, state.now, state.machine), 0) if len(free) else free
    guaranteed = guarantee_on_nodes(queue, state.queue, planned, busy, capacity, free, settings, rule)
    first = [] if guaranteed.start is None else _now(guaranteed.start, [guaranteed.overdue])
    guarded = -1 if first or len(capacity) > 1 else guaranteed.overdue
    places = places[places != guaranteed.overdue]
    if not len(places):
        return Decision(_put(seen, first), "feasible", objective=0.0, used="list", guarantees=guaranteed.given)
    if len(free) and first:
        slots = np.bincount(first[0][1], minlength=len(free))
        free = free - slots[:, None] * np.array(state.queue[guaranteed.overdue].demand)
    problem, scale = problem_beside(
        guaranteed.busy, capacity, [state.queue[place] for place in places], weight[places], free_now=free
    )
    crowd = np.flatnonzero(queue.fits[places])[MOST_SEARCHED:] if len(capacity) > 1 else places[:0]
    kept = replace(problem, latest=guaranteed.latest[places])
    best, searched = _best(kept, crowd, settings.iterations, rule)
    if best is None:
        best, searched = _best(problem, crowd, settings.iterations, rule)
    if best is not None:
        best = _in_turn(best, [state.queue[place] for place in places], weight[places], guaranteed.latest[places])
    return Decision(
        starts=_put(seen, first + ([] if best is None else _now(best, places.tolist())), guarded),
        status="feasible",
        candidates=len(places),
        requested=int(problem.need.sum()),
        objective=math.nan if best is None else best.cost / scale,
        used="search" if searched else "list",
        guarantees=guaranteed.given,
    )


def _best(problem: Problem, crowd: IntArray, iterations: int, rule: PlacementRule) -> tuple[Schedule | None, bool]:
    """Return the best schedule found, and whether the search found better than every list.

    The jobs of the `crowd` are put behind the others in their order, once the best order of those is found.
    """
    others = np.delete(np.arange(problem.jobs), crowd)
    few = problem.of_jobs(others) if len(crowd) else problem
    orders = list_orders(few)
    if few.latest.min(initial=WHENEVER) < WHENEVER:
        orders.append(np.argsort(few.latest, kind="stable"))
    listed, which = best_of(few, orders, rule)
    if listed is None:
        return None, False
    found, _ = improve(few, orders[which], iterations, np.random.default_rng(0), rule)
    best = rearranged(few, found)
    searched = best.cost < listed.cost
    if len(crowd):
        order = np.concatenate((others[np.argsort(best.starts, kind="stable")], crowd))
        return list_schedule(problem, order, rule), searched
    return best, searched


def _in_turn(schedule: Schedule, jobs: Sequence[Waiting], weight: FloatArray, latest: IntArray) -> Schedule:
    """Let the first of jobs that differ in nothing but their guaranteed starts start first, where these are kept."""
    alike: dict[Any, list[int]] = {}
    for row, job in enumerate(jobs):
        key = weight[row], job.predicted, job.nodes, job.demand
        alike.setdefault(key, []).append(row)
    starts, counts = schedule.starts.copy(), schedule.counts.copy()
    for rows in alike.values():
        rows.sort(key=lambda row: jobs[row].place)
        given = sorted(rows, key=lambda row: schedule.starts[row])
        if (schedule.starts[given] <= latest[rows]).all():
            starts[rows], counts[rows] = schedule.starts[given], schedule.counts[given]
    return replace(schedule, starts=starts, counts=counts)


def _now(schedule: Schedule, places: Sequence[int]) -> list[tuple[int, Placement]]:
    """Return who starts now, of jobs at `places` in the queue, and the nodes."""
    nodes, now = np.arange(schedule.counts.shape[1]), np.flatnonzero(schedule.starts == 0).tolist()
    return [(places[job], np.repeat(nodes, schedule.counts[job])) for job in now]


def _put(seen: Instant, chosen: Sequence[tuple[int, Placement]], guarded: int = -1) -> list[tuple[int, Placement]]:
    return put(seen, [place for place, _ in chosen], guarded, [nodes for _, nodes in chosen])
