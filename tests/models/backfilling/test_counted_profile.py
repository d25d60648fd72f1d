"""What is free of one number when, asked until when an amount is."""

import numpy as np
import pytest

from hpcdispatch.models import free_until, pool_placement, shift
from hpcdispatch.models.backfilling.counted_profile import CountedProfile
from hpcdispatch.models.backfilling.pool_profile import NEVER


@pytest.mark.parametrize("seed", range(4))
def test_free_until_as_by_any_profile_and_after_every_change(seed):
    # What was found once is kept, and must be forgotten when something is taken, given back or passes.
    rng = np.random.default_rng(seed)
    profile, now, held = CountedProfile(8), 0, []
    for _ in range(60):
        change = rng.integers(3)
        if change == 0 or not held:
            start = now + int(rng.integers(0, 20))
            held.append((start, start + int(rng.integers(1, 15)), int(rng.integers(1, 4))))
            profile.take(*held[-1][:2], pool_placement(held[-1][2]), (1,))
        elif change == 1:
            start, end, slots = held.pop(int(rng.integers(len(held))))
            profile.give(max(start, now), max(end, now), pool_placement(slots), (1,))
        else:
            now += int(rng.integers(0, 6))
            profile.advance(now)
        assert profile.now == now == profile.times[0]
        for amount in range(1, 9):
            found, expected = profile.free_until(amount), free_until(profile, amount, (1,), now)
            until = now if expected is None else expected[0]
            assert found == (NEVER if until is None else until)


def test_placements_on_a_pool_are_zeros_that_nobody_can_change():
    for slots in (1, 2, 5, 4096, 5000):
        placement = pool_placement(slots)
        assert len(placement) == slots
        assert not placement.any()
        assert not placement.flags.writeable


def test_one_node_is_shifted_by_all_slots_at_once():
    free = np.array([[20, 30]])
    shift(free, pool_placement(3), (2, 1), -1)
    assert free.tolist() == [[14, 27]]
