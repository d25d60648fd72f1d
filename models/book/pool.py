"""Compiled reservations of all waiting jobs on a pool of one resource.

Rules of :class:`hpcdispatch.dispatchers.Conservative`. A job's order is its position in the trace, which identifies it.
Times are seconds, intervals half-open.
"""

from typing import NamedTuple

import numpy as np

from ...base import IntArray
from ..compiled import borrowing, within
from ..profiles.amount import (
    NEVER,
    Amount,
    add,
    below,
    earliest,
    forget,
    free_at,
    free_since,
    least,
    locate,
    open_amount,
    peak,
    with_room,
)

#: Columns of waiting and running jobs: order, units, predicted run time or end, and start of a running job.
ORDER, UNITS, TIME, BEGIN = range(4)
#: Columns of reservations and bookings after order and units: start, end, whether the job runs early and may return,
#: and position in the queue, -1 for none. A job runs early before its reservation begins.
START, END, AWAY, PLACE = range(2, 6)
#: Counters: reservations, bookings of running jobs, freed intervals. Then, whether bookings exceeded the capacity
#: before the last intervals were freed.
RESERVED, RUNNING, FREED, EXCEEDED = range(4)


class Book(NamedTuple):
    """Reservations, and bookings of running jobs, in order of booking.

    Attributes
    ----------
    profile
        Free amount beside them.
    reserved, running
        One column each, shape (6, most).
    freed
        Starts and ends of intervals freed since the last compression. Shape (2, most).
    scratch
        Holes of a compression, shape (29, most).
    places
        Position of each order in the queue and among the running jobs. Shape (2, orders). A matched one is negative: -2
        less its position. -1 for none, and between decisions.
    numbers
        Counters, shape (4,).
    """

    profile: Amount
    reserved: IntArray
    running: IntArray
    freed: IntArray
    scratch: IntArray
    places: IntArray
    numbers: IntArray


def open_book(free: int, now: int) -> Book:
    """Return an empty book of `free` units."""
    rows = np.empty((3, 6, 64), dtype=np.int64)
    scratch = np.empty((29, 64), dtype=np.int64)
    places = np.full((2, 64), -1, dtype=np.int64)
    numbers = np.zeros(4, dtype=np.int64)
    return Book(open_amount(free, now, 128), rows[0], rows[1], rows[2, :2], scratch, places, numbers)


def with_room_for(book: Book, jobs: int, last: int) -> Book:
    """Return the book with room for a decision on `jobs` jobs. `last` is the largest order."""
    reserved = int(book.numbers[RESERVED])
    running = int(book.numbers[RUNNING])
    most = reserved + running + jobs + 1
    places = book.places if last < book.places.shape[1] else np.full((2, 2 * last + 1), -1, dtype=np.int64)
    return Book(
        profile=with_room(book.profile, most),
        reserved=_longer(book.reserved, most),
        running=_longer(book.running, most),
        freed=_longer(book.freed, 2 * most),
        scratch=_longer(book.scratch, most),
        places=places,
        numbers=book.numbers,
    )


def _longer(array: IntArray, most: int) -> IntArray:
    """Return an array with room for `most` columns."""
    if most <= array.shape[1]:
        return array
    longer = np.empty((len(array), 2 * most), dtype=np.int64)
    longer[:, : array.shape[1]] = array
    return longer


@borrowing
def book_row(book: Book, kind: int, order: int, units: int, start: int, end: int) -> int:
    """Add a reservation, or the booking of a running job. Return its column. The profile is unchanged."""
    rows = book.reserved if kind == RESERVED else book.running
    row = book.numbers[kind]
    rows[ORDER, row] = order
    rows[UNITS, row] = units
    rows[START, row] = start
    rows[END, row] = end
    rows[AWAY, row], rows[PLACE, row] = 0, -1
    book.numbers[kind] += 1
    return int(row)


@within
def _keep(rows: IntArray, row: int, kept: int) -> int:
    """Move a row to the end of the kept ones. Return their number."""
    if kept < row:
        for column in range(6):
            rows[column, kept] = rows[column, row]
    return kept + 1


@within
def _note(book: Book, start: int, end: int) -> None:
    """Record a freed interval."""
    book.freed[0, book.numbers[FREED]] = start
    book.freed[1, book.numbers[FREED]] = end
    book.numbers[FREED] += 1


@borrowing
def follow(now: int, book: Book, queue: IntArray, running: IntArray) -> bool:
    """Update the book to the queue and the running jobs. Return whether :func:`rebuild` must follow.

    It must if a running job's end is now later than planned. Otherwise, a reservation may have passed without a start
    of its job. Then this job and all behind it in the queue lose their reservations. :func:`reserve_new` makes them
    anew in queue order.
    """
    profile = book.profile
    places = book.places
    numbers = book.numbers
    forget(profile, now)
    numbers[EXCEEDED] = least(profile) < 0
    for place in range(queue.shape[1]):
        places[0, queue[ORDER, place]] = place
    for place in range(running.shape[1]):
        places[1, running[ORDER, place]] = place
    rows = book.running
    kept = 0
    corrected = False
    for row in range(numbers[RUNNING]):
        place = places[1, rows[ORDER, row]]
        end = running[TIME, place] if place >= 0 else now
        if place >= 0 and end > rows[END, row]:
            add(profile, max(rows[END, row], now), end, -rows[UNITS, row])
            corrected = True
        else:
            end = max(end, now)
            if end < rows[END, row]:
                add(profile, end, rows[END, row], rows[UNITS, row])
                _note(book, end, rows[END, row])
        if place >= 0:
            rows[END, row] = running[TIME, place]
            places[1, rows[ORDER, row]] = -2 - place
            kept = _keep(rows, row, kept)
    numbers[RUNNING] = kept
    for place in range(running.shape[1]):
        order = running[ORDER, place]
        units = running[UNITS, place]
        end = running[TIME, place]
        if places[1, order] >= 0:
            book_row(book, RUNNING, order, units, running[BEGIN, place], end)
            if end > now:
                add(profile, now, end, -units)
                corrected = True
            places[1, order] = -2 - place
    rows = book.reserved
    kept = 0
    passed = queue.shape[1]
    if not corrected:
        for row in range(numbers[RESERVED]):
            if rows[END, row] <= now and places[0, rows[ORDER, row]] >= 0:
                passed = min(passed, places[0, rows[ORDER, row]])
    for row in range(numbers[RESERVED]):
        order = rows[ORDER, row]
        units = rows[UNITS, row]
        start = rows[START, row]
        end = rows[END, row]
        place = places[0, order]
        on_machine = -2 - places[1, order]
        was_away = rows[AWAY, row]
        rows[AWAY, row] = place < 0 and on_machine >= 0 and running[TIME, on_machine] <= start
        rows[PLACE, row] = place
        same = place >= 0 and queue[UNITS, place] == units and queue[TIME, place] == end - start
        if (not same and not rows[AWAY, row]) or place >= passed:
            start = max(now, start)  # The job left for good, returned changed, or needs a new reservation.
            if start < end:
                add(profile, start, end, units)
                _note(book, start, end)
        elif corrected or end > now:
            if place >= 0:
                places[0, order] = -2 - place
            if was_away and not rows[AWAY, row]:
                _note(book, now, end)  # It may move again.
            kept = _keep(rows, row, kept)
    numbers[RESERVED] = kept
    for place in range(running.shape[1]):
        places[1, running[ORDER, place]] = -1
    return corrected


@borrowing
def rebuild(now: int, book: Book, order: IntArray) -> None:
    """Make the reservations anew in an order, shape (reservations,), none earlier than before.

    The profile must be empty.
    """
    profile, rows = book.profile, book.running
    for row in range(book.numbers[RUNNING]):
        add(profile, now, rows[END, row], -rows[UNITS, row])
    rows, until = book.reserved, now
    for row in order:
        duration = rows[END, row] - rows[START, row]
        units = rows[UNITS, row]
        start = earliest(profile, units, duration, max(now, rows[START, row]), NEVER, NEVER)
        rows[START, row] = start
        rows[END, row] = start + duration
        add(profile, start, start + duration, -units)
        until = max(until, start + duration)
    _note(book, now, until)


@borrowing
def reserve_new(now: int, book: Book, queue: IntArray) -> None:
    """Reserve for the jobs without a reservation, in order of submission."""
    for place in range(queue.shape[1]):
        order = queue[ORDER, place]
        units = queue[UNITS, place]
        duration = queue[TIME, place]
        if book.places[0, order] >= 0:
            start = earliest(book.profile, units, duration, now, NEVER, NEVER)
            if start >= 0:
                add(book.profile, start, start + duration, -units)
                row = book_row(book, RESERVED, order, units, start, start + duration)
                book.reserved[PLACE, row] = place
        book.places[0, order] = -1


@borrowing
def start_due(now: int, free: int, book: Book, chosen: IntArray) -> tuple[int, int, int]:
    """Start the jobs with due reservations, if their units are free. Use :func:`delay` for late jobs.

    Returns the number of positions in `chosen`, the number of late jobs, and the start of the next reservation. That is
    :data:`.NEVER` if there is none.
    """
    rows = book.reserved
    kept = 0
    count = 0
    late = 0
    following = NEVER
    for row in range(book.numbers[RESERVED]):
        start = rows[START, row]
        end = rows[END, row]
        units = rows[UNITS, row]
        if start > now:
            following = min(following, start)
        elif not rows[AWAY, row] and units > free:
            late += 1
        elif not rows[AWAY, row]:
            free -= units
            chosen[count] = rows[PLACE, row]
            count += 1
            book_row(book, RUNNING, rows[ORDER, row], units, start, end)
            continue
        kept = _keep(rows, row, kept)
    book.numbers[RESERVED] = kept
    return count, late, following


@borrowing
def delay(now: int, book: Book, first: int) -> None:
    """Move running bookings from `first` on that began before now to begin now."""
    rows = book.running
    for row in range(first, book.numbers[RUNNING]):
        late = now - rows[START, row]
        if late > 0:
            add(book.profile, rows[END, row], rows[END, row] + late, -rows[UNITS, row])
            rows[START, row], rows[END, row] = now, rows[END, row] + late


@within
def _may_move(now: int, rows: IntArray, row: int) -> bool:
    return rows[START, row] > now and not rows[AWAY, row]


@within
def _move(book: Book, row: int, start: int) -> None:
    """Move a reservation to another start."""
    rows = book.reserved
    units = rows[UNITS, row]
    before = rows[START, row]
    end = rows[END, row]
    add(book.profile, before, end, units)
    rows[START, row] = start
    rows[END, row] = start + end - before
    add(book.profile, start, rows[END, row], -units)


@borrowing
def compress_once(now: int, book: Book) -> None:
    """Move each reservation that fits earlier, in one pass."""
    for row in range(book.numbers[RESERVED]):
        if _may_move(now, book.reserved, row):
            start = _earlier(book, row, now, NEVER)
            if start >= 0:
                _move(book, row, start)


@within
def _earlier(book: Book, row: int, after: int, before: int) -> int:
    """Return the first start in [`after`, `before`) at which a reservation fits before its own. -1 if none."""
    rows = book.reserved
    start = rows[START, row]
    duration = rows[END, row] - rows[START, row]
    return earliest(book.profile, rows[UNITS, row], duration, after, min(start, before), start)


#: Rows of the holes: start and end, the first reservation that may fit, its start there, and whether bookings exceeded
#: the capacity in it. Then, per power of two, the least duration for which that many units do not fit.
_FROM, _UNTIL, _ROW, _AT, _EXCEEDED, _SHORT = range(6)


@borrowing
def compress_until_stable(now: int, book: Book) -> None:
    """Move the first reservation that fits earlier. Repeat from the head until nothing moves.

    Each can only move to a start at which it uses a freed hole. Each hole stores the first reservation that may move
    into it. The first of these moves. If there is no room for another hole, it joins the last.
    """
    holes = book.scratch
    count = 0
    freed = book.numbers[FREED]
    exceeded = book.numbers[EXCEEDED]
    row = 0
    before = 0
    end = 0
    while freed > 0 or count > 0:
        if freed > 0:
            freed -= 1
            before = max(now, book.freed[0, freed])
            end = book.freed[1, freed]
        else:
            row, start = book.numbers[RESERVED], NEVER
            for hole in range(count):
                row = min(row, holes[_ROW, hole])
            for hole in range(count - 1, -1, -1):
                if holes[_ROW, hole] == row:
                    if not _seek(now, book, holes, hole, row):  # No such reservation is left.
                        count -= 1
                        for each in range(len(holes)):
                            holes[each, hole] = holes[each, count]
                    elif holes[_ROW, hole] == row:
                        start = min(start, holes[_AT, hole])
            if start == NEVER:
                continue
            before = book.reserved[START, row]
            end = book.reserved[END, row]
            _move(book, row, start)
            before = max(before, book.reserved[END, row])
            place, step = locate(book.profile, before)
            place, _ = below(book.profile, book.reserved[UNITS, row], place, step, end, NEVER)
            exceeded = int(place < book.profile.blocks[0])
        hole = min(count, holes.shape[1] - 1)
        if hole < count:
            before = min(before, holes[_FROM, hole])
            end = max(end, holes[_UNTIL, hole])
            exceeded = max(exceeded, holes[_EXCEEDED, hole])
            count = hole
        holes[_FROM, hole] = before
        holes[_UNTIL, hole] = end
        holes[_EXCEEDED, hole] = exceeded
        for power in range(_SHORT, len(holes)):
            holes[power, hole] = NEVER
        if before < end and _seek(now, book, holes, hole, 0):
            count += 1


@within
def _seek(now: int, book: Book, holes: IntArray, hole: int, row: int) -> bool:
    """Find the first reservation from `row` on that fits earlier by using a hole. Return whether one exists.

    It uses free amounts of the hole before its own start. If bookings exceeded the capacity there, it may not have
    fitted over its own interval. So any reservation that contains the begin of the hole may fit too.
    """
    profile, rows = book.profile, book.reserved
    start = holes[_FROM, hole]
    end = holes[_UNTIL, hole]
    room = peak(profile, start, end)
    (place, step) = locate(profile, start)
    free = free_at(profile, place, step)
    exceeded = holes[_EXCEEDED, hole] > 0
    while (room > 0 or exceeded) and row < book.numbers[RESERVED]:
        units = rows[UNITS, row]
        begin = rows[START, row]
        duration = rows[END, row] - rows[START, row]
        if begin <= start:
            if exceeded and rows[END, row] > start and _may_move(now, rows, row):
                found = _earlier(book, row, max(now, start - duration + 1), end)
                if found >= 0:
                    holes[_ROW, hole] = row
                    holes[_AT, hole] = found
                    return True
        elif units <= room and _may_move(now, rows, row):
            power = _SHORT  # Index of the largest power of two up to the units.
            while power < len(holes) - 1 and (2 << (power - _SHORT)) <= units:
                power += 1
            # Further away, the job would not use units of its own reservation.
            beyond = begin >= end + duration
            if not beyond or duration < holes[power, hole]:
                after = max(now, start - duration + 1)
                if after < start:
                    after = max(after, free_since(profile, units, place, step) if units <= free else start)
                found = _earlier(book, row, after, end)
                if found >= 0:
                    holes[_ROW, hole] = row
                    holes[_AT, hole] = found
                    return True
                if beyond:  # More units do not fit for longer either.
                    for larger in range(power + ((1 << (power - _SHORT)) < units), len(holes)):
                        holes[larger, hole] = min(holes[larger, hole], duration)
        row += 1
    return False
