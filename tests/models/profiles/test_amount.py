"""One amount over time says what a list of its steps says."""

from bisect import bisect_left, bisect_right

import numpy as np
import pytest

from hpcdispatch.models.profiles import amount as blocks
from hpcdispatch.models.profiles.amount import NEVER


class Steps:
    """The same without blocks."""

    def __init__(self, free):
        self.times, self.free = [0], [free]

    def split(self, time):
        index = bisect_left(self.times, time)
        if index == len(self.times) or self.times[index] != time:
            self.times.insert(index, time)
            self.free.insert(index, self.free[index - 1])
        return index

    def add(self, start, end, amount):
        first = self.split(start)
        stop = self.split(end)
        for index in range(first, stop):
            self.free[index] += amount
        for index in (stop, first):
            if index and self.free[index] == self.free[index - 1]:
                del self.times[index], self.free[index]

    def forget(self, now):
        index = bisect_right(self.times, now) - 1
        self.times = [now, *self.times[index + 1 :]]
        self.free = self.free[index:]

    def earliest(self, amount, duration, after, before, own):
        for start in [after, *(time for time in self.times if time > after)]:
            if start >= before:
                return -1
            first = bisect_right(self.times, start) - 1
            stop = max(first + 1, bisect_left(self.times, start + duration))
            needed = [amount if index == first or self.times[index] < own else 0 for index in range(first, stop)]
            if all(free >= need for free, need in zip(self.free[first:stop], needed, strict=True)):
                return start
        return -1

    def peak(self, start, end):
        return max(self.free[bisect_right(self.times, start) - 1 : bisect_left(self.times, end)])


@pytest.mark.parametrize("seed", range(3))
def test_as_without_blocks(seed):
    # Long intervals cover whole blocks. Short ones halve them. Blocks without steps merge. Time passes.
    rng = np.random.default_rng(seed)
    plain = Steps(9000)
    blocked = blocks.open_amount(9000, 0, 1200)
    held = []
    now = 0
    most = 0
    for turn in range(1200):
        now += int(rng.integers(0, 2))
        plain.forget(now)
        blocks.forget(blocked, now)
        held = [each for each in held if each[1] > now]
        if held and rng.random() < (0.2 if turn < 600 else 0.7):
            begin, end, change = held.pop(int(rng.integers(len(held))))
            begin = max(begin, now)
        else:
            amount = int(rng.integers(1, 90))
            seconds = int(rng.choice([3, 300, 900]) * rng.integers(1, 9))
            after = now + int(rng.integers(0, 99))
            before = int(rng.choice([now + 1, now + 500, NEVER]))
            own = int(rng.choice([after + 5, after + 100, NEVER]))
            begin = blocks.earliest(blocked, amount, seconds, after, before, own)
            assert begin == plain.earliest(amount, seconds, after, before, own)
            assert blocks.peak(blocked, after, after + seconds) == plain.peak(after, after + seconds)
            assert blocks.least(blocked) == min(plain.free)
            if begin < 0:
                continue
            end, change = begin + seconds, -amount
            held.append((begin, end, amount))
        plain.add(begin, end, change)
        blocks.add(blocked, begin, end, change)
        most = max(most, int(blocked.blocks[0]))
        assert blocks.steps_of(blocked) == (plain.times, plain.free)
    assert most > 3
    assert blocked.blocks[0] < most


def test_forgets_what_is_past():
    profile = blocks.open_amount(4, 0, 8)
    for turn in range(1000):
        blocks.forget(profile, 10 * turn)
        blocks.add(profile, 10 * turn, 10 * turn + 5, -1)
    assert profile.blocks[0] <= 2
    assert blocks.earliest(profile, 4, 1, 9990, NEVER, NEVER) == 9995


def test_no_start_beyond_what_is_asked_for():
    profile = blocks.open_amount(4, 0, 10)
    blocks.add(profile, 0, 100, -3)
    assert blocks.earliest(profile, 2, 10, 0, 100, NEVER) == -1
    assert blocks.earliest(profile, 2, 10, 0, 101, NEVER) == 100
    assert blocks.earliest(profile, 5, 10, 0, NEVER, NEVER) == -1


def test_room_is_made_without_a_change():
    profile = blocks.open_amount(4, 0, 10)
    blocks.add(profile, 5, 100, -3)
    longer = blocks.with_room(profile, 10_000)
    assert len(longer.times) > 1000
    assert blocks.steps_of(longer) == blocks.steps_of(profile) == ([0, 5, 100], [4, 1, 4])
