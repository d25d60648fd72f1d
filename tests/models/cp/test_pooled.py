"""The pooled model against plain enumeration, and what it does at the edges."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.overloads import overloads

from hpcdispatch.models import Limit, Problem, Schedule, Status, best_of, list_orders, list_schedule, solve_pooled
from hpcdispatch.models.cp import SchedulingModel, comparable, rearranged

LIMIT = Limit(1.0, 1.0)
TINY = settings(max_examples=60)


@st.composite
def problems(draw, *, due=True, held_later=False):
    """Draw a problem of up to three short jobs on a pool of one or two resources, of which parts are held."""
    jobs, resources, held = draw(st.integers(1, 3)), draw(st.integers(1, 2)), draw(st.integers(0, 2))
    capacity = np.array(draw(st.lists(st.integers(2, 4), min_size=resources, max_size=resources)))

    def rows(count, most):
        return np.array(draw(st.lists(
            st.tuples(*[st.integers(0, int(top)) for top in most]), min_size=count, max_size=count
        )), dtype=np.int64).reshape(count, len(most))  # fmt: skip

    def numbers(count, low, high):
        return np.array(draw(st.lists(st.integers(low, high), min_size=count, max_size=count)), dtype=np.int64)

    begin = numbers(held, 0, 3) if held_later else np.zeros(held, dtype=np.int64)
    demand = rows(jobs, capacity)
    demand[demand.sum(axis=1) == 0, 0] = 1
    return Problem(
        duration=numbers(jobs, 0, 3),
        slots=np.ones(jobs, dtype=np.int64),
        demand=demand,
        weight=numbers(jobs, 0, 5),
        due=numbers(jobs, -4, 4) if due else np.zeros(jobs, dtype=np.int64),
        capacity=capacity[None, :],
        held_from=begin,
        held_to=begin + numbers(held, 1, 3),
        held_node=np.zeros(held, dtype=np.int64),
        held_amount=rows(held, capacity // 2),
    )


def fits(problem, starts):
    """Count second by second, and trust nothing of the package."""
    for second in range(int(problem.horizon) + 1):
        used = np.zeros(problem.capacity.shape[1])
        for begin, end, amount in zip(problem.held_from, problem.held_to, problem.held_amount, strict=True):
            used += amount * (begin <= second < end)
        for start, duration, slots, demand in zip(starts, problem.duration, problem.slots, problem.demand, strict=True):
            used += slots * demand * (start <= second < start + duration)
        if (used > problem.capacity[0]).any():
            return False
    return True


def enumerated(problem, horizon):
    """Return the least cost of all integer start times that end by the horizon, or ``None``."""
    best = None
    for starts in product(*(range(horizon - int(duration) + 1) for duration in problem.duration)):
        pairs = zip(starts, problem.due, problem.weight, strict=True)
        cost = sum(int(weight) * max(0, start - int(due)) for start, due, weight in pairs)
        if (best is None or cost < best) and fits(problem, starts):
            best = cost
    return best


def hint_of(problem):
    return best_of(problem, list_orders(problem))[0]


@given(problems())
@TINY
def test_finds_what_enumeration_finds(problem):
    answer = solve_pooled(problem, hint_of(problem), LIMIT)
    assert answer.status is Status.OPTIMAL
    assert answer.schedule.cost == answer.bound == enumerated(problem, problem.horizon)
    assert answer.schedule.cost == problem.cost(answer.schedule.starts)
    assert fits(problem, answer.schedule.starts)


@given(problems(held_later=True), st.integers(1, 5), st.booleans())
@TINY
def test_without_a_hint_and_with_a_horizon_it_agrees_on_feasibility(problem, horizon, every):
    answer = solve_pooled(problem, None, LIMIT, horizon=horizon, every_resource=every)
    least = enumerated(problem, horizon)
    if least is None:
        assert answer.status is Status.INFEASIBLE
        assert answer.schedule is None
        assert answer.source == "none"
    else:
        assert answer.status is Status.OPTIMAL
        assert answer.schedule.cost == least
        assert (answer.schedule.starts + problem.duration <= horizon).all()


def crowd(jobs=30, seed=5, resources=2):
    """More jobs than the limit lets the solver prove anything about."""
    rng = np.random.default_rng(seed)
    duration = rng.choice([600, 3600, 7200], jobs)
    ends = rng.integers(1, 9000, 20)
    return Problem(
        duration, rng.integers(1, 6, jobs), rng.integers(1, 9, (jobs, resources)), 10**6 // duration,
        np.full((1, resources), 100), held_from=np.zeros(20), held_to=ends, held_node=np.zeros(20),
        held_amount=rng.integers(1, 5, (20, resources)),
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("worst", [False, True])
def test_is_never_worse_than_its_hint(seed, worst):
    problem = crowd(seed=seed)
    order = np.argsort(problem.weight) if worst else np.arange(problem.jobs)
    hint = list_schedule(problem, order)
    answer = solve_pooled(problem, hint, Limit(0.001, 0.001))
    assert answer.schedule.cost <= hint.cost
    assert answer.bound <= answer.schedule.cost
    assert overloads(problem, answer.schedule.starts) == []
    assert answer.source == ("cp-sat" if answer.schedule.cost < hint.cost else "hint") or answer.source == "hint"


def test_two_runs_are_identical():
    answers = [solve_pooled(crowd(), hint_of(crowd()), Limit(0.005, 0.005)) for _ in range(2)]
    assert answers[0].schedule.starts.tolist() == answers[1].schedule.starts.tolist()
    assert [answer.bound for answer in answers] == [answers[0].bound] * 2
    assert answers[0].time == answers[1].time > 0


def test_what_is_held_beyond_the_capacity_leaves_no_schedule():
    problem = Problem(
        np.array([5]), np.array([1]), np.array([[1]]), np.array([1]), np.array([[2]]),
        held_from=np.array([3]), held_to=np.array([4]), held_node=np.array([0]), held_amount=np.array([[3]]),
    )  # fmt: skip
    assert solve_pooled(problem, None, LIMIT).status is Status.INFEASIBLE


def test_a_job_that_asks_for_a_gpu_only_waits_for_the_gpu_alone():
    problem = Problem(
        np.array([10, 10]), np.array([1, 1]), np.array([[0, 1], [4, 0]]), np.array([1, 1]), np.array([[4, 1]]),
        held_from=np.array([0]), held_to=np.array([7]), held_node=np.array([0]), held_amount=np.array([[0, 1]]),
    )  # fmt: skip
    assert solve_pooled(problem, hint_of(problem), LIMIT).schedule.starts.tolist() == [7, 0]


def test_a_resource_that_nobody_asks_for_is_constrained_only_on_demand():
    problem = Problem(
        np.array([5]), np.array([1]), np.array([[1, 0]]), np.array([1]), np.array([[2, 1]]),
        held_from=np.array([0]), held_to=np.array([9]), held_node=np.array([0]), held_amount=np.array([[0, 2]]),
    )  # fmt: skip
    assert solve_pooled(problem, None, LIMIT).status is Status.OPTIMAL
    assert solve_pooled(problem, None, LIMIT, every_resource=True).status is Status.INFEASIBLE


def test_a_duration_of_zero_counts_as_a_second():
    problem = Problem(np.array([0, 0]), np.array([1, 1]), np.array([[1], [1]]), np.array([1, 1]), np.array([[1]]))
    assert sorted(solve_pooled(problem, hint_of(problem), LIMIT).schedule.starts.tolist()) == [0, 1]


@given(problems())
@TINY
def test_ordering_like_jobs_costs_nothing(problem):
    hint = hint_of(problem)
    sorted_starts = rearranged(problem, hint, list(comparable(problem))).starts
    assert problem.cost(sorted_starts) <= hint.cost
    assert fits(problem, sorted_starts)


def test_a_hint_that_ends_after_the_horizon_is_left_out():
    problem = Problem(np.array([5, 5]), np.array([1, 1]), np.array([[1], [1]]), np.array([1, 1]), np.array([[1]]))
    hint = list_schedule(problem, np.array([0, 1]))
    answer = SchedulingModel(problem, hint, horizon=9).solve(LIMIT)
    assert answer.status is Status.INFEASIBLE
    assert answer.schedule is None


def test_a_solver_that_says_nothing_leaves_the_hint(monkeypatch):
    problem = crowd(6)
    hint = hint_of(problem)
    monkeypatch.setattr("ortools.sat.python.cp_model.CpSolver.solve", lambda self, model: None)
    monkeypatch.setattr("ortools.sat.python.cp_model.CpSolver.deterministic_time", 0.0)
    answer = solve_pooled(problem, hint, LIMIT)
    assert (answer.status, answer.source, answer.bound) == (Status.FEASIBLE, "hint", None)
    assert answer.schedule.cost == hint.cost
    assert solve_pooled(problem, None, LIMIT).status is Status.UNKNOWN


def test_the_limit_doubles_until_its_most_or_so_many_restarts():
    def limits(limit, calls):
        attempts, seconds = limit.attempts(), []
        for second, (found, better) in zip(attempts, calls, strict=False):
            seconds.append(second)
            attempts.note(proved=False, found=found, better=better)
        return seconds

    vain = [(False, False)] * 9
    assert limits(Limit(1, 16, None), vain) == [1, 2, 4, 8, 16]
    assert limits(Limit(1, 16, None), [(False, False), (True, True), *vain]) == [1, 2]
    assert limits(Limit(1, 16, 2), vain) == [1, 2, 4]
    assert limits(Limit(1, 64, 2), [(True, True), (True, False), (True, True), (True, False), *vain]) == [
        1,
        2,
        4,
        8,
        16,
    ]
    assert limits(Limit(1, 64, 0), [(True, True), *vain]) == [1]
    assert limits(Limit(3, 3), vain) == [3]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((0, 1), "limit must be 0 < first <= most"), ((2, 1), "got first 2 and most 1"), ((1, 1, -1), "restarts must be")],
)
def test_a_limit_says_what_is_wrong(arguments, message):
    with pytest.raises(ValueError, match=message):
        Limit(*arguments)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"slots": np.array([0])}, "slots must be >= 1, got 0"),
        ({"weight": np.array([-1])}, "weight must be >= 0, got -1"),
        ({"demand": np.array([[1, 1]])}, r"demand must have shape \(1, 1\), got \(1, 2\)"),
        ({"duration": np.array([-5])}, "duration must be >= 0, got -5"),
    ],
)
def test_a_problem_says_what_is_wrong(change, message):
    fields = {
        "duration": np.array([5]), "slots": np.array([1]), "demand": np.array([[1]]), "weight": np.array([1]),
        "capacity": np.array([[1]]),
    }  # fmt: skip
    with pytest.raises(ValueError, match=message):
        Problem(**{**fields, **change})


def test_the_overload_report_names_node_and_time():
    problem = Problem(np.array([5, 5]), np.array([1, 1]), np.array([[1], [1]]), np.array([1, 1]), np.array([[1], [1]]))
    together = np.array([[1, 0], [1, 0]])
    assert overloads(problem, np.array([0, 4]), together) == ["node 0 holds [2] of [1] at 4"]
    assert overloads(problem, np.array([0, 5]), together) == []
    assert overloads(problem, np.array([-1, 5]), together) == ["job 0 starts at -1"]
    assert overloads(problem, np.array([0, 5]), np.array([[1, 0], [1, 1]])) == ["job 1 has 2 slots of 1"]
    with pytest.raises(ValueError, match="counts are needed on 2 nodes"):
        overloads(problem, np.array([0, 5]))
    assert isinstance(list_schedule(problem, np.array([1, 0])), Schedule)
