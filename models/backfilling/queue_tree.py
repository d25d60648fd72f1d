"""A tree over the waiting jobs, compiled, that finds those that fit without a look at the others.

The jobs stand in the order of the queue, in blocks, and the blocks are the leaves of a binary tree. Every node of it
holds, for each class of amounts, one a power of two, the least amount and the least length of its jobs, so that a
search leaves out whole parts of the queue. A job that leaves gives up its place for later ones: a change costs as much
as the tree is deep.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...base import IntArray
from ..compiled import compiled

#: More than any amount and later than any time.
NEVER = int(np.iinfo(np.int64).max)
#: The columns of the places. A place whose job has left or is set aside has the class -1.
SINCE, ORDER, AMOUNT, LENGTH, SUBMIT, CLASS = range(6)
#: Places a leaf.
_BLOCK = 16
#: Classes of amounts; the last has no upper end.
_CLASSES = 20


class QueueTree(NamedTuple):
    """Waiting jobs in places that are in order of the queue.

    Attributes
    ----------
    places
        Shape (room, 6): when the job came, its order in the trace, the amount it takes, its length, when it was
        submitted, the class of its amount.
    nodes
        Earliest submission, then the least amount of each class, then the least length of each, :data:`NEVER` without
        jobs; shape (nodes, 1 + 2 classes). Node 1 is the root, those of node n are 2 n and 2 n + 1, and the second half
        are the leaves. Row 0 has how many places are in use, and how many of these have a job.
    """

    places: IntArray
    nodes: IntArray


def open_tree(jobs: int) -> QueueTree:
    """Return a tree with room for so many jobs, none of them there."""
    blocks = 1
    while blocks * _BLOCK < jobs:
        blocks *= 2
    nodes = np.full((2 * blocks, 1 + 2 * _CLASSES), NEVER, dtype=np.int64)
    nodes[0] = 0
    return QueueTree(np.full((blocks * _BLOCK, 6), -1, dtype=np.int64), nodes)


def enlarged(tree: QueueTree, more: int) -> QueueTree:
    """Return a tree with the same jobs, without gaps, and room for as many again and `more` others."""
    jobs = tree.places[: tree.nodes[0, 0]]
    jobs = jobs[jobs[:, CLASS] >= 0]
    larger = open_tree(2 * (len(jobs) + more))
    jobs[:, CLASS] = 1
    follow(larger, jobs)
    return larger


@compiled
def follow(tree: QueueTree, changes: IntArray) -> None:
    """Take note of jobs that came and left.

    Parameters
    ----------
    tree
        With room for as many more jobs.
    changes
        One after the other: the first five columns of the places, and 1 if the job came, 0 if it left; shape
        (changes, 6). Nothing of it is to be read afterwards.
    """
    for index in range(len(changes)):
        place = _find(tree, changes[index, SINCE], changes[index, ORDER])
        if changes[index, CLASS] == 0:
            tree.nodes[0, 1] -= 1
            set_aside(tree, place)
            continue
        if place > 0 and tree.places[place, CLASS] >= 0 and tree.places[place - 1, CLASS] < 0:
            place -= 1
        tree.nodes[0, 1] += 1
        moving = True
        while moving:
            moving = _swap(tree, place, changes[index])
            tree.nodes[0, 0] = max(tree.nodes[0, 0], place + 1)
            place += 1


@compiled
def _swap(tree: QueueTree, place: int, job: IntArray) -> bool:
    """Put a job at a place; return whether there was one, which is in `job` then and goes to the next place."""
    before = tree.places[place, CLASS]
    for column in range(CLASS):
        job[column], tree.places[place, column] = tree.places[place, column], job[column]
    set_aside(tree, place)
    put_back(tree, place)
    return bool(before >= 0)


@compiled
def no_limit() -> int:
    """Return :data:`NEVER` as a number like others: what takes a constant is compiled anew for it."""
    return int(np.int64(NEVER))


@compiled
def _find(tree: QueueTree, since: int, order: int) -> int:
    """Return the first place whose job, present or past, is not before one in the queue."""
    low, high = 0, tree.nodes[0, 0]
    while low < high:
        middle = (low + high) // 2
        before = tree.places[middle, SINCE] - since
        if before < 0 or (before == 0 and tree.places[middle, ORDER] < order):
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def _class_of(amount: int) -> int:
    bits = 0
    while amount > 0 and bits < _CLASSES - 1:
        amount >>= 1
        bits += 1
    return bits


@compiled
def set_aside(tree: QueueTree, place: int) -> None:
    """Hide the job at a place."""
    kind = tree.places[place, CLASS]
    tree.places[place, CLASS] = -1
    if kind >= 0:
        _set_path(tree, place, kind)


@compiled
def put_back(tree: QueueTree, place: int) -> None:
    """Show the job at a place again."""
    kind = _class_of(tree.places[place, AMOUNT])
    tree.places[place, CLASS] = kind
    _set_path(tree, place, kind)


@compiled
def _set_path(tree: QueueTree, place: int, kind: int) -> None:
    """Set the nodes above a place, where its class has changed."""
    block = place // _BLOCK
    node = block + len(tree.nodes) // 2
    amount = length = oldest = NEVER
    for other in range(block * _BLOCK, (block + 1) * _BLOCK):
        if tree.places[other, CLASS] >= 0:
            oldest = min(oldest, tree.places[other, SUBMIT])
        if tree.places[other, CLASS] == kind:
            amount, length = min(amount, tree.places[other, AMOUNT]), min(length, tree.places[other, LENGTH])
    nodes, of_amount, of_length = tree.nodes, 1 + kind, 1 + _CLASSES + kind
    nodes[node, 0], nodes[node, of_amount], nodes[node, of_length] = oldest, amount, length
    while node > 1:
        node //= 2
        for column in (0, of_amount, of_length):
            nodes[node, column] = min(nodes[2 * node, column], nodes[2 * node + 1, column])


@compiled
def _shortest(tree: QueueTree, node: int, free: int, spare: int, limit: int) -> int:
    """Return a length below which no job of a node is allowed, :data:`NEVER` if none is."""
    shortest = NEVER
    for kind in range(_CLASSES):
        amount, length = tree.nodes[node, 1 + kind], tree.nodes[node, 1 + _CLASSES + kind]
        if amount <= free and (amount <= spare or length <= limit):
            shortest = min(shortest, length)
    return shortest


@compiled
def _is_allowed(tree: QueueTree, place: int, free: int, spare: int, limit: int) -> bool:
    kind, amount = tree.places[place, CLASS], tree.places[place, AMOUNT]
    return bool(kind >= 0 and amount <= free and (amount <= spare or tree.places[place, LENGTH] <= limit))


@compiled
def next_allowed(tree: QueueTree, first: int, free: int, spare: int, limit: int) -> int:
    """Return the first place from `first` on of a job that is allowed, -1 if there is none.

    It is if it takes at most `free`, and either at most `spare` or not longer than `limit`.
    """
    leaves = len(tree.nodes) // 2
    node = first // _BLOCK + leaves
    while node < 2 * leaves:
        if _shortest(tree, node, free, spare, limit) < NEVER:
            if node < leaves:
                node *= 2
                continue
            block = (node - leaves) * _BLOCK
            for place in range(max(first, block), block + _BLOCK):
                if _is_allowed(tree, place, free, spare, limit):
                    return place
        while node & 1:
            node //= 2
        if node == 0:
            break
        node += 1
    return -1


@compiled
def next_fitting(tree: QueueTree, first: int, free: int) -> int:
    """Return the first place from `first` on of a job that takes at most `free`, -1 if there is none."""
    return next_allowed(tree, first, free, free, no_limit())


@compiled
def _key(submit: int, length: int, now: int, expansion: bool) -> float:
    return (submit - now) / length if expansion else float(length)


@compiled
def best_allowed(tree: QueueTree, free: int, spare: int, limit: int, now: int, expansion: bool) -> int:
    """Return the place of the shortest job that is allowed, or of the one with the largest expansion factor.

    Ties by place; -1 if there is none. What is allowed is as in :func:`next_allowed`. A node is looked into only if it
    may hold a better one, the more promising half first.
    """
    leaves = len(tree.nodes) // 2
    found, least, size = -1, np.inf, 1
    nodes, bounds = np.empty(64, dtype=np.int64), np.empty(64, dtype=np.float64)
    nodes[0], bounds[0] = 1, -np.inf
    while size > 0:
        size -= 1
        node, bound = nodes[size], bounds[size]
        if bound > least or (bound == least and _first_place(node, leaves) > found):
            continue
        if node >= leaves:
            block = (node - leaves) * _BLOCK
            for place in range(block, block + _BLOCK):
                if _is_allowed(tree, place, free, spare, limit):
                    key = _key(tree.places[place, SUBMIT], tree.places[place, LENGTH], now, expansion)
                    if key < least or (key == least and place < found):
                        found, least = place, key
            continue
        left = _bound(tree, 2 * node, free, spare, limit, now, expansion)
        right = _bound(tree, 2 * node + 1, free, spare, limit, now, expansion)
        first = 2 * node if left <= right else 2 * node + 1
        nodes[size], bounds[size] = first ^ 1, max(left, right)
        nodes[size + 1], bounds[size + 1] = first, min(left, right)
        size += 2
    return found


@compiled
def _first_place(node: int, leaves: int) -> int:
    while node < leaves:
        node *= 2
    return (node - leaves) * _BLOCK


@compiled
def _bound(tree: QueueTree, node: int, free: int, spare: int, limit: int, now: int, expansion: bool) -> float:
    """Return a key below which no job of a node is."""
    shortest = _shortest(tree, node, free, spare, limit)
    return np.inf if shortest == NEVER else _key(tree.nodes[node, 0], shortest, now, expansion)
