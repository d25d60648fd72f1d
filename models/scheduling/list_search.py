"""From orders to schedules, compiled: serial schedule generation, the best of several orders, and a local search.

The search knows a schedule by its order alone; what runs where is left to the machine: a pool, or nodes beside each
other (:mod:`.serial_on_nodes`). What a start costs may be whole numbers or real ones.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...base import FloatArray, IntArray
from ..compiled import compiled
from .node_groups import Instant, no_instant, open_instant, place_now
from .node_layout import NodeData, NodeRoom, no_nodes
from .pool_search import relocate, same_kind
from .serial_on_nodes import choose_nodes, earliest_on_nodes, hold_on_nodes, open_room
from ..profiles.amounts import Steps, copy_steps, earliest, hold, make_steps


class Costs(NamedTuple):
    """What a start costs: `weight` for each second past `due`, and more than all else past `latest`; by job."""

    weight: IntArray | FloatArray
    due: IntArray
    latest: IntArray


#: The cost of an order in which a job starts after its latest time.
_TOO_LATE = np.iinfo(np.int64).max


class Pool(NamedTuple):
    """Jobs on a pool.

    Attributes
    ----------
    duration, need
        Of each job, shape (jobs,) and (jobs, resources).
    held
        What is free beside what is held; on nodes the quotas alone, without steps where there is none.
    room
        Where the profile of a decoding is filled.
    after
        Before which a job may not start, shape (jobs,).
    instant
        The nodes on which what starts now must find places.
    """

    duration: IntArray
    need: IntArray
    held: Steps
    room: Steps
    after: IntArray
    instant: Instant


class Inputs(NamedTuple):
    """What a decoding reads: the costs, and the jobs on a pool, or on nodes beside which the pool has quotas alone."""

    costs: Costs
    pool: Pool
    nodes: NodeData
    node_room: NodeRoom


def on_the_pool(
    costs: Costs, duration: IntArray, need: IntArray, held: Steps, after: IntArray, instant: Instant
) -> Inputs:
    """Lay out jobs on a pool, see :class:`Pool`."""
    room = make_steps(len(held.at) + 3 * len(duration) + 1, need.shape[1])
    return Inputs(costs, Pool(duration, need, held, room, after, instant), *no_nodes())


def on_nodes(costs: Costs, nodes: NodeData, room: NodeRoom, after: IntArray, need: IntArray, left: Steps) -> Inputs:
    """Lay out jobs on nodes, and what they take of quotas.

    All times of `after`, and those at which what is left of the quotas changes, are among those at which the profile of
    the nodes begins a step.
    """
    filled = make_steps(len(left.at) + 3 * len(after) + 1, need.shape[1])
    return Inputs(costs, Pool(nodes.duration, need, left, filled, after, no_instant()), nodes, room)


@compiled
def by_falling_weight(weight: FloatArray, duration: IntArray, share: FloatArray, orders: IntArray) -> None:
    """Fill the first four of `orders`: by weight a unit of work, a second, a part of the machine, and alone.

    Where the cost of a start is linear, the first is Smith's rule for the machine as a whole. Ties as they come.
    """
    share = np.maximum(share, 1e-12)
    orders[0] = np.argsort(-weight / (duration * share), kind="mergesort")
    orders[1] = np.argsort(-weight / duration, kind="mergesort")
    orders[2] = np.argsort(-weight / share, kind="mergesort")
    orders[3] = np.argsort(-weight, kind="mergesort")


@compiled
def best_order(orders: IntArray, inputs: Inputs, worst: float, starts: IntArray, counts: IntArray) -> tuple[float, int]:
    """Find the first order of least cost.

    Parameters
    ----------
    orders
        Permutations of the jobs, shape (orders, jobs).
    inputs
        The jobs and the machine.
    worst
        A cost above all others, of the type of the weights.
    starts, counts
        Filled with the schedule of the best order: starts, -1 of a job that never fits, shape (jobs,), and on nodes the
        slots of each job on each node, shape (jobs, nodes).

    Returns
    -------
    cost, which
        Of the schedule, and the place of its order.
    """
    trial_starts, trial_counts = np.empty_like(starts), np.zeros_like(counts)
    cost, which = worst, 0
    for place in range(len(orders)):
        found = _decode(orders[place], inputs, cost, trial_starts, trial_counts, trial_starts, 0)
        if found < cost:
            cost, which = found, place
            _copy(trial_starts, trial_counts, starts, counts)
    return cost, which


@compiled
def search(best: IntArray, moves: IntArray, inputs: Inputs, kind: IntArray, cost: float, starts: IntArray) -> float:
    """Change an order again and again, and keep what is not worse.

    Jobs before the first change start when they did. A decoding is given up as soon as its partial cost is above the
    best.

    Parameters
    ----------
    best, cost, starts
        An order and its schedule as of :func:`best_order`, changed in place to the best ones found.
    moves
        Two places, and whether the jobs there are swapped or the first is moved to the second; shape (moves, 3).
    inputs
        The jobs and the machine.
    kind
        The same number for jobs that differ in nothing, shape (jobs,): where they change places nothing changes.

    Returns
    -------
    cost
        Of the best order.
    """
    trial, trial_starts, nowhere = best.copy(), np.empty_like(starts), np.zeros((len(starts), 0), dtype=np.int64)
    for move in range(len(moves)):
        here, there = moves[move, 0], moves[move, 1]
        if not cost:
            break
        if same_kind(kind, best, here, there, moves[move, 2] == 1):
            continue
        if moves[move, 2]:
            trial[here], trial[there] = trial[there], trial[here]
        else:
            relocate(trial, here, there)
        found = _decode(trial, inputs, cost, trial_starts, nowhere, starts, min(here, there))
        if found <= cost:
            cost = found
            best[:] = trial
            starts[:] = trial_starts
        else:
            trial[:] = best
    return cost


@compiled
def alone(inputs: Inputs, starts: IntArray) -> None:
    """Fill `starts` with the earliest time of each job on its own, -1 if it never fits."""
    _, pool, nodes, room = inputs
    open_room(nodes, room)
    for job in range(len(starts)):
        if not len(nodes.times):
            starts[job] = earliest(pool.held, len(pool.held.at), pool.need[job], pool.duration[job], pool.after[job])
        else:
            first, _ = earliest_on_nodes(job, nodes, room, len(nodes.times), _step_at(room.at, pool.after[job]))
            starts[job] = room.at[first] if first >= 0 else -1


@compiled
def _copy(starts: IntArray, counts: IntArray, to_starts: IntArray, to_counts: IntArray) -> None:
    # Loops: assigning to slices of matrices takes seconds to compile.
    for job in range(len(starts)):
        to_starts[job] = starts[job]
        for node in range(counts.shape[1]):
            to_counts[job, node] = counts[job, node]


@compiled
def _decode(
    order: IntArray, inputs: Inputs, bound: float, starts: IntArray, counts: IntArray, known: IntArray, first: int
) -> float:
    """Start each job in turn as early as it fits; return the cost, of a part of them once it is above `bound`.

    Of those before position `first` it is `known` when they start.
    """
    if not len(inputs.nodes.times):
        return _decode_on_pool(order, inputs.costs, inputs.pool, bound, starts, counts, known, first)
    return _decode_on_nodes(order, inputs, bound, starts, counts, known, first)


@compiled
def _decode_on_pool(
    order: IntArray, costs: Costs, pool: Pool, bound: float, starts: IntArray, counts: IntArray, known: IntArray,
    first: int,
) -> float:  # fmt: skip
    room, count = pool.room, len(pool.held.at)
    copy_steps(pool.held, count, room)
    groups = open_instant(pool.instant)
    cost: float = costs.weight[:0].sum()
    for position, job in enumerate(order):
        need, duration = pool.need[job], pool.duration[job]
        start = earliest(room, count, need, duration, known[job] if position < first else pool.after[job])
        if len(pool.instant.nodes):
            start, groups = _now_or_later(job, start, pool, groups, count, counts)
        starts[job] = start
        if start >= 0:
            count = hold(room, count, start, start + duration, need, 1)
        if start > costs.latest[job]:
            return _TOO_LATE
        if start > costs.due[job]:
            cost += costs.weight[job] * (start - costs.due[job])
            if cost > bound:
                return cost
    return cost


@compiled
def _now_or_later(job: int, start: int, pool: Pool, groups: int, count: int, counts: IntArray) -> tuple[int, int]:
    """Return when a job starts that starts now only where it finds nodes, and how many groups of nodes there are."""
    for node in range(counts.shape[1]):
        counts[job, node] = 0
    if start:
        return start, groups
    more = place_now(job, pool.instant, groups, counts[job])
    if more >= 0:
        return 0, more
    return earliest(pool.room, count, pool.need[job], pool.duration[job], pool.instant.later), groups


@compiled
def _step_at(at: IntArray, time: int) -> int:
    """Return the step that begins at a time; the first one for times before it."""
    step = 0
    while at[step] < time:
        step += 1
    return step


@compiled
def _decode_on_nodes(
    order: IntArray, inputs: Inputs, bound: float, starts: IntArray, counts: IntArray, known: IntArray, same: int
) -> float:
    costs, pool, nodes, room = inputs
    open_room(nodes, room)
    steps, count = len(nodes.times), len(pool.held.at)
    copy_steps(pool.held, count, pool.room)
    cost: float = costs.weight[:0].sum()
    for position, job in enumerate(order):
        after = known[job] if position < same else pool.after[job]
        first, last = earliest_on_nodes(job, nodes, room, steps, _step_at(room.at, after))
        if count and first >= 0:
            first, last = _within_quotas(job, pool, count, nodes, room, steps, first, last)
        starts[job] = room.at[first] if first >= 0 else -1
        if count and first >= 0:
            end = starts[job] + nodes.duration[job]
            count = hold(pool.room, count, starts[job], end, pool.need[job], 1)
        if starts[job] > costs.latest[job]:
            return _TOO_LATE
        if starts[job] > costs.due[job]:
            cost += costs.weight[job] * (starts[job] - costs.due[job])
            if cost > bound:
                return cost
        if first >= 0:
            choose_nodes(job, nodes, room, counts[job])
            steps = hold_on_nodes(job, nodes, room, steps, first, last)
    return cost


@compiled
def _within_quotas(
    job: int, pool: Pool, count: int, nodes: NodeData, room: NodeRoom, steps: int, first: int, last: int
) -> tuple[int, int]:
    """Return the first step from `first` on at which a job fits on the nodes and within the quotas until its end.

    And the first at or after that end; (-1, -1) if there is none.
    """
    while first >= 0:
        start = earliest(pool.room, count, pool.need[job], pool.duration[job], room.at[first])
        if start < 0:
            return -1, -1
        if start == room.at[first]:
            break
        first, last = earliest_on_nodes(job, nodes, room, steps, _step_at(room.at, start))
    return first, last
