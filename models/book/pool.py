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

#: Reservations that share one entry of the :class:`Reach`.
BLOCK = 32
#: Amounts by powers of two, and amounts with durations, for which a hole remembers that they do not fit.
POWERS, SHAPES = 24, 16


class WaitingUnits(NamedTuple):
    """Waiting jobs in queue order, one entry per job.

    Attributes
    ----------
    order
        Position in the trace.
    units
        Amount of the whole job.
    predicted
        Predicted run time, seconds.
    """

    order: IntArray
    units: IntArray
    predicted: IntArray


class RunningUnits(NamedTuple):
    """Running jobs, one entry per job.

    Attributes
    ----------
    order
        Position in the trace.
    units
        Amount of the whole job.
    end
        Predicted end, seconds.
    start
        Start, seconds.
    """

    order: IntArray
    units: IntArray
    end: IntArray
    start: IntArray


class Bookings(NamedTuple):
    """Reservations, or bookings of running jobs, in order of booking. One entry per booking.

    Attributes
    ----------
    order
        Position of the job in the trace.
    units
        Amount of the whole job.
    start, end
        Seconds.
    away
        1 if the job runs early, before its reservation begins, and may return. Otherwise 0.
    place
        Position in the queue, -1 for none.
    """

    order: IntArray
    units: IntArray
    start: IntArray
    end: IntArray
    away: IntArray
    place: IntArray


class Counts(NamedTuple):
    """Counters of a book, each of shape (1,).

    Attributes
    ----------
    reserved, running
        Reservations, and bookings of running jobs.
    freed
        Intervals freed since the last compression.
    exceeded
        Whether bookings exceeded the capacity before the last intervals were freed.
    """

    reserved: IntArray
    running: IntArray
    freed: IntArray
    exceeded: IntArray


class Holes(NamedTuple):
    """Freed intervals of a compression, one entry per hole.

    Attributes
    ----------
    start, end
        Seconds.
    row
        No reservation before this one can move into the hole.
    exceeded
        Whether bookings exceeded the capacity in the hole.
    misfit
        Least duration for which 1, 2, 4, ... units do not fit far from the hole, seconds. Shape (most, 24).
    near, since
        A duration for which 1, 2, 4, ... units do not fit if the reservation begins at `since` or later, seconds. Shape
        (most, 24).
    units, duration, begin
        Amounts and durations of reservations that did not fit, and the earliest of their starts. No equal one fits that
        starts later. Seconds, shape (most, :data:`SHAPES`).
    """

    start: IntArray
    end: IntArray
    row: IntArray
    exceeded: IntArray
    misfit: IntArray
    near: IntArray
    since: IntArray
    units: IntArray
    duration: IntArray
    begin: IntArray


class Reach(NamedTuple):
    """Bounds on the movable reservations of each block of :data:`BLOCK`, so that a search may skip the block.

    A move only lowers starts. So the bounds hold until the next compression.

    Attributes
    ----------
    units
        Least amount; :data:`.NEVER` without movable reservations.
    duration
        Least duration, seconds.
    lead
        Least start less the duration, seconds.
    first, last
        Earliest and latest start, seconds.
    end
        Latest end, seconds.
    """

    units: IntArray
    duration: IntArray
    lead: IntArray
    first: IntArray
    last: IntArray
    end: IntArray


class PoolBook(NamedTuple):
    """Reservations, and bookings of running jobs.

    Each block of memory has the fields of a tuple as rows. Compiled code reads them by name, as in
    ``bookings(book.reserved).start``. A call with one array per field would take longer than a short decision.

    Attributes
    ----------
    profile
        Free amount beside them.
    reserved, running
        Blocks of :class:`Bookings`, shape (6, most).
    freed
        Starts and ends of intervals freed since the last compression. Shape (2, most).
    holes, misfits
        Blocks of :class:`Holes`, shape (4, most) and (most, 120).
    reach
        Block of :class:`Reach`, shape (6, blocks).
    places
        Position of each order in the queue and among the running jobs. Shape (2, orders). A matched one is negative: -2
        less its position. -1 for none, and between decisions.
    numbers
        Block of :class:`Counts`, shape (4, 1).
    """

    profile: Amount
    reserved: IntArray
    running: IntArray
    freed: IntArray
    holes: IntArray
    misfits: IntArray
    reach: IntArray
    places: IntArray
    numbers: IntArray

    @property
    def counts(self) -> Counts:
        """The counters by name, for callers in Python."""
        return Counts(*self.numbers)


def open_book(free: int, now: int) -> PoolBook:
    """Return an empty book of `free` units."""
    return PoolBook(
        profile=open_amount(free, now, 128),
        reserved=np.empty((6, 64), dtype=np.int64),
        running=np.empty((6, 64), dtype=np.int64),
        freed=np.empty((2, 64), dtype=np.int64),
        holes=np.empty((4, 64), dtype=np.int64),
        misfits=np.empty((64, 3 * POWERS + 3 * SHAPES), dtype=np.int64),
        reach=np.empty((6, 64), dtype=np.int64),
        places=np.full((2, 64), -1, dtype=np.int64),
        numbers=np.zeros((4, 1), dtype=np.int64),
    )


def with_room_for(book: PoolBook, jobs: int, last: int) -> PoolBook:
    """Return the book with room for a decision on `jobs` jobs. `last` is the largest order."""
    counts = book.counts
    most = int(counts.reserved[0] + counts.running[0]) + jobs + 1
    places = book.places if last < book.places.shape[1] else np.full((2, 2 * last + 1), -1, dtype=np.int64)
    holes = _longer(book.holes, most)
    return PoolBook(
        profile=with_room(book.profile, most),
        reserved=_longer(book.reserved, most),
        running=_longer(book.running, most),
        freed=_longer(book.freed, 2 * most),
        holes=holes,
        misfits=book.misfits if holes is book.holes else np.empty((holes.shape[1], book.misfits.shape[1]), np.int64),
        reach=_longer(book.reach, most // BLOCK + 1),
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
def _bookings(block: IntArray) -> Bookings:
    return Bookings(block[0], block[1], block[2], block[3], block[4], block[5])


@borrowing
def _counts(block: IntArray) -> Counts:
    return Counts(block[0], block[1], block[2], block[3])


@borrowing
def _holes(book: PoolBook) -> Holes:
    block, misfits = book.holes, book.misfits
    shapes = 3 * POWERS
    return Holes(
        block[0],
        block[1],
        block[2],
        block[3],
        misfits[:, :POWERS],
        misfits[:, POWERS : 2 * POWERS],
        misfits[:, 2 * POWERS : shapes],
        misfits[:, shapes : shapes + SHAPES],
        misfits[:, shapes + SHAPES : shapes + 2 * SHAPES],
        misfits[:, shapes + 2 * SHAPES :],
    )


@borrowing
def _reach(block: IntArray) -> Reach:
    return Reach(block[0], block[1], block[2], block[3], block[4], block[5])


@borrowing
def _waiting_jobs(block: IntArray) -> WaitingUnits:
    return WaitingUnits(block[0], block[1], block[2])


@borrowing
def _running_jobs(block: IntArray) -> RunningUnits:
    return RunningUnits(block[0], block[1], block[2], block[3])


@borrowing
def book_reservation(book: PoolBook, order: int, units: int, start: int, end: int) -> int:
    """Add a reservation. Return its row. The profile is unchanged."""
    return _append(book.reserved, _counts(book.numbers).reserved, order, units, start, end)


@borrowing
def book_run(book: PoolBook, order: int, units: int, start: int, end: int) -> int:
    """Add the booking of a running job. Return its row. The profile is unchanged."""
    return _append(book.running, _counts(book.numbers).running, order, units, start, end)


@within
def _append(block: IntArray, count: IntArray, order: int, units: int, start: int, end: int) -> int:
    rows = _bookings(block)
    row = count[0]
    rows.order[row], rows.units[row] = order, units
    rows.start[row], rows.end[row] = start, end
    rows.away[row], rows.place[row] = 0, -1
    count[0] += 1
    return int(row)


@within
def _keep(block: IntArray, row: int, kept: int) -> int:
    """Move a row to the end of the kept ones. Return their number."""
    if kept < row:
        for field in range(len(block)):
            block[field, kept] = block[field, row]
    return kept + 1


@within
def _note(book: PoolBook, start: int, end: int) -> None:
    """Record a freed interval."""
    freed = _counts(book.numbers).freed
    book.freed[0, freed[0]] = start
    book.freed[1, freed[0]] = end
    freed[0] += 1


@borrowing
def follow(now: int, book: PoolBook, queue: IntArray, running: IntArray) -> bool:
    """Update the book to the queue and the running jobs. Return whether :func:`rebuild` must follow.

    It must if a running job's end is now later than planned. Otherwise, a reservation may have passed without a start
    of its job. Then this job and all behind it in the queue lose their reservations. :func:`reserve_new` makes them
    anew in queue order.

    Parameters
    ----------
    now, book
        Seconds, and the book to update.
    queue, running
        Blocks of :class:`WaitingUnits` and :class:`RunningUnits`, shape (3, waiting) and (4, running).
    """
    profile = book.profile
    waits, runs = _waiting_jobs(queue), _running_jobs(running)
    in_queue, on_machine = book.places[0], book.places[1]
    counts = _counts(book.numbers)
    forget(profile, now)
    counts.exceeded[0] = least(profile) < 0
    for place in range(len(waits.order)):
        in_queue[waits.order[place]] = place
    for place in range(len(runs.order)):
        on_machine[runs.order[place]] = place
    corrected = _follow_runs(now, book, runs)
    _follow_reservations(now, book, waits, runs, corrected)
    for place in range(len(runs.order)):
        on_machine[runs.order[place]] = -1
    return corrected


@within
def _follow_runs(now: int, book: PoolBook, runs: RunningUnits) -> bool:
    """Update the bookings of running jobs. Return whether an end is later than planned."""
    profile, on_machine, counts = book.profile, book.places[1], _counts(book.numbers)
    rows = _bookings(book.running)
    kept = 0
    corrected = False
    for row in range(counts.running[0]):
        place = on_machine[rows.order[row]]
        end = runs.end[place] if place >= 0 else now
        if place >= 0 and end > rows.end[row]:
            add(profile, max(rows.end[row], now), end, -rows.units[row])
            corrected = True
        else:
            end = max(end, now)
            if end < rows.end[row]:
                add(profile, end, rows.end[row], rows.units[row])
                _note(book, end, rows.end[row])
        if place >= 0:
            rows.end[row] = runs.end[place]
            on_machine[rows.order[row]] = -2 - place
            kept = _keep(book.running, row, kept)
    counts.running[0] = kept
    for place in range(len(runs.order)):
        order, units, end = runs.order[place], runs.units[place], runs.end[place]
        if on_machine[order] >= 0:  # Another dispatcher has started the job.
            _append(book.running, counts.running, order, units, runs.start[place], end)
            if end > now:
                add(profile, now, end, -units)
                corrected = True
            on_machine[order] = -2 - place
    return corrected


@within
def _follow_reservations(now: int, book: PoolBook, waits: WaitingUnits, runs: RunningUnits, corrected: bool) -> None:
    """Drop the reservations of jobs that have left, have changed, or missed their start."""
    in_queue, on_machine, counts = book.places[0], book.places[1], _counts(book.numbers)
    rows = _bookings(book.reserved)
    passed = len(waits.order)
    if not corrected:
        for row in range(counts.reserved[0]):
            if rows.end[row] <= now and in_queue[rows.order[row]] >= 0:
                passed = min(passed, in_queue[rows.order[row]])
    kept = 0
    for row in range(counts.reserved[0]):
        order = rows.order[row]
        start, end = rows.start[row], rows.end[row]
        place = in_queue[order]
        run = -2 - on_machine[order]
        was_away = rows.away[row]
        rows.away[row] = place < 0 and run >= 0 and runs.end[run] <= start
        rows.place[row] = place
        same = place >= 0 and waits.units[place] == rows.units[row] and waits.predicted[place] == end - start
        if (not same and not rows.away[row]) or place >= passed:
            start = max(now, start)  # The job left for good, returned changed, or needs a new reservation.
            if start < end:
                add(book.profile, start, end, rows.units[row])
                _note(book, start, end)
        elif corrected or end > now:
            if place >= 0:
                in_queue[order] = -2 - place
            if was_away and not rows.away[row]:
                _note(book, now, end)  # It may move again.
            kept = _keep(book.reserved, row, kept)
    counts.reserved[0] = kept


@borrowing
def rebuild(now: int, book: PoolBook, order: IntArray) -> None:
    """Make the reservations anew in an order, shape (reservations,), none earlier than before.

    The profile must be empty.
    """
    profile, runs = book.profile, _bookings(book.running)
    for row in range(_counts(book.numbers).running[0]):
        add(profile, now, runs.end[row], -runs.units[row])
    rows, until = _bookings(book.reserved), now
    for row in order:
        duration = rows.end[row] - rows.start[row]
        start = earliest(profile, rows.units[row], duration, max(now, rows.start[row]), NEVER, NEVER)
        rows.start[row], rows.end[row] = start, start + duration
        add(profile, start, start + duration, -rows.units[row])
        until = max(until, start + duration)
    _note(book, now, until)


@borrowing
def reserve_new(now: int, book: PoolBook, queue: IntArray) -> None:
    """Reserve for the jobs without a reservation, in order of submission. `queue` is as for :func:`follow`."""
    waits, in_queue = _waiting_jobs(queue), book.places[0]
    reserved, rows = _counts(book.numbers).reserved, _bookings(book.reserved)
    for place in range(len(waits.order)):
        order, units, duration = waits.order[place], waits.units[place], waits.predicted[place]
        if in_queue[order] >= 0:
            start = earliest(book.profile, units, duration, now, NEVER, NEVER)
            if start >= 0:
                add(book.profile, start, start + duration, -units)
                rows.place[_append(book.reserved, reserved, order, units, start, start + duration)] = place
        in_queue[order] = -1


@borrowing
def start_due(now: int, free: int, book: PoolBook, chosen: IntArray) -> tuple[int, int, int]:
    """Start the jobs with due reservations, if their units are free. Use :func:`delay` for late jobs.

    Returns the number of positions in `chosen`, the number of late jobs, and the start of the next reservation. That is
    :data:`.NEVER` if there is none.
    """
    rows, counts = _bookings(book.reserved), _counts(book.numbers)
    kept = 0
    count = 0
    late = 0
    following = NEVER
    for row in range(counts.reserved[0]):
        start, units = rows.start[row], rows.units[row]
        if start > now:
            following = min(following, start)
        elif not rows.away[row] and units > free:
            late += 1
        elif not rows.away[row]:
            free -= units
            chosen[count] = rows.place[row]
            count += 1
            _append(book.running, counts.running, rows.order[row], units, start, rows.end[row])
            continue
        kept = _keep(book.reserved, row, kept)
    counts.reserved[0] = kept
    return count, late, following


@borrowing
def delay(now: int, book: PoolBook, first: int) -> None:
    """Move running bookings from `first` on that began before now to begin now."""
    rows = _bookings(book.running)
    for row in range(first, _counts(book.numbers).running[0]):
        late = now - rows.start[row]
        if late > 0:
            add(book.profile, rows.end[row], rows.end[row] + late, -rows.units[row])
            rows.start[row], rows.end[row] = now, rows.end[row] + late


@within
def _may_move(now: int, rows: Bookings, row: int) -> bool:
    return rows.start[row] > now and not rows.away[row]


@within
def _move(book: PoolBook, row: int, start: int) -> None:
    """Move a reservation to another start."""
    rows = _bookings(book.reserved)
    units = rows.units[row]
    before, end = rows.start[row], rows.end[row]
    add(book.profile, before, end, units)
    rows.start[row], rows.end[row] = start, start + end - before
    add(book.profile, start, rows.end[row], -units)


@borrowing
def compress_once(now: int, book: PoolBook) -> None:
    """Move each reservation that fits earlier, in one pass."""
    rows = _bookings(book.reserved)
    for row in range(_counts(book.numbers).reserved[0]):
        if _may_move(now, rows, row):
            start = _earlier(book, rows, row, now, NEVER)
            if start >= 0:
                _move(book, row, start)


@within
def _earlier(book: PoolBook, rows: Bookings, row: int, after: int, before: int) -> int:
    """Return the first start in [`after`, `before`) at which a reservation fits before its own. -1 if none."""
    start = rows.start[row]
    duration = rows.end[row] - start
    return earliest(book.profile, rows.units[row], duration, after, min(start, before), start)


@borrowing
def compress_until_stable(now: int, book: PoolBook) -> None:
    """Move the first reservation that fits earlier. Repeat from the head until nothing moves.

    Each can only move to a start at which it uses a freed hole. Each hole stores a row before which no reservation can
    move into it. If there is no room for another hole, it joins the last.
    """
    rows, holes, counts = _bookings(book.reserved), _holes(book), _counts(book.numbers)
    _measure_reach(now, book)
    count = 0
    freed = counts.freed[0]
    exceeded = counts.exceeded[0]
    before = 0
    end = 0
    while freed > 0 or count > 0:
        if freed > 0:
            freed -= 1
            before = max(now, book.freed[0, freed])
            end = book.freed[1, freed]
        else:
            row = _first_to_move(now, book, count)
            if row == counts.reserved[0]:
                break
            start = _earlier(book, rows, row, now, NEVER)
            before, end = rows.start[row], rows.end[row]
            _move(book, row, start)
            _extend_reach(_reach(book.reach), row // BLOCK, rows, row)
            # It cannot move again until another hole appears.
            for hole in range(count - 1, -1, -1):
                holes.row[hole] += holes.row[hole] == row
                if holes.row[hole] == counts.reserved[0]:
                    count -= 1
                    _move_hole(book, count, hole)
            before = max(before, rows.end[row])
            place, step = locate(book.profile, before)
            place, _ = below(book.profile, rows.units[row], place, step, end, NEVER)
            exceeded = int(place < book.profile.blocks[0])
        hole = min(count, len(holes.row) - 1)
        if hole < count:
            before = min(before, holes.start[hole])
            end = max(end, holes.end[hole])
            exceeded = max(exceeded, holes.exceeded[hole])
            count = hole
        holes.start[hole], holes.end[hole] = before, end
        holes.exceeded[hole] = exceeded
        for power in range(POWERS):
            holes.misfit[hole, power] = holes.near[hole, power] = NEVER
        for shape in range(SHAPES):
            holes.units[hole, shape] = 0
        holes.row[hole] = 0
        count += before < end


@within
def _first_to_move(now: int, book: PoolBook, count: int) -> int:
    """Return the first reservation that can move into one of the holes. The number of reservations if none can."""
    holes = _holes(book)
    best = 0
    for hole in range(1, count):
        if holes.row[hole] <= holes.row[best]:
            best = hole
    row = holes.row[best] = _seek(now, book, best, _counts(book.numbers).reserved[0])
    for hole in range(count - 1, -1, -1):
        if holes.row[hole] < row:
            row = holes.row[hole] = _seek(now, book, hole, row)
    return int(row)


@within
def _move_hole(book: PoolBook, source: int, target: int) -> None:
    """Move a hole to the place of another one."""
    for each in range(len(book.holes)):
        book.holes[each, target] = book.holes[each, source]
    for each in range(book.misfits.shape[1]):
        book.misfits[target, each] = book.misfits[source, each]


@within
def _measure_reach(now: int, book: PoolBook) -> None:
    """Compute the bounds of all blocks."""
    rows, reach = _bookings(book.reserved), _reach(book.reach)
    reserved = _counts(book.numbers).reserved[0]
    for block in range((reserved + BLOCK - 1) // BLOCK):
        reach.units[block] = reach.duration[block] = reach.lead[block] = reach.first[block] = NEVER
        reach.last[block] = reach.end[block] = 0
        for row in range(block * BLOCK, min(reserved, (block + 1) * BLOCK)):
            if _may_move(now, rows, row):
                _extend_reach(reach, block, rows, row)


@within
def _extend_reach(reach: Reach, block: int, rows: Bookings, row: int) -> None:
    """Let the bounds of a block include a reservation."""
    start, end = rows.start[row], rows.end[row]
    reach.units[block] = min(reach.units[block], rows.units[row])
    reach.duration[block] = min(reach.duration[block], end - start)
    reach.lead[block] = min(reach.lead[block], start - (end - start))
    reach.first[block] = min(reach.first[block], start)
    reach.last[block] = max(reach.last[block], start)
    reach.end[block] = max(reach.end[block], end)


@within
def _power(units: int) -> int:
    """Return the index of the largest power of two up to the units."""
    power = 0
    while power < POWERS - 1 and (2 << power) <= units:
        power += 1
    return power


@within
def _seek(now: int, book: PoolBook, hole: int, stop: int) -> int:
    """Return the first reservation before `stop` that fits earlier by using a hole. `stop` if none does.

    It uses free amounts of the hole before its own start. If bookings exceeded the capacity there, it may not have
    fitted over its own interval. So any reservation that contains the begin of the hole may fit too.
    """
    profile, rows, holes = book.profile, _bookings(book.reserved), _holes(book)
    start, end = holes.start[hole], holes.end[hole]
    room = peak(profile, start, end)
    place, step = locate(profile, start)
    free = free_at(profile, place, step)
    exceeded = holes.exceeded[hole] > 0
    row = holes.row[hole]
    while (room > 0 or exceeded) and row < stop:
        if row % BLOCK == 0 and _out_of_reach(_reach(book.reach), row // BLOCK, holes, hole, room):
            row += BLOCK
            continue
        units, begin = rows.units[row], rows.start[row]
        duration = rows.end[row] - begin
        if begin <= start:
            if exceeded and rows.end[row] > start and _may_move(now, rows, row):
                after = max(now, start - duration + 1)
                if _earlier(book, rows, row, after, end) >= 0:
                    return int(row)
        elif (
            units <= room
            and _may_move(now, rows, row)
            and not _misfits(holes, hole, units, duration, begin, begin - duration)
            and not _alike(holes, hole, units, duration, begin)
        ):
            after = max(now, start - duration + 1)
            if after < start:
                after = max(after, free_since(profile, units, place, step) if units <= free else start)
            if _earlier(book, rows, row, after, end) >= 0:
                return int(row)
            _remember(holes, hole, units, duration, begin)
        row += 1
    return stop


@within
def _misfits(holes: Holes, hole: int, units: int, duration: int, begin: int, lead: int) -> bool:
    """Return whether a hole is known not to fit reservations.

    They have at least these units, durations, begins, and begins less the durations (`lead`).
    """
    power = _power(units)
    far = lead >= holes.end[hole]  # Then a job would not use units of its own reservation.
    if far and duration >= holes.misfit[hole, power]:
        return True
    return bool(duration >= holes.near[hole, power] and begin >= holes.since[hole, power])


@within
def _alike(holes: Holes, hole: int, units: int, duration: int, begin: int) -> bool:
    """Return whether an equal reservation did not fit into a hole."""
    shape = (units + duration) % SHAPES
    same = holes.units[hole, shape] == units and holes.duration[hole, shape] == duration
    return bool(same and begin >= holes.begin[hole, shape])


@within
def _remember(holes: Holes, hole: int, units: int, duration: int, begin: int) -> None:
    """Remember that a hole does not fit a reservation."""
    power = _power(units)
    first = power + ((1 << power) < units)
    if begin >= holes.end[hole] + duration:
        for larger in range(first, POWERS):
            holes.misfit[hole, larger] = min(holes.misfit[hole, larger], duration)
    if begin >= holes.end[hole]:  # Otherwise a later one might begin in the rest of the hole.
        for larger in range(first, POWERS):
            if duration <= holes.near[hole, larger]:
                holes.near[hole, larger], holes.since[hole, larger] = duration, begin
        shape = (units + duration) % SHAPES
        holes.units[hole, shape], holes.duration[hole, shape] = units, duration
        holes.begin[hole, shape] = begin


@within
def _out_of_reach(reach: Reach, block: int, holes: Holes, hole: int, room: int) -> bool:
    """Return whether no reservation of a block can move into a hole, by the conditions of :func:`_seek`."""
    start = holes.start[hole]
    if reach.units[block] == NEVER:
        return True
    # Reservations over the begin of the hole may move if the capacity was exceeded.
    if holes.exceeded[hole] > 0 and reach.first[block] <= start < reach.end[block]:
        return False
    if reach.units[block] > room or reach.last[block] <= start:
        return True
    return _misfits(holes, hole, reach.units[block], reach.duration[block], reach.first[block], reach.lead[block])
