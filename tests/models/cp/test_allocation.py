"""Whether jobs with fixed start times can be placed, against all placements."""

from unittest.mock import patch

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.overloads import overloads
from oracles.placing import can_be_placed, problems

from hpcdispatch.models.cp import allocation
from hpcdispatch.models.cp.allocation import allocate, check, pack_at_once
from hpcdispatch.models.cp.integer_packing import pack_most
from hpcdispatch.models.cp.packing_models import packing_at, packing_now, packing_problem, pattern_model
from hpcdispatch.models.scheduling.node_classes import classes_now
from hpcdispatch.models.scheduling.problem import Problem


@given(problems(late_holds=True), st.data())
@settings(max_examples=120)
def test_says_what_trying_all_says(problem, data):
    starts = np.array([data.draw(st.integers(0, 3)) for _ in range(problem.jobs)])
    jobs = np.array(sorted(data.draw(st.sets(st.integers(0, problem.jobs - 1), min_size=1))))
    found = allocate(problem, starts, jobs, tries=data.draw(st.sampled_from([0, 5])), limit=1)
    assert found.possible == can_be_placed(problem, tuple(starts), jobs.tolist())
    if found.possible:
        asked = np.isin(np.arange(problem.jobs), jobs)
        assert (found.counts.sum(axis=1) == np.where(asked, problem.slots, 0)).all()
        part = Problem(
            problem.duration[jobs], problem.slots[jobs], problem.demand[jobs], problem.weight[jobs], problem.capacity,
            problem.due[jobs], problem.held_from, problem.held_to, problem.held_node, problem.held_amount,
        )  # fmt: skip
        assert not overloads(part, starts[jobs], found.counts[jobs])
    else:
        assert set(found.core) <= set(jobs.tolist())
        assert not can_be_placed(problem, tuple(starts), list(found.core))


@given(problems())
@settings(max_examples=80)
def test_packing_at_one_time(problem):
    starts, jobs = np.zeros(problem.jobs, dtype=int), np.arange(problem.jobs)
    packing = packing_at(problem, 0, jobs)
    possible = can_be_placed(problem, tuple(starts))
    free = problem.profile[1][0]
    assert pack_at_once(free, problem.slots, problem.demand) is possible
    assert check(packing, 1).possible is possible
    greedy = packing.greedy(3)
    assert greedy is None or possible
    assert check(packing_now(classes_now(free), problem.slots, problem.demand), 1).possible is possible
    most = max(
        int(problem.weight[list(some)].sum())
        for code in range(2**problem.jobs)
        if can_be_placed(problem, tuple(starts), some := [job for job in jobs.tolist() if code >> job & 1])
    )
    few = packing.few
    packed = pack_most(few.fits, problem.slots, problem.demand, few.classes.free[0], problem.weight, 1000)
    assert packed.most == most
    assert packed.counts is not None
    assert problem.weight[packed.placed].sum() == most


@given(problems(late_holds=True), st.data())
@settings(max_examples=80)
def test_patterns_say_what_trying_all_says(problem, data):
    starts = np.array([data.draw(st.integers(0, 2)) for _ in range(problem.jobs)])
    packing = packing_problem(problem, starts, np.arange(problem.jobs))
    with patch.object(allocation, "MANY_ALIKE", -1):
        found = check(packing, 1)
    assert found.possible is can_be_placed(problem, tuple(starts))
    if found.possible:
        assert (found.counts.sum(axis=1) == problem.slots).all()
        assert not overloads(problem, starts, found.counts)
    else:
        assert not can_be_placed(problem, tuple(starts), list(found.core))


def test_the_best_packing_is_not_lost_to_the_presolve():
    """Jobs 0, 1 and 3 fit, weight 9; with its presolve HiGHS said that no packing has more than 8."""
    slots, demand = np.array([1, 2, 3, 2]), np.array([[0, 1], [1, 0], [2, 0], [3, 0]])
    weight, free = np.array([1, 5, 2, 3]), np.array([[3, 1], [3, 0], [4, 0]])
    fits = np.array([[1, 0, 0], [2, 2, 2], [1, 1, 2], [1, 1, 1]])
    assert pack_most(fits, slots, demand, free, weight, 1000).most == 9


def test_a_thousand_nodes_are_one_class():
    """600 nodes for one job and 700 for another, of 1,250, with room for both on none: a model of six numbers."""
    capacity = np.array([[20]] * 1200 + [[48]] * 50)
    jobs = np.array([600, 700]), np.array([[15], [12]])
    one = np.ones(2, dtype=int)
    problem = Problem(5 * one, *jobs, one, capacity)
    packing = packing_problem(problem, 0 * one, np.arange(2))
    assert packing.few.classes.count.sum() == 1250
    model = pattern_model(packing)
    assert [rows.tolist() for rows in model.patterns] == [[[1, 0], [0, 1]], [[4, 0], [2, 1], [1, 2], [0, 3]]]
    assert allocate(problem, 0 * one).possible
    more = Problem(5 * one, np.array([700, 800]), jobs[1], one, capacity)
    assert allocate(more, 0 * one).possible is False


def test_a_core_names_the_jobs_that_are_too_many():
    """Two whole nodes and three jobs that want one each, beside one that fits anywhere."""
    problem = Problem(
        np.full(4, 5), np.ones(4, dtype=int), np.array([[1, 1], [4, 0], [3, 0], [4, 0]]), np.ones(4, dtype=int),
        np.array([[4, 4], [4, 4], [1, 4]]),
    )  # fmt: skip
    found = allocate(problem, np.array([0, 0, 2, 4]))
    assert found.possible is False
    assert found.core == (1, 2, 3)
    assert allocate(problem, np.array([0, 0, 2, 5])).possible


def test_a_job_alone_is_a_core():
    problem = Problem(np.array([2, 2]), np.array([1, 2]), np.array([[1], [3]]), np.array([1, 1]), np.array([[4], [2]]))
    assert allocate(problem, np.zeros(2, dtype=int)).core == (1,)
    assert allocate(problem, np.zeros(2, dtype=int), np.array([0])).possible


def test_packable_at_every_time_but_not_over_all():
    """Of two nodes of 2, a job of 1 on each must stay while a job of 2 comes."""
    problem = Problem(
        np.array([4, 2, 2, 2]), np.ones(4, dtype=int), np.array([[1], [1], [2], [1]]), np.ones(4, dtype=int),
        np.array([[2], [2]]),
    )  # fmt: skip
    assert allocate(problem, np.array([0, 0, 2, 2])).possible
    held = Problem(
        np.array([3, 3, 2]), np.ones(3, dtype=int), np.array([[1], [1], [2]]), np.ones(3, dtype=int),
        np.array([[2], [2]]), np.zeros(3, dtype=int), np.array([0, 0]), np.array([2, 2]), np.array([0, 1]),
        np.array([[1], [1]]),
    )  # fmt: skip
    starts = np.array([0, 0, 2])
    for time in range(4):
        running = [job for job in range(3) if starts[job] <= time < starts[job] + held.duration[job]]
        step = np.searchsorted(held.profile[0], time, side="right") - 1
        assert pack_at_once(held.profile[1][step], held.slots[running], held.demand[running])
    assert allocate(held, starts).possible is False
    assert len(packing_problem(held, starts, np.arange(3)).classes.free) == 2


def test_no_answer_without_time():
    """A greedy that is not allowed to try leaves the question open."""
    problem = Problem(np.array([2]), np.array([1]), np.array([[1]]), np.array([1]), np.array([[1]]))
    assert allocate(problem, np.array([0]), tries=0, limit=0).possible is None
