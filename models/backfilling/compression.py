"""How reservations move up into what was freed, compiled.

What the traversals need of the reservations is in few arrays, since every array that is handed on costs time. The rows
of the reservations are those of the table; `nodes` is a binary tree over blocks of them: node 1 is the root, those of
node n are 2 n and 2 n + 1.
"""

from __future__ import annotations

import numpy as np

from ...base import IntArray
from ..compiled import compiled
from .pool_profile import NEVER, Profile, earliest, peak, release
from .reservation_table import Freed, Table, note

#: Columns of the rows: the amount, :data:`.NEVER` for one that may not move, the start, the duration, and where in
#: `vain` the searches for jobs like that are noted.
_AMOUNT, _START, _DURATION, _SLOT = range(4)
#: Columns of the traversals. They wait for one another, the last goes on first: a reservation that moves stops the one
#: that came to it until the rows up to its own were asked whether they want what it gave up. Each has the last row to
#: ask; the first start (not before now) and the last end of the freed intervals to be used; at least the most that is
#: free at once in them; and how many freed intervals there were when these were set, and when the most was just that.
_LAST, _LOW, _HIGH, _ROOM, _SEEN, _KNOWN = range(6)
#: Columns of the searches, after amount, start and duration of the row: from where on was looked, up to where there was
#: no start, and how many freed intervals there were.
_FROM, _UNTIL, _COUNT = range(3, 6)
#: How many searches are noted, a power of two.
_NOTED = 1024
#: Rows a leaf of the tree.
_BLOCK = 8


@compiled
def compress_once(now: int, profile: Profile, reserved: Table, freed: Freed) -> None:
    """Traverse the reservations once and move each that fits earlier."""
    for row in range(reserved.rows[0]):
        amount, start, end = reserved.amount[row], reserved.start[row], reserved.end[row]
        if reserved.order[row] >= 0 and start > now and not reserved.away[row]:
            found = earliest(profile, amount, end - start, now, start, start)
            if found >= 0:
                _move(profile, amount, (start, found, end - start), freed)
                reserved.start[row], reserved.end[row] = found, found + end - start


@compiled
def _move(profile: Profile, amount: int, times: tuple[int, int, int], freed: Freed) -> None:
    """Give a reservation an earlier start: times are the old and the new one, and the duration."""
    before, after, duration = times
    note(freed, before, before + duration)
    release(profile, before, before + duration, amount)
    release(profile, after, after + duration, -amount)


@compiled
def compress_until_stable(now: int, profile: Profile, reserved: Table, freed: Freed) -> bool:
    """Move the first reservation that fits earlier, again from the head, until nothing moves.

    Returns whether `freed` is full before that; given a longer one, it goes on. Nothing could move before the intervals
    in `freed` were freed, so that a job can only move to a start at which it would use one of them that has not been
    tried for it yet. One that begins after the job's own start is of no use to it, unless more was promised than there
    is: from that start on it has what it needs. So a row is asked again only for what was freed since, and only if it
    takes at most what is free there.
    """
    kept = bool(profile.free[: profile.steps[0]].min() >= 0)
    rows, last, row = _rows(reserved), 0, 0
    nodes, vain = _nodes(rows), np.full((_NOTED, 6), -1, dtype=np.int64)
    passes = np.full((len(rows) + 1, 6), -1, dtype=np.int64)
    _open_pass(passes[0], len(rows) - 1, 0)
    while last >= 0 and freed.size[0] < len(freed.start):
        going = passes[last]
        _look_up(now, profile, freed, going)
        row = _next_row(rows, nodes, vain, row, going, going[_LOW] if kept else now)
        if row < 0 or row > going[_LAST]:
            row = going[_LAST] + 1
            last -= 1
            continue
        start, duration = rows[row, _START], rows[row, _DURATION]
        found = _find(profile, rows[row], vain[rows[row, _SLOT]], going, freed, (now, NEVER if kept else -1))
        if found < 0:
            _set_room(profile, going)
            row += 1
            continue
        if row < going[_LAST]:
            last += 1
        _open_pass(passes[last], row, freed.size[0])
        _move(profile, rows[row, _AMOUNT], (start, found, duration), freed)
        rows[row, _START], reserved.start[row], reserved.end[row] = found, found, found + duration
        _set_path(rows, nodes, row)
        row = 0
    return last >= 0


@compiled
def _open_pass(going: IntArray, last: int, seen: int) -> None:
    """Set a traversal of the rows up to `last`, for what is freed beside the first `seen` intervals."""
    going[_LAST], going[_LOW], going[_HIGH], going[_ROOM], going[_SEEN], going[_KNOWN] = last, NEVER, 0, -1, seen, seen


@compiled
def _look_up(now: int, profile: Profile, freed: Freed, going: IntArray) -> None:
    """Bring a traversal up to date with what was freed since it was stopped."""
    for interval in range(going[_SEEN], freed.size[0]):
        start, end = max(now, freed.start[interval]), freed.end[interval]
        going[_LOW], going[_HIGH] = min(going[_LOW], start), max(going[_HIGH], end)
        going[_ROOM] = max(going[_ROOM], peak(profile, start, end))
    going[_SEEN] = freed.size[0]


@compiled
def _set_room(profile: Profile, going: IntArray) -> None:
    """Look up what is free at once in the intervals of a traversal, if something moved since."""
    if going[_KNOWN] != going[_SEEN]:
        going[_KNOWN] = going[_SEEN]
        going[_ROOM] = peak(profile, going[_LOW], going[_HIGH])


@compiled
def _find(
    profile: Profile, row: IntArray, vain: IntArray, going: IntArray, freed: Freed, limits: tuple[int, int]
) -> int:
    """Return an earlier start at which a reservation would use something of what is freed; -1 if there is none.

    The jobs of an array are alike. Where there is none for one of them, up to its own start, there is none for those
    with a later start, as long as nothing was freed there: `vain` has up to where that is so. The limits are now, and
    before which own start that holds.
    """
    amount, start, duration, low, count = row[_AMOUNT], row[_START], row[_DURATION], going[_LOW], going[_SEEN]
    after, before = max(limits[0], low - duration + 1), min(start, going[_HIGH])
    if after >= before:
        return -1
    if vain[_AMOUNT] == amount and vain[_DURATION] == duration and vain[_FROM] <= low and start >= vain[_START]:
        if vain[_COUNT] == count:
            after = max(after, vain[_UNTIL])
        elif vain[_COUNT] == count - 1:
            after = max(after, min(vain[_UNTIL], freed.start[count - 1] - duration + 1))
    found = -1 if after >= before else earliest(profile, amount, duration, after, before, start)
    if start < limits[1]:
        vain[_AMOUNT], vain[_DURATION], vain[_START], vain[_COUNT] = amount, duration, start, count
        vain[_FROM], vain[_UNTIL] = low, before if found < 0 else found
    return found


@compiled
def _rows(reserved: Table) -> IntArray:
    """Return what is asked of each reservation."""
    rows = np.empty((reserved.rows[0], 4), dtype=np.int64)
    for row in range(len(rows)):
        amount, duration = reserved.amount[row], reserved.end[row] - reserved.start[row]
        moves = reserved.order[row] >= 0 and not reserved.away[row]
        rows[row, _AMOUNT], rows[row, _START] = amount if moves else NEVER, reserved.start[row]
        rows[row, _DURATION], rows[row, _SLOT] = duration, (duration + 1021 * amount) & (_NOTED - 1)
    return rows


@compiled
def _nodes(rows: IntArray) -> IntArray:
    """Return the tree over the rows: the least amount and the latest start of each node, shape (nodes, 2)."""
    blocks = 1
    while blocks * _BLOCK < len(rows):
        blocks *= 2
    nodes = np.empty((2 * blocks, 2), dtype=np.int64)
    for block in range(blocks):
        _set_leaf(rows, nodes, block)
    for node in range(blocks - 1, 0, -1):
        _join(nodes, node)
    return nodes


@compiled
def _set_leaf(rows: IntArray, nodes: IntArray, block: int) -> None:
    amount, start = NEVER, -1
    for row in range(block * _BLOCK, min((block + 1) * _BLOCK, len(rows))):
        if rows[row, _AMOUNT] < NEVER:
            amount, start = min(amount, rows[row, _AMOUNT]), max(start, rows[row, _START])
    node = block + len(nodes) // 2
    nodes[node, 0], nodes[node, 1] = amount, start


@compiled
def _join(nodes: IntArray, node: int) -> None:
    nodes[node, 0] = min(nodes[2 * node, 0], nodes[2 * node + 1, 0])
    nodes[node, 1] = max(nodes[2 * node, 1], nodes[2 * node + 1, 1])


@compiled
def _set_path(rows: IntArray, nodes: IntArray, row: int) -> None:
    """Set the nodes above a row."""
    block = row // _BLOCK
    _set_leaf(rows, nodes, block)
    node = (block + len(nodes) // 2) // 2
    while node > 0:
        _join(nodes, node)
        node //= 2


@compiled
def _next_row(rows: IntArray, nodes: IntArray, vain: IntArray, first: int, going: IntArray, start: int) -> int:
    """Return the first row from `first` on whose job may fit earlier, and begins after `start`; -1 if there is none."""
    leaves, amount = len(nodes) // 2, going[_ROOM]
    node = first // _BLOCK + leaves
    while node < 2 * leaves:
        if nodes[node, 0] <= amount and nodes[node, 1] > start:
            if node < leaves:
                node *= 2
                continue
            block = (node - leaves) * _BLOCK
            for row in range(max(first, block), min(block + _BLOCK, len(rows))):
                fits = rows[row, _AMOUNT] <= amount and rows[row, _START] > start
                if fits and not _is_vain(rows[row], vain[rows[row, _SLOT]], going):
                    return row
        while node & 1:
            node //= 2
        if node == 0:
            break
        node += 1
    return -1


@compiled
def _is_vain(row: IntArray, vain: IntArray, going: IntArray) -> bool:
    """Return whether one like it was found to fit nowhere, and nothing was freed since."""
    alike = vain[_AMOUNT] == row[_AMOUNT] and vain[_DURATION] == row[_DURATION] and row[_START] >= vain[_START]
    known = vain[_COUNT] == going[_SEEN] and vain[_FROM] <= going[_LOW]
    return bool(alike and known and vain[_UNTIL] >= min(row[_START], going[_HIGH]))
