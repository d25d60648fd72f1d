"""How reservations move up into what was freed, compiled.

Jobs of the same amount and duration are alike: of two of them the one booked first begins first, and whatever start the
later one could have, the former could have too if it is before its own. So a search is for all of them: a start that the
first one that begins later cannot have, none of them can. That holds as well where more was promised than there is.
"""

from __future__ import annotations

import numpy as np

from ...base import IntArray
from ..compiled import compiled
from .pool_profile import NEVER, Profile, earliest, free_since, next_above, next_short, peak, release, step_at
from .reservation_table import Freed, Table

#: Columns of the kinds of jobs: amount and duration, and which of the members are of that kind: from one on, before
#: another.
_AMOUNT, _DURATION, _FIRST, _STOP = range(4)
#: Columns of the traversals. They wait for one another, the last goes on first: a reservation that moves stops the one
#: that came to it until the rows up to its own were asked whether they want what it gave up. Each has the last row to
#: ask; the first start (not before now) and the last end of the freed intervals to be used; and the same of all that
#: was freed since the one before it was stopped.
_LAST, _LOW, _HIGH, _SINCE, _UNTIL = range(5)


@compiled
def compress_once(now: int, profile: Profile, reserved: Table) -> None:
    """Traverse the reservations once and move each that fits earlier."""
    for row in range(reserved.rows[0]):
        amount, start, end = reserved.amount[row], reserved.start[row], reserved.end[row]
        if reserved.order[row] >= 0 and start > now and not reserved.away[row]:
            found = earliest(profile, amount, end - start, now, start, start)
            if found >= 0:
                _move(profile, reserved, row, found)


@compiled
def _move(profile: Profile, reserved: Table, row: int, start: int) -> None:
    """Give a reservation an earlier start."""
    amount, before, end = reserved.amount[row], reserved.start[row], reserved.end[row]
    release(profile, before, end, amount)
    reserved.start[row], reserved.end[row] = start, start + end - before
    release(profile, start, reserved.end[row], -amount)


@compiled
def compress_until_stable(now: int, profile: Profile, reserved: Table, freed: Freed, settled: bool) -> bool:
    """Move the first reservation that fits earlier, again from the head, until nothing moves.

    A row is asked again only for what was freed since, and only if it takes at most what is free there at once. That may
    leave one where it is that fits earlier, where more is promised than there is. Returns whether the reservations are
    `settled`: none fits earlier and no more is promised. If they were before something was freed, one can only move to a
    start at which it would use something of that before its own start.
    """
    kinds, members = _kinds(now, reserved)
    exact = settled and _is_kept(profile)
    passes, last, row = np.empty((len(members) + 1, 5), dtype=np.int64), 0, 0
    _open_pass(passes[0], len(reserved.order), freed.start[: freed.size[0]].min(), freed.end[: freed.size[0]].max())
    while last >= 0:
        going = passes[last]
        row, start = _next_move(now, profile, reserved, (kinds, members), (going, row, exact))
        if row < 0:
            row = going[_LAST] + 1
            last -= 1
            if last >= 0:
                _widen(passes[last, _LOW:], going[_SINCE], going[_UNTIL])
                _widen(passes[last, _SINCE:], going[_SINCE], going[_UNTIL])
            continue
        before, end = reserved.start[row], reserved.end[row]
        _move(profile, reserved, row, start)
        before = max(before, reserved.end[row]) if exact else before
        if row < going[_LAST]:
            last += 1
            _open_pass(passes[last], row, before, end)
        else:
            going[_LOW], going[_HIGH] = before, end
            _widen(going[_SINCE:], before, end)
        row = 0
    return not reserved.away[: reserved.rows[0]].any() and (exact or _is_settled(now, profile, reserved, kinds, members))


@compiled
def _is_kept(profile: Profile) -> bool:
    """Return whether no more is promised than there is."""
    return bool(profile.free[: profile.steps[0]].min() >= 0)


@compiled
def _is_settled(now: int, profile: Profile, reserved: Table, kinds: IntArray, members: IntArray) -> bool:
    going = np.empty(5, dtype=np.int64)
    _open_pass(going, len(reserved.order), now, NEVER)
    return _is_kept(profile) and _next_move(now, profile, reserved, (kinds, members), (going, 0, False))[0] < 0


@compiled
def _open_pass(going: IntArray, last: int, start: int, end: int) -> None:
    """Set a traversal of the rows up to `last`, for what was freed in an interval."""
    going[_LAST], going[_LOW], going[_HIGH], going[_SINCE], going[_UNTIL] = last, start, end, start, end


@compiled
def _widen(interval: IntArray, start: int, end: int) -> None:
    interval[0], interval[1] = min(interval[0], start), max(interval[1], end)


@compiled
def _kinds(now: int, reserved: Table) -> tuple[IntArray, IntArray]:
    """Return the kinds of jobs and the rows that may move by kind, each in order of booking.

    Where one that was booked later begins earlier, it opens a kind of its own.
    """
    rows = reserved.rows[0]
    size = 64
    while size < 2 * rows:
        size *= 2
    slots, kind_of = np.full(size, -1, dtype=np.int64), np.full(rows, -1, dtype=np.int64)
    kinds, last, count = np.empty((rows, 4), dtype=np.int64), np.empty(rows, dtype=np.int64), 0
    for row in range(rows):
        amount, start, duration = reserved.amount[row], reserved.start[row], reserved.end[row] - reserved.start[row]
        if reserved.order[row] < 0 or reserved.away[row] or start <= now:
            continue
        slot = (duration + 1021 * amount) & (size - 1)
        kind = slots[slot]
        while kind >= 0 and (kinds[kind, _AMOUNT] != amount or kinds[kind, _DURATION] != duration):
            slot = (slot + 1) & (size - 1)
            kind = slots[slot]
        if kind < 0 or last[kind] > start:
            slots[slot] = kind = count
            kinds[kind, _AMOUNT], kinds[kind, _DURATION], kinds[kind, _STOP] = amount, duration, 0
            count += 1
        last[kind], kind_of[row] = start, kind
        kinds[kind, _STOP] += 1
    return kinds[:count], _members(kinds[:count], kind_of)


@compiled
def _members(kinds: IntArray, kind_of: IntArray) -> IntArray:
    """Return the rows by kind, and set where those of each kind are; at first `kinds` has how many there are."""
    stop = 0
    for kind in kinds:
        stop += kind[_STOP]
        kind[_FIRST] = kind[_STOP] = stop - kind[_STOP]
    members = np.empty(stop, dtype=np.int64)
    for row in range(len(kind_of)):
        if kind_of[row] >= 0:
            kind = kinds[kind_of[row]]
            members[kind[_STOP]] = row
            kind[_STOP] += 1
    return members


@compiled
def _next_move(
    now: int,
    profile: Profile,
    reserved: Table,
    by_kind: tuple[IntArray, IntArray],
    ask: tuple[IntArray, int, bool],
) -> tuple[int, int]:
    """Return the first row from one on that a traversal moves, and to which start; -1 if there is none.

    What is asked is the traversal, the row, and whether only those that begin after what is freed can move.
    """
    going, first, exact = ask
    low, high, last, start = max(now, going[_LOW]), going[_HIGH], going[_LAST] + 1, -1
    room = peak(profile, low, high)
    for kind in by_kind[0]:
        if kind[_AMOUNT] <= room:
            after = max(now, low - kind[_DURATION] + 1)
            if exact:
                after = max(after, free_since(profile, kind[_AMOUNT], low))
            row, time = _first_of_kind(profile, reserved, (kind, by_kind[1]), (first, last), (after, high, low if exact else now))
            if row >= 0:
                last, start = row, time
    return (last, start) if start >= 0 else (-1, -1)


@compiled
def _first_of_kind(
    profile: Profile,
    reserved: Table,
    by_kind: tuple[IntArray, IntArray],
    rows: tuple[int, int],
    times: tuple[int, int, int],
) -> tuple[int, int]:
    """Return the first row of a kind, of those from one on, before another, that fits earlier, and where; -1 if none.

    The times are the first start to be tried, the one to stop before, and the own start of the rows, which is later.
    """
    kind, members = by_kind
    after, before, own = times
    amount, duration, stop = kind[_AMOUNT], kind[_DURATION], kind[_STOP]
    begin = _bisect_start(reserved, members, kind[_FIRST], stop, max(own, after))
    if after >= before or begin == stop or members[begin] >= rows[1]:
        return -1, -1
    begin = _bisect(members, begin, stop, rows[0] - 1)
    step = step_at(profile, after)
    while True:
        step = next_above(profile, amount, step)
        time = max(after, profile.times[step])
        if step == profile.steps[0] or time >= before:
            return -1, -1
        while begin < stop and reserved.start[members[begin]] <= time:
            begin = _bisect_start(reserved, members, begin + 1, stop, time)
        if begin == stop or members[begin] >= rows[1]:
            return -1, -1
        step = next_short(profile, amount, step, time + duration, reserved.start[members[begin]])
        if step == profile.steps[0]:
            return members[begin], time


@compiled
def _bisect(members: IntArray, first: int, stop: int, row: int) -> int:
    """Return the first of the members from `first` on, before `stop`, that is after a row; `stop` if there is none."""
    while first < stop:
        middle = (first + stop) // 2
        if members[middle] > row:
            stop = middle
        else:
            first = middle + 1
    return first


@compiled
def _bisect_start(reserved: Table, members: IntArray, first: int, stop: int, time: int) -> int:
    """Return the first of the members from `first` on, before `stop`, that begins after a time."""
    while first < stop:
        middle = (first + stop) // 2
        if reserved.start[members[middle]] > time:
            stop = middle
        else:
            first = middle + 1
    return first
