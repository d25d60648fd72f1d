"""List scheduling and EASY backfilling where what is free is one number: units of a pool, or slots of one kind.

A job takes ``nodes * unit`` of the free amount. Every function reads the columns of a queue, arrays of shape (jobs,) in
order of submission, and returns the places in the queue of who starts, in the order in which they are to start.
"""

from __future__ import annotations

import numpy as np

from ...base import BoolArray, FloatArray, IntArray
from ..compiled import compiled

#: How many times the least key is looked for before the rest is sorted.
_SELECTIONS = 6


@compiled
def fill_in_order(free: int, nodes: IntArray, unit: IntArray) -> int:
    """Return how many jobs from the head on fit one after the other: the first that does not fit ends it."""
    count = 0
    for place in range(len(nodes)):
        free -= nodes[place] * unit[place]
        if free < 0:
            break
        count += 1
    return count


@compiled
def fill_smallest_first(free: int, nodes: IntArray, unit: IntArray, key: FloatArray, skip: bool) -> IntArray:
    """Return who starts by least key, ties by place; with `skip` whoever fits, else until one does not fit.

    Looking for the least costs a pass over the queue a job, and few start at a time; the keys are put into a heap only
    if many do.
    """
    taken = np.zeros(len(nodes), dtype=np.bool_)
    chosen = np.empty(len(nodes), dtype=np.int64)
    count = 0
    while count < _SELECTIONS:
        best = _least(free, nodes, unit, key, taken, skip)
        if best < 0 or nodes[best] * unit[best] > free:
            return chosen[:count]
        taken[best] = True
        chosen[count] = best
        count += 1
        free -= nodes[best] * unit[best]
    heap = np.flatnonzero(~taken)
    size = make_heap(heap, key)
    while size and free > 0:
        best = heap[0]
        size = drop_first(heap, size, key)
        amount = nodes[best] * unit[best]
        if amount <= free:
            chosen[count] = best
            count += 1
            free -= amount
        elif not skip:
            break
    return chosen[:count]


@compiled
def _least(free: int, nodes: IntArray, unit: IntArray, key: FloatArray, taken: BoolArray, skip: bool) -> int:
    """Return the first of the least key, of those that fit where others are skipped; -1 if there is none."""
    best, least = -1, np.inf
    for place in range(len(nodes)):
        if key[place] < least and not taken[place] and (not skip or nodes[place] * unit[place] <= free):
            best, least = place, key[place]
    return best


@compiled
def backfill(
    now: int,
    free: int,
    nodes: IntArray,
    unit: IntArray,
    predicted: IntArray,
    ends: IntArray,
    held: IntArray,
    shortest: bool,
) -> IntArray:
    """Return who starts under EASY backfilling (Lifka, JSSPP 1995; Mu'alem and Feitelson, TPDS 2001).

    Parameters
    ----------
    now, free
        Time, seconds, and what is free.
    nodes, unit, predicted
        Of the waiting jobs; predictions in seconds, at least 1.
    ends, held
        Of the running jobs, in order of the predicted end, seconds: that end, and what is freed then.
    shortest
        Whether the jobs behind the blocked one are tried in order of their predictions, ties by place, and not in order
        of submission.
    """
    chosen = np.empty(len(nodes), dtype=np.int64)
    ahead = fill_in_order(free, nodes, unit)
    for place in range(ahead):
        chosen[place] = place
        free -= nodes[place] * unit[place]
    if ahead >= len(nodes) - 1 or free == 0:
        return chosen[:ahead]
    if not _anyone_fits(free, ahead, nodes, unit):
        return chosen[:ahead]
    shadow, spare = _reservation(now, free - nodes[ahead] * unit[ahead], ahead, nodes, unit, predicted, ends, held)
    tried = np.empty(len(nodes) - ahead, dtype=np.int64)
    size = 0
    for place in range(ahead + 1, len(nodes)):
        amount = nodes[place] * unit[place]
        if amount <= free and (amount <= spare or now + predicted[place] <= shadow):
            tried[size] = place
            size += 1
    if shortest:
        make_heap(tried[:size], predicted)
    count, place = ahead, 0
    while size > 0 and free > 0:
        first = tried[0] if shortest else tried[place]
        place += 1
        size = drop_first(tried, size, predicted) if shortest else size - 1
        amount = nodes[first] * unit[first]
        late = now + predicted[first] > shadow
        if amount <= free and not (late and amount > spare):
            spare -= amount if late else 0
            free -= amount
            chosen[count] = first
            count += 1
    return chosen[:count]


@compiled
def _anyone_fits(free: int, blocked: int, nodes: IntArray, unit: IntArray) -> bool:
    """Return whether some job behind the blocked one fits."""
    place = blocked + 1
    while place < len(nodes) and nodes[place] * unit[place] > free:
        place += 1
    return place < len(nodes)


@compiled
def _reservation(
    now: int,
    spare: int,
    ahead: int,
    nodes: IntArray,
    unit: IntArray,
    predicted: IntArray,
    ends: IntArray,
    held: IntArray,
) -> tuple[int, int]:
    """Return the shadow time of the blocked job and what it leaves then, beside the `ahead` jobs that start now."""
    shorter = np.arange(ahead)
    left = make_heap(shorter, predicted)
    shadow, run = now, 0
    while run < len(ends) or left > 0:
        started = left > 0 and (run == len(ends) or now + predicted[shorter[0]] < ends[run])
        end = now + predicted[shorter[0]] if started else max(ends[run], now + 1)
        if spare >= 0 and end > shadow:
            break
        shadow = end
        if started:
            spare += nodes[shorter[0]] * unit[shorter[0]]
            left = drop_first(shorter, left, predicted)
        else:
            spare += held[run]
            run += 1
    return shadow, spare


@compiled
def make_heap(places: IntArray, key: IntArray | FloatArray) -> int:
    """Order places so that the first has the least key, ties by place, and can be dropped; return how many they are."""
    for place in range(len(places) // 2 - 1, -1, -1):
        _sink(places, place, len(places), key)
    return len(places)


@compiled
def drop_first(places: IntArray, size: int, key: IntArray | FloatArray) -> int:
    """Take out the first of `size` places in a heap; return how many are left."""
    places[0] = places[size - 1]
    _sink(places, 0, size - 1, key)
    return size - 1


@compiled
def _sink(places: IntArray, parent: int, size: int, key: IntArray | FloatArray) -> None:
    moved = places[parent]
    while True:
        child = 2 * parent + 1
        if child >= size:
            break
        if child + 1 < size:
            left, right = places[child], places[child + 1]
            if key[right] < key[left] or (key[right] == key[left] and right < left):
                child += 1
        if key[moved] < key[places[child]] or (key[moved] == key[places[child]] and moved < places[child]):
            break
        places[parent] = places[child]
        parent = child
    places[parent] = moved
