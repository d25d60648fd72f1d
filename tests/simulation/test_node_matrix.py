"""What is free of each node, however many slots are taken at once."""

from __future__ import annotations

import numpy as np
import pytest

from hpcdispatch.simulation.node_matrix import NodeMatrix
from hpcdispatch.workloads import Machine


@pytest.mark.parametrize("slots", [1, 3, 8, 9, 30])
def test_slots_on_one_node_add_up_and_are_refused_whole(slots):
    nodes = NodeMatrix(Machine.homogeneous(3, core=2 * slots, mem=3 * slots))
    placement = np.full(slots, 1)
    assert not nodes.allocate(placement, (2, 4))
    assert nodes.shown.tolist() == [[2 * slots, 3 * slots]] * 3
    assert nodes.allocate(placement, (2, 3))
    assert nodes.shown.tolist() == [[2 * slots, 3 * slots], [0, 0], [2 * slots, 3 * slots]]
    assert not nodes.allocate(np.array([0, 1]), (1, 0))
    nodes.release(placement, (2, 3))
    assert nodes.shown.tolist() == [[2 * slots, 3 * slots]] * 3
