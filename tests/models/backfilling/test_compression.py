"""Reservations move as if each was tried from the head again and again; those that are alike are searched at once."""

import numpy as np
import pytest

from hpcdispatch.models.backfilling import reservation_table as book
from hpcdispatch.models.backfilling.compression import compress_until_stable
from hpcdispatch.models.backfilling.pool_profile import NEVER, earliest, open_profile, release

CORES = 64


def booked(seed, jobs, kinds):
    """Return a full machine with reservations behind one another, and what was freed since."""
    rng = np.random.default_rng(seed)
    profile, reserved, freed = open_profile(CORES, 0, 4 * jobs + 64), book.open_table(jobs), book.open_freed(16)
    running = [
        (int(end), int(amount)) for end, amount in zip(rng.integers(50, 900, 8), rng.integers(1, 9, 8), strict=True)
    ]
    for end, amount in running:
        release(profile, 0, end, -amount)
    alike = list(zip(rng.integers(1, CORES + 1, kinds), rng.integers(1, 500, kinds), strict=True))
    for order in range(jobs):
        amount, duration = (int(number) for number in alike[rng.integers(kinds)])
        start = earliest(profile, amount, duration, 0, NEVER, NEVER)
        release(profile, start, start + duration, -amount)
        book.add(reserved, order, start, start + duration, amount)
    for end, amount in running[:3]:
        release(profile, 0, end, amount)
        book.note(freed, 0, end)
    return profile, reserved, freed


def move_first(profile, reserved):
    """Move the first reservation that fits earlier; return whether there was one."""
    for row in range(reserved.rows[0]):
        amount, start, end = (int(column[row]) for column in (reserved.amount, reserved.start, reserved.end))
        found = earliest(profile, amount, end - start, 0, start, start) if start > 0 else -1
        if found >= 0:
            book.move(profile, reserved, row, found)
            return True
    return False


@pytest.mark.parametrize("settled", [True, False])
@pytest.mark.parametrize("kinds", [1, 3, 40])
@pytest.mark.parametrize("seed", range(8))
def test_as_from_the_head_again_and_again(seed, kinds, settled):
    profile, reserved, freed = booked(seed, 120, kinds)
    assert compress_until_stable(0, profile, reserved, freed, settled)
    expected, moved = booked(seed, 120, kinds), 0
    while move_first(*expected[:2]):
        moved += 1
    assert moved > 0
    assert reserved.start.tolist() == expected[1].start.tolist()
    steps = profile.steps[0]
    assert profile.times[:steps].tolist() == expected[0].times[: expected[0].steps[0]].tolist()
    assert profile.free[:steps].tolist() == expected[0].free[: expected[0].steps[0]].tolist()


def test_more_promised_than_there_is_does_not_count_as_settled():
    profile, reserved, freed = booked(1, 20, 3)
    release(profile, 10**6, 10**6 + 5, -CORES - 1)
    assert not compress_until_stable(0, profile, reserved, freed, True)


def test_one_that_is_away_does_not_count_as_settled():
    profile, reserved, freed = booked(1, 20, 3)
    reserved.away[19] = True
    assert not compress_until_stable(0, profile, reserved, freed, True)
