"""The decision is proved: against all schedules of tiny problems, on the pool and with the nodes of the instant."""

from dataclasses import dataclass, replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from oracles.placing import can_be_placed, problems

from hpcdispatch.models import Decision, Limit, Problem, Status, best_of, improve, list_orders, list_schedule
from hpcdispatch.models.cp import ON_THE_POOL, NotBefore, SchedulingModel
from hpcdispatch.models.cp.constraints import Family
from hpcdispatch.models.cp.prices import price_bounds
from hpcdispatch.models.cp.solver import Outcome
from hpcdispatch.models.cp.starting import PlacesNow

LONG = Limit(1.0, 1.0)


def of_the_instant(problem):
    """The problem in which only what starts now has nodes."""
    return replace(problem.pooled, free_now=problem.profile[1][0])


def placed_now(problem, starts):
    """Whether the jobs that start now have places, by trying all."""
    if not len(problem.free_now):
        return True
    jobs = np.flatnonzero(np.array(starts) == 0)
    at_once = Problem(
        np.ones(len(jobs)), problem.slots[jobs], problem.demand[jobs], np.ones(len(jobs)), problem.free_now
    )
    return can_be_placed(at_once, (0,) * len(jobs))


def costs_by_start(problem, horizon=9):
    """Return the least cost of all schedules by which jobs start now."""
    least = {}
    whole = replace(problem, free_now=np.zeros((0, 0)))
    for starts in product(range(horizon), repeat=problem.jobs):
        later = all(start == 0 or start >= problem.first_later for start in starts)
        now = tuple(start == 0 for start in starts)
        cost = problem.cost(np.array(starts))
        if later and cost < least.get(now, np.inf) and can_be_placed(whole, starts) and placed_now(problem, starts):
            least[now] = cost
    return least


def assert_placed(problem, schedule):
    if len(problem.free_now):
        now = schedule.starts == 0
        assert (schedule.counts[now].sum(axis=1) == problem.slots[now]).all()
        assert (np.einsum("jn,jr->nr", schedule.counts[now], problem.demand[now]) <= problem.free_now).all()


def decide(problem, limit=LONG, iterations=50):
    orders = list_orders(problem)
    listed, which = best_of(problem, orders)
    best, _ = improve(problem, orders[which], iterations, np.random.default_rng(0))
    return Decision(problem, min(listed, best, key=lambda each: each.cost), "list", problem.horizon).search(limit)


@pytest.mark.parametrize("nodes", [False, True])
@given(problem=problems(most_jobs=3))
@settings(max_examples=80)
def test_no_other_jobs_that_start_now_cost_less(nodes, problem):
    problem = of_the_instant(problem) if nodes else problem.pooled
    least = costs_by_start(problem)
    answer = decide(problem)
    now = tuple((answer.schedule.starts == 0).tolist())
    assert answer.decided
    assert least[now] == min(least.values())
    assert answer.schedule.cost <= min(cost for others, cost in least.items() if others != now) if len(least) > 1 else 1
    assert answer.bound <= min(least.values())
    assert placed_now(problem, answer.schedule.starts)
    assert_placed(problem, answer.schedule)
    # Whatever CP-SAT finds has its places, too, though no list leads to it.
    model = SchedulingModel(problem, None)
    raw = model.judge(answer.schedule.starts)
    if raw is not None:
        assert_placed(problem, raw)


@given(problem=problems(most_jobs=4))
@settings(max_examples=60)
def test_every_schedule_of_the_instant_has_places_for_what_starts_now(problem):
    problem = of_the_instant(problem)
    for order in list_orders(problem):
        schedule, _ = best_of(problem, [order])
        assert (schedule.counts[schedule.starts == 0].sum(axis=1) == problem.slots[schedule.starts == 0]).all()
        assert not schedule.counts[schedule.starts > 0].any()
        assert (np.einsum("jn,jr->nr", schedule.counts, problem.demand) <= np.maximum(problem.free_now, 0)).all()
        assert (schedule.starts[schedule.starts > 0] >= problem.first_later).all()


def test_schedules_of_the_instant_are_judged_alike():
    # The pool would start all three; one node holds one of them. Whoever makes the schedule, two have to wait for 5.
    problem = Problem(
        np.array([5, 5, 5]), np.array([1, 1, 1]), np.array([[3], [3], [2]]), np.array([1, 1, 1]), np.array([[8]]),
        free_now=np.array([[4], [2], [2]]),
    )  # fmt: skip
    listed, _ = best_of(problem, list_orders(problem))
    answer = Decision(problem, listed, "list", problem.horizon).search(LONG)
    assert listed.cost == answer.schedule.cost == 5
    assert answer.decided
    assert answer.source == "list"


@dataclass(frozen=True)
class Apart(Family):
    """Two jobs never run at the same time: what list schedules know nothing of."""

    first: int
    second: int

    def add_to(self, variables):
        jobs = variables.jobs
        variables.model.add_no_overlap([jobs[self.first].interval, jobs[self.second].interval])

    def holds(self, problem, starts):
        first, second = sorted((self.first, self.second), key=lambda job: starts[job])
        return bool(starts[first] + problem.duration[first] <= starts[second])


def small(**changes):
    fields = {
        "duration": np.array([4, 4]), "slots": np.array([1, 1]), "demand": np.array([[1], [1]]),
        "weight": np.array([2, 1]), "capacity": np.array([[2]]),
    }  # fmt: skip
    return Problem(**{**fields, **changes})


def test_moving_jobs_up_does_not_undo_a_constraint():
    problem = small()
    constraints = (*ON_THE_POOL, Apart(0, 1))
    hint, _ = best_of(problem, list_orders(problem))
    assert hint.starts.tolist() == [0, 0]
    answer = SchedulingModel(problem, hint, constraints=constraints).solve(LONG)
    assert (answer.status, answer.schedule.starts.tolist()) == (Status.OPTIMAL, [0, 4])


def test_list_schedules_obey_a_constraint_that_forbids_early_starts():
    problem = small()
    constraints = (*ON_THE_POOL, NotBefore(np.array([0, 3])))
    answer = SchedulingModel(problem, None, constraints=constraints).solve(LONG)
    assert (answer.status, answer.schedule.starts.tolist()) == (Status.OPTIMAL, [0, 3])
    narrowed = NotBefore(np.array([0, 3])).narrow(problem)
    assert best_of(narrowed, list_orders(narrowed))[0].starts.tolist() == [0, 3]


@given(problems(most_jobs=3, late_holds=True))
@settings(max_examples=40)
def test_no_job_starts_before_it_may(problem):
    earliest = np.arange(problem.jobs) * 2 % 5
    for each in (problem, problem.pooled):
        late = replace(each, earliest=earliest)
        schedule, _ = best_of(late, list_orders(late))
        assert (schedule.starts >= earliest).all()
        assert can_be_placed(each, tuple(schedule.starts.tolist()))


@pytest.mark.parametrize(
    ("costs", "limits"),
    [([8, 8, 8, 8], [1, 2, 4]), ([8, 4, 4, 4, 4], [1, 2, 4, 8]), ([8, 8, 4, 4, 4, 4], [1, 2, 4, 8, 16])],
)
def test_the_solver_is_called_again_until_k_calls_change_nothing(costs, limits, monkeypatch):
    problem = small(capacity=np.array([[1]]))
    model = SchedulingModel(problem, None)
    starts = {8: (4, 0), 4: (0, 4)}
    calls, said = [], iter(costs)

    def call(solver, _):
        calls.append(solver.parameters.max_time_in_seconds)
        cost = next(said)
        values = {job.start.index: start for job, start in zip(model.variables.jobs, starts[cost], strict=True)}
        fake = SimpleNamespace(
            objective_value=cost, best_objective_bound=0, value=lambda variable: values[variable.index]
        )  # fmt: skip
        return Outcome(Status.FEASIBLE, fake, 0.0)

    monkeypatch.setattr("hpcdispatch.models.cp.pooled.call", call)
    answer = model.solve(Limit(1, 16, 2, wall=True))
    assert calls == limits
    assert answer.schedule.cost == min(costs)
    assert answer.status is Status.FEASIBLE


def test_a_decision_is_looked_for_again_until_k_calls_change_nothing(monkeypatch):
    limits = []

    def call(solver, _):
        limits.append(solver.parameters.max_time_in_seconds)
        return Outcome(Status.UNKNOWN, solver, 0.0)

    monkeypatch.setattr("hpcdispatch.models.cp.decision.call", call)
    problem = small(capacity=np.array([[1]]))
    listed, _ = best_of(problem, [np.array([1, 0])])
    answer = Decision(problem, listed, "list", problem.horizon).search(Limit(1, 16, 2, wall=True))
    assert limits == [1, 2, 4]
    assert (answer.status, answer.decided, answer.schedule) == (Status.FEASIBLE, False, listed)


@pytest.mark.parametrize("nodes", [False, True])
@given(problem=problems(most_jobs=3, late_holds=True))
@settings(max_examples=80)
def test_prices_bound_every_schedule_and_every_start(nodes, problem):
    problem = of_the_instant(problem) if nodes else problem.pooled
    schedule, _ = best_of(problem, list_orders(problem))
    bounds = price_bounds(problem, schedule.starts, schedule.cost)
    least = costs_by_start(problem)
    assert bounds.least <= min(least.values())
    for job in range(problem.jobs):
        now = [cost for starts, cost in least.items() if starts[job]]
        later = [cost for starts, cost in least.items() if not starts[job]]
        assert bounds.now[job] <= min(now, default=np.inf)
        assert bounds.later[job] <= min(later, default=np.inf)


def test_prices_tell_what_a_crowd_costs():
    # Ten jobs of one second on one core: 0 + 1 + ... + 9.
    ones = np.ones(10, dtype=int)
    problem = Problem(ones, ones, ones[:, None], ones, np.array([[1]]))
    schedule, _ = best_of(problem, list_orders(problem))
    assert schedule.cost == 45
    assert 43 <= price_bounds(problem, schedule.starts, schedule.cost).least <= 45


def test_what_cp_sat_starts_now_has_its_nodes():
    # Best fit in the order of the starts leaves no node of four free: what is found as it stands is placed exactly.
    problem = Problem(
        np.array([9, 9, 9]), np.array([1, 1, 1]), np.array([[2], [2], [4]]), np.array([1, 1, 9]), np.array([[8]]),
        free_now=np.array([[4], [4]]),
    )  # fmt: skip
    found = SchedulingModel(problem, None).judge(np.array([0, 0, 0]))
    assert found.cost == 0
    assert_placed(problem, found)


def test_what_is_known_of_places_is_not_asked_again():
    twice = np.array([1, 1])
    problem = Problem(twice, twice, np.array([[3], [3]]), twice, np.array([[8]]), free_now=np.array([[4], [4]]))
    places = PlacesNow()
    first = places.place(problem, np.array([0, 0]))
    assert first.possible
    assert places.place(problem, np.array([0, 0])) is first
    assert places.place(problem, np.array([0, 5])) is not first


def test_what_is_found_within_the_only_call_is_proved_with_another():
    """Three jobs one after the other: the list starts the wrong one, and no limit is left to double."""
    columns = [np.array(column) for column in ([1, 2, 1], [1, 1, 1], [[1]] * 3, [1, 1, 1], [[1]], [2, 0, 0])]
    problem = Problem(*columns)
    listed = list_schedule(problem, np.array([0, 2, 1]))
    answer = Decision(problem, listed, "list", problem.horizon).search(Limit(1, 1))
    assert (answer.schedule.starts.tolist(), answer.decided) == ([1, 2, 0], True)
