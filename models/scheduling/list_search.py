"""Compiled list schedules on nodes: several orders, then a local search."""

from typing import NamedTuple

import numpy as np

from ...base import FloatArray, IntArray
from ..compiled import compiled
from ..profiles.amounts import AmountSteps, copy_steps, earliest, hold
from .pool_search import SWAPPED, relocate, same_kind
from .serial_on_nodes import NodeData, NodeRoom, choose_nodes, earliest_on_nodes, hold_on_nodes, learn, open_room


class NodeSearch(NamedTuple):
    """Jobs on nodes, with quotas.

    Attributes
    ----------
    weight, due, latest, after
        Cost per second past the due time, due time, latest start and earliest start of each job. Shape (jobs,).
    need
        Quota needs of each job, shape (jobs, quotas).
    left, room
        Free quota amounts, without steps if no quotas exist, and the buffer to fill.
    nodes, node_room
        Nodes and their buffer. Each time of `after` and `left` begins a step of the nodes' profile.
    kind
        Equal numbers for equal jobs, shape (jobs,). Swapping such jobs changes nothing.
    """

    weight: FloatArray
    due: IntArray
    latest: IntArray
    after: IntArray
    need: IntArray
    left: AmountSteps
    room: AmountSteps
    nodes: NodeData
    node_room: NodeRoom
    kind: IntArray


@compiled
def search_on_nodes(
    search: NodeSearch, orders: IntArray, moves: IntArray, best: IntArray, starts: IntArray, cost: float
) -> tuple[int, float]:
    """Decode orders, then change the best order repeatedly. Accept changes that do not raise the cost.

    Jobs before the first change keep their starts. A decoding ends once its partial cost exceeds the best cost.

    Parameters
    ----------
    search
        Jobs and machine.
    orders
        Permutations of the jobs, shape (orders, jobs). The cheapest is kept, the first of ties.
    moves
        Rows of two positions and a kind, shape (moves, 3). The kind moves the first job to the second position or swaps
        both.
    best, starts, cost
        An order and its schedule, updated in place. Infinite cost if no schedule exists yet.

    Returns
    -------
    which, cost
        Position of the best order in `orders`, and the final cost.
    """
    trial = np.empty_like(best)
    trial_starts = np.empty_like(starts)
    nowhere = np.empty(0, dtype=np.int64)
    which = 0
    for place in range(len(orders)):
        trial_cost = decode_on_nodes(search, orders[place], cost, trial_starts, nowhere, starts, 0)
        if trial_cost < cost:
            cost, which = trial_cost, place
            for job in range(len(best)):
                best[job], starts[job] = orders[place, job], trial_starts[job]
    if len(moves):
        learn(search.nodes, search.node_room)
    for move in range(len(moves)):
        here = moves[move, 0]
        there = moves[move, 1]
        swapped = moves[move, 2] == SWAPPED
        if cost == 0:
            break
        if same_kind(search.kind, best, here, there, swapped):
            continue
        for job in range(len(best)):
            trial[job] = best[job]
        if swapped:
            trial[here], trial[there] = best[there], best[here]
        else:
            relocate(trial, here, there)
        trial_cost = decode_on_nodes(search, trial, cost, trial_starts, nowhere, starts, min(here, there))
        if trial_cost <= cost:
            cost = trial_cost
            for job in range(len(best)):
                best[job], starts[job] = trial[job], trial_starts[job]
    return which, cost


@compiled
def alone(search: NodeSearch, starts: IntArray) -> None:
    """Fill `starts` with the earliest start of each job alone, -1 if it never fits."""
    nodes, room = search.nodes, search.node_room
    open_room(nodes, room)
    for job in range(len(starts)):
        first, _ = earliest_on_nodes(job, nodes, room, len(nodes.times), _step_at(room.at, search.after[job]))
        starts[job] = room.at[first] if first >= 0 else -1


@compiled
def _step_at(at: IntArray, time: int) -> int:
    """Return the step that begins at `time`, or the first step for earlier times."""
    step = 0
    while at[step] < time:
        step += 1
    return step


@compiled
def decode_on_nodes(
    search: NodeSearch, order: IntArray, bound: float, starts: IntArray, counts: IntArray, known: IntArray, same: int
) -> float:
    """Start each job in turn at its earliest fit. Return the cost.

    The result is a partial cost above `bound`, and infinite if a job starts after its latest start. Jobs before
    position `same` start at `known`. `counts` receives the slots per job and node in one line. Shape (jobs * nodes,),
    unless it is empty.
    """
    nodes = search.nodes
    room = search.node_room
    quotas = search.room
    open_room(nodes, room)
    steps = len(nodes.times)
    count = len(search.left.at)
    width = len(counts) // max(len(order), 1)
    cost: float = 0.0
    copy_steps(search.left, count, quotas)
    for position in range(len(order)):
        job = order[position]
        after = known[job] if position < same else search.after[job]
        first, last = earliest_on_nodes(job, nodes, room, steps, _step_at(room.at, after))
        start = room.at[first] if first >= 0 else -1
        while count and first >= 0:
            # Advance until both nodes and quotas have room.
            start = earliest(quotas, count, search.need[job], nodes.duration[job], room.at[first])
            if start < 0:
                first = -1
            elif start == room.at[first]:
                count = hold(quotas, count, start, start + nodes.duration[job], search.need[job], 1)
                break
            else:
                first, last = earliest_on_nodes(job, nodes, room, steps, _step_at(room.at, start))
                start = room.at[first] if first >= 0 else -1
        starts[job] = start
        if start > search.latest[job]:
            return np.inf
        if start > search.due[job]:
            cost += search.weight[job] * (start - search.due[job])
            if cost > bound:
                return cost
        if first >= 0:
            choose_nodes(job, nodes, room, counts[job * width : (job + 1) * width])
            steps = hold_on_nodes(job, nodes, room, steps, first, last)
    return cost
