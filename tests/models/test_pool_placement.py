"""Slots on a pool all stand on its one node."""

import numpy as np

from hpcdispatch.models import pool_placement, shift


def test_placements_on_a_pool_are_read_only_zeros():
    for slots in (1, 2, 5, 4096, 5000):
        placement = pool_placement(slots)
        assert len(placement) == slots
        assert not placement.any()
        assert not placement.flags.writeable


def test_one_node_is_shifted_by_all_slots_at_once():
    free = np.array([[20, 30]])
    shift(free, pool_placement(3), (2, 1), -1)
    assert free.tolist() == [[14, 27]]
