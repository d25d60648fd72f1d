"""The search that decodes only changes, against full decoding of every order."""

from dataclasses import replace

import numpy as np
import pytest
from drawn import number_of_inputs
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcdispatch.models import Problem
from hpcdispatch.models.profiles.amounts import AmountSteps, earliest, hold, make_steps
from hpcdispatch.models.scheduling.node_groups import finds_slots, forget_refusals, no_instant, take_slots
from hpcdispatch.models.scheduling.pool_search import open_search, search_orders


def ints(values):
    return np.array(values, dtype=np.int64)


class Whole:
    """The same search on whole orders."""

    def __init__(self, weight, due, duration, need, promised, held, problem=None):
        nothing = np.zeros(len(due), dtype=np.int64)
        after, latest = (nothing, nothing + 10**9) if problem is None else (problem.earliest, problem.latest)
        self.jobs = list(zip(range(len(due)), weight, due, duration, need, promised, after, latest, strict=True))
        self.held = held
        self.instant = no_instant() if problem is None else problem.instant
        self.kind = None if problem is None else problem.kind

    def decode(self, order):
        steps = make_steps(len(self.held.at) + 3 * len(order) + 1, self.held.free.shape[1])
        count = len(self.held.at)
        steps.at[:count] = self.held.at
        steps.free[:count] = self.held.free
        starts = []
        cost = 0
        now = self.instant
        groups = self.instant.begin.shape[1]
        now.room[:, :groups] = now.begin
        forget_refusals(now)
        for job, weight, due, duration, need, promised, after, latest in (self.jobs[job] for job in order):
            if promised >= 0:
                count = hold(steps, count, promised, promised + duration, need, -1)
            start = earliest(steps, count, need, duration, after)
            if len(now.nodes) and start == 0:
                if finds_slots(now, groups, job):
                    groups = take_slots(now, groups, job, ints([]))
                else:
                    start = earliest(steps, count, need, duration, now.later[0])
            if start >= 0:
                count = hold(steps, count, start, start + duration, need, 1)
            starts.append(start)
            if start > latest:
                return np.inf, starts
            if start > due:
                cost += weight * (start - due)
        return cost, starts

    def same(self, best, here, there, swap):
        """Whether a move changes nothing. Equal jobs are recognised."""
        if self.kind is None:
            return False
        low, high = min(here, there), max(here, there)
        passed = [best[here], best[there]] if swap else best[low : high + 1]
        return len({self.kind[job] for job in passed}) == 1

    def search(self, orders, moves):
        decoded = [(*self.decode(order), which) for which, order in enumerate(orders)]
        cost, starts, which = min(decoded, key=lambda found: (found[0], found[2]))
        if cost == np.inf:
            return which, cost, [-1] * len(self.jobs), [-1] * len(self.jobs)
        best = orders[which].tolist()
        for here, there, swap in moves.tolist():
            if not cost:
                break
            if here == there or self.same(best, here, there, swap):
                continue
            trial = list(best)
            if swap:
                trial[here], trial[there] = trial[there], trial[here]
            else:
                trial.insert(there, trial.pop(here))
            found, found_starts = self.decode(trial)
            if found <= cost:
                cost = found
                starts = found_starts
                best = trial
        return which, cost, best, starts


@st.composite
def inputs(draw):
    """Draw jobs of few shapes, some with guaranteed starts. Draw held amounts of a pool of one or two resources."""
    resources = draw(st.integers(1, 2))
    count = draw(st.integers(1, 20))
    steps = make_steps(100, resources)
    steps.at[0] = 0
    steps.free[0] = 8
    size = 1
    for start, length, amount in draw(st.lists(st.tuples(*3 * [st.integers(1, 20)]), max_size=6)):
        size = hold(steps, size, start, start + length, ints(resources * [amount % 4]), 1)
    kinds = draw(st.lists(st.tuples(st.integers(1, 12), *resources * [st.integers(0, 9)]), min_size=1, max_size=4))
    chosen = [kinds[draw(st.integers(0, len(kinds) - 1))] for _ in range(count)]
    duration = ints([kind[0] for kind in chosen])
    need = ints([kind[1:] for kind in chosen])
    promised = np.full(count, -1)
    for job in draw(st.lists(st.integers(0, count - 1), max_size=4, unique=True)):
        promised[job] = earliest(steps, size, need[job], duration[job], draw(st.integers(0, 30)))
        if promised[job] >= 0:
            size = hold(steps, size, promised[job], promised[job] + duration[job], need[job], 1)
    due = ints(draw(st.lists(st.integers(0, 9), min_size=count, max_size=count)))
    weight = ints(draw(st.lists(st.integers(1, 5), min_size=count, max_size=count)))
    return weight, due, duration, need, promised, AmountSteps(steps.at[:size], steps.free[:size])


@pytest.mark.parametrize("divisor", [1, 7])
@settings(max_examples=number_of_inputs(150))
@given(inputs(), st.integers(0, 1000))
def test_it_finds_what_whole_decodings_find(divisor, drawn, seed):
    weight, *others = drawn
    weight = weight / divisor
    rng = np.random.default_rng(seed)
    count = len(weight)
    orders = np.array([rng.permutation(count) for _ in range(3)])
    moves = np.column_stack((rng.integers(0, count, size=(40, 2)), rng.integers(0, 2, size=40)))
    none = ints([])
    search = open_search(weight, *others, none, none, no_instant(), none, none)
    which, _ = search_orders(search, orders, moves)
    expected = Whole(weight, *others).search(orders, moves)
    assert (which, search.cost[0]) == expected[:2]
    assert (search.best.order.tolist(), search.best.starts.tolist()) == expected[2:]


@st.composite
def instants(draw):
    """Draw jobs of few kinds. They start now only where they find nodes. Equal nodes are taken together."""
    count = draw(st.integers(1, 24))
    node = st.sampled_from([(4, 4), (4, 1), (2, 3), (0, 0)])
    free = np.repeat(ints(draw(st.lists(node, min_size=1))), draw(st.integers(1, 3)), axis=0)
    # Many request as much of the pool, but not of a node.
    shapes = st.sampled_from([(1, 2, 2), (2, 1, 1), (1, 4, 0), (4, 1, 0), (2, 2, 0), (3, 2, 1)])
    kinds = draw(st.lists(st.tuples(st.sampled_from([3, 5]), shapes), min_size=1, max_size=5))
    chosen = [kinds[draw(st.integers(0, len(kinds) - 1))] for _ in range(count)]
    duration = ints([length for length, _ in chosen])
    (slots, *demand) = ints([shape for _, shape in chosen]).T
    weight, due = (ints([draw(st.integers(*span)) for _ in range(count)]) for span in ((0, 3), (-2, 3)))
    held = ints(draw(st.lists(st.integers(1, 9), max_size=3)))
    amount = ints([[1, 2]] * len(held)).reshape(-1, 2)
    return Problem(
        duration,
        slots,
        np.column_stack(demand),
        weight,
        free.sum(axis=0, keepdims=True) + amount.sum(axis=0),
        due,
        np.zeros_like(held),
        held,
        np.zeros_like(held),
        amount,
        free_now=free,
    )


def assert_found_by_whole_decodings(problem, orders, moves):
    held = AmountSteps(problem.profile[0], np.ascontiguousarray(problem.profile[1]))
    rows = problem.due, problem.duration, problem.need, np.full(problem.jobs, -1), held
    expected = Whole(problem.weight.astype(float), *rows, problem).search(orders, moves)
    found = open_search(
        problem.weight.astype(float), *rows, ints([]), problem.kind, problem.instant, problem.earliest, problem.latest
    )
    which, _ = search_orders(found, orders, moves)
    assert (which, found.cost[0]) == expected[:2]
    assert (found.best.order.tolist(), found.best.starts.tolist()) == expected[2:]


@settings(max_examples=number_of_inputs(150))
@given(instants(), st.integers(0, 1000))
def test_so_it_does_where_jobs_that_start_now_must_find_nodes(problem, seed):
    rng = np.random.default_rng(seed)
    count = problem.jobs
    if seed % 2:  # Some may start later alone, or must start by a time.
        late = rng.integers(0, 2, count) * rng.integers(0, 9, count)
        most = rng.integers(20, 200, count)
        problem = replace(problem, earliest=late, latest=most)
    moves = np.column_stack((rng.integers(0, count, (60, 2)), rng.integers(0, 2, 60)))
    assert_found_by_whole_decodings(problem, np.array([rng.permutation(count) for _ in range(3)]), moves)


def test_the_pool_may_be_the_same_and_the_nodes_not():
    """Two jobs change places. One leaves no node for the last job. The pool looks the same."""
    shapes = [(2, 1, 1), (1, 2, 2), *[(3, 1, 1)] * 8, (1, 1, 2)]
    slots, *demand = ints(shapes).T
    problem = Problem(
        ints([4, 4, *[9] * 8, 4]),
        slots,
        np.column_stack(demand),
        ints([1, 3, *[0] * 8, 100]),
        ints([[3, 4]]),
        free_now=ints([[1, 1], [1, 1], [2, 2]]),
    )
    assert_found_by_whole_decodings(problem, np.arange(11)[None], ints([[0, 1, 1]]))
