"""Classes of equal nodes, against comparisons of all pairs of nodes."""

import numpy as np
from drawn import number_of_inputs
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcdispatch.models.scheduling.node_classes import equal_rows, node_classes


@st.composite
def machines(draw):
    """Draw the capacities of some nodes and what is held of them."""
    nodes = draw(st.integers(1, 8))
    resources = draw(st.integers(1, 2))
    held = draw(st.integers(0, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    begin = rng.integers(0, 2, held)
    return (
        rng.integers(3, 5, (nodes, resources)),
        begin,
        begin + rng.integers(0, 3, held),
        rng.integers(0, nodes, held),
        rng.integers(0, 2, (held, resources)),
    )


def story(machine, node):
    """All that is known of a node."""
    capacity, begin, end, where, amount = machine
    rows = sorted((begin[row], end[row], *amount[row]) for row in np.flatnonzero(where == node))
    return tuple(capacity[node]), tuple(rows)


@given(machines())
@settings(max_examples=number_of_inputs(150))
def test_nodes_of_the_same_story_are_a_class(machine):
    capacity, begin, end, where, amount = machine
    classes = node_classes(*machine)
    stories = {}
    for node in range(len(capacity)):
        stories.setdefault(story(machine, node), []).append(node)
    assert [part.tolist() for part in np.split(classes.members, classes.begin[1:-1])] == list(stories.values())
    for number, nodes in enumerate(stories.values()):
        assert (classes.capacity[number] == capacity[nodes[-1]]).all()
        for step, time in enumerate(classes.times):
            held = amount[(where == nodes[-1]) & (begin <= time) & (time < end)].sum(axis=0)
            assert (classes.free[step, number] == capacity[nodes[-1]] - held).all()


@given(machines(), st.data())
@settings(max_examples=number_of_inputs(80))
def test_few_of_each(machine, data):
    capacity = machine[0]
    classes = node_classes(*machine)
    step = data.draw(st.integers(0, len(classes.times) - 1))
    free = np.empty_like(capacity)
    free[classes.members] = np.repeat(classes.free[step], classes.count, axis=0)
    most = np.array([data.draw(st.integers(0, 3)) for _ in classes.count])
    few = classes.few(most)
    wanted = [nodes[:many] for nodes, many in zip(np.split(classes.members, classes.begin[1:-1]), most, strict=True)]
    assert few.members.tolist() == np.concatenate(wanted).tolist()
    assert (few.free[step] == free[few.members]).all()
    assert (few.count == 1).all()


def test_other_times_see_what_holds_then():
    classes = node_classes(
        np.array([[4], [4]]), np.array([0, 5]), np.array([3, 9]), np.array([0, 1]), np.array([[1], [2]])
    )
    assert classes.times.tolist() == [0, 3, 5, 9]
    assert classes.at(np.array([2, 6])).free[:, :, 0].tolist() == [[3, 4], [4, 2]]


@given(st.integers(0, 30), st.integers(1, 4), st.integers(0, 2**32), st.sampled_from([1, 2**21, 2**33]))
@settings(max_examples=number_of_inputs(100))
def test_equal_rows_are_those_of_numpy(rows, columns, seed, scale):
    table = np.random.default_rng(seed).integers(-2, 3, (rows, columns)) * scale
    first, kind = equal_rows(table)
    _, expected, inverse = np.unique(table, axis=0, return_index=True, return_inverse=True)
    assert first.tolist() == expected.tolist()
    assert kind.tolist() == inverse.ravel().tolist()
