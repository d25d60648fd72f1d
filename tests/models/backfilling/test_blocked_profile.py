"""A profile in blocks says what one without blocks says."""

import numpy as np
import pytest

from hpcdispatch.models.backfilling import blocked_profile as blocks
from hpcdispatch.models.backfilling import pool_profile as steps


@pytest.mark.parametrize("seed", range(3))
def test_as_without_blocks(seed):
    # Long intervals cover whole blocks, short ones halve them, and time passes over both.
    rng = np.random.default_rng(seed)
    plain, blocked = steps.open_profile(30, 0, 4000), blocks.open_blocks(30, 0, 1500)
    held, now = [], 0
    for _ in range(1500):
        now += int(rng.integers(0, 3))
        steps.advance(plain, now)
        blocks.forget_before(blocked, now)
        held = [each for each in held if each[1] > now]
        if held and rng.random() < 0.3:
            _, end, amount = held.pop(int(rng.integers(len(held))))
            begin, change = now, amount
        else:
            amount, seconds = int(rng.integers(1, 8)), int(rng.choice([3, 40, 900]) * rng.integers(1, 9))
            before = int(rng.choice([now + 1, now + 500, steps.NEVER]))
            begin = steps.earliest(plain, amount, seconds, now, before, steps.NEVER)
            assert blocks.earliest_start(blocked, amount, seconds, now, before) == begin
            if begin < 0:
                continue
            end, change = begin + seconds, -amount
            held += [(begin, end, amount)] * (begin == now)
        steps.release(plain, begin, end, change)
        blocks.add_between(blocked, begin, end, change)
    assert plain.steps[0] > 2 * blocks.SIZE


def test_forgets_what_is_past():
    profile = blocks.open_blocks(4, 0, 1000)
    for turn in range(1000):
        blocks.forget_before(profile, 10 * turn)
        blocks.add_between(profile, 10 * turn, 10 * turn + 5, -1)
    # The blocks that ended are used again.
    assert profile.numbers[2] <= 4
    assert blocks.earliest_start(profile, 4, 1, 9990, steps.NEVER) == 9995


def test_no_start_beyond_what_is_asked_for():
    profile = blocks.open_blocks(4, 0, 10)
    blocks.add_between(profile, 0, 100, -3)
    assert blocks.earliest_start(profile, 2, 10, 0, 100) == -1
    assert blocks.earliest_start(profile, 2, 10, 0, 101) == 100
    assert blocks.earliest_start(profile, 5, 10, 0, steps.NEVER) == -1
