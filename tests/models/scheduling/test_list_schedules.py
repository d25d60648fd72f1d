"""Schedules from orders, on nodes and on pools."""

import numpy as np
import pytest
from drawn import number_of_inputs
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.overloads import overloads
from oracles.placing import placements, problems, usage

from hpcdispatch.models.scheduling.list_schedules import best_of, earliest_starts, improve, list_orders, list_schedule
from hpcdispatch.models.scheduling.problem import Problem


def fits_at(problem, job, time, used):
    """The slots of a job that fit on each node for its whole run from a time on."""
    span = slice(time, time + int(problem.duration[job]))
    free = np.maximum(problem.capacity - used[span].max(axis=0), 0)
    asked = problem.demand[job] > 0
    if not asked.any():
        return np.full(problem.nodes, problem.slots[job])
    return np.minimum((free[:, asked] // problem.demand[job, asked]).min(axis=1), problem.slots[job])


def slow_schedule(problem, order, rule):
    """Serial schedule generation second by second."""
    length = problem.horizon + int(problem.duration.max()) + 1
    used = usage(problem, length)
    starts = np.zeros(problem.jobs, dtype=int)
    all_counts = np.zeros((problem.jobs, problem.nodes), dtype=int)
    for job in order:
        time = next(t for t in range(length) if fits_at(problem, job, t, used).sum() >= problem.slots[job])
        fits = fits_at(problem, job, time, used)
        span = slice(time, time + int(problem.duration[job]))
        free = (problem.capacity - used[span].max(axis=0)) / np.maximum(problem.capacity, 1)
        nodes = np.argsort(free.sum(axis=1), kind="stable") if rule == "best-fit" else np.arange(problem.nodes)
        left = int(problem.slots[job])
        for node in nodes:
            all_counts[job, node] = min(left, fits[node])
            left -= all_counts[job, node]
        used[span] += np.einsum("n,r->nr", all_counts[job], problem.demand[job])
        starts[job] = time
    return starts, all_counts


@given(problems(late_holds=True), st.randoms(use_true_random=False), st.sampled_from(["best-fit", "first-fit"]))
@settings(max_examples=number_of_inputs(150))
def test_every_job_starts_at_the_first_second_that_keeps_its_slots(problem, random, rule):
    order = list(range(problem.jobs))
    random.shuffle(order)
    schedule = list_schedule(problem, np.array(order), rule)
    starts, counts = slow_schedule(problem, order, rule)
    assert schedule.starts.tolist() == starts.tolist()
    assert schedule.counts.tolist() == counts.tolist()
    assert schedule.cost == problem.cost(starts)
    assert not overloads(problem, schedule.starts, schedule.counts)


@st.composite
def crowds(draw):
    """Draw jobs for two kinds of nodes in turn. Many are alike. Classes are split again and again."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    jobs = draw(st.integers(2, 12))
    nodes = draw(st.integers(4, 20))
    capacity = np.array([[4, 2], [4, 0]])[rng.integers(0, 2, nodes)]
    demand = np.column_stack((rng.integers(1, 5, jobs), np.zeros(jobs, dtype=int)))
    held = rng.integers(0, nodes)
    return Problem(
        rng.integers(1, 6, jobs),
        rng.integers(1, nodes // 2 + 1, jobs),
        demand,
        rng.integers(0, 5, jobs),
        capacity,
        np.zeros(jobs, dtype=int),
        np.zeros(held, dtype=int),
        rng.integers(1, 4, held),
        np.sort(rng.permutation(nodes)[:held]),
        np.column_stack((rng.integers(1, 4, held), np.zeros(held, dtype=int))),
    )


@given(crowds(), st.sampled_from(["best-fit", "first-fit"]))
@settings(max_examples=number_of_inputs(100))
def test_classes_of_nodes_take_jobs_as_nodes_do(problem, rule):
    schedule = list_schedule(problem, np.arange(problem.jobs), rule)
    starts, counts = slow_schedule(problem, range(problem.jobs), rule)
    assert schedule.starts.tolist() == starts.tolist()
    assert schedule.counts.tolist() == counts.tolist()


@given(problems(late_holds=True, most_jobs=6), st.integers(0, 30))
@settings(max_examples=number_of_inputs(60))
def test_search_keeps_what_it_had(problem, iterations):
    order = np.arange(problem.jobs)
    before = list_schedule(problem, order)
    schedule, found = improve(problem, order, iterations, np.random.default_rng(1))
    again, same = improve(problem, order, iterations, np.random.default_rng(1))
    assert schedule.cost <= before.cost
    assert found.tolist() == same.tolist()
    assert schedule.starts.tolist() == again.starts.tolist() == list_schedule(problem, found).starts.tolist()
    assert not overloads(problem, schedule.starts, schedule.counts)
    assert schedule.counts.tolist() == again.counts.tolist()


@given(problems(late_holds=True))
@settings(max_examples=number_of_inputs(60))
def test_earliest_starts_are_those_of_jobs_alone(problem):
    used = usage(problem, problem.horizon + int(problem.duration.max()) + 1)
    earliest = earliest_starts(problem)
    for job in range(problem.jobs):
        assert fits_at(problem, job, earliest[job], used).sum() >= problem.slots[job]
        assert all(fits_at(problem, job, time, used).sum() < problem.slots[job] for time in range(earliest[job]))
    pooled = earliest_starts(problem.pooled)
    assert (pooled <= earliest).all()


def one(slots, demand, capacity):
    return Problem(np.array([3]), np.array([slots]), np.array([demand]), np.array([1]), np.array(capacity))


def test_slots_share_a_node_if_they_fit():
    problem = one(3, [2], [[4], [2]])
    schedule = list_schedule(problem, np.array([0]), "first-fit")
    assert schedule.counts.tolist() == [[2, 1]]
    assert len(placements(problem, 0)) == 1


def test_no_schedule_where_a_job_never_fits():
    problem = one(2, [3], [[4], [2]])
    assert list_schedule(problem, np.array([0])) is None
    assert earliest_starts(problem) is None
    assert best_of(problem, list_orders(problem)) == (None, 0)
    with pytest.raises(ValueError, match="no schedule"):
        improve(problem, np.array([0]), 3, np.random.default_rng(0))
    with pytest.raises(ValueError, match="iterations must be >= 0"):
        improve(problem, np.array([0]), -1, np.random.default_rng(0))


def test_parts_that_bring_nothing_are_undone_and_the_last():
    """As if each part began anew with the order of the one before."""
    rng = np.random.default_rng(3)
    problem = Problem(
        rng.integers(1, 50, 12), np.ones(12), rng.integers(1, 9, (12, 1)), rng.integers(1, 99, 12), np.array([[12]])
    )
    draws = np.random.default_rng(5)
    one_by_one = np.random.default_rng(5)
    schedule, _ = improve(problem, np.arange(12), 80, draws, parts=4)
    best = list_schedule(problem, np.arange(12))
    order = np.arange(12)
    for _ in range(4):
        found, order = improve(problem, order, 20, one_by_one)
        if found.cost >= best.cost:
            break
        best = found
    assert schedule.starts.tolist() == best.starts.tolist()
    assert draws.random() == one_by_one.random()
