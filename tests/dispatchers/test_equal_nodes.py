"""Nodes in groups, against the same nodes one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcdispatch.dispatchers.space import EqualNodes
from hpcdispatch.models import choose, count_slots, shift
from hpcdispatch.models.scheduling.node_classes import equal_rows


@given(st.integers(0, 30), st.integers(1, 4), st.integers(0, 2**32), st.sampled_from([1, 2**21, 2**33]))
@settings(max_examples=100)
def test_equal_rows_are_those_of_numpy(rows, columns, seed, scale):
    table = np.random.default_rng(seed).integers(-2, 3, (rows, columns)) * scale
    first, kind = equal_rows(table)
    _, expected, inverse = np.unique(table, axis=0, return_index=True, return_inverse=True)
    assert first.tolist() == expected.tolist()
    assert kind.tolist() == inverse.ravel().tolist()


@pytest.mark.parametrize("rule", ["first-fit", "best-fit"])
@given(st.integers(1, 24), st.integers(1, 3), st.integers(0, 2**32))
@settings(max_examples=100)
def test_groups_count_and_choose_as_nodes_do(rule, nodes, resources, seed):
    rng = np.random.default_rng(seed)
    capacity = rng.integers(3, 6, (nodes, resources))
    free = capacity.copy()
    groups = EqualNodes(free, capacity, rule)
    taken = []
    for _ in range(12):
        demand = tuple(rng.integers(0, 3, resources).tolist())
        if not any(demand):
            continue
        counts = count_slots(free, demand)
        fits, total = groups.count(demand)
        assert total == counts.sum()
        slots = int(rng.integers(1, 6))
        if total >= slots:
            placement = groups.choose(fits, slots)
            assert placement.tolist() == choose(free, capacity, counts, slots, rule).tolist()
            shift(free, placement, demand, -1)
            groups.shifted()
            taken.append((placement, demand))
        if taken and rng.random() < 0.3:
            placement, demand = taken.pop(int(rng.integers(len(taken))))
            shift(free, placement, demand, 1)
            groups.shifted()
