"""Compiled heap of numbers in arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ....base import IntArray
from ....models.compiled import borrowing


class RankedHeap(NamedTuple):
    """Numbers ordered by two ranks, least first.

    Attributes
    ----------
    rows
        Both ranks and the number of each entry, shape (3, most). The first is the least.
    size
        Number of entries, shape (1,).
    """

    rows: IntArray
    size: IntArray


def open_heap(most: int) -> RankedHeap:
    """Return an empty heap with room for `most` entries."""
    return RankedHeap(np.empty((3, most), dtype=np.int64), np.zeros(1, dtype=np.int64))


@borrowing
def push(heap: RankedHeap, rank: int, second: int, number: int) -> None:
    """Add a number."""
    rows, place = heap.rows, heap.size[0]
    heap.size[0] += 1
    while place > 0:
        parent = (place - 1) // 2
        if rows[0, parent] < rank or (rows[0, parent] == rank and rows[1, parent] < second):
            break
        _copy(rows, parent, place)
        place = parent
    rows[0, place] = rank
    rows[1, place] = second
    rows[2, place] = number


@borrowing
def pop(heap: RankedHeap) -> int:
    """Remove and return the first number."""
    rows, number = heap.rows, heap.rows[2, 0]
    heap.size[0] -= 1
    last, place = heap.size[0], 0
    while 2 * place + 1 < last:
        child = 2 * place + 1
        if child + 1 < last and _before(rows, child + 1, child):
            child += 1
        if not _before(rows, child, last):
            break
        _copy(rows, child, place)
        place = child
    _copy(rows, last, place)
    return int(number)


@borrowing
def _before(rows: IntArray, one: int, other: int) -> bool:
    return bool(rows[0, one] < rows[0, other] or (rows[0, one] == rows[0, other] and rows[1, one] < rows[1, other]))


@borrowing
def _copy(rows: IntArray, source: int, target: int) -> None:
    for row in range(3):
        rows[row, target] = rows[row, source]
