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
#: How many searches in vain are remembered, a power of two.
_REMEMBERED = 1024


class Rows(NamedTuple):
    """A binary tree over blocks of rows: node 1 is the root, those of node n are 2 n and 2 n + 1.

    Attributes
    ----------
    amount
        Least amount of the rows of each node, :data:`.NEVER` if there is none.
    start
        Latest start of them, -1 if there is none.
    """

    amount: IntArray
    start: IntArray


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
        The most that was free at once from `low` to `high`, when it was looked up last.
    seen, known
        How many freed intervals there were when `low` and `high`, and `room`, were set.
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
    """Give a reservation another start."""
    amount, before, end = reserved.amount[row], reserved.start[row], reserved.end[row]
    note(freed, before, end)
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
    rows, passes = _open_rows(reserved), _open_passes(reserved, freed, now)
    vain = np.full((_REMEMBERED, 6), -1, dtype=np.int64)
    last, row = 0, 0
    while last >= 0 and freed.size[0] < len(freed.start):
        _look_up(now, profile, freed, passes, last)
        row = _next_row(rows, reserved, row, passes.room[last], passes.low[last] if kept else now)
        if row < 0 or row > passes.end[last]:
            row = passes.end[last] + 1
            last -= 1
            continue
        found = _find(now, profile, reserved, row, (passes.low[last], passes.high[last]), freed.size[0], vain, kept)
        if found < 0:
            row += 1
            continue
        if row < passes.end[last]:
            last += 1
        count = freed.size[0]
        passes.end[last], passes.seen[last], passes.known[last] = row, count, -1
        passes.low[last], passes.high[last] = NEVER, 0
        _move(profile, reserved, row, found, freed)
        _set_path(rows, reserved, row)
        row = 0
    return last >= 0


@compiled
def _open_passes(reserved: Table, freed: Freed, now: int) -> Pass:
    """Return the traversals, the first of which asks every row for all that is freed."""
    most = reserved.rows[0] + 1
    end, low, high = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    room, seen, known = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    end[0], low[0], high[0], room[0], seen[0], known[0] = most - 2, NEVER, 0, 0, 0, -1
    return Pass(end, low, high, room, seen, known)


@compiled
def _look_up(now: int, profile: Profile, freed: Freed, passes: Pass, index: int) -> None:
    """Bring a traversal up to date with what was freed since it was stopped."""
    count = freed.size[0]
    if passes.known[index] == count:
        return
    for interval in range(passes.seen[index], count):
        passes.low[index] = min(passes.low[index], max(now, freed.start[interval]))
        passes.high[index] = max(passes.high[index], freed.end[interval])
    passes.seen[index] = passes.known[index] = count
    passes.room[index] = peak(profile, passes.low[index], passes.high[index])


@compiled
def _find(
    now: int,
    profile: Profile,
    reserved: Table,
    row: int,
    span: tuple[int, int],
    count: int,
    vain: IntArray,
    kept: bool,
) -> int:
    """Return an earlier start at which a reservation would use something of the span; -1 if there is none.

    The jobs of an array are alike. Where one of them found none, up to its own start, those with a later start find
    none, as long as nothing was freed; `vain` has, by amount and duration, where that was.
    """
    amount, start, duration = reserved.amount[row], reserved.start[row], reserved.end[row] - reserved.start[row]
    after, before = max(now, span[0] - duration + 1), min(start, span[1])
    slot = vain[(duration + 1021 * amount) & (_REMEMBERED - 1)]
    first = after
    if kept and slot[0] == amount and slot[1] == duration and slot[2] == count and slot[3] <= after:
        if start >= slot[5] and slot[4] > after:
            first, after = slot[3], slot[4]
    if after >= before:
        return -1
    found = earliest(profile, amount, duration, after, before, start)
    if found < 0:
        slot[0], slot[1], slot[2], slot[3], slot[4], slot[5] = amount, duration, count, first, before, start
    return found


@compiled
def _open_rows(reserved: Table) -> Rows:
    """Return the tree over the rows of those that may move."""
    blocks, count = 1, reserved.rows[0]
    while blocks * _BLOCK < count:
        blocks *= 2
    rows = Rows(np.empty(2 * blocks, dtype=np.int64), np.empty(2 * blocks, dtype=np.int64))
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
def _next_row(rows: Rows, reserved: Table, first: int, amount: int, start: int) -> int:
    """Return the first row from `first` on that may move, takes at most `amount` and begins after `start`; else -1."""
    leaves = len(rows.amount) // 2
    node = first // _BLOCK + leaves
    while node < 2 * leaves:
        if rows.amount[node] <= amount and rows.start[node] > start:
            if node < leaves:
                node *= 2
                continue
            block = (node - leaves) * _BLOCK
            for row in range(max(first, block), min(block + _BLOCK, reserved.rows[0])):
                fits = reserved.order[row] >= 0 and reserved.amount[row] <= amount
                if fits and reserved.start[row] > start and not reserved.away[row]:
                    return row
        while node & 1:
            node //= 2
        if node == 0:
            break
        node += 1
    return -1
