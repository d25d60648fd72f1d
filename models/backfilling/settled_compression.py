"""How reservations of which none fits earlier move up into what was freed, compiled.

One can then only move to a start at which it would use something that was freed, before its own start. The first such
start that is still to be tried is known for every kind of jobs.
"""

from __future__ import annotations

import numpy as np

from ...base import IntArray
from ..compiled import compiled
from .alike import AMOUNT, DURATION, FIRST, FROM, ROW, STOP, UNTIL, first_later
from .pool_profile import NEVER, Profile, free_since, next_above, next_short, peak, step_at
from .reservation_table import Freed, Table, move


@compiled
def compress_settled(
    now: int, profile: Profile, reserved: Table, freed: Freed, kinds: IntArray, members: IntArray
) -> None:
    """Move the first reservation that fits earlier, again from the head, until nothing moves."""
    for interval in range(freed.size[0]):
        _free(now, profile, reserved, kinds, members, (max(now, freed.start[interval]), freed.end[interval]))
    while len(kinds):
        kind = kinds[np.argmin(kinds[:, ROW])]
        row = kind[ROW]
        if row == NEVER:
            break
        start = _try(profile, kind, reserved.start[row])
        if start < 0:
            _set_row(kind, members, reserved)
            continue
        before, end = reserved.start[row], reserved.end[row]
        move(profile, reserved, row, start)
        _set_row(kind, members, reserved)
        _free(now, profile, reserved, kinds, members, (max(before, reserved.end[row]), end))


@compiled
def _free(
    now: int, profile: Profile, reserved: Table, kinds: IntArray, members: IntArray, interval: tuple[int, int]
) -> None:
    """Let every kind try the starts at which it would use something of a freed interval."""
    start, end = interval
    room = peak(profile, start, end)
    for kind in kinds:
        if kind[AMOUNT] > room or reserved.start[members[kind[STOP] - 1]] <= start:
            continue
        after = max(now, start - kind[DURATION] + 1)
        if after < kind[FROM]:
            after = max(after, free_since(profile, kind[AMOUNT], start))
        kind[UNTIL] = max(kind[UNTIL], end)
        if after < kind[FROM]:
            kind[FROM] = after
            _set_row(kind, members, reserved)


@compiled
def _set_row(kind: IntArray, members: IntArray, reserved: Table) -> None:
    """Look up the first row of a kind that begins later than the start to be tried."""
    place = kind[STOP]
    if kind[FROM] < kind[UNTIL]:
        place = first_later(reserved, members, kind[FIRST], kind[STOP], kind[FROM])
    if place < kind[STOP]:
        kind[ROW] = members[place]
    else:
        kind[FROM], kind[UNTIL], kind[ROW] = NEVER, 0, NEVER


@compiled
def _try(profile: Profile, kind: IntArray, held: int) -> int:
    """Return the start to be tried if the first row that begins later can have it; if not, set the next and return -1.

    That row has what it needs from `held` on. The next start may be one that another row has to be asked for.
    """
    after = kind[FROM]
    first = step_at(profile, after)
    step = next_above(profile, kind[AMOUNT], first)
    if step == first:
        step = next_short(profile, kind[AMOUNT], first, after + kind[DURATION], held)
        if step == profile.steps[0]:
            return int(after)
        step = next_above(profile, kind[AMOUNT], step)
    kind[FROM] = profile.times[step] if step < profile.steps[0] else NEVER
    return -1
