"""What is free of one number when, for hundreds of thousands of reservations: a step function in blocks of steps.

As :mod:`.pool_profile`, but a change moves the steps of one block, and a search passes over the blocks in which it
cannot end. What is taken in a long interval is noted once a block.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...base import IntArray
from ..compiled import compiled

#: Steps of a block, and the rows of a block: how many are set, the least and the most that is free in it, and what is
#: to be added to what its steps say.
SIZE = 64
_COUNT, _LOW, _HIGH, _ADDED = range(4)
#: The numbers: the places of the first block and of the one behind the last, how many blocks were ever used, and how
#: many of these are used no more.
_FIRST, _STOP, _USED, _SPARE = range(4)


class BlockedProfile(NamedTuple):
    """Free units over time; the last step lasts for ever.

    Attributes
    ----------
    times, free
        When what is free changes, seconds, rising, and what is free from then on; shape (blocks, :data:`SIZE`).
    blocks
        Of each block, shape (4, blocks).
    order, spare
        The blocks in the order of time, and those that are used no more; shape (blocks,).
    numbers
        What is set, shape (4,).
    """

    times: IntArray
    free: IntArray
    blocks: IntArray
    order: IntArray
    spare: IntArray
    numbers: IntArray


def open_blocks(free: int, now: int, changes: int) -> BlockedProfile:
    """Return a profile with `free` units from `now` on, and room for so many changes in all.

    A block is made of a full one, so that half as many changes as it has steps lie between two. What is not used of
    the room is no memory yet.
    """
    most = 4 * changes // SIZE + 8
    profile = BlockedProfile(
        *(np.empty((most, SIZE), dtype=np.int64) for _ in range(2)),
        blocks=np.empty((4, most), dtype=np.int64),
        order=np.empty(most, dtype=np.int64),
        spare=np.empty(most, dtype=np.int64),
        numbers=np.array([0, 1, 1, 0], dtype=np.int64),
    )
    profile.times[0, 0], profile.free[0, 0], profile.order[0] = now, free, 0
    profile.blocks[:, 0] = 1, free, free, 0
    return profile


@compiled
def forget_before(profile: BlockedProfile, now: int) -> None:
    """Forget the blocks that end before `now`."""
    numbers, order = profile.numbers, profile.order
    while numbers[_FIRST] + 1 < numbers[_STOP] and profile.times[order[numbers[_FIRST] + 1], 0] <= now:
        _give_up(profile, order[numbers[_FIRST]])
        numbers[_FIRST] += 1


@compiled
def add_between(profile: BlockedProfile, start: int, end: int, amount: int) -> None:
    """Add `amount` to what is free in [`start`, `end`); a negative one takes it."""
    if end <= start:
        return
    _begin_step(profile, end)
    _begin_step(profile, start)
    first, step = _place(profile, start)
    last, stop = _place(profile, end)
    for place in range(first, last + 1):
        block = profile.order[place]
        low = step if place == first else 0
        high = stop if place == last else profile.blocks[_COUNT, block]
        if high - low == profile.blocks[_COUNT, block]:
            for row in range(_LOW, _ADDED + 1):
                profile.blocks[row, block] += amount
        elif high > low:
            for index in range(low, high):
                profile.free[block, index] += amount
            _measure(profile, block)
    _join(profile, end)
    _join(profile, start)


@compiled
def earliest_start(profile: BlockedProfile, amount: int, duration: int, after: int, before: int) -> int:
    """Return the first start in [`after`, `before`) with `amount` free for `duration` seconds; -1 if there is none."""
    place, step = _place(profile, after)
    start = after
    while True:
        found, index = _next_above(profile, amount, place, step)
        if found == profile.numbers[_STOP]:
            return -1
        if found != place or index != step:
            place, step, start = found, index, profile.times[profile.order[found], index]
        if start >= before:
            return -1
        place, step = _next_below(profile, amount, place, step, start + duration)
        if place == profile.numbers[_STOP]:
            return int(start)


@compiled
def _next_above(profile: BlockedProfile, amount: int, place: int, step: int) -> tuple[int, int]:
    """Return place and step of the first one from a step on in which `amount` is free; the place behind the last."""
    while place < profile.numbers[_STOP]:
        block = profile.order[place]
        if profile.blocks[_HIGH, block] >= amount:
            wanted = amount - profile.blocks[_ADDED, block]
            for index in range(step, profile.blocks[_COUNT, block]):
                if profile.free[block, index] >= wanted:
                    return place, index
        place, step = place + 1, 0
    return place, 0


@compiled
def _next_below(profile: BlockedProfile, amount: int, place: int, step: int, end: int) -> tuple[int, int]:
    """Return place and step of the first one behind a step, before `end`, in which `amount` is not free.

    The place behind the last if there is none.
    """
    step += 1
    while place < profile.numbers[_STOP]:
        block = profile.order[place]
        if step == 0 and profile.times[block, 0] >= end:
            break
        if profile.blocks[_LOW, block] < amount:
            wanted = amount - profile.blocks[_ADDED, block]
            for index in range(step, profile.blocks[_COUNT, block]):
                if profile.times[block, index] >= end:
                    return profile.numbers[_STOP], 0
                if profile.free[block, index] < wanted:
                    return place, index
        place, step = place + 1, 0
    return profile.numbers[_STOP], 0


@compiled
def _place(profile: BlockedProfile, time: int) -> tuple[int, int]:
    """Return the place of the block, and the step in it, that a time lies in, not before the first."""
    low, high = profile.numbers[_FIRST], profile.numbers[_STOP] - 1
    while low < high:
        middle = (low + high + 1) // 2
        if profile.times[profile.order[middle], 0] <= time:
            low = middle
        else:
            high = middle - 1
    block = profile.order[low]
    first, last = 0, profile.blocks[_COUNT, block] - 1
    while first < last:
        middle = (first + last + 1) // 2
        if profile.times[block, middle] <= time:
            first = middle
        else:
            last = middle - 1
    return low, first


@compiled
def _begin_step(profile: BlockedProfile, time: int) -> None:
    """Let a step begin at a time, as free as the one that it lies in."""
    place, step = _place(profile, time)
    block = profile.order[place]
    if profile.times[block, step] == time:
        return
    if profile.blocks[_COUNT, block] == SIZE:
        _halve(profile, place)
        if step >= SIZE // 2:
            block, step = profile.order[place + 1], step - SIZE // 2
    for index in range(profile.blocks[_COUNT, block], step + 1, -1):
        profile.times[block, index] = profile.times[block, index - 1]
        profile.free[block, index] = profile.free[block, index - 1]
    profile.times[block, step + 1] = time
    profile.free[block, step + 1] = profile.free[block, step]
    profile.blocks[_COUNT, block] += 1


@compiled
def _halve(profile: BlockedProfile, place: int) -> None:
    """Let the second half of the steps of a full block have a block of their own, in the next place."""
    numbers, order, blocks = profile.numbers, profile.order, profile.blocks
    block = order[place]
    if numbers[_SPARE] > 0:
        numbers[_SPARE] -= 1
        other = profile.spare[numbers[_SPARE]]
    else:
        other = numbers[_USED]
        numbers[_USED] += 1
    for later in range(numbers[_STOP], place + 1, -1):
        order[later] = order[later - 1]
    order[place + 1] = other
    numbers[_STOP] += 1
    half = SIZE // 2
    for index in range(half):
        profile.times[other, index] = profile.times[block, half + index]
        profile.free[other, index] = profile.free[block, half + index]
    blocks[_COUNT, block] = blocks[_COUNT, other] = half
    blocks[_ADDED, other] = blocks[_ADDED, block]
    _measure(profile, block)
    _measure(profile, other)


@compiled
def _measure(profile: BlockedProfile, block: int) -> None:
    """Set the least and the most that is free in a block."""
    low = high = profile.free[block, 0]
    for index in range(1, profile.blocks[_COUNT, block]):
        low, high = min(low, profile.free[block, index]), max(high, profile.free[block, index])
    profile.blocks[_LOW, block] = low + profile.blocks[_ADDED, block]
    profile.blocks[_HIGH, block] = high + profile.blocks[_ADDED, block]


@compiled
def _join(profile: BlockedProfile, time: int) -> None:
    """Let the step that begins at a time be part of the one before, if as much is free in both."""
    place, step = _place(profile, time)
    block, before, other = profile.order[place], step - 1, profile.order[place]
    if step == 0:
        if place == profile.numbers[_FIRST]:
            return
        other = profile.order[place - 1]
        before = profile.blocks[_COUNT, other] - 1
    added = profile.blocks[_ADDED, block] - profile.blocks[_ADDED, other]
    if profile.free[block, step] + added != profile.free[other, before]:
        return
    profile.blocks[_COUNT, block] -= 1
    for index in range(step, profile.blocks[_COUNT, block]):
        profile.times[block, index] = profile.times[block, index + 1]
        profile.free[block, index] = profile.free[block, index + 1]
    if profile.blocks[_COUNT, block] > 0:
        _measure(profile, block)
        return
    _give_up(profile, block)
    profile.numbers[_STOP] -= 1
    for later in range(place, profile.numbers[_STOP]):
        profile.order[later] = profile.order[later + 1]


@compiled
def _give_up(profile: BlockedProfile, block: int) -> None:
    """Let a block be used for others."""
    profile.spare[profile.numbers[_SPARE]] = block
    profile.numbers[_SPARE] += 1
