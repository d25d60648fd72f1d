"""What is free of one number when, for hundreds of thousands of reservations: a step function in blocks of steps.

As :mod:`.pool_profile`, but a change moves the steps of one block, and a search passes over the blocks in which it
cannot end. What is taken in a long interval is noted once a block.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...base import IntArray
from ..compiled import borrowing

#: Steps of a block, and the rows of a block: how many are set, and what is to be added to what its steps say.
SIZE = 64
_COUNT, _ADDED = range(2)
#: The rows of a place in the order of time: the block there, and the least and the most that is free in it.
_BLOCK, _LOW, _HIGH = range(3)
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
        Of each block, shape (2, blocks).
    order
        Of each place, so that a search reads one row from end to end; shape (3, blocks).
    spare
        The blocks that are used no more, shape (blocks,).
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
        times=np.empty((most, SIZE), dtype=np.int64),
        free=np.empty((most, SIZE), dtype=np.int64),
        blocks=np.empty((2, most), dtype=np.int64),
        order=np.empty((3, most), dtype=np.int64),
        spare=np.empty(most, dtype=np.int64),
        numbers=np.array([0, 1, 1, 0], dtype=np.int64),
    )
    profile.times[0, 0], profile.free[0, 0] = now, free
    profile.blocks[:, 0], profile.order[:, 0] = (1, 0), (0, free, free)
    return profile


@borrowing
def forget_before(profile: BlockedProfile, now: int) -> None:
    """Forget the blocks that end before `now`."""
    numbers, order = profile.numbers, profile.order
    while numbers[_FIRST] + 1 < numbers[_STOP] and profile.times[order[_BLOCK, numbers[_FIRST] + 1], 0] <= now:
        _give_up(profile, order[_BLOCK, numbers[_FIRST]])
        numbers[_FIRST] += 1


@borrowing
def add_between(profile: BlockedProfile, start: int, end: int, amount: int) -> None:
    """Add `amount` to what is free in [`start`, `end`); a negative one takes it."""
    if end <= start:
        return
    _begin_step(profile, end)
    _begin_step(profile, start)
    first, step = _place(profile, start)
    last, stop = _place(profile, end)
    for place in range(first, last + 1):
        block = profile.order[_BLOCK, place]
        low = step if place == first else 0
        high = stop if place == last else profile.blocks[_COUNT, block]
        if high - low == profile.blocks[_COUNT, block]:
            profile.blocks[_ADDED, block] += amount
            profile.order[_LOW, place] += amount
            profile.order[_HIGH, place] += amount
        elif high > low:
            for index in range(low, high):
                profile.free[block, index] += amount
            _measure(profile, place)
    _join(profile, end)
    _join(profile, start)


@borrowing
def earliest_start(profile: BlockedProfile, amount: int, duration: int, after: int, before: int) -> int:
    """Return the first start in [`after`, `before`) with `amount` free for `duration` seconds; -1 if there is none."""
    place, step = _place(profile, after)
    start = after
    while True:
        found, index = _next_above(profile, amount, place, step)
        if found == profile.numbers[_STOP]:
            return -1
        if found != place or index != step:
            place, step, start = found, index, profile.times[profile.order[_BLOCK, found], index]
        if start >= before:
            return -1
        place, step = _next_below(profile, amount, place, step, start + duration)
        if place == profile.numbers[_STOP]:
            return int(start)


@borrowing
def _next_above(profile: BlockedProfile, amount: int, place: int, step: int) -> tuple[int, int]:
    """Return place and step of the first one from a step on in which `amount` is free; the place behind the last."""
    while place < profile.numbers[_STOP]:
        if profile.order[_HIGH, place] >= amount:
            block = profile.order[_BLOCK, place]
            wanted = amount - profile.blocks[_ADDED, block]
            for index in range(step, profile.blocks[_COUNT, block]):
                if profile.free[block, index] >= wanted:
                    return place, index
        place, step = place + 1, 0
    return place, 0


@borrowing
def _next_below(profile: BlockedProfile, amount: int, place: int, step: int, end: int) -> tuple[int, int]:
    """Return place and step of the first one behind a step, before `end`, in which `amount` is not free.

    The place behind the last if there is none.
    """
    step += 1
    while place < profile.numbers[_STOP]:
        block = profile.order[_BLOCK, place]
        if step == 0 and profile.times[block, 0] >= end:
            break
        if profile.order[_LOW, place] < amount:
            wanted = amount - profile.blocks[_ADDED, block]
            for index in range(step, profile.blocks[_COUNT, block]):
                if profile.times[block, index] >= end:
                    return profile.numbers[_STOP], 0
                if profile.free[block, index] < wanted:
                    return place, index
        place, step = place + 1, 0
    return profile.numbers[_STOP], 0


@borrowing
def _place(profile: BlockedProfile, time: int) -> tuple[int, int]:
    """Return the place of the block, and the step in it, that a time lies in, not before the first."""
    low, high = profile.numbers[_FIRST], profile.numbers[_STOP] - 1
    while low < high:
        middle = (low + high + 1) // 2
        if profile.times[profile.order[_BLOCK, middle], 0] <= time:
            low = middle
        else:
            high = middle - 1
    block = profile.order[_BLOCK, low]
    first, last = 0, profile.blocks[_COUNT, block] - 1
    while first < last:
        middle = (first + last + 1) // 2
        if profile.times[block, middle] <= time:
            first = middle
        else:
            last = middle - 1
    return low, first


@borrowing
def _begin_step(profile: BlockedProfile, time: int) -> None:
    """Let a step begin at a time, as free as the one that it lies in."""
    place, step = _place(profile, time)
    block = profile.order[_BLOCK, place]
    if profile.times[block, step] == time:
        return
    if profile.blocks[_COUNT, block] == SIZE:
        _halve(profile, place)
        if step >= SIZE // 2:
            block, step = profile.order[_BLOCK, place + 1], step - SIZE // 2
    for index in range(profile.blocks[_COUNT, block], step + 1, -1):
        profile.times[block, index] = profile.times[block, index - 1]
        profile.free[block, index] = profile.free[block, index - 1]
    profile.times[block, step + 1] = time
    profile.free[block, step + 1] = profile.free[block, step]
    profile.blocks[_COUNT, block] += 1


@borrowing
def _halve(profile: BlockedProfile, place: int) -> None:
    """Let the second half of the steps of a full block have a block of their own, in the next place."""
    numbers, order, blocks = profile.numbers, profile.order, profile.blocks
    block = order[_BLOCK, place]
    if numbers[_SPARE] > 0:
        numbers[_SPARE] -= 1
        other = profile.spare[numbers[_SPARE]]
    else:
        other = numbers[_USED]
        numbers[_USED] += 1
    for row in range(3):
        for later in range(numbers[_STOP], place + 1, -1):
            order[row, later] = order[row, later - 1]
    order[_BLOCK, place + 1] = other
    numbers[_STOP] += 1
    half = SIZE // 2
    for index in range(half):
        profile.times[other, index] = profile.times[block, half + index]
        profile.free[other, index] = profile.free[block, half + index]
    blocks[_COUNT, block] = blocks[_COUNT, other] = half
    blocks[_ADDED, other] = blocks[_ADDED, block]
    _measure(profile, place)
    _measure(profile, place + 1)


@borrowing
def _measure(profile: BlockedProfile, place: int) -> None:
    """Set the least and the most that is free in the block at a place."""
    block = profile.order[_BLOCK, place]
    low = high = profile.free[block, 0]
    for index in range(1, profile.blocks[_COUNT, block]):
        low, high = min(low, profile.free[block, index]), max(high, profile.free[block, index])
    profile.order[_LOW, place] = low + profile.blocks[_ADDED, block]
    profile.order[_HIGH, place] = high + profile.blocks[_ADDED, block]


@borrowing
def _join(profile: BlockedProfile, time: int) -> None:
    """Let the step that begins at a time be part of the one before, if as much is free in both."""
    place, step = _place(profile, time)
    block = other = profile.order[_BLOCK, place]
    before = step - 1
    if step == 0:
        if place == profile.numbers[_FIRST]:
            return
        other = profile.order[_BLOCK, place - 1]
        before = profile.blocks[_COUNT, other] - 1
    added = profile.blocks[_ADDED, block] - profile.blocks[_ADDED, other]
    if profile.free[block, step] + added != profile.free[other, before]:
        return
    profile.blocks[_COUNT, block] -= 1
    for index in range(step, profile.blocks[_COUNT, block]):
        profile.times[block, index] = profile.times[block, index + 1]
        profile.free[block, index] = profile.free[block, index + 1]
    if profile.blocks[_COUNT, block] > 0:
        _measure(profile, place)
        return
    _give_up(profile, block)
    profile.numbers[_STOP] -= 1
    for row in range(3):
        for later in range(place, profile.numbers[_STOP]):
            profile.order[row, later] = profile.order[row, later + 1]


@borrowing
def _give_up(profile: BlockedProfile, block: int) -> None:
    """Let a block be used for others."""
    profile.spare[profile.numbers[_SPARE]] = block
    profile.numbers[_SPARE] += 1
