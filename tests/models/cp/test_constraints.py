"""Plug-in constraints: quotas, latest starts, closures. In every model, against all schedules of tiny problems."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from drawn import number_of_inputs
from hypothesis import given, settings
from oracles.placing import can_be_placed
from oracles.quotas import kept, least_cost_within, limited_problems

from hpcdispatch.models import (
    WHENEVER,
    Problem,
    Search,
    SolverLimit,
    Status,
    best_of,
    improve,
    list_orders,
    list_schedule,
    quotas_beside,
)
from hpcdispatch.models.cp import PoolCapacity

LONG = SolverLimit(1, 1)
HORIZON = 12
TINY = settings(max_examples=number_of_inputs(25))
NOW = np.zeros(3, dtype=np.int64)


def answers(problem, quotas):
    """Return the results of the whole model, with and without a hint, and the decision."""
    limited = problem.with_quotas(quotas)
    orders = list_orders(limited)
    searches = [Search(limited, limit=LONG, whole=True, hinted=hinted) for hinted in (True, False)]
    return [search.solve(orders) for search in searches]


def pool_of(problem):
    """Return the problem on a pool, without the nodes of the instant."""
    return replace(problem.pooled, free_now=np.zeros((0, 0)))


@pytest.mark.parametrize("pooled", [True, False])
@given(drawn=limited_problems())
@TINY
def test_finds_the_least_cost_there_is_within_quotas_and_latest_starts(pooled, drawn):
    problem, quotas = drawn
    problem = pool_of(problem) if pooled else problem
    least = least_cost_within(problem, quotas, HORIZON)
    for answer in answers(problem, quotas):
        if least is None:
            assert answer.schedule is None
            continue
        assert answer.status is Status.OPTIMAL
        assert answer.schedule.cost == least
        assert kept(problem, quotas, answer.schedule.starts.tolist())


@given(drawn=limited_problems(most_jobs=4))
@TINY
def test_lists_and_the_local_search_keep_quotas_and_latest_starts(drawn):
    problem, quotas = drawn
    for limited in (problem.with_quotas(quotas), pool_of(problem).with_quotas(quotas)):
        for order in list_orders(limited):
            listed = list_schedule(limited, order)
            if listed is not None:
                better, _ = improve(limited, order, 20, np.random.default_rng(0))
                assert better.cost <= listed.cost
                for schedule in (listed, better):
                    assert kept(problem, quotas, schedule.starts.tolist())
                    assert can_be_placed(problem if limited.nodes > 1 else pool_of(problem), schedule.starts)


@given(drawn=limited_problems())
@TINY
def test_the_decision_is_proved_within_quotas(drawn):
    problem, quotas = drawn
    problem = replace(pool_of(problem), latest=np.full(problem.jobs, WHENEVER))
    limited = problem.with_quotas(quotas)
    answer = Search(limited, limit=LONG).solve(list_orders(limited))
    assert kept(problem, quotas, answer.schedule.starts.tolist())
    assert answer.decided or answer.schedule.cost == answer.bound
    now = tuple(answer.schedule.starts == 0)
    for starts in product(range(HORIZON), repeat=problem.jobs):
        if tuple(start == 0 for start in starts) != now and problem.cost(np.array(starts)) < answer.schedule.cost:
            assert not (kept(problem, quotas, starts) and can_be_placed(problem, starts))


def licences(nodes):
    """Three jobs that fit together, of which two need the one licence."""
    problem = Problem(np.array([5, 7, 9]), np.ones(3), np.ones((3, 1)), np.array([3, 2, 1]), np.full((nodes, 1), 4))
    return problem, quotas_beside(np.array([[1], [1], [0]]), np.array([1]), NOW[:0], np.zeros((0, 1), dtype=np.int64))


@pytest.mark.parametrize("nodes", [1, 3])
def test_a_licence_lets_one_of_two_start(nodes):
    problem, quotas = licences(nodes)
    free = best_of(problem, list_orders(problem))[0]
    limited = best_of(problem.with_quotas(quotas), list_orders(problem))[0]
    assert free.starts.tolist() == [0, 0, 0]
    assert limited.starts.tolist() == [0, 5, 0]


def test_jobs_that_differ_in_what_they_take_are_not_alike():
    problem = Problem(np.full(3, 5), np.ones(3), np.ones((3, 1)), np.ones(3), np.array([[4], [4]]))
    _, quotas = licences(2)
    assert [group.tolist() for group in problem.alike] == [[0, 1, 2]]
    assert [group.tolist() for group in problem.with_quotas(quotas).alike] == [[0, 1]]
    assert [group.tolist() for group in pool_of(problem).with_quotas(quotas).alike] == [[0, 1]]


def test_a_schedule_that_breaks_a_quota_does_not_hold():
    problem, quotas = licences(1)
    broken = best_of(problem, list_orders(problem))[0]
    assert not PoolCapacity(problem.with_quotas(quotas)).holds(broken)
    assert PoolCapacity(problem).holds(broken)


def test_what_runs_may_take_more_than_there_is():
    quotas = quotas_beside(np.array([[1]]), np.array([2]), np.array([4, 6]), np.array([[1], [2]]))
    assert quotas.left.tolist() == [[0], [0], [2]]
    assert quotas.times.tolist() == [0, 4, 6]


@pytest.mark.parametrize("nodes", [1, 3])
def test_some_of_the_jobs_alone(nodes):
    problem, quotas = licences(nodes)
    limited = problem.with_quotas(quotas)
    for jobs, starts in (([0, 1], [0, 5]), ([2, 1], [0, 0]), ([1], [0])):
        part = limited.of_jobs(np.array(jobs))
        assert part.duration.tolist() == problem.duration[jobs].tolist()
        assert best_of(part, list_orders(part))[0].starts.tolist() == starts
