"""Reservations move as if each was tried from the head again and again."""

import numpy as np
import pytest

from hpcdispatch.models.book import pool as book
from hpcdispatch.models.profiles.amount import NEVER, add, earliest, least, steps_of

CORES = 64


def booked(seed, jobs, kinds, exceeding=0):
    """Return a full machine with successive reservations, and the freed amounts.

    With `exceeding`, that many running jobs end later than the reservations were made for. Some of these end early too.
    """
    rng = np.random.default_rng(seed)
    made = book.with_room_for(book.open_book(CORES, 0), jobs, jobs)
    running = [
        (int(end), int(amount)) for end, amount in zip(rng.integers(50, 900, 8), rng.integers(1, 9, 8), strict=True)
    ]
    for end, amount in running:
        add(made.profile, 0, end, -amount)
    alike = list(zip(rng.integers(1, CORES + 1, kinds), rng.integers(1, 500, kinds), strict=True))
    for order in range(jobs):
        amount, duration = (int(number) for number in alike[rng.integers(kinds)])
        start = earliest(made.profile, amount, duration, 0, NEVER, NEVER)
        add(made.profile, start, start + duration, -amount)
        book.book_reservation(made, order, amount, start, start + duration)
    for index, (end, amount) in enumerate(running[:exceeding]):
        running[index] = end + int(rng.integers(1, 4000)), amount
        add(made.profile, end, running[index][0], -amount)
    made.counts.exceeded[0] = least(made.profile) < 0
    for index, (end, amount) in enumerate(running[:3]):
        add(made.profile, 0, end, amount)
        made.freed[:, index] = 0, end
    made.counts.freed[0] = 3
    return made


def move_first(made):
    """Move the first reservation that fits earlier; return whether there was one."""
    rows = book.Bookings(*made.reserved)
    for row in range(made.counts.reserved[0]):
        units, start, end = (int(column[row]) for column in (rows.units, rows.start, rows.end))
        earlier = earliest(made.profile, units, end - start, 0, start, start) if start > 0 else -1
        if earlier >= 0:
            add(made.profile, start, end, units)
            rows.start[row], rows.end[row] = earlier, earlier + end - start
            add(made.profile, earlier, earlier + end - start, -units)
            return True
    return False


@pytest.mark.parametrize("exceeding", [0, 3, 6])
@pytest.mark.parametrize("kinds", [1, 3, 40])
@pytest.mark.parametrize("seed", range(8))
def test_as_from_the_head_again_and_again(seed, kinds, exceeding):
    made = booked(seed, 120, kinds, exceeding)
    book.compress_until_stable(0, made)
    expected = booked(seed, 120, kinds, exceeding)
    moved = 0
    while move_first(expected):
        moved += 1
    assert moved > 0 or exceeding
    starts, same = (book.Bookings(*each.reserved[:, :120]).start.tolist() for each in (made, expected))
    assert starts == same
    assert steps_of(made.profile) == steps_of(expected.profile)
