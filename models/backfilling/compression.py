"""How reservations move up into what was freed, compiled."""

from __future__ import annotations

import numpy as np

from ...base import IntArray
from ..compiled import compiled
from .alike import AMOUNT, DURATION, FIRST, STOP, first_after, first_later, open_kinds
from .pool_profile import NEVER, Profile, earliest, next_above, next_short, peak, step_at
from .reservation_table import Freed, Table, move
from .settled_compression import compress_settled

#: Columns of the traversals. They wait for one another, the last goes on first: a reservation that moves stops the one
#: that came to it until the rows up to its own were asked whether they want what it gave up. Each has the last row to
#: ask; the first start and the last end of the freed intervals to be used; and the same of all that was freed since the
#: one before it was stopped.
_LAST, _LOW, _HIGH, _SINCE, _UNTIL = range(5)


@compiled
def compress_once(now: int, profile: Profile, reserved: Table) -> None:
    """Traverse the reservations once and move each that fits earlier."""
    for row in range(reserved.rows[0]):
        amount, start, end = reserved.amount[row], reserved.start[row], reserved.end[row]
        if reserved.order[row] >= 0 and start > now and not reserved.away[row]:
            found = earliest(profile, amount, end - start, now, start, start)
            if found >= 0:
                move(profile, reserved, row, found)


@compiled
def compress_until_stable(now: int, profile: Profile, reserved: Table, freed: Freed, settled: bool) -> bool:
    """Move the first reservation that fits earlier, again from the head, until nothing moves.

    A row is asked again only for what was freed since, and only if it takes at most what is free there at once. Where
    more is promised than there is, that may leave one where it is that fits earlier. Takes and returns whether the
    reservations are `settled`: none fits earlier, but for what is in `freed`, and no more is promised than there is.
    """
    kinds, members = open_kinds(now, reserved)
    if settled and _is_kept(profile):
        compress_settled(now, profile, reserved, freed, kinds, members)
    else:
        _traverse(now, profile, reserved, freed, (kinds, members))
        everything = np.array([len(reserved.order), now, NEVER, now, NEVER])
        settled = _is_kept(profile) and _next_move(now, profile, reserved, (kinds, members), everything, 0)[0] < 0
    return settled and not reserved.away[: reserved.rows[0]].any()


@compiled
def _is_kept(profile: Profile) -> bool:
    """Return whether no more is promised than there is."""
    return bool(profile.free[: profile.steps[0]].min() >= 0)


@compiled
def _traverse(now: int, profile: Profile, reserved: Table, freed: Freed, by_kind: tuple[IntArray, IntArray]) -> None:
    passes, last, row = np.empty((len(by_kind[1]) + 1, 5), dtype=np.int64), 0, 0
    _open_pass(passes[0], len(reserved.order), freed.start[: freed.size[0]].min(), freed.end[: freed.size[0]].max())
    while last >= 0:
        going = passes[last]
        row, start = _next_move(now, profile, reserved, by_kind, going, row)
        if row < 0:
            row = going[_LAST] + 1
            last -= 1
            if last >= 0:
                _widen(passes[last, _LOW:], going[_SINCE], going[_UNTIL])
                _widen(passes[last, _SINCE:], going[_SINCE], going[_UNTIL])
            continue
        before, end = reserved.start[row], reserved.end[row]
        move(profile, reserved, row, start)
        if row < going[_LAST]:
            last += 1
            _open_pass(passes[last], row, before, end)
        else:
            going[_LOW], going[_HIGH] = before, end
            _widen(going[_SINCE:], before, end)
        row = 0


@compiled
def _open_pass(going: IntArray, last: int, start: int, end: int) -> None:
    """Set a traversal of the rows up to `last`, for what was freed in an interval."""
    going[_LAST], going[_LOW], going[_HIGH], going[_SINCE], going[_UNTIL] = last, start, end, start, end


@compiled
def _widen(interval: IntArray, start: int, end: int) -> None:
    interval[0], interval[1] = min(interval[0], start), max(interval[1], end)


@compiled
def _next_move(
    now: int, profile: Profile, reserved: Table, by_kind: tuple[IntArray, IntArray], going: IntArray, first: int
) -> tuple[int, int]:
    """Return the first row from `first` on that a traversal moves, and to which start; -1 if there is none."""
    low, high, last, start = max(now, going[_LOW]), going[_HIGH], going[_LAST] + 1, -1
    room = peak(profile, low, high)
    for kind in by_kind[0]:
        if kind[AMOUNT] <= room:
            after = max(now, low - kind[DURATION] + 1)
            row, time = _first_of_kind(profile, reserved, (kind, by_kind[1]), (first, last), (after, high))
            if row >= 0:
                last, start = row, time
    return (last, start) if start >= 0 else (-1, -1)


@compiled
def _first_of_kind(
    profile: Profile,
    reserved: Table,
    by_kind: tuple[IntArray, IntArray],
    rows: tuple[int, int],
    times: tuple[int, int],
) -> tuple[int, int]:
    """Return the first row of a kind that fits earlier, and at which start; -1 if there is none.

    Rows and times are half-open intervals: the rows that are asked, and the starts that are tried.
    """
    kind, members = by_kind
    (after, before), stop = times, kind[STOP]
    place, step = first_after(members, kind[FIRST], stop, rows[0] - 1), step_at(profile, after)
    while True:
        step = next_above(profile, kind[AMOUNT], step)
        if step == profile.steps[0]:
            return -1, -1
        time = max(after, profile.times[step])
        place = first_later(reserved, members, place, stop, time)
        if time >= before or place == stop or members[place] >= rows[1]:
            return -1, -1
        step = next_short(profile, kind[AMOUNT], step, time + kind[DURATION], reserved.start[members[place]])
        if step == profile.steps[0]:
            return members[place], time
