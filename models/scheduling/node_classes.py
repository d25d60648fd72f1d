"""Classes of equal nodes: equal capacity and equal occupied amounts at equal times.

A plan reads one row per class instead of one row per node.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...base import IntArray
from ...base.argument_types import names_wrong_types
from ..compiled import borrowing, compiled

#: Hash multiplier for 64 bits (Steele and Vigna, Software: Practice and Experience 52, 2022).
_MULTIPLIER = np.uint64(0xD1342543DE82EF95)


@dataclass(frozen=True, eq=False)
class NodeClasses:
    """Nodes of a machine by class, classes in order of their first node.

    Attributes
    ----------
    members
        Nodes, class by class, ascending within each, shape (nodes,).
    begin
        Position of each class among the members, and the end. Shape (classes + 1,).
    capacity
        Capacity of a node of each class, shape (classes, resources).
    times
        Times of changes, shape (steps,). The first is 0.
    free
        Free amounts on a node of each class from each time on. Shape (steps, classes, resources), negative where over
        capacity.
    """

    members: IntArray
    begin: IntArray
    capacity: IntArray
    times: IntArray
    free: IntArray

    @property
    def count(self) -> IntArray:
        """Number of nodes of each class, shape (classes,)."""
        return np.diff(self.begin)

    def at(self, times: IntArray) -> NodeClasses:
        """Return the classes with other ascending times. A change between two times takes effect at the later."""
        steps = np.searchsorted(self.times, times, side="right") - 1
        return NodeClasses(self.members, self.begin, self.capacity, times, self.free[steps])

    def few(self, most: IntArray) -> NodeClasses:
        """Return the first nodes of each class, at most `most` of each, each as its own class."""
        count = np.minimum(self.count, most)
        label = np.repeat(np.arange(len(count)), count)
        place = np.arange(len(label)) - np.repeat(np.cumsum(count) - count, count)
        members = self.members[self.begin[label] + place]
        return NodeClasses(members, np.arange(len(members) + 1), self.capacity[label], self.times, self.free[:, label])


def node_classes(
    capacity: IntArray, held_from: IntArray, held_to: IntArray, held_node: IntArray, held_amount: IntArray
) -> NodeClasses:
    """Return the node classes of a problem, see :class:`.problem.Problem`."""
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
    where = column[held_node[seen]]
    amount = held_amount[seen]
    np.subtract.at(change, (np.searchsorted(times, held_from[seen]), where), amount)
    np.add.at(change, (np.searchsorted(times, held_to[seen]), where), amount)
    return NodeClasses(members, begin, capacity[heads], times, np.cumsum(change, axis=0))


def classes_now(free: IntArray) -> NodeClasses:
    """Return the classes of nodes with equal free amounts. Shape (nodes, resources), with one step."""
    first, label = equal_rows(free)
    begin = np.append(0, np.cumsum(np.bincount(label, minlength=len(first))))
    short = label.astype(np.uint16) if len(first) < 2**16 else label  # numpy sorts 16-bit integers in one pass.
    members = np.argsort(short, kind="stable")
    zero = np.zeros(1, dtype=np.int64)
    return NodeClasses(members, begin, free[first], zero, free[None, first])


@names_wrong_types
def equal_rows(rows: IntArray) -> tuple[IntArray, IntArray]:
    """Return the first row of each kind of equal rows, and the kind of every row.

    Kinds ascend by their columns. Same result as ``numpy.unique`` with ``axis=0``, without sorting the rows.

    Parameters
    ----------
    rows
        Shape (rows, columns).
    """
    first = np.empty(len(rows), dtype=np.int64)
    label = np.empty(len(rows), dtype=np.int64)
    first = first[: tell_apart_kinds(np.array(rows, dtype=np.int64, order="C"), first, label)]
    order = np.lexsort(rows[first].T[::-1]) if rows.shape[1] else np.arange(len(first))
    rank = np.empty(len(first), dtype=np.int64)
    rank[order] = np.arange(len(first))
    return first[order], rank[label]


@compiled
def tell_apart_kinds(rows: IntArray, first: IntArray, label: IntArray) -> int:
    """Number the kinds of rows in order of occurrence. Return how many kinds exist.

    Fills `first` with the first row of each kind and `label` with the kind of each row.
    """
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
    """Return numbers from 0, equal for equal rows, shape (rows,)."""
    return equal_rows(rows)[1]


def _alike(alike: IntArray, held_node: IntArray, kind: IntArray) -> IntArray:
    """Return numbers that are equal for nodes with equal numbers in `alike` and equal kinds of occupied rows.

    Reads the rows of a node in sequence, for all nodes at a time.
    """
    order = np.lexsort((kind, held_node))
    node, kind = held_node[order], kind[order]
    begin = np.searchsorted(node, np.arange(len(alike) + 1))
    held = np.diff(begin)
    base = int(kind.max(initial=0)) + 1
    unused = int(alike.max(initial=0)) + 1
    for level in range(int(held.max(initial=0))):
        nodes = np.flatnonzero(held > level)
        pairs, label = np.unique(alike[nodes] * base + kind[begin[nodes] + level], return_inverse=True)
        alike[nodes] = unused + label
        unused += len(pairs)
    return alike
