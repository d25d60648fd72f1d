"""Scheduling and allocation taken apart, against all schedules of tiny problems."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.overloads import overloads
from oracles.placing import can_be_placed, least_cost, problems

from hpcdispatch.models.cp.answer import Limit, Status
from hpcdispatch.models.cp.benders import Effort, solve_placed
from hpcdispatch.models.cp.bounds import linear_bound, time_edges
from hpcdispatch.models.cp.conflicts import Packer
from hpcdispatch.models.cp.cuts import joined, sizes, slot_cuts, usable_cuts
from hpcdispatch.models.scheduling.list_schedules import earliest_starts, list_schedule
from hpcdispatch.models.scheduling.problem import Problem

LONG = Limit(2, 2)
#: Little of everything, so that the cuts and the exact checks have to do the work.
BARE = Effort(iterations=0, polish=0, tries=0, branches=100)


@given(problems(most_jobs=4), st.booleans(), st.booleans())
@settings(max_examples=60)
def test_finds_the_least_cost_there_is(problem, hinted, bare):
    hint = list_schedule(problem, np.arange(problem.jobs)) if hinted else None
    answer = solve_placed(problem, hint, LONG, effort=BARE if bare else None)
    best, _ = least_cost(problem, 9)
    assert answer.status is Status.OPTIMAL
    assert answer.schedule.cost == best == answer.bound
    assert not overloads(problem, answer.schedule.starts, answer.schedule.counts)


@given(problems(most_jobs=3, late_holds=True))
@settings(max_examples=30)
def test_also_where_something_begins_to_hold_later(problem):
    answer = solve_placed(problem, None, LONG, effort=BARE)
    best, _ = least_cost(problem, 9)
    assert answer.status is Status.OPTIMAL
    assert answer.schedule.cost == best


def holds(problem, cut, starts):
    for time in np.unique(np.concatenate((starts, problem.profile[0]))):
        runs = (starts <= time) & (time < starts + problem.duration)
        step = np.searchsorted(problem.profile[0], time, side="right") - 1
        if cut.demand[runs].sum() > cut.level[step]:
            return False
    return True


@given(problems(most_jobs=4, late_holds=True), st.data())
@settings(max_examples=60)
def test_no_cut_forbids_what_can_be_placed(problem, data):
    wanted = np.array([data.draw(st.integers(0, 2)) for _ in range(problem.jobs)])
    jobs = np.arange(problem.jobs)
    size = sizes(problem)
    family = joined((slot_cuts(problem, size), usable_cuts(problem, size)))
    packer = Packer(problem, 0.1, 0, 100)
    packer.budget = 1.0
    cuts = [family.cut(index) for index in range(family.demand.shape[1])]
    cuts += packer.pairs(wanted, jobs) + packer.cores(wanted, jobs)
    for starts in product(range(4), repeat=min(problem.jobs, 3)):
        whole = np.array([*starts, *[9] * (problem.jobs - len(starts))])
        broken = [cut for cut in cuts if not holds(problem, cut, whole)]
        assert not broken or not can_be_placed(problem, tuple(whole))


@given(problems(most_jobs=3, late_holds=True), st.integers(2, 8))
@settings(max_examples=40)
def test_the_linear_bound_is_one(problem, intervals):
    best, starts = least_cost(problem, 9)
    family = joined((slot_cuts(problem, sizes(problem)), usable_cuts(problem, sizes(problem))))
    cuts = [family.cut(index) for index in range(family.demand.shape[1])]
    edges = time_edges(np.array(starts), problem.duration, intervals)
    assert linear_bound(problem, cuts, earliest_starts(problem), edges) <= best


def crowd(seed, jobs=9):
    rng = np.random.default_rng(seed)
    capacity = np.array([[8, 8, 2, 0], [8, 8, 0, 2]] * 3)
    demand = np.column_stack((rng.integers(1, 9, jobs), rng.integers(1, 5, jobs), rng.integers(0, 3, (jobs, 2))))
    demand[np.arange(jobs), rng.integers(2, 4, jobs)] = 0
    duration = rng.integers(5, 90, jobs)
    held = np.array([[4, 2, 0, 0], [6, 0, 0, 0], [0, 0, 2, 0]])
    return Problem(
        duration, rng.integers(1, 3, jobs), demand, 1000 // duration, capacity, np.zeros(jobs, dtype=int),
        np.zeros(3, dtype=int), np.array([9, 30, 17]), np.array([0, 1, 2]), held,
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
def test_two_runs_are_the_same_and_never_worse_than_the_hint(seed):
    problem = crowd(seed)
    hint = list_schedule(problem, np.arange(problem.jobs))
    first, second = (solve_placed(problem, hint, Limit(0.02, 0.02)) for _ in range(2))
    assert first.schedule.starts.tolist() == second.schedule.starts.tolist()
    assert first.schedule.counts.tolist() == second.schedule.counts.tolist()
    assert (first.bound, first.status, first.time, first.source) == (
        second.bound, second.status, second.time, second.source,
    )  # fmt: skip
    assert first.bound <= first.schedule.cost <= hint.cost
    assert not overloads(problem, first.schedule.starts, first.schedule.counts)


def test_who_made_the_schedule_is_told():
    sources = {solve_placed(crowd(seed), None, Limit(0.02, 0.02)).source for seed in range(6)}
    assert sources <= {"list", "local search", "cp-sat"}
    assert "local search" in sources
    bare = solve_placed(crowd(0), list_schedule(crowd(0), np.arange(9)[::-1]), LONG, effort=BARE)
    assert bare.source in {"hint", "list", "cp-sat"}


def test_a_job_that_no_machine_takes():
    problem = Problem(np.array([2, 2]), np.array([1, 1]), np.array([[1], [3]]), np.array([1, 1]), np.array([[2], [2]]))
    assert solve_placed(problem, None, LONG).status is Status.INFEASIBLE
    assert problem.pooled.capacity.tolist() == [[4]]


def test_a_gpu_is_where_it_is():
    """The pool has cores for all three at once; the one node with GPUs takes one job after the other."""
    problem = Problem(
        np.array([5, 5, 5]), np.array([1, 1, 1]), np.array([[3, 1], [3, 1], [4, 0]]), np.array([1, 1, 1]),
        np.array([[4, 2], [4, 0], [4, 0]]),
    )  # fmt: skip
    answer = solve_placed(problem, None, LONG)
    assert answer.status is Status.OPTIMAL
    assert sorted(answer.schedule.starts.tolist()) == [0, 0, 5]
    assert answer.schedule.counts[0, 0] == answer.schedule.counts[1, 0] == 1


def test_one_node_is_a_pool():
    problem = crowd(0).pooled
    answer = solve_placed(problem, None, LONG)
    assert answer.status is Status.OPTIMAL
    assert not overloads(problem, answer.schedule.starts, answer.schedule.counts)


def test_no_job_at_all():
    nothing = np.zeros(0, dtype=int)
    answer = solve_placed(Problem(nothing, nothing, np.zeros((0, 1)), nothing, np.array([[2], [2]])), None, LONG)
    assert (answer.status, answer.bound, answer.schedule.counts.shape) == (Status.OPTIMAL, 0, (0, 2))
