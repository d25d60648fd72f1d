"""Conservative backfilling where what is free is one number, compiled: every job has a reservation.

The rules are those of :class:`hpcdispatch.dispatchers.Conservative`. Jobs are known by their place in the trace.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...base import BoolArray, IntArray
from ..compiled import compiled
from .pool_profile import NEVER, Profile, earliest, peak, release

#: How many moves in vain are remembered, a power of two.
_REMEMBERED = 256


class Table(NamedTuple):
    """Reservations, or what runs: a row a job in the order of booking, with gaps where one has left.

    Attributes
    ----------
    order
        Place of the job in the trace, -1 for a row that has left.
    start, end
        Half-open interval, seconds.
    amount
        Units held.
    tried
        How many of the freed intervals were looked at for an earlier start.
    away
        Whether the job runs before its reservation begins, and may come back.
    place
        Where the job waits in the queue, or stands among what runs; -1 if it does not.
    rows, live
        How many rows there are, and how many of these have not left, shape (1,).
    """

    order: IntArray
    start: IntArray
    end: IntArray
    amount: IntArray
    tried: IntArray
    away: BoolArray
    place: IntArray
    rows: IntArray
    live: IntArray


def open_table(most: int) -> Table:
    """Return a table with room for `most` rows."""
    order, start, end, amount, tried, place = np.full((6, most), -1, dtype=np.int64)
    rows, live = np.zeros((2, 1), dtype=np.int64)
    return Table(order, start, end, amount, tried, np.zeros(most, dtype=np.bool_), place, rows, live)


class Freed(NamedTuple):
    """Intervals that were freed since the last decision, and how many, shape (1,)."""

    start: IntArray
    end: IntArray
    size: IntArray


def open_freed(most: int) -> Freed:
    """Return room for so many intervals, none of them set."""
    start, end = np.zeros((2, most), dtype=np.int64)
    return Freed(start, end, np.zeros(1, dtype=np.int64))


class Jobs(NamedTuple):
    """Jobs of the queue or on the machine: their order in the trace, units, and seconds.

    Attributes
    ----------
    order, amount
        Place in the trace, and units asked for or held.
    begin
        When a running job began; not read for waiting ones.
    time
        Predicted run time of a waiting job, predicted end of a running one.
    """

    order: IntArray
    amount: IntArray
    begin: IntArray
    time: IntArray


@compiled
def add(table: Table, order: int, start: int, end: int, amount: int) -> int:
    """Add a row; return which it is."""
    row = int(table.rows[0])
    table.order[row], table.start[row], table.end[row], table.amount[row] = order, start, end, amount
    table.tried[row], table.away[row], table.place[row] = 0, False, -1
    table.rows[0] += 1
    table.live[0] += 1
    return row


@compiled
def _drop(table: Table, row: int) -> None:
    table.order[row] = -1
    table.live[0] -= 1


@compiled
def close_gaps(table: Table) -> None:
    """Move the rows together, if half of them have left."""
    if table.rows[0] < 2 * table.live[0] + 64:
        return
    kept = 0
    for row in range(table.rows[0]):
        if table.order[row] >= 0:
            table.order[kept], table.start[kept], table.end[kept] = table.order[row], table.start[row], table.end[row]
            table.amount[kept], table.tried[kept] = table.amount[row], table.tried[row]
            table.away[kept], table.place[kept] = table.away[row], table.place[row]
            kept += 1
    table.rows[0] = kept


@compiled
def _note_rows(table: Table, row_of: IntArray, noted: bool) -> None:
    """Note in `row_of`, shape (jobs of the trace,), in which row each job is, or take that back: -1 stands for none."""
    for row in range(table.rows[0]):
        if table.order[row] >= 0:
            row_of[table.order[row]] = row if noted else -1


@compiled
def find_places(table: Table, jobs: Jobs, row_of: IntArray) -> None:
    """Note where each job of the table stands among `jobs`; `row_of` is scratch of which nothing is left."""
    _note_rows(table, row_of, True)
    table.place[: table.rows[0]] = -1
    for place in range(len(jobs.order)):
        row = row_of[jobs.order[place]]
        if row >= 0:
            table.place[row] = place
    _note_rows(table, row_of, False)


@compiled
def _free(profile: Profile, freed: Freed, start: int, end: int, amount: int) -> None:
    if end > start:
        release(profile, start, end, amount)
        _note(freed, start, end)


@compiled
def _note(freed: Freed, start: int, end: int) -> None:
    count = freed.size[0]
    freed.start[count], freed.end[count] = start, end
    freed.size[0] = count + 1


@compiled
def follow_running(now: int, profile: Profile, held: Table, running: Jobs, freed: Freed, row_of: IntArray) -> bool:
    """Bring what runs up to date; return whether a job is now known to end later than was planned."""
    _note_rows(held, row_of, True)
    held.place[: held.rows[0]] = -1
    corrected = False
    for place in range(len(running.order)):
        row = row_of[running.order[place]]
        if row < 0:
            row = add(held, running.order[place], running.begin[place], now, running.amount[place])
        held.place[row] = place
        end, planned, amount = running.time[place], held.end[row], held.amount[row]
        if end > planned:
            release(profile, max(planned, now), end, -amount)
            corrected = True
        else:
            _free(profile, freed, max(now, end), planned, amount)
        held.end[row] = end
    _note_rows(held, row_of, False)
    for row in range(held.rows[0]):
        if held.order[row] >= 0 and held.place[row] < 0:
            _free(profile, freed, now, held.end[row], held.amount[row])
            _drop(held, row)
    return corrected


@compiled
def drop_gone(
    now: int, profile: Profile, reserved: Table, held: Table, queue: Jobs, freed: Freed, row_of: IntArray
) -> None:
    """Drop the reservations of jobs that left the queue for good or came back as others."""
    _note_rows(held, row_of, True)
    for row in range(reserved.rows[0]):
        order, place = reserved.order[row], reserved.place[row]
        if order < 0:
            continue
        start, end, amount = reserved.start[row], reserved.end[row], reserved.amount[row]
        on_machine = row_of[order]
        reserved.away[row] = place < 0 and on_machine >= 0 and held.end[on_machine] <= start
        same = place >= 0 and queue.amount[place] == amount and queue.time[place] == end - start
        if not same and not reserved.away[row]:
            _drop(reserved, row)
            _free(profile, freed, max(now, start), end, amount)
    _note_rows(held, row_of, False)


@compiled
def drop_passed(now: int, reserved: Table) -> None:
    """Drop the reservations that have passed without the job having started."""
    for row in range(reserved.rows[0]):
        if reserved.order[row] >= 0 and reserved.end[row] <= now:
            _drop(reserved, row)


@compiled
def rebuild(now: int, total: int, profile: Profile, reserved: Table, held: Table, freed: Freed) -> None:
    """Make the reservations anew, in the order in which they stood, none earlier than it was."""
    profile.times[0], profile.free[0], profile.steps[0] = now, total, 1
    for row in range(held.rows[0]):
        if held.order[row] >= 0:
            release(profile, now, held.end[row], -held.amount[row])
    for row in np.argsort(reserved.start[: reserved.rows[0]], kind="mergesort"):
        if reserved.order[row] < 0:
            continue
        duration, amount = reserved.end[row] - reserved.start[row], reserved.amount[row]
        start = earliest(profile, amount, duration, max(now, reserved.start[row]), NEVER, NEVER)
        reserved.start[row], reserved.end[row] = start, start + duration
        release(profile, start, start + duration, -amount)
        _note(freed, now, start + duration)


@compiled
def _rebook(profile: Profile, reserved: Table, row: int, start: int) -> None:
    """Give a reservation another start."""
    amount = reserved.amount[row]
    release(profile, reserved.start[row], reserved.end[row], amount)
    reserved.end[row] += start - reserved.start[row]
    reserved.start[row] = start
    release(profile, start, reserved.end[row], -amount)


@compiled
def _move(profile: Profile, reserved: Table, row: int, freed: Freed, after: int, before: int) -> bool:
    """Move a reservation to a start in [`after`, `before`), if it fits there."""
    start, end = reserved.start[row], reserved.end[row]
    found = earliest(profile, reserved.amount[row], end - start, after, before, start)
    if found < 0:
        return False
    _note(freed, start, end)
    _rebook(profile, reserved, row, found)
    return True


@compiled
def compress_once(now: int, profile: Profile, reserved: Table, freed: Freed) -> None:
    """Traverse the reservations once and move each that fits earlier."""
    for row in range(reserved.rows[0]):
        if reserved.order[row] >= 0 and reserved.start[row] > now and not reserved.away[row]:
            _move(profile, reserved, row, freed, now, reserved.start[row])


@compiled
def _slot(reserved: Table, row: int) -> int:
    return int(reserved.start[row] + 31 * reserved.end[row] + 1021 * reserved.amount[row]) & (_REMEMBERED - 1)


@compiled
def _remember(vain: IntArray, reserved: Table, row: int, after: int, before: int, count: int) -> None:
    """Note that a reservation cannot move to a start in [`after`, `before`) while so many intervals are freed."""
    slot = vain[_slot(reserved, row)]
    slot[0], slot[1], slot[2] = reserved.start[row], reserved.end[row], reserved.amount[row]
    slot[3], slot[4], slot[5] = after, before, count


@compiled
def _is_known(vain: IntArray, reserved: Table, row: int, after: int, before: int, count: int) -> bool:
    """Return whether one just like it was found not to move: the jobs of an array mostly are alike."""
    slot = vain[_slot(reserved, row)]
    alike = slot[0] == reserved.start[row] and slot[1] == reserved.end[row] and slot[2] == reserved.amount[row]
    return bool(alike and slot[3] <= after and slot[4] >= before and slot[5] == count)


@compiled
def _first_helped(reserved: Table, moved: int, start: int) -> int:
    """Return the first row up to that of a job that moved away from `start`, whose job starts after that."""
    row = 0
    while row < moved and (reserved.start[row] <= start or reserved.order[row] < 0):
        row += 1
    return row


@compiled
def compress_until_stable(now: int, profile: Profile, reserved: Table, freed: Freed) -> bool:
    """Move the first reservation that fits earlier, again from the head, until nothing moves.

    Returns whether `freed` is full before that; given a longer one, it goes on. Nothing could move before the intervals
    in `freed` were freed, so that a job can only move to a start at which it would use one of them that has not been
    tried for it yet. One that begins after the job's own start is of no use to it, unless more was promised than there
    is: from that start on it has what it needs. So the traversal begins again at the first job that the last move may
    help.
    """
    most = len(freed.start)
    # First start and last end of the intervals from each on, of those before `seen`, and the most that was free in them
    # when there were `known` intervals.
    low, high = np.full(most, NEVER, dtype=np.int64), np.zeros(most, dtype=np.int64)
    room = np.zeros(most, dtype=np.int64)
    seen, known = np.arange(most), np.full(most, -1, dtype=np.int64)
    kept = profile.free[: profile.steps[0]].min() >= 0
    vain = np.full((_REMEMBERED, 6), -1, dtype=np.int64)
    row = 0
    while row < reserved.rows[0] and freed.size[0] < most:
        count, tried, start = freed.size[0], reserved.tried[row], reserved.start[row]
        if reserved.order[row] < 0 or tried == count or start <= now or reserved.away[row]:
            row += 1
            continue
        for interval in range(seen[tried], count):
            low[tried] = min(low[tried], max(now, freed.start[interval]))
            high[tried] = max(high[tried], freed.end[interval])
        seen[tried] = count
        reserved.tried[row] = count
        after = max(now, low[tried] - (reserved.end[row] - start) + 1)
        before = min(start, high[tried])
        if after < before and not (kept and low[tried] >= start):
            if known[tried] != count:
                known[tried], room[tried] = count, peak(profile, low[tried], high[tried])
            if reserved.amount[row] <= room[tried] and not _is_known(vain, reserved, row, after, before, count):
                if _move(profile, reserved, row, freed, after, before):
                    row = _first_helped(reserved, row, start) if kept else 0
                    continue
                _remember(vain, reserved, row, after, before, count)
        row += 1
    return bool(freed.size[0] == most)


@compiled
def reserve_new(now: int, profile: Profile, reserved: Table, queue: Jobs, has: BoolArray) -> None:
    """Reserve for the jobs without a reservation, in order of submission; `has`, shape (waiting jobs,), is scratch."""
    has[:] = False
    for row in range(reserved.rows[0]):
        if reserved.order[row] >= 0 and reserved.place[row] >= 0:
            has[reserved.place[row]] = True
    for place in range(len(queue.order)):
        if has[place]:
            continue
        amount, duration = queue.amount[place], queue.time[place]
        start = earliest(profile, amount, duration, now, NEVER, NEVER)
        if start >= 0:
            release(profile, start, start + duration, -amount)
            row = add(reserved, queue.order[place], start, start + duration, amount)
            reserved.place[row] = place


@compiled
def start_due(
    now: int, free: int, profile: Profile, reserved: Table, held: Table, chosen: IntArray
) -> tuple[int, int, int]:
    """Start the jobs whose time has come, if what they were promised is free.

    Returns how many places of the queue are `chosen`, how many are late, and the start of the next reservation,
    :data:`NEVER` if there is none.
    """
    count, late, following = 0, 0, NEVER
    for row in range(reserved.rows[0]):
        order, start, amount = reserved.order[row], reserved.start[row], reserved.amount[row]
        if order < 0:
            continue
        if start > now:
            following = min(following, start)
            continue
        if reserved.away[row]:
            continue
        if amount > free:
            late += 1
            continue
        free -= amount
        end = reserved.end[row]
        if start < now:
            duration = end - start
            release(profile, end, now + duration, -amount)
            start, end = now, now + duration
        chosen[count] = reserved.place[row]
        count += 1
        add(held, order, start, end, amount)
        _drop(reserved, row)
    return count, late, following
