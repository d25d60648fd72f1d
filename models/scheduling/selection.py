"""Compiled selections: jobs that fit, the first few by a key, and orders by weight."""

import numpy as np

from ...base import BoolArray, FloatArray, IntArray
from ..compiled import compiled


@compiled
def fitting(need: IntArray, free: IntArray) -> tuple[BoolArray, int, bool]:
    """Return which jobs fit alone, how many, and whether all fit together.

    Parameters
    ----------
    need
        Amounts of each job, shape (jobs, resources).
    free
        Free amounts, shape (resources,).
    """
    fits = np.ones(len(need), dtype=np.bool_)
    for resource in range(len(free)):
        room = free[resource]
        for job in range(len(need)):
            fits[job] &= need[job, resource] <= room
    count, together = 0, True
    for job in range(len(need)):
        count += fits[job]
    for resource in range(len(free)):
        left = free[resource]
        if count == len(need):
            for job in range(len(need)):
                left -= need[job, resource]
        together = together and left >= 0
    return fits, count, together and count == len(need)


@compiled
def first_by(key: FloatArray, among: BoolArray, most: int) -> IntArray:
    """Return the positions of the least keys in ascending order. Ties by position.

    Parameters
    ----------
    key
        Shape (jobs,).
    among
        Which keys count, shape (jobs,).
    most
        Number of positions to return.
    """
    heap = np.empty(min(most, len(key)), dtype=np.int64)  # A heap with the worst of the chosen positions on top.
    count = 0
    if not len(heap):
        return heap
    for place in range(len(key)):
        if not among[place]:
            continue
        if count < len(heap):
            _rise(heap, count, place, key)
            count += 1
        elif key[place] < key[heap[0]]:
            _sink(heap, count, place, key)
    for left in range(count - 1, 0, -1):
        last = heap[0]
        _sink(heap, left, heap[left], key)
        heap[left] = last
    return heap[:count]


@compiled
def _after(place: int, other: int, key: FloatArray) -> bool:
    return bool(key[place] > key[other] or (key[place] == key[other] and place > other))


@compiled
def _rise(heap: IntArray, at: int, place: int, key: FloatArray) -> None:
    """Append a position to a heap and move it up."""
    while at > 0 and _after(place, heap[(at - 1) // 2], key):
        heap[at] = heap[(at - 1) // 2]
        at = (at - 1) // 2
    heap[at] = place


@compiled
def _sink(heap: IntArray, size: int, place: int, key: FloatArray) -> None:
    """Replace the top of a heap of `size` positions by another and move that down."""
    at, child = 0, 1
    while child < size:
        if child + 1 < size and _after(heap[child + 1], heap[child], key):
            child += 1
        if not _after(heap[child], place, key):
            break
        heap[at] = heap[child]
        at, child = child, 2 * child + 1
    heap[at] = place


@compiled
def copy_range(source: IntArray, target: IntArray, first: int, last: int) -> None:
    """Copy the elements [`first`, `last`). numba compiles this much faster than an assignment of slices."""
    for place in range(first, last):
        target[place] = source[place]


@compiled
def stable_order(key: FloatArray | IntArray) -> IntArray:
    """Return the positions of the keys in ascending order, ties by position, by merge sort."""
    count, width = len(key), 1
    order = np.empty(count, dtype=np.int64)
    merged = np.empty(count, dtype=np.int64)
    for place in range(count):
        order[place] = place
    while width < count:
        for begin in range(0, count, 2 * width):
            left = begin
            middle = min(begin + width, count)
            end = min(begin + 2 * width, count)
            right = middle
            for place in range(begin, end):
                if left < middle and (right == end or key[order[left]] <= key[order[right]]):
                    merged[place] = order[left]
                    left += 1
                else:
                    merged[place] = order[right]
                    right += 1
        order, merged = merged, order
        width *= 2
    return order


@compiled
def by_falling_weight(weight: FloatArray, duration: IntArray, share: FloatArray, orders: IntArray) -> None:
    """Fill the first four of `orders`: by weight per work, per second, per share of the machine, and alone.

    For a linear cost of starts, the first is Smith's rule for the whole machine. Ties keep their order.
    """
    key = np.empty(len(weight))
    for rule in range(4):
        for job in range(len(weight)):
            part = max(share[job], 1e-12)
            unit = 1.0
            if rule == 0:
                unit = duration[job] * part
            elif rule == 1:
                unit = float(duration[job])
            elif rule == 2:
                unit = part
            key[job] = -weight[job] / unit
        copy_range(stable_order(key), orders[rule], 0, len(key))
