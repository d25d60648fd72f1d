"""Jobs with reservations that are alike, compiled: those of the same amount and duration.

Of two of them the one booked first begins first, and whatever start the later one could have, the former could have
too if it is before its own. So a search is for all of them: a start that the first one that begins later cannot have,
none of them can. That holds as well where more was promised than there is.
"""

from __future__ import annotations

import numpy as np

from ...base import IntArray
from ..compiled import compiled
from .pool_profile import NEVER
from .reservation_table import Table

#: Columns of the kinds of jobs: amount and duration; which of the members are of that kind, from one on, before
#: another; and what is still to be tried for them: starts from one on, before another, first by a row.
AMOUNT, DURATION, FIRST, STOP, FROM, UNTIL, ROW = range(7)


@compiled
def open_kinds(now: int, reserved: Table) -> tuple[IntArray, IntArray]:
    """Return the kinds of jobs and the rows that may move by kind, each in order of booking.

    Where one that was booked later begins earlier, it opens a kind of its own.
    """
    rows = reserved.rows[0]
    size = 64
    while size < 2 * rows:
        size *= 2
    slots, kind_of = np.full(size, -1, dtype=np.int64), np.full(rows, -1, dtype=np.int64)
    kinds, last, count = np.empty((rows, 7), dtype=np.int64), np.empty(rows, dtype=np.int64), 0
    for row in range(rows):
        amount, start, duration = reserved.amount[row], reserved.start[row], reserved.end[row] - reserved.start[row]
        if reserved.order[row] < 0 or reserved.away[row] or start <= now:
            continue
        slot = (duration + 1021 * amount) & (size - 1)
        kind = slots[slot]
        while kind >= 0 and (kinds[kind, AMOUNT] != amount or kinds[kind, DURATION] != duration):
            slot = (slot + 1) & (size - 1)
            kind = slots[slot]
        if kind < 0 or last[kind] > start:
            slots[slot] = kind = count
            kinds[kind, AMOUNT], kinds[kind, DURATION], kinds[kind, STOP] = amount, duration, 0
            kinds[kind, FROM], kinds[kind, UNTIL], kinds[kind, ROW] = NEVER, 0, NEVER
            count += 1
        last[kind], kind_of[row] = start, kind
        kinds[kind, STOP] += 1
    return kinds[:count], _members(kinds[:count], kind_of)


@compiled
def _members(kinds: IntArray, kind_of: IntArray) -> IntArray:
    """Return the rows by kind, and set where those of each kind are; at first `kinds` has how many there are."""
    stop = 0
    for kind in kinds:
        stop += kind[STOP]
        kind[FIRST] = kind[STOP] = stop - kind[STOP]
    members = np.empty(stop, dtype=np.int64)
    for row in range(len(kind_of)):
        if kind_of[row] >= 0:
            kind = kinds[kind_of[row]]
            members[kind[STOP]] = row
            kind[STOP] += 1
    return members


@compiled
def first_after(members: IntArray, first: int, stop: int, row: int) -> int:
    """Return the first of the members from `first` on, before `stop`, that is after a row; `stop` if there is none."""
    while first < stop:
        middle = (first + stop) // 2
        if members[middle] > row:
            stop = middle
        else:
            first = middle + 1
    return first


@compiled
def first_later(reserved: Table, members: IntArray, first: int, stop: int, time: int) -> int:
    """Return the first of the members from `first` on, before `stop`, that begins after a time."""
    while first < stop:
        middle = (first + stop) // 2
        if reserved.start[members[middle]] > time:
            stop = middle
        else:
            first = middle + 1
    return first
