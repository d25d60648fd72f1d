"""The search that decodes only what changes, against one that decodes every order from its beginning."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcdispatch.models.scheduling.pool_search import BEST, best_of_orders, improve_order, open_pool_search
from hpcdispatch.models.scheduling.step_profile import Steps, earliest, hold, make_steps


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
    search = open_pool_search(weight, *others)
    which = best_of_orders(search, orders, np.inf if real else np.iinfo(np.int64).max)
    improve_order(search, moves)
    expected = Whole(weight, *others).search(orders, moves)
    assert (which, search.cost[BEST, count]) == expected[:2]
    assert (search.order[BEST].tolist(), search.starts[BEST].tolist()) == expected[2:]
