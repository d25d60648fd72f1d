"""How reservations move up into what was freed, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...base import IntArray
from ..compiled import compiled
from .pool_profile import NEVER, Profile, earliest, peak, release
from .reservation_table import Freed, Table, note

#: Rows a leaf of the tree over the rows.
_BLOCK = 8
#: How many searches are remembered, a power of two, and what of each.
_REMEMBERED = 4096
_AMOUNT, _DURATION, _LOW, _START, _UNTIL, _COUNT = range(6)


class Rows(NamedTuple):
    """A binary tree over blocks of rows: node 1 is the root, those of node n are 2 n and 2 n + 1.

    Attributes
    ----------
    amount
        Least amount of the rows of each node, :data:`.NEVER` if there is none.
    start
        Latest start of them, -1 if there is none.
    slot
        Where in `vain` the searches for jobs like that of each row are noted.
    vain
        Of searches: the amount, the duration, the first start and the own start that it was for, up to where there was
        none, and how many freed intervals there were; shape (:data:`_REMEMBERED`, 6).
    """

    amount: IntArray
    start: IntArray
    slot: IntArray
    vain: IntArray


class Pass(NamedTuple):
    """Traversals of the rows that wait for one another, the last one first.

    A reservation that moves stops the traversal that came to it until the rows up to its own were asked whether they
    want what it gave up.

    Attributes
    ----------
    end
        The last row that is asked.
    low, high
        First start and last end of the freed intervals that it may use; `low` not before now.
    room
        At least the most that is free at once from `low` to `high`.
    seen, known
        How many freed intervals there were when these were set, and when `room` was just that.
    """

    end: IntArray
    low: IntArray
    high: IntArray
    room: IntArray
    seen: IntArray
    known: IntArray


@compiled
def compress_once(now: int, profile: Profile, reserved: Table, freed: Freed) -> None:
    """Traverse the reservations once and move each that fits earlier."""
    for row in range(reserved.rows[0]):
        start, end = reserved.start[row], reserved.end[row]
        if reserved.order[row] >= 0 and start > now and not reserved.away[row]:
            found = earliest(profile, reserved.amount[row], end - start, now, start, start)
            if found >= 0:
                _move(profile, reserved, row, found, freed)


@compiled
def _move(profile: Profile, reserved: Table, row: int, start: int, freed: Freed) -> None:
    """Give a reservation an earlier start; what it holds before and after is not freed."""
    amount, before, end = reserved.amount[row], reserved.start[row], reserved.end[row]
    note(freed, max(before, start + end - before), end)
    release(profile, before, end, amount)
    reserved.start[row], reserved.end[row] = start, start + end - before
    release(profile, start, reserved.end[row], -amount)


@compiled
def compress_until_stable(now: int, profile: Profile, reserved: Table, freed: Freed) -> bool:
    """Move the first reservation that fits earlier, again from the head, until nothing moves.

    Returns whether `freed` is full before that; given a longer one, it goes on. Nothing could move before the intervals
    in `freed` were freed, so that a job can only move to a start at which it would use one of them that has not been
    tried for it yet. One that begins after the job's own start is of no use to it, unless more was promised than there
    is: from that start on it has what it needs. So a row is asked again only for what was freed since, and only if it
    takes at most what is free there.
    """
    if reserved.rows[0] == 0:
        return False
    kept = bool(profile.free[: profile.steps[0]].min() >= 0)
    rows, passes = _open_rows(reserved), _open_passes(reserved)
    last, row = 0, 0
    while last >= 0 and freed.size[0] < len(freed.start):
        _look_up(now, profile, freed, passes, last)
        row = _next_row(rows, reserved, row, passes, last, passes.low[last] if kept else now)
        if row < 0 or row > passes.end[last]:
            row = passes.end[last] + 1
            last -= 1
            continue
        found = _find(now, profile, reserved, row, passes, last, freed, rows, kept)
        if found < 0:
            _set_room(profile, passes, last)
            row += 1
            continue
        if row < passes.end[last]:
            last += 1
        passes.end[last], passes.seen[last], passes.known[last] = row, freed.size[0], freed.size[0]
        passes.low[last], passes.high[last], passes.room[last] = NEVER, 0, -1
        _move(profile, reserved, row, found, freed)
        _set_path(rows, reserved, row)
        row = 0
    return last >= 0


@compiled
def _open_passes(reserved: Table) -> Pass:
    """Return the traversals, the first of which asks every row for all that is freed."""
    most = reserved.rows[0] + 1
    end, low, high = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    room, seen, known = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    end[0], low[0], high[0], room[0], seen[0], known[0] = most - 2, NEVER, 0, -1, 0, 0
    return Pass(end, low, high, room, seen, known)


@compiled
def _look_up(now: int, profile: Profile, freed: Freed, passes: Pass, index: int) -> None:
    """Bring a traversal up to date with what was freed since it was stopped."""
    for interval in range(passes.seen[index], freed.size[0]):
        start, end = max(now, freed.start[interval]), freed.end[interval]
        passes.low[index], passes.high[index] = min(passes.low[index], start), max(passes.high[index], end)
        passes.room[index] = max(passes.room[index], peak(profile, start, end))
    passes.seen[index] = freed.size[0]


@compiled
def _set_room(profile: Profile, passes: Pass, index: int) -> None:
    """Look up what is free at once in the intervals of a traversal, if something moved since."""
    if passes.known[index] != passes.seen[index]:
        passes.known[index] = passes.seen[index]
        passes.room[index] = peak(profile, passes.low[index], passes.high[index])


@compiled
def _find(
    now: int,
    profile: Profile,
    reserved: Table,
    row: int,
    passes: Pass,
    index: int,
    freed: Freed,
    rows: Rows,
    kept: bool,
) -> int:
    """Return an earlier start at which a reservation would use something of what is freed; -1 if there is none.

    The jobs of an array are alike. Where there is none for one of them, up to its own start, there is none for those
    with a later start, as long as nothing was freed there: `rows.vain` has up to where that is so.
    """
    amount, start, duration = reserved.amount[row], reserved.start[row], reserved.end[row] - reserved.start[row]
    low, count = passes.low[index], freed.size[0]
    after, before = max(now, low - duration + 1), min(start, passes.high[index])
    if after >= before:
        return -1
    vain = rows.vain[rows.slot[row]]
    first = after
    if vain[_AMOUNT] == amount and vain[_DURATION] == duration and vain[_LOW] <= low and start >= vain[_START]:
        if vain[_COUNT] == count:
            first = max(after, vain[_UNTIL])
        elif vain[_COUNT] == count - 1:
            first = max(after, min(vain[_UNTIL], freed.start[count - 1] - duration + 1))
    found = -1 if first >= before else earliest(profile, amount, duration, first, before, start)
    if kept:
        vain[_AMOUNT], vain[_DURATION], vain[_COUNT], vain[_START] = amount, duration, count, start
        vain[_LOW], vain[_UNTIL] = low, before if found < 0 else found
    return found


@compiled
def _open_rows(reserved: Table) -> Rows:
    """Return the tree over the rows of those that may move."""
    blocks, count = 1, reserved.rows[0]
    while blocks * _BLOCK < count:
        blocks *= 2
    vain = np.full((_REMEMBERED, 6), -1, dtype=np.int64)
    rows = Rows(np.empty(2 * blocks, np.int64), np.empty(2 * blocks, np.int64), np.empty(count, np.int64), vain)
    for row in range(count):
        duration = reserved.end[row] - reserved.start[row]
        rows.slot[row] = (duration + 1021 * reserved.amount[row]) & (_REMEMBERED - 1)
    for block in range(blocks):
        _set_leaf(rows, reserved, block)
    for node in range(blocks - 1, 0, -1):
        _join(rows, node)
    return rows


@compiled
def _set_leaf(rows: Rows, reserved: Table, block: int) -> None:
    amount, start = NEVER, -1
    for row in range(block * _BLOCK, min((block + 1) * _BLOCK, reserved.rows[0])):
        if reserved.order[row] >= 0 and not reserved.away[row]:
            amount, start = min(amount, reserved.amount[row]), max(start, reserved.start[row])
    node = block + len(rows.amount) // 2
    rows.amount[node], rows.start[node] = amount, start


@compiled
def _join(rows: Rows, node: int) -> None:
    rows.amount[node] = min(rows.amount[2 * node], rows.amount[2 * node + 1])
    rows.start[node] = max(rows.start[2 * node], rows.start[2 * node + 1])


@compiled
def _set_path(rows: Rows, reserved: Table, row: int) -> None:
    """Set the nodes above a row."""
    block = row // _BLOCK
    _set_leaf(rows, reserved, block)
    node = (block + len(rows.amount) // 2) // 2
    while node > 0:
        _join(rows, node)
        node //= 2


@compiled
def _next_row(rows: Rows, reserved: Table, first: int, passes: Pass, index: int, start: int) -> int:
    """Return the first row from `first` on whose job may fit earlier, and begins after `start`; -1 if there is none."""
    leaves, amount = len(rows.amount) // 2, passes.room[index]
    node = first // _BLOCK + leaves
    while node < 2 * leaves:
        if rows.amount[node] <= amount and rows.start[node] > start:
            if node < leaves:
                node *= 2
                continue
            block = (node - leaves) * _BLOCK
            for row in range(max(first, block), min(block + _BLOCK, reserved.rows[0])):
                fits = reserved.order[row] >= 0 and reserved.amount[row] <= amount and reserved.start[row] > start
                if fits and not reserved.away[row] and not _is_vain(rows, reserved, row, passes, index):
                    return row
        while node & 1:
            node //= 2
        if node == 0:
            break
        node += 1
    return -1


@compiled
def _is_vain(rows: Rows, reserved: Table, row: int, passes: Pass, index: int) -> bool:
    """Return whether one like it was found to fit nowhere, and nothing was freed since."""
    vain, start = rows.vain[rows.slot[row]], reserved.start[row]
    alike = vain[_AMOUNT] == reserved.amount[row] and vain[_DURATION] == reserved.end[row] - start
    known = vain[_COUNT] == passes.seen[index] and vain[_LOW] <= passes.low[index]
    return bool(alike and known and start >= vain[_START] and vain[_UNTIL] >= min(start, passes.high[index]))
