"""The search that decodes only what changes, against one that decodes every order from its beginning."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcdispatch.models import Problem
from hpcdispatch.models.scheduling.list_search import Costs, best_order, on_the_pool, search
from hpcdispatch.models.scheduling.node_groups import no_instant
from hpcdispatch.models.scheduling.pool_search import BEST, best_of_orders, improve_order, open_pool_search
from hpcdispatch.models.profiles.amounts import Steps, earliest, hold, make_steps


def ints(values):
    return np.array(values, dtype=np.int64)


class Whole:
    """The same search on whole orders."""

    def __init__(self, weight, due, duration, need, promised, held):
        self.jobs = list(zip(weight, due, duration, need, promised, strict=True))
        self.held = held

    def decode(self, order):
        steps, count = make_steps(len(self.held.at) + 3 * len(order) + 1, self.held.free.shape[1]), len(self.held.at)
        steps.at[:count], steps.free[:count] = self.held.at, self.held.free
        starts, cost = [], 0 * self.jobs[0][0]
        for weight, due, duration, need, promised in (self.jobs[job] for job in order):
            if promised >= 0:
                count = hold(steps, count, promised, promised + duration, need, -1)
            start = earliest(steps, count, need, duration, 0)
            if start >= 0:
                count = hold(steps, count, start, start + duration, need, 1)
            starts.append(start)
            if start > due:
                cost += weight * (start - due)
        return cost, starts

    def search(self, orders, moves):
        decoded = [(*self.decode(order), which) for which, order in enumerate(orders)]
        cost, starts, which = min(decoded, key=lambda found: (found[0], found[2]))
        best = orders[which].tolist()
        for here, there, swap in moves.tolist():
            if not cost:
                break
            trial = list(best)
            if swap:
                trial[here], trial[there] = trial[there], trial[here]
            else:
                trial.insert(there, trial.pop(here))
            found, found_starts = self.decode(trial)
            if found <= cost:
                cost, starts, best = found, found_starts, trial
        return which, cost, best, starts


@st.composite
def inputs(draw):
    """Draw jobs of few shapes, some with promises, and what is held of a pool of one or two resources."""
    resources, count = draw(st.integers(1, 2)), draw(st.integers(1, 20))
    steps = make_steps(100, resources)
    steps.at[0], steps.free[0], size = 0, 8, 1
    for start, length, amount in draw(st.lists(st.tuples(*3 * [st.integers(1, 20)]), max_size=6)):
        size = hold(steps, size, start, start + length, ints(resources * [amount % 4]), 1)
    kinds = draw(st.lists(st.tuples(st.integers(1, 12), *resources * [st.integers(0, 9)]), min_size=1, max_size=4))
    chosen = [kinds[draw(st.integers(0, len(kinds) - 1))] for _ in range(count)]
    duration, need = ints([kind[0] for kind in chosen]), ints([kind[1:] for kind in chosen])
    promised = np.full(count, -1)
    for job in draw(st.lists(st.integers(0, count - 1), max_size=4, unique=True)):
        promised[job] = earliest(steps, size, need[job], duration[job], draw(st.integers(0, 30)))
        if promised[job] >= 0:
            size = hold(steps, size, promised[job], promised[job] + duration[job], need[job], 1)
    due = ints(draw(st.lists(st.integers(0, 9), min_size=count, max_size=count)))
    weight = ints(draw(st.lists(st.integers(1, 5), min_size=count, max_size=count)))
    return weight, due, duration, need, promised, Steps(steps.at[:size], steps.free[:size])


@pytest.mark.parametrize("real", [False, True])
@settings(max_examples=150)
@given(inputs(), st.integers(0, 1000))
def test_it_finds_what_whole_decodings_find(real, drawn, seed):
    weight, *others = drawn
    weight = weight / 7 if real else weight
    rng, count = np.random.default_rng(seed), len(weight)
    orders = np.array([rng.permutation(count) for _ in range(3)])
    moves = np.column_stack((rng.integers(0, count, size=(40, 2)), rng.integers(0, 2, size=40)))
    search = open_pool_search(weight, *others, ints([]), no_instant())
    which = best_of_orders(search, orders, np.inf if real else np.iinfo(np.int64).max)
    improve_order(search, moves)
    expected = Whole(weight, *others).search(orders, moves)
    assert (which, search.cost[BEST, count]) == expected[:2]
    assert (search.order[BEST].tolist(), search.starts[BEST].tolist()) == expected[2:]


@st.composite
def instants(draw):
    """Draw jobs of few kinds that start now only where they find nodes, as many of these at once as are alike."""
    count, node = draw(st.integers(1, 24)), st.sampled_from([(4, 4), (4, 1), (2, 3), (0, 0)])
    free = np.repeat(ints(draw(st.lists(node, min_size=1))), draw(st.integers(1, 3)), axis=0)
    # Many ask for as much of the pool and not of a node.
    shapes = st.sampled_from([(1, 2, 2), (2, 1, 1), (1, 4, 0), (4, 1, 0), (2, 2, 0), (3, 2, 1)])
    kinds = draw(st.lists(st.tuples(st.sampled_from([3, 5]), shapes), min_size=1, max_size=5))
    chosen = [kinds[draw(st.integers(0, len(kinds) - 1))] for _ in range(count)]
    duration, (slots, *demand) = ints([length for length, _ in chosen]), ints([shape for _, shape in chosen]).T
    weight, due = (ints([draw(st.integers(*span)) for _ in range(count)]) for span in ((0, 3), (-2, 3)))
    held = ints(draw(st.lists(st.integers(1, 9), max_size=3)))
    amount = ints([[1, 2]] * len(held)).reshape(-1, 2)
    return Problem(
        duration, slots, np.column_stack(demand), weight, free.sum(axis=0, keepdims=True) + amount.sum(axis=0), due,
        np.zeros_like(held), held, np.zeros_like(held), amount, free_now=free,
    )  # fmt: skip


def assert_found_by_whole_decodings(problem, orders, moves):
    most, count = np.iinfo(np.int64).max, problem.jobs
    held = Steps(problem.profile[0], np.ascontiguousarray(problem.profile[1][:, 0]))
    costs = Costs(problem.weight, problem.due, problem.latest)
    inputs = on_the_pool(costs, problem.duration, problem.need, held, problem.earliest, problem.instant)
    starts, nothing = np.zeros(count, dtype=np.int64), np.zeros((count, 0), dtype=np.int64)
    cost, which = best_order(orders, inputs, most, starts, nothing)
    best = orders[which].copy()
    cost = search(best, moves, inputs, problem.kind, cost, starts)
    found = open_pool_search(
        problem.weight, problem.due, problem.duration, problem.need, np.full(count, -1), held, problem.kind,
        problem.instant,
    )  # fmt: skip
    assert best_of_orders(found, orders, most) == which
    improve_order(found, moves)
    assert found.cost[BEST, -1] == cost
    assert found.order[BEST].tolist() == best.tolist()
    assert found.starts[BEST].tolist() == starts[best].tolist()


@settings(max_examples=150)
@given(instants(), st.integers(0, 1000))
def test_so_it_does_where_jobs_that_start_now_must_find_nodes(problem, seed):
    rng, count = np.random.default_rng(seed), problem.jobs
    moves = np.column_stack((rng.integers(0, count, (60, 2)), rng.integers(0, 2, 60)))
    assert_found_by_whole_decodings(problem, np.array([rng.permutation(count) for _ in range(3)]), moves)


def test_the_pool_may_be_the_same_and_the_nodes_not():
    """Two jobs change places, one of which leaves no node for the last job: the pool looks as it did before."""
    shapes = [(2, 1, 1), (1, 2, 2), *[(3, 1, 1)] * 8, (1, 1, 2)]
    slots, *demand = ints(shapes).T
    problem = Problem(
        ints([4, 4, *[9] * 8, 4]), slots, np.column_stack(demand), ints([1, 3, *[0] * 8, 100]), ints([[3, 4]]),
        free_now=ints([[1, 1], [1, 1], [2, 2]]),
    )  # fmt: skip
    assert_found_by_whole_decodings(problem, np.arange(11)[None], ints([[0, 1, 1]]))
