"""Conservative backfilling where what is free is one number, compiled: every job has a reservation.

The rules are those of :class:`hpcdispatch.dispatchers.Conservative`. Jobs are known by their place in the trace.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...base import BoolArray, IntArray
from ..compiled import compiled
from .pool_profile import NEVER, Profile, earliest, release


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
    away: BoolArray
    place: IntArray
    rows: IntArray
    live: IntArray


def open_table(most: int) -> Table:
    """Return a table with room for `most` rows."""
    order, start, end, amount, place = np.full((5, most), -1, dtype=np.int64)
    rows, live = np.zeros((2, 1), dtype=np.int64)
    return Table(order, start, end, amount, np.zeros(most, dtype=np.bool_), place, rows, live)


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
    table.away[row], table.place[row] = False, -1
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
            table.amount[kept], table.away[kept] = table.amount[row], table.away[row]
            table.place[kept] = table.place[row]
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
def move(profile: Profile, table: Table, row: int, start: int) -> None:
    """Give a reservation another start."""
    amount, before, end = table.amount[row], table.start[row], table.end[row]
    release(profile, before, end, amount)
    table.start[row], table.end[row] = start, start + end - before
    release(profile, start, table.end[row], -amount)


@compiled
def _free(profile: Profile, freed: Freed, start: int, end: int, amount: int) -> None:
    if end > start:
        release(profile, start, end, amount)
        note(freed, start, end)


@compiled
def note(freed: Freed, start: int, end: int) -> None:
    """Note an interval in which something was freed."""
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
        note(freed, now, start + duration)


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
