"""From orders to schedules on nodes, compiled: serial schedule generation, several orders, and a local search."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...base import FloatArray, IntArray
from ..compiled import compiled
from ..profiles.amounts import Steps, copy_steps, earliest, hold
from .pool_search import SWAPPED, relocate, same_kind
from .serial_on_nodes import NodeData, NodeRoom, choose_nodes, earliest_on_nodes, hold_on_nodes, learn, open_room


class NodeSearch(NamedTuple):
    """Jobs on nodes, and what they take of quotas.

    Attributes
    ----------
    weight, due, latest, after
        Of each job, shape (jobs,): the cost of each second that it starts past its due time, and the bounds of its
        start.
    need
        Of the quotas, shape (jobs, quotas).
    left, room
        What is left of the quotas beside what is held, without steps if there are none; and where it is filled.
    nodes, node_room
        The nodes. All times of `after` and `left` are among those at which their profile begins a step.
    kind
        The same number for jobs that differ in nothing, shape (jobs,): where they change places nothing changes.
    """

    weight: FloatArray
    due: IntArray
    latest: IntArray
    after: IntArray
    need: IntArray
    left: Steps
    room: Steps
    nodes: NodeData
    node_room: NodeRoom
    kind: IntArray


@compiled
def search_on_nodes(
    search: NodeSearch, orders: IntArray, moves: IntArray, best: IntArray, starts: IntArray, cost: float
) -> tuple[int, float]:
    """Decode orders, then change the best one again and again, and keep what is not worse.

    Jobs before the first change start when they did. A decoding is given up once its partial cost is above the best.

    Parameters
    ----------
    search
        The jobs and the machine.
    orders
        Permutations of the jobs, shape (orders, jobs); the first of least cost is kept.
    moves
        Two positions, and whether the first job is moved to the second or both are swapped; shape (moves, 3).
    best, starts, cost
        An order and its schedule, changed in place; an infinite cost if there is none.

    Returns
    -------
    which, cost
        The place of the best order among `orders`, and the cost of the best one in the end.
    """
    trial, trial_starts, nowhere, which = np.empty_like(best), np.empty_like(starts), np.empty(0, dtype=np.int64), 0
    for place in range(len(orders)):
        found = decode_on_nodes(search, orders[place], cost, trial_starts, nowhere, starts, 0)
        if found < cost:
            cost, which = found, place
            for job in range(len(best)):
                best[job], starts[job] = orders[place, job], trial_starts[job]
    if len(moves):
        learn(search.nodes, search.node_room)
    for move in range(len(moves)):
        here, there, swapped = moves[move, 0], moves[move, 1], moves[move, 2] == SWAPPED
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
        found = decode_on_nodes(search, trial, cost, trial_starts, nowhere, starts, min(here, there))
        if found <= cost:
            cost = found
            for job in range(len(best)):
                best[job], starts[job] = trial[job], trial_starts[job]
    return which, cost


@compiled
def alone(search: NodeSearch, starts: IntArray) -> None:
    """Fill `starts` with the earliest time of each job on its own, -1 if it never fits."""
    nodes, room = search.nodes, search.node_room
    open_room(nodes, room)
    for job in range(len(starts)):
        first, _ = earliest_on_nodes(job, nodes, room, len(nodes.times), _step_at(room.at, search.after[job]))
        starts[job] = room.at[first] if first >= 0 else -1


@compiled
def _step_at(at: IntArray, time: int) -> int:
    """Return the step that begins at a time; the first one for times before it."""
    step = 0
    while at[step] < time:
        step += 1
    return step


@compiled
def decode_on_nodes(
    search: NodeSearch, order: IntArray, bound: float, starts: IntArray, counts: IntArray, known: IntArray, same: int
) -> float:
    """Start each job in turn as early as it fits; return the cost, of a part of them once it is above `bound`.

    Infinite if a job starts after its latest time. The starts of jobs before position `same` are `known`. `counts`, the
    slots of each job on each node in one line, shape (jobs * nodes,), is filled unless it is empty.
    """
    nodes, room, quotas = search.nodes, search.node_room, search.room
    open_room(nodes, room)
    steps, count, width = len(nodes.times), len(search.left.at), len(counts) // max(len(order), 1)
    cost: float = 0.0
    copy_steps(search.left, count, quotas)
    for position in range(len(order)):
        job = order[position]
        after = known[job] if position < same else search.after[job]
        first, last = earliest_on_nodes(job, nodes, room, steps, _step_at(room.at, after))
        start = room.at[first] if first >= 0 else -1
        while count and first >= 0:
            # Until there is room both on the nodes and within the quotas.
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
