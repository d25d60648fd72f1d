"""Compiled profile of one amount over time: a step function in blocks of steps.

A change moves only the steps of one block. A search skips blocks that cannot matter. So hundreds of thousands of
intervals are possible. Intervals are half-open, times are whole seconds.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...base import IntArray
from ..compiled import borrowing, within

#: Later than any time.
NEVER = np.iinfo(np.int64).max
#: Steps of a block, and of half a block.
SIZE, HALF = 64, 32
#: A block: number of its steps, offset to add to their free amounts, and its least and most free amount.
BLOCK = np.dtype([(name, np.int64) for name in ("steps", "added", "low", "high")])


class Amount(NamedTuple):
    """Free units over time. The last step lasts for ever.

    Attributes
    ----------
    times, free
        Times of changes, seconds, rising, and free units from then on. Shape (blocks, :data:`SIZE`). Free units are
        negative where over capacity.
    table
        Each block, of type :data:`BLOCK`. Shape (blocks,).
    blocks
        Number of used blocks, shape (1,).
    """

    times: IntArray
    free: IntArray
    table: NDArray[np.void]
    blocks: IntArray


def open_amount(free: int, now: int, intervals: int) -> Amount:
    """Return a profile with `free` units from `now` on, and room for `intervals` intervals.

    Two neighbouring blocks have more steps than half a block together. So there are at most 4 blocks per :data:`SIZE`
    steps.
    """
    most = intervals // 8 + 8
    times, units = np.empty((2, most, SIZE), dtype=np.int64)
    profile = Amount(times, units, np.empty(most, dtype=BLOCK), np.ones(1, dtype=np.int64))
    profile.times[0, 0] = now
    profile.free[0, 0] = free
    profile.table[0] = (1, 0, free, free)
    return profile


def with_room(profile: Amount, intervals: int) -> Amount:
    """Return the profile with room for `intervals` intervals: itself, or a copy in longer arrays."""
    if intervals // 8 + 8 <= len(profile.times):
        return profile
    longer = open_amount(0, 0, 2 * intervals)
    count = int(profile.blocks[0])
    longer.times[:count], longer.free[:count] = profile.times[:count], profile.free[:count]
    longer.table[:count] = profile.table[:count]
    longer.blocks[0] = count
    return longer


def steps_of(profile: Amount) -> tuple[list[int], list[int]]:
    """Return the times of changes, and the free amount from each on."""
    count = int(profile.blocks[0])
    used = np.arange(SIZE) < profile.table["steps"][:count, None]
    free = profile.free[:count] + profile.table["added"][:count, None]
    return profile.times[:count][used].tolist(), free[used].tolist()


@borrowing
def forget(profile: Amount, now: int) -> None:
    """Remove the part before `now`. `now` must not be before the first step."""
    first, step = locate(profile, now)
    profile.times[first, step] = now
    if first + step == 0:
        return
    _copy(profile, first, step, 0)
    _measure(profile, 0)
    if first > 0:
        for place in range(first + 1, profile.blocks[0]):
            _copy(profile, place, 0, place - first)
        profile.blocks[0] -= first


@borrowing
def add(profile: Amount, start: int, end: int, amount: int) -> None:
    """Add `amount` to the free amount in [`start`, `end`), not before the first step."""
    if end <= start:
        return
    table = profile.table
    _split(profile, end)
    first, step = _split(profile, start)
    last, stop = locate(profile, end)
    for place in range(first, last + 1):
        low = step if place == first else 0
        high = stop if place == last else table[place].steps
        if high - low == table[place].steps:
            table[place].added += amount
            table[place].low += amount
            table[place].high += amount
        elif high > low:
            for index in range(low, high):
                profile.free[place, index] += amount
            _measure(profile, place)
    _join(profile, end)
    _join(profile, start)


@borrowing
def earliest(profile: Amount, amount: int, duration: int, after: int, before: int, own: int) -> int:
    """Return the first start in [`after`, `before`) with `amount` free for `duration` seconds, -1 if none.

    From the time `own` on, the free amount only needs to be at least zero. The job already occupies its own amount
    there.
    """
    place, step = locate(profile, after)
    start = after
    while True:
        there, index = above(profile, amount, place, step)
        if there == profile.blocks[0]:
            return -1
        if there != place or index != step:
            start = profile.times[there, index]
        if start >= before:
            return -1
        place, step = below(profile, amount, there, index, start + duration, own)
        if place == profile.blocks[0]:
            return int(start)


@within
def above(profile: Amount, amount: int, place: int, step: int) -> tuple[int, int]:
    """Return block and number of the first step from a step on with `amount` free.

    The number of blocks if there is none.
    """
    while place < profile.blocks[0]:
        if profile.table[place].high >= amount:
            least = amount - profile.table[place].added
            for index in range(step, profile.table[place].steps):
                if profile.free[place, index] >= least:
                    return place, index
        place, step = place + 1, 0
    return place, 0


@within
def below(profile: Amount, amount: int, place: int, step: int, end: int, own: int) -> tuple[int, int]:
    """Return block and number of the first step before `end` with less than :func:`earliest` needs.

    The search begins at a step. The number of blocks if there is none.
    """
    count = profile.blocks[0]
    while place < count and profile.times[place, step] < end:
        least = amount if profile.times[place, step] < own else 0
        if profile.table[place].low < least:
            added = profile.table[place].added
            for index in range(step, profile.table[place].steps):
                time = profile.times[place, index]
                if time >= end:
                    return count, 0
                if profile.free[place, index] + added < (amount if time < own else 0):
                    return place, index
        place, step = place + 1, 0
    return count, 0


@borrowing
def free_until(profile: Amount, amount: int, start: int) -> int:
    """Return until when `amount` is free from `start` on.

    :data:`NEVER` if it stays free. At most `start` if it is not free there.
    """
    place, step = locate(profile, start)
    place, step = below(profile, amount, place, step, NEVER, NEVER)
    return NEVER if place == profile.blocks[0] else profile.times[place, step]


@within
def free_since(profile: Amount, amount: int, place: int, step: int) -> int:
    """Return since when `amount` has been free, at a step in which it is free."""
    while True:
        least = amount - profile.table[place].added
        while step > 0 and (profile.table[place].low >= amount or profile.free[place, step - 1] >= least):
            step -= 1
        before = place - 1
        if step > 0 or place == 0:
            break
        last = profile.table[before].steps - 1
        if profile.free[before, last] + profile.table[before].added < amount:
            break
        place, step = before, last
    return int(profile.times[place, step])


@borrowing
def peak(profile: Amount, start: int, end: int) -> int:
    """Return the largest amount free at one time in [`start`, `end`)."""
    place, step = locate(profile, start)
    most = free_at(profile, place, step)
    while place < profile.blocks[0] and profile.times[place, step] < end:
        if profile.table[place].high > most:
            for index in range(step, profile.table[place].steps):
                if profile.times[place, index] >= end:
                    break
                most = max(most, free_at(profile, place, index))
        place, step = place + 1, 0
    return int(most)


@borrowing
def least(profile: Amount) -> int:
    """Return the least amount free at any time."""
    low = profile.table[0].low
    for place in range(1, profile.blocks[0]):
        low = min(low, profile.table[place].low)
    return int(low)


@borrowing
def free_at(profile: Amount, place: int, step: int) -> int:
    """Return the free amount of a step."""
    return int(profile.free[place, step] + profile.table[place].added)


@borrowing
def locate(profile: Amount, time: int) -> tuple[int, int]:
    """Return block and number of the step that contains a time, not before the first step."""
    low, high = 0, profile.blocks[0]
    while high - low > 1:
        middle = (low + high) // 2
        if profile.times[middle, 0] <= time:
            low = middle
        else:
            high = middle
    place, low, high = low, 0, profile.table[low].steps
    while high - low > 1:
        middle = (low + high) // 2
        if profile.times[place, middle] <= time:
            low = middle
        else:
            high = middle
    return place, low


@within
def _split(profile: Amount, time: int) -> tuple[int, int]:
    """Split the step that contains a time at that time. Return block and number of the new step."""
    place, step = locate(profile, time)
    if profile.times[place, step] == time:
        return place, step
    if profile.table[place].steps == SIZE:
        for later in range(profile.blocks[0], place + 1, -1):
            _copy(profile, later - 1, 0, later)
        _copy(profile, place, HALF, place + 1)
        profile.table[place].steps = HALF
        profile.blocks[0] += 1
        _measure(profile, place)
        _measure(profile, place + 1)
        if step >= HALF:
            place, step = place + 1, step - HALF
    times, free = profile.times, profile.free
    for index in range(profile.table[place].steps, step + 1, -1):
        times[place, index], free[place, index] = times[place, index - 1], free[place, index - 1]
    times[place, step + 1], free[place, step + 1] = time, free[place, step]
    profile.table[place].steps += 1
    return place, step + 1


@within
def _join(profile: Amount, time: int) -> None:
    """Merge the step that begins at a time into the step before, if both have equal free amounts."""
    times = profile.times
    free = profile.free
    table = profile.table
    place, step = locate(profile, time)
    if place + step == 0:
        return
    left = place if step > 0 else place - 1
    if free_at(profile, left, step - 1 if step > 0 else table[left].steps - 1) != free_at(profile, place, step):
        return
    table[place].steps -= 1
    for index in range(step, table[place].steps):
        times[place, index], free[place, index] = times[place, index + 1], free[place, index + 1]
    if step == 0:
        _measure(profile, place)
    for left in range(max(place - 1, 0), min(place + 1, profile.blocks[0] - 1)):
        steps = table[left].steps
        others = table[left + 1].steps
        if steps + others <= HALF or others == 0:  # Merge the next block into this one.
            for index in range(others):
                times[left, steps + index] = times[left + 1, index]
                free[left, steps + index] = free_at(profile, left + 1, index) - table[left].added
            table[left].steps = steps + others
            _measure(profile, left)
            for later in range(left + 1, profile.blocks[0] - 1):
                _copy(profile, later + 1, 0, later)
            profile.blocks[0] -= 1
            return


@within
def _copy(profile: Amount, source: int, first: int, target: int) -> None:
    """Copy a block from a step on over another block."""
    steps = profile.table[source].steps - first
    for index in range(steps):
        profile.times[target, index] = profile.times[source, first + index]
        profile.free[target, index] = profile.free[source, first + index]
    profile.table[target].added = profile.table[source].added
    profile.table[target].low = profile.table[source].low
    profile.table[target].high = profile.table[source].high
    profile.table[target].steps = steps


@within
def _measure(profile: Amount, place: int) -> None:
    """Set the least and the most free amount of a block."""
    low = high = profile.free[place, 0]
    for index in range(1, profile.table[place].steps):
        low = min(low, profile.free[place, index])
        high = max(high, profile.free[place, index])
    profile.table[place].low = low + profile.table[place].added
    profile.table[place].high = high + profile.table[place].added
