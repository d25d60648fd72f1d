"""Look-ahead plan on many nodes: which jobs start now, and where."""

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
from ...models.lookahead.guarantees import Settings
from ...models.lookahead.planning import candidates, weights
from ..problems import closed_amounts, held, problem_beside, summed
from ..protocol import Placement, Waiting
from .instant import Decision, Instant
from .node_guarantees import guarantee_on_nodes
from .pool_plan import put

_NO_NODES = np.zeros((0, 0), dtype=np.int64)
#: Number of nodes up to which every planned job has its own nodes. More would take seconds.
MOST_NODES = 256
#: Most jobs that fit now in the search of the order on nodes. Its time grows with their square.
MOST_SEARCHED = 40


def plan_on_nodes(seen: Instant, settings: Settings, rule: PlacementRule) -> Decision:
    """Plan jobs that fit now and the most urgent others around the guarantees of the oldest.

    On up to `MOST_NODES` nodes every job has its own nodes until its end. If many jobs fit now, the local search covers
    the `MOST_SEARCHED` most urgent. The others start beside them if they can. On more nodes only starting jobs have
    nodes, and later ones share the sums of resources. Starting jobs must not delay the oldest overdue job there.

    The oldest jobs get guaranteed starts first, see :func:`.guarantee_on_nodes`. Then a local search improves the best
    list schedule. Only schedules that keep the guarantees of planned jobs count, if any list has one. The oldest job
    starts first if its guarantee is now, then others by weight.

    Parameters
    ----------
    seen
        Present jobs and room.
    settings
        As for :func:`hpcdispatch.models.lookahead.plan`.
    rule
        Choice of nodes, where every job has its own.
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
    """Return the best schedule, and whether the search improved on every list.

    The jobs of the `crowd` follow the others in their order, after the best order of those is known.
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
    """Among jobs that differ only in guaranteed starts, let the first start first, if all guarantees hold."""
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
    """Return the jobs that start now, of those at `places` in the queue, with nodes."""
    nodes, now = np.arange(schedule.counts.shape[1]), np.flatnonzero(schedule.starts == 0).tolist()
    return [(places[job], np.repeat(nodes, schedule.counts[job])) for job in now]


def _put(seen: Instant, chosen: Sequence[tuple[int, Placement]], guarded: int = -1) -> list[tuple[int, Placement]]:
    return put(seen, [place for place, _ in chosen], guarded, [nodes for _, nodes in chosen])
