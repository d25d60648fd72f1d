"""Nodes that nothing tells apart: of equal capacity, with the same held at the same times.

What is said of one node of a class holds for all of them, so that a plan reads a row a class and not a row a node.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...base import IntArray
from ..compiled import borrowing, compiled

#: Spreads rows over a table (Steele and Vigna, Software: Practice and Experience 52, 2022, for 64 bits).
_MULTIPLIER = np.uint64(0xD1342543DE82EF95)


@dataclass(frozen=True, eq=False)
class NodeClasses:
    """The nodes of a machine by class, in the order of the first node of each.

    Attributes
    ----------
    members
        The nodes, class by class, rising within each, shape (nodes,).
    begin
        Where the nodes of each class begin among the members, and their end, shape (classes + 1,).
    capacity
        Of a node of each class, shape (classes, resources).
    times
        When anything changes, shape (steps,), the first of them 0.
    free
        What is free on a node of each class from each of the times on, shape (steps, classes, resources). Below zero
        where more is held than there is.
    """

    members: IntArray
    begin: IntArray
    capacity: IntArray
    times: IntArray
    free: IntArray

    @property
    def count(self) -> IntArray:
        """Nodes of each class, shape (classes,)."""
        return np.diff(self.begin)

    def at(self, times: IntArray) -> NodeClasses:
        """Return the same with other times, rising; what changes between them counts from the next one on."""
        steps = np.searchsorted(self.times, times, side="right") - 1
        return NodeClasses(self.members, self.begin, self.capacity, times, self.free[steps])

    def few(self, most: IntArray) -> NodeClasses:
        """Return the first nodes of each class, `most` of each at most, every one a class of its own."""
        count = np.minimum(self.count, most)
        label = np.repeat(np.arange(len(count)), count)
        place = np.arange(len(label)) - np.repeat(np.cumsum(count) - count, count)
        members = self.members[self.begin[label] + place]
        return NodeClasses(
            members, np.arange(len(members) + 1), self.capacity[label], self.times, self.free[:, label]
        )  # fmt: skip


def node_classes(
    capacity: IntArray, held_from: IntArray, held_to: IntArray, held_node: IntArray, held_amount: IntArray
) -> NodeClasses:
    """Return the classes of the nodes of a problem, see :class:`.problem.Problem`."""
    rows = np.column_stack((held_from, held_to, held_amount))
    alike = _alike(_kinds(capacity), held_node, _kinds(rows))
    _, first, label = np.unique(alike, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))[label]
    members = np.argsort(rank, kind="stable")
    begin = np.append(0, np.cumsum(np.bincount(rank, minlength=len(first))))
    heads = np.sort(first)
    times = np.unique(np.concatenate((np.zeros(1, dtype=np.int64), held_from, held_to)))
    column = np.full(len(capacity), -1)
    column[heads] = np.arange(len(heads))
    seen = column[held_node] >= 0
    change = np.zeros((len(times), len(heads), capacity.shape[1]), dtype=np.int64)
    change[0] = capacity[heads]
    where, amount = column[held_node[seen]], held_amount[seen]
    np.subtract.at(change, (np.searchsorted(times, held_from[seen]), where), amount)
    np.add.at(change, (np.searchsorted(times, held_to[seen]), where), amount)
    return NodeClasses(members, begin, capacity[heads], times, np.cumsum(change, axis=0))


def classes_now(free: IntArray) -> NodeClasses:
    """Return the classes of nodes of equal free amounts, shape (nodes, resources), at the one step there is."""
    first, label = equal_rows(free)
    begin = np.append(0, np.cumsum(np.bincount(label, minlength=len(first))))
    short = label.astype(np.uint16) if len(first) < 2**16 else label  # Which numpy sorts in one pass.
    members, zero = np.argsort(short, kind="stable"), np.zeros(1, dtype=np.int64)
    return NodeClasses(members, begin, free[first], zero, free[None, first])


def equal_rows(rows: IntArray) -> tuple[IntArray, IntArray]:
    """Return the first of each kind of equal rows, and the kind of every row; kinds in rising order of their columns.

    As ``numpy.unique`` with ``axis=0``, without sorting the rows.

    Parameters
    ----------
    rows
        Shape (rows, columns).
    """
    first, label = np.empty(len(rows), dtype=np.int64), np.empty(len(rows), dtype=np.int64)
    first = first[: tell_apart_kinds(np.ascontiguousarray(rows, dtype=np.int64), first, label)]
    order = np.lexsort(rows[first].T[::-1]) if rows.shape[1] else np.arange(len(first))
    rank = np.empty(len(first), dtype=np.int64)
    rank[order] = np.arange(len(first))
    return first[order], rank[label]


@compiled
def tell_apart_kinds(rows: IntArray, first: IntArray, label: IntArray) -> int:
    """Number the kinds of rows as they come, fill in the first of each and the kind of each row; return how many."""
    count, columns = rows.shape
    size = 4
    while size < 2 * count:
        size *= 2
    table, kinds = np.full(size, -1), 0
    for row in range(count):
        if row and _same(rows, row, row - 1):
            label[row] = label[row - 1]
            continue
        mixed = np.uint64(0)
        for column in range(columns):
            mixed = (mixed ^ np.uint64(rows[row, column])) * _MULTIPLIER
            mixed ^= mixed >> np.uint64(29)
        place = np.int64(mixed & np.uint64(size - 1))
        while table[place] >= 0 and not _same(rows, row, first[table[place]]):
            place = (place + 1) & (size - 1)
        if table[place] < 0:
            table[place], first[kinds] = kinds, row
            kinds += 1
        label[row] = table[place]
    return kinds


@borrowing
def _same(rows: IntArray, one: int, other: int) -> bool:
    same = True
    for column in range(rows.shape[1]):
        same &= rows[one, column] == rows[other, column]
    return bool(same)


def _kinds(rows: IntArray) -> IntArray:
    """Return numbers from 0 that are the same for the same rows, shape (rows,)."""
    return equal_rows(rows)[1]


def _alike(alike: IntArray, held_node: IntArray, kind: IntArray) -> IntArray:
    """Return numbers that are the same for nodes with the same number before and the same kinds of held rows.

    The rows of a node are read one after the other, those of all nodes at a time.
    """
    order = np.lexsort((kind, held_node))
    node, kind = held_node[order], kind[order]
    begin = np.searchsorted(node, np.arange(len(alike) + 1))
    held = np.diff(begin)
    base, unused = int(kind.max(initial=0)) + 1, int(alike.max(initial=0)) + 1
    for level in range(int(held.max(initial=0))):
        nodes = np.flatnonzero(held > level)
        pairs, label = np.unique(alike[nodes] * base + kind[begin[nodes] + level], return_inverse=True)
        alike[nodes] = unused + label
        unused += len(pairs)
    return alike
