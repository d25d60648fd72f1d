"""List scheduling and EASY backfilling where what is free is one number: units of a pool, or slots of one kind.

Every function reads a :class:`.QueueTree` and leaves it as it was. The jobs that start are returned as their places
there, in the order in which they are to start.
"""

from __future__ import annotations

import numpy as np

from ...base import IntArray
from ..compiled import compiled
from .queue_tree import (
    AMOUNT,
    LENGTH,
    QueueTree,
    best_allowed,
    next_allowed,
    next_fitting,
    no_limit,
    put_back,
    set_aside,
)


@compiled
def fill_best_first(tree: QueueTree, free: int, now: int, expansion: bool, skip: bool) -> IntArray:
    """Return who starts, the shortest or the one with the largest expansion factor first, ties by place.

    With `skip` whoever fits, else until one does not.
    """
    chosen, count, never = np.empty(tree.nodes[0, 1], dtype=np.int64), 0, no_limit()
    while True:
        place = best_allowed(tree, free if skip else never, never, never, now, expansion)
        if place < 0 or tree.places[place, AMOUNT] > free:
            break
        chosen[count] = place
        count += 1
        free -= tree.places[place, AMOUNT]
        set_aside(tree, place)
    for place in chosen[:count]:
        put_back(tree, place)
    return chosen[:count]


@compiled
def start_of_queue(tree: QueueTree, free: int) -> tuple[IntArray, int, int]:
    """Return the places of those that fit from the head on, what they leave free, and the place of who does not.

    That is -1 if there is none, or if nobody behind it fits.
    """
    ahead = np.empty(tree.nodes[0, 1], dtype=np.int64)
    first = 0 * free  # No constant, for which the search would be compiled anew.
    if next_fitting(tree, first, free) < 0:
        return ahead[:0], free, -1
    count, blocked = 0, next_fitting(tree, first, no_limit())
    while blocked >= 0 and tree.places[blocked, AMOUNT] <= free:
        ahead[count] = blocked
        count += 1
        free -= tree.places[blocked, AMOUNT]
        blocked = next_fitting(tree, blocked + 1, no_limit())
    if blocked < 0 or free == 0 or next_fitting(tree, blocked + 1, free) < 0:
        blocked = -1
    return ahead[:count], free, blocked


@compiled
def reservation(now: int, spare: int, ends: IntArray, held: IntArray) -> tuple[int, int]:
    """Return the shadow time of the job that is blocked, and what it leaves then.

    Parameters
    ----------
    now, spare
        Time, seconds, and what is free less what the job takes.
    ends, held
        Of the running jobs, in order of the predicted end, seconds: that end, and what is freed then.
    """
    shadow = now
    for run in range(len(ends)):
        end = max(ends[run], now + 1)
        if spare >= 0 and end > shadow:
            break
        shadow = end
        spare += held[run]
    return shadow, spare


@compiled
def backfill(tree: QueueTree, free: int, blocked: int, spare: int, limit: int) -> IntArray:
    """Return who starts behind the blocked job in order of submission.

    As EASY backfilling has it (Lifka, JSSPP 1995; Mu'alem and Feitelson, TPDS 2001).

    Parameters
    ----------
    tree, free
        The queue, and what is free beside those ahead of the blocked job. Lengths are predictions in seconds.
    blocked
        The place of the first job that does not fit.
    spare, limit
        What that job leaves at its shadow time, and the seconds until then.
    """
    chosen, count, place = np.empty(tree.nodes[0, 1], dtype=np.int64), 0, blocked
    while free > 0:
        place = next_allowed(tree, place + 1, free, spare, limit)
        if place < 0:
            break
        chosen[count] = place
        count += 1
        amount = tree.places[place, AMOUNT]
        spare -= amount if tree.places[place, LENGTH] > limit else 0
        free -= amount
    return chosen[:count]


@compiled
def backfill_shortest_first(
    tree: QueueTree, free: int, ahead: IntArray, blocked: int, spare: int, limit: int, expansion: bool
) -> IntArray:
    """As :func:`backfill`, in order of the predictions, ties by place (Tsafrir, Etsion and Feitelson, TPDS 2007).

    `ahead` are the places before the blocked one, which start as well.
    """
    chosen, count = np.empty(tree.nodes[0, 1], dtype=np.int64), 0
    for place in ahead:
        set_aside(tree, place)
    set_aside(tree, blocked)
    while free > 0:
        place = best_allowed(tree, free, spare, limit, limit, expansion)
        if place < 0:
            break
        set_aside(tree, place)
        chosen[count] = place
        count += 1
        amount = tree.places[place, AMOUNT]
        spare -= amount if tree.places[place, LENGTH] > limit else 0
        free -= amount
    for place in chosen[:count]:
        put_back(tree, place)
    for place in ahead:
        put_back(tree, place)
    put_back(tree, blocked)
    return chosen[:count]
