"""Slots on nodes: how many fit, and which nodes take them."""

import numpy as np
import pytest
from drawn import number_of_inputs
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcdispatch.models import choose, count_slots, shift


@st.composite
def cases(draw):
    """Draw what is free, the capacities, and a demand."""
    nodes = draw(st.integers(1, 5))
    resources = draw(st.integers(1, 3))
    rows = st.lists(st.lists(st.integers(0, 9), min_size=resources, max_size=resources), min_size=nodes, max_size=nodes)
    free = np.array(draw(rows))
    capacity = free + np.array(draw(rows))
    demand = draw(st.lists(st.integers(0, 4), min_size=resources, max_size=resources).filter(any))
    return free, capacity, tuple(demand)


@given(cases(), st.sampled_from(["first-fit", "best-fit"]), st.data())
@settings(max_examples=number_of_inputs(150))
def test_what_is_chosen_fits(case, rule, data):
    free, capacity, demand = case
    counts = count_slots(free, demand)
    for node, count in enumerate(counts):
        assert (free[node] >= count * np.array(demand)).all()
        assert (free[node] < (count + 1) * np.array(demand)).any()
    if not counts.sum():
        return
    nodes = data.draw(st.integers(1, int(counts.sum())))
    placement = choose(free, capacity, counts, nodes, rule)
    assert len(placement) == nodes
    before = free.copy()
    shift(free, placement, demand, -1)
    assert (free >= 0).all()
    # A node is filled before the next one. All but the last are full.
    used = list(dict.fromkeys(placement.tolist()))
    assert all((free[node] < np.array(demand)).any() for node in used[:-1])
    shift(free, placement, demand, 1)
    assert np.array_equal(free, before)


@given(cases(), st.lists(st.integers(0, 4), max_size=6))
@settings(max_examples=number_of_inputs(100))
def test_shift_adds_each_slot(case, picks):
    free, _, demand = case
    placement = np.array([pick % len(free) for pick in picks], dtype=np.int64)
    expected = free.copy()
    for node in placement:
        expected[node] -= demand
    shift(free, placement, demand, -1)
    assert np.array_equal(free, expected)


FREE = np.array([[4, 0], [2, 8], [1, 8], [3, 8]])
CAPACITY = np.array([[4, 8], [4, 8], [4, 8], [4, 8]])


def test_first_fit_goes_in_the_order_of_the_nodes():
    counts = count_slots(FREE, (1, 0))
    assert counts.tolist() == [4, 2, 1, 3]
    assert choose(FREE, CAPACITY, counts, 5).tolist() == [0, 0, 0, 0, 1]
    assert choose(FREE, CAPACITY, counts, 7).tolist() == [0, 0, 0, 0, 1, 1, 2]


def test_best_fit_goes_by_the_free_share():
    # Free shares: 1 + 0, 0.5 + 1, 0.25 + 1, 0.75 + 1.
    counts = count_slots(FREE, (1, 0))
    assert choose(FREE, CAPACITY, counts, 6, "best-fit").tolist() == [0, 0, 0, 0, 2, 1]
    counts = count_slots(FREE, (1, 2))
    assert counts.tolist() == [0, 2, 1, 3]
    assert choose(FREE, CAPACITY, counts, 4, "best-fit").tolist() == [2, 1, 1, 3]


def test_best_fit_breaks_ties_in_the_order_of_the_nodes():
    free = np.full((4, 1), 2)
    assert choose(free, np.full((4, 1), 4), count_slots(free, (2,)), 3, "best-fit").tolist() == [0, 1, 2]


def test_a_resource_that_a_node_lacks_has_no_share():
    free = np.array([[2, 0], [1, 1]])
    capacity = np.array([[2, 0], [2, 1]])
    # Shares 1 + 0 and 0.5 + 1.
    assert choose(free, capacity, count_slots(free, (1, 0)), 1, "best-fit").tolist() == [0]


def test_what_is_not_asked_for_does_not_count():
    assert count_slots(np.array([[4, 0], [0, 4]]), (2, 0)).tolist() == [2, 0]


def test_a_slot_must_ask_for_something():
    with pytest.raises(ValueError, match="a slot must ask for at least one resource, got none"):
        count_slots(FREE, (0, 0))
