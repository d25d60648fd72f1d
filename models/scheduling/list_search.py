"""From orders to schedules on nodes, compiled: the best of several orders, and a local search.

The search knows a schedule by its order alone; what runs where is left to :mod:`.serial_on_nodes`. On a pool it is
:mod:`.pool_search`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...base import FloatArray, IntArray
from ..compiled import compiled
from .node_layout import NodeData, NodeRoom
from .pool_search import relocate
from .serial_on_nodes import choose_nodes, earliest_on_nodes, hold_on_nodes, open_room


class Inputs(NamedTuple):
    """What a decoding reads, and where it fills a profile.

    Attributes
    ----------
    weight, due
        A start costs `weight` for each second past `due`, both by job.
    nodes, room
        The jobs and the machine.
    """

    weight: IntArray
    due: IntArray
    nodes: NodeData
    room: NodeRoom


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
def best_order(orders: IntArray, inputs: Inputs, worst: int, starts: IntArray, counts: IntArray) -> tuple[int, int]:
    """Find the first order of least cost.

    Parameters
    ----------
    orders
        Permutations of the jobs, shape (orders, jobs).
    inputs
        The jobs and the machine.
    worst
        A cost above all others.
    starts, counts
        Filled with the schedule of the best order: starts, -1 of a job that never fits, shape (jobs,), and the slots of
        each job on each node, shape (jobs, nodes).

    Returns
    -------
    cost, which
        Of the schedule, and the place of its order.
    """
    trial_starts, trial_counts = np.empty_like(starts), np.zeros_like(counts)
    cost, which = worst, 0
    for place in range(len(orders)):
        found = _decode(orders[place], inputs, cost, trial_starts, trial_counts)
        if found < cost:
            cost, which = found, place
            _copy(trial_starts, trial_counts, starts, counts)
    return cost, which


@compiled
def search(best: IntArray, moves: IntArray, inputs: Inputs, cost: int, starts: IntArray, counts: IntArray) -> int:
    """Change an order again and again, and keep what is not worse.

    A decoding is given up as soon as its partial cost is above the best.

    Parameters
    ----------
    best, cost, starts, counts
        An order and its schedule as of :func:`best_order`, changed in place to the best ones found.
    moves
        Two places, and whether the jobs there are swapped or the first is moved to the second; shape (moves, 3).
    inputs
        The jobs and the machine.

    Returns
    -------
    cost
        Of the best order.
    """
    trial, trial_starts, trial_counts = best.copy(), np.empty_like(starts), np.zeros_like(counts)
    for move in range(len(moves)):
        here, there = moves[move, 0], moves[move, 1]
        if not cost:
            break
        if here == there:
            continue
        if moves[move, 2]:
            trial[here], trial[there] = trial[there], trial[here]
        else:
            relocate(trial, here, there)
        found = _decode(trial, inputs, cost, trial_starts, trial_counts)
        if found <= cost:
            cost = found
            best[:] = trial
            _copy(trial_starts, trial_counts, starts, counts)
        else:
            trial[:] = best
    return cost


@compiled
def alone(inputs: Inputs, starts: IntArray) -> None:
    """Fill `starts` with the earliest time of each job on its own, -1 if it never fits."""
    nodes, room = inputs.nodes, inputs.room
    open_room(nodes, room)
    for job in range(len(starts)):
        first, _ = earliest_on_nodes(job, nodes, room, len(nodes.times))
        starts[job] = room.at[first] if first >= 0 else -1


@compiled
def _copy(starts: IntArray, counts: IntArray, to_starts: IntArray, to_counts: IntArray) -> None:
    # Loops: assigning to slices of matrices takes seconds to compile.
    for job in range(len(starts)):
        to_starts[job] = starts[job]
        for node in range(counts.shape[1]):
            to_counts[job, node] = counts[job, node]


@compiled
def _decode(order: IntArray, inputs: Inputs, bound: int, starts: IntArray, counts: IntArray) -> int:
    """Start each job in turn as early as it fits; return the cost, of a part of them once it is above `bound`."""
    weight, due, nodes, room = inputs
    open_room(nodes, room)
    steps = len(nodes.times)
    cost: int = 0
    for job in order:
        first, last = earliest_on_nodes(job, nodes, room, steps)
        starts[job] = room.at[first] if first >= 0 else -1
        if starts[job] > due[job]:
            cost += weight[job] * (starts[job] - due[job])
            if cost > bound:
                return cost
        if first >= 0:
            choose_nodes(job, nodes, room, counts[job])
            steps = hold_on_nodes(job, nodes, room, steps, first, last)
    return cost
