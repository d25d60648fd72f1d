"""Which nodes Slurm picks for a job: ``select/cons_tres`` without topology and GRES on sockets.

Rules as in Slurm 22.05, ``src/plugins/select/cons_tres/job_test.c`` (``_eval_nodes``, ``choose_nodes``).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...base import BoolArray, IntArray
from ...base.checks import LARGEST
from ..compiled import borrowing, compiled
from .jobs import Tried

#: Places in the counts of what a job still needs: CPUs; nodes; CPUs it may still take; nodes it may still take.
CPUS, NODES, MOST_CPUS, MOST_NODES = range(4)
#: Columns of a set of consecutive nodes of one weight: the first, the last, their CPUs, how many they are, the weight.
FIRST, LAST, SIZE, COUNT, WEIGHT = range(5)


class Need(NamedTuple):
    """What one job needs of nodes.

    Attributes
    ----------
    cpus
        In all.
    least, most
        Nodes at least and at most.
    on_each, at_most
        CPUs on each node.
    """

    cpus: int
    least: int
    most: int
    on_each: int
    at_most: int


@borrowing
def need_of(slots: int, apart: bool, unit: int, capped: bool) -> Need:
    """Return what a job of so many slots of `unit` CPUs needs; a `capped` one, with GPUs, has no CPUs beside."""
    return Need(slots * unit, slots if apart else 1, slots, unit, unit if capped and apart else LARGEST)


@borrowing
def cpus_on(node: int, free: IntArray, job: int, tried: Tried, primary: int) -> int:
    """Return what a job can have of a node, 0 if not a slot of it fits.

    Of a node on which a single slot of the job lies, all free CPUs count (they are not capped at the tasks per node),
    as far as there is enough for them of what is asked for by CPU.
    """
    demand, room = tried.demand[job], LARGEST
    for resource in range(tried.by_node.shape[1]):
        if 0 < tried.by_node[job, resource] > free[node, resource]:
            return 0
    for resource in range(len(demand)):
        if demand[resource] > 0:
            room = min(room, free[node, resource] // demand[resource])
    if room < 1:
        return 0
    if demand[primary] == 0:
        return 1 if tried.apart[job] else room
    if not tried.apart[job]:
        return int(room * demand[primary])
    cpus = free[node, primary]
    for resource in range(len(demand)):
        if tried.per_cpu[job, resource] > 0:
            cpus = min(cpus, free[node, resource] // tried.per_cpu[job, resource])
    return int(cpus)


@borrowing
def free_cpus(
    free: IntArray, job: int, tried: Tried, primary: int, usable: BoolArray, cpus: IntArray
) -> tuple[int, int]:
    """Write into `cpus` what a job can have of each node; return how much that is and of how many nodes."""
    total, nodes = 0, 0
    for node in range(len(cpus)):
        cpus[node] = cpus_on(node, free, job, tried, primary) if usable[node] else 0
        total += cpus[node]
        nodes += cpus[node] > 0
    return total, nodes


@compiled
def choose_nodes(need: Need, cpus: IntArray, gpus: IntArray, weight: IntArray, taken: IntArray) -> bool:
    """Write into `taken` the CPUs that a job gets of each node, 0 where none; return whether it finds enough.

    If the tightest sets of nodes are not enough, nodes with few free CPUs and GPUs are left out one count after the
    other.

    Parameters
    ----------
    need
        What the job needs.
    cpus
        What it can have of each node; changed.
    gpus
        Free GPUs of each node, shape (nodes,); (0,) if it asks for none.
    weight
        Of each node; those of the lowest come first.
    taken
        Shape (nodes,).
    """
    if evaluate_nodes(need, cpus, weight, taken):
        return True
    nodes, most = 0, 0
    for node in range(len(cpus)):
        nodes += cpus[node] > 0
        if cpus[node] > 0:
            most = max(most, cpus[node] + (gpus[node] if len(gpus) else 0))
    if nodes <= need.least:
        return False
    for count in range(1, most):
        left_out = False
        for node in range(len(cpus)):
            if 0 < cpus[node] <= count - (gpus[node] if len(gpus) else 0):
                cpus[node] = 0
                left_out = True
                nodes -= 1
                if nodes <= need.least:
                    break
        if not left_out and count != 1:
            continue
        if evaluate_nodes(need, cpus, weight, taken):
            return True
        if nodes <= need.least:
            return False
    return False


@compiled
def evaluate_nodes(need: Need, cpus: IntArray, weight: IntArray, taken: IntArray) -> bool:
    """Take sets of consecutive nodes of one weight, until the job has enough.

    First those of the lowest weight, be they enough or not; of these the tightest that suffices, or else the largest.
    """
    for node in range(len(taken)):
        taken[node] = 0
    rest = np.empty(4, np.int64)
    rest[CPUS], rest[NODES], rest[MOST_CPUS], rest[MOST_NODES] = need.cpus, need.least, need.cpus, need.most
    sets = np.empty((len(cpus), 5), np.int64)
    found = consecutive(need, cpus, weight, sets)
    while rest[MOST_NODES] > 0:
        best = _best_set(sets, found, rest)
        if best < 0:
            break
        _take_from(sets[best, FIRST], sets[best, LAST], need, cpus, rest, taken)
        if rest[NODES] <= 0 and rest[CPUS] <= 0:
            return True
        sets[best, COUNT] = 0
    return bool(rest[NODES] <= 0 and rest[CPUS] <= 0)


@borrowing
def consecutive(need: Need, cpus: IntArray, weight: IntArray, sets: IntArray) -> int:
    """Write the sets of consecutive nodes of one weight with free CPUs into `sets`; return how many there are."""
    found, inside = -1, False
    for node in range(len(cpus)):
        if cpus[node] <= 0:
            inside = False
            continue
        if not inside or weight[node] != sets[found, WEIGHT]:
            found += 1
            sets[found, FIRST], sets[found, WEIGHT], inside = node, weight[node], True
            sets[found, SIZE] = sets[found, COUNT] = 0
        sets[found, LAST] = node
        sets[found, SIZE] += min(cpus[node], need.at_most)
        sets[found, COUNT] += 1
    return found + 1


@borrowing
def _best_set(sets: IntArray, found: int, rest: IntArray) -> int:
    best, enough = -1, False
    for index in range(found):
        if sets[index, COUNT] == 0:
            continue
        size = sets[index, SIZE]
        sufficient = size >= rest[CPUS] and sets[index, COUNT] >= rest[NODES]
        if best < 0 or sets[index, WEIGHT] != sets[best, WEIGHT]:
            better = best < 0 or sets[index, WEIGHT] < sets[best, WEIGHT]
        elif sufficient:
            better = not enough or size < sets[best, SIZE]
        else:
            better = size > sets[best, SIZE]
        if better:
            best, enough = index, sufficient
    return best


@borrowing
def _take_from(first: int, last: int, need: Need, cpus: IntArray, rest: IntArray, taken: IntArray) -> None:
    """Take nodes of a set in order; if one is enough, only that which has the fewest free CPUs."""
    if rest[NODES] <= 1:
        only = _tightest(first, last, rest[CPUS], need, cpus, taken)
        if only >= 0:
            first = last = only
    for node in range(first, last + 1):
        if rest[MOST_NODES] == 0 or (rest[NODES] <= 0 and rest[CPUS] <= 0):
            break
        has = min(cpus[node], need.at_most)
        if taken[node] or (rest[MOST_NODES] == 1 and has < rest[CPUS]):
            continue
        others = max(need.least - (need.most - rest[MOST_NODES]) - 1, 0)  # each is left at least a CPU
        if has > rest[MOST_CPUS] - others:
            has = cpus[node] = max(rest[MOST_CPUS] - others, need.on_each)
        taken[node] = has
        rest[CPUS] -= has
        rest[MOST_CPUS] -= has
        rest[NODES] -= 1
        rest[MOST_NODES] -= 1


@borrowing
def _tightest(first: int, last: int, wanted: int, need: Need, cpus: IntArray, taken: IntArray) -> int:
    best, least = -1, 0
    for node in range(first, last + 1):
        has = min(cpus[node], need.at_most)
        if taken[node] or has < wanted:
            continue
        if best < 0 or has < least:
            best, least = node, has
            if has == wanted:
                break
    return best
