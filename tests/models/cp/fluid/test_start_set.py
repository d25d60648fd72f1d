"""Who starts now with the rest as a fluid: against all sets of jobs of tiny problems."""

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from oracles.placing import can_be_placed, problems
from scipy.optimize import linprog

from hpcdispatch.models import WHENEVER, Decision, Problem, Status, best_of, list_orders, list_schedule
from hpcdispatch.models.cp import starting
from hpcdispatch.models.cp.allocation import Allocation
from hpcdispatch.models.cp.fluid import FluidDecision, FluidModel, each_node


def of_the_instant(problem, nodes):
    return replace(problem.pooled, free_now=problem.profile[1][0]) if nodes else problem.pooled


def have_places(problem, now):
    """Whether jobs have places on the nodes at this instant, or in the pool, by trying all."""
    jobs = np.flatnonzero(now)
    free = problem.free_now if len(problem.free_now) else problem.profile[1][0]
    at_once = Problem(np.ones(len(jobs)), problem.slots[jobs], problem.demand[jobs], np.ones(len(jobs)), free)
    return can_be_placed(at_once, (0,) * len(jobs))


def cost_of_a_fluid(problem, now, edges):
    """Return what jobs cost that start at `edges`, in parts unless they start now, interval by interval."""
    starts = [(job, edge) for job in range(problem.jobs) for edge in edges.tolist()]
    cost = [problem.weight[job] * max(edge - problem.due[job], 0) for job, edge in starts]
    bounds = [(float(now[job]),) * 2 if edge == 0 else (0.0, 1.0) for job, edge in starts]
    once = np.array([[float(job == one) for job, _ in starts] for one in range(problem.jobs)])
    rows, most = [], []
    for begin, end in pairwise(edges.tolist()):
        seconds = range(begin, end)
        for resource in range(problem.capacity.shape[1]):
            free = [
                problem.profile[1][np.searchsorted(problem.profile[0], s, "right") - 1, 0, resource] for s in seconds
            ]
            rows.append([
                problem.need[job, resource] * sum(edge <= s < edge + problem.duration[job] for s in seconds)
                for job, edge in starts
            ])  # fmt: skip
            most.append(sum(free))
    found = linprog(cost, A_ub=rows, b_ub=most, A_eq=once, b_eq=np.ones(problem.jobs), bounds=bounds, method="highs")
    return found.fun if found.status == 0 else np.inf


def listed(problem):
    return best_of(problem, list_orders(problem))[0]


@pytest.mark.parametrize("nodes", [False, True])
@given(problem=problems(most_jobs=4))
@settings(max_examples=25)
def test_no_other_set_of_jobs_costs_less(nodes, problem):
    problem = of_the_instant(problem, nodes)
    schedule = listed(problem)
    model = FluidModel(problem, schedule.starts, schedule.cost)
    costs = {
        now: cost_of_a_fluid(problem, now, model.edges)
        for now in product((False, True), repeat=problem.jobs)
        if have_places(problem, np.array(now))
    }
    answer = FluidDecision(Decision(problem, schedule, "list", problem.horizon)).search()
    assert answer.decided
    now = tuple((answer.schedule.starts == 0).tolist())
    if answer.status is not Status.OPTIMAL and answer.source == "fluid":
        assert costs[now] == pytest.approx(min(costs.values()), abs=1e-5)
    found = model.solve()
    assert found.proved
    assert found.cost <= min(costs.values()) + 1e-5
    if have_places(problem, found.now):
        assert found.cost == pytest.approx(costs[tuple(found.now.tolist())], abs=1e-5)
    if nodes:
        one_by_one = FluidModel(problem, schedule.starts, schedule.cost, each_node(problem))
        exact = one_by_one.solve()
        assert exact.proved
        assert exact.cost == pytest.approx(min(costs.values()), abs=1e-5)
        assert are_places(problem, exact.now, one_by_one.counts(exact))
    fixed = model.solve(fixed=schedule.starts == 0)
    assert fixed.cost == pytest.approx(costs[tuple((schedule.starts == 0).tolist())], abs=1e-5)


def are_places(problem, now, counts):
    """Whether the slots of the jobs that start now are on nodes that have room for them, and no others."""
    held = np.einsum("jn,jr->nr", counts, problem.demand)
    return (counts.sum(axis=1) == now * problem.slots).all() and (held <= problem.free_now)[held > 0].all()


def alike_nodes(nodes):
    """Jobs of more than half a node each on nodes alike, of which together one more would have room."""
    demand = np.array([[3, memory] for memory in range(1, nodes + 2)])
    free = np.array([[5, 9]] * nodes)
    jobs = np.ones(nodes + 1)
    return Problem(10 * jobs, jobs, demand, 9 * jobs, free.sum(axis=0, keepdims=True), free_now=free)


def test_nodes_alike_are_told_apart_where_it_matters(monkeypatch):
    """As one, five nodes of 5 cores would have room for six jobs of 3 cores. Nothing else finds their places."""
    monkeypatch.setattr(starting, "place_now", lambda _problem, _starts: Allocation(None))
    problem = alike_nodes(5)
    late = list_schedule(problem, np.arange(6))
    late = replace(late, starts=np.full(6, 10), cost=problem.cost(np.full(6, 10)))
    assert FluidModel(problem, late.starts, late.cost).solve().now.all()
    answer = FluidDecision(Decision(problem, late, "list", problem.horizon)).search()
    now = answer.schedule.starts == 0
    assert answer.decided
    assert now.sum() == 5
    assert are_places(problem, now, answer.schedule.counts)
    assert each_node(problem, most=29) is None
    assert len(each_node(problem, most=30).members) == 5


def crowd(jobs=40, wide=3):
    """Jobs alike, of which a few at a time have room, and one that needs all."""
    demand = np.array([[2]] * jobs + [[8]])
    return Problem(
        np.array([10] * jobs + [40]), np.array([1] * jobs + [wide]), demand, np.array([100] * jobs + [25]),
        np.array([[24]]), free_now=np.array([[8]] * 3), held_from=np.zeros(1), held_to=np.full(1, 5),
        held_node=np.zeros(1), held_amount=np.array([[4]]),
    )  # fmt: skip


def test_jobs_that_differ_in_nothing_are_one_group():
    problem = crowd()
    schedule = listed(problem)
    model = FluidModel(problem, schedule.starts, schedule.cost)
    assert len(np.unique(model.group)) == 2
    found = model.solve()
    assert found.proved
    assert found.now.tolist() == [True] * 10 + [False] * 31


def test_what_is_decided_has_places_though_no_list_finds_them():
    """Best fit puts the first of two on the node that the second needs."""
    problem = Problem(
        np.array([10, 10, 10]), np.array([1, 1, 1]), np.array([[2, 1], [3, 3], [4, 0]]), np.array([9, 9, 1]),
        np.array([[8, 7]]), free_now=np.array([[3, 3], [5, 4]]),
    )  # fmt: skip
    late = replace(listed(problem), starts=np.array([0, 10, 0]))
    late = replace(late, cost=problem.cost(late.starts))
    answer = FluidDecision(Decision(problem, late, "list", problem.horizon)).search()
    now = answer.schedule.starts == 0
    assert answer.decided
    assert now.tolist() == [True, True, False]
    counts = answer.schedule.counts
    assert (counts[now].sum(axis=1) == problem.slots[now]).all()
    assert (np.einsum("jn,jr->nr", counts[now], problem.demand[now]) <= problem.free_now).all()


def test_a_job_that_must_start_now_does():
    problem = Problem(
        np.array([10, 10]), np.array([1, 1]), np.array([[4], [4]]), np.array([9, 1]), np.array([[4]]),
        latest=np.array([WHENEVER, 0]),
    )  # fmt: skip
    kept = list_schedule(problem, np.array([1, 0]))
    found = FluidModel(problem, kept.starts, kept.cost).solve()
    assert found.proved
    assert found.now.tolist() == [False, True]
    assert found.cost == pytest.approx(kept.cost)
