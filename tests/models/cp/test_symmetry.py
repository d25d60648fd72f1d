"""Which jobs may be started in a fixed order."""

import numpy as np
from drawn import number_of_inputs
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcdispatch.models import Problem, Search, SolverLimit, Status, comparable, list_schedule, only_chain


def test_only_jobs_that_ask_for_the_same_are_ordered():
    problem = Problem(
        np.array([5, 5, 5, 6]),
        np.array([1, 1, 1, 1]),
        np.array([[1], [1], [1], [1]]),
        np.array([3, 1, 2, 9]),
        np.array([[1]]),
        due=np.array([0, 9, 0, 0]),
    )
    assert list(comparable(problem)) == [[0, 2, 1]]


def alike(weights, held, room=3, **changes):
    """Return jobs of 4 s that request 1 of a pool. Some of it is held for a time."""
    count = len(weights)
    columns = {
        "duration": np.full(count, 4),
        "slots": np.ones(count, dtype=int),
        "demand": np.ones((count, 1), dtype=int),
        "weight": np.array(weights),
        "capacity": np.array([[room]]),
        "held_from": np.zeros(len(held), dtype=int),
        "held_to": np.array(held, dtype=int),
        "held_node": np.zeros(len(held), dtype=int),
        "held_amount": np.ones((len(held), 1), dtype=int),
    }
    return Problem(**{**columns, **changes})


@settings(max_examples=number_of_inputs(20))
@given(st.lists(st.integers(1, 9), min_size=2, max_size=6), st.lists(st.integers(1, 9), max_size=3))
def test_of_alike_jobs_no_schedule_costs_less_than_the_list(weights, held):
    problem = alike(weights, held)
    chain = only_chain(problem)
    assert sorted(chain) == list(range(len(weights)))
    search = Search(problem, limit=SolverLimit(0.2, 0.2), whole=True, hinted=False)
    best = search.solve([np.arange(len(weights))])
    assert best.status is Status.OPTIMAL
    assert list_schedule(problem, chain).cost == best.schedule.cost


@settings(max_examples=number_of_inputs(40), deadline=None)
@given(st.lists(st.integers(1, 9), min_size=2, max_size=5), st.data())
def test_so_it_is_on_nodes(weights, data):
    """Jobs of several slots on nodes of two kinds. Parts of the nodes are held for a time."""
    nodes = data.draw(st.integers(2, 3))
    slots = data.draw(st.integers(1, 3))
    capacity = np.array([[data.draw(st.integers(1, 4)), data.draw(st.integers(0, 3))] for _ in range(nodes)])
    capacity[0] = np.maximum(capacity[0], (3, 3))
    held = [data.draw(st.integers(1, 6)) for _ in range(nodes)]
    demand = np.array([1, data.draw(st.integers(0, 1))])
    problem = alike(
        weights,
        held,
        slots=np.full(len(weights), slots),
        demand=np.tile(demand, (len(weights), 1)),
        capacity=capacity,
        held_node=np.arange(nodes),
        held_amount=np.array([[data.draw(st.integers(0, 1)), 0] for _ in range(nodes)]),
    )
    chain = only_chain(problem)
    listed = None if chain is None else list_schedule(problem, chain)
    if listed is None:
        return
    search = Search(problem, limit=SolverLimit(2, 2), whole=True, hinted=False)
    best = search.solve([np.arange(len(weights))])
    assert best.status is Status.OPTIMAL
    assert listed.cost == best.schedule.cost


def test_there_is_no_such_list_for_jobs_that_differ_or_room_that_shrinks():
    assert only_chain(alike([1, 1], [], duration=np.array([4, 5]))) is None
    assert only_chain(alike([1, 1], [5], held_from=np.array([2]))) is None
    assert only_chain(alike([1, 1], [], earliest=np.array([0, 3]))) is None
    assert only_chain(alike([2, 1], [], due=np.array([5, 0]))) is None
    assert only_chain(alike([1], [])) is None
