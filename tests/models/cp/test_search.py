"""The search for a schedule against all schedules of tiny problems. On pools, on nodes, and on nodes only now."""

from dataclasses import dataclass, replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from drawn import number_of_inputs
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.overloads import overloads
from oracles.placing import can_be_placed, least_cost, left_now
from oracles.placing import problems as problems_on_nodes

from hpcdispatch.models import (
    DecisionBudget,
    Problem,
    Schedule,
    Search,
    SolverLimit,
    Status,
    best_of,
    list_orders,
    list_schedule,
    rearranged,
)
from hpcdispatch.models.cp.prices import price_bounds
from hpcdispatch.models.cp.solver import SolverOutcome

LONG = SolverLimit(1.0, 1.0)
TINY = settings(max_examples=number_of_inputs(60))


def solve(problem, orders=None, **options):
    """Search with a long limit, by default from all lists."""
    options.setdefault("limit", LONG)
    return Search(problem, **options).solve(list_orders(problem) if orders is None else orders)


def by_cp_sat_alone(problem, **options):
    """Return what CP-SAT says of the whole model without a hint."""
    return solve(problem, [np.arange(problem.jobs)], whole=True, hinted=False, **options)


@st.composite
def problems(draw, *, due=True, held_later=False):
    """Draw a problem of up to three short jobs on a pool. It has one or two partly held resources."""
    jobs = draw(st.integers(1, 3))
    resources = draw(st.integers(1, 2))
    held = draw(st.integers(0, 2))
    capacity = np.array(draw(st.lists(st.integers(2, 4), min_size=resources, max_size=resources)))

    def rows(count, most):
        return np.array(
            draw(st.lists(st.tuples(*[st.integers(0, int(top)) for top in most]), min_size=count, max_size=count)),
            dtype=np.int64,
        ).reshape(count, len(most))

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
    """Return the least cost over integer starts with ends by the horizon, or ``None``."""
    best = None
    for starts in product(*(range(horizon - int(duration) + 1) for duration in problem.duration)):
        pairs = zip(starts, problem.due, problem.weight, strict=True)
        cost = sum(int(weight) * max(0, start - int(due)) for start, due, weight in pairs)
        if (best is None or cost < best) and fits(problem, starts):
            best = cost
    return best


@given(problems(), st.booleans())
@TINY
def test_finds_what_enumeration_finds(problem, hinted):
    answer = solve(problem, [np.arange(problem.jobs)], whole=True, hinted=hinted)
    assert answer.status is Status.OPTIMAL
    assert answer.schedule.cost == answer.bound == enumerated(problem, problem.horizon)
    assert answer.schedule.cost == problem.cost(answer.schedule.starts)
    assert fits(problem, answer.schedule.starts)


@given(problems(held_later=True), st.integers(1, 5))
@TINY
def test_without_a_hint_and_with_a_horizon_it_agrees_on_feasibility(problem, horizon):
    answer = by_cp_sat_alone(problem, horizon=horizon)
    least = enumerated(problem, horizon)
    if least is None:
        assert answer.status is Status.INFEASIBLE
        assert answer.schedule is None
        assert answer.source == "none"
    else:
        assert answer.status is Status.OPTIMAL
        assert answer.schedule.cost == least
        assert (answer.schedule.starts + problem.duration <= horizon).all()


@given(problems_on_nodes(most_jobs=3, late_holds=True), st.booleans())
@settings(max_examples=number_of_inputs(40))
def test_the_model_on_nodes_finds_the_least_cost_there_is(problem, hinted):
    answer = solve(problem, [np.arange(problem.jobs)], whole=True, hinted=hinted)
    best, _ = least_cost(problem, 9)
    assert answer.status is Status.OPTIMAL
    assert answer.schedule.cost == best == answer.bound
    assert not overloads(problem, answer.schedule.starts, answer.schedule.counts)


def crowd(jobs=30, seed=5, resources=2):
    """More jobs than the limit lets the solver prove anything about."""
    rng = np.random.default_rng(seed)
    duration = rng.choice([600, 3600, 7200], jobs)
    ends = rng.integers(1, 9000, 20)
    return Problem(
        duration,
        rng.integers(1, 6, jobs),
        rng.integers(1, 9, (jobs, resources)),
        10**6 // duration,
        np.full((1, resources), 100),
        held_from=np.zeros(20),
        held_to=ends,
        held_node=np.zeros(20),
        held_amount=rng.integers(1, 5, (20, resources)),
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("whole", [False, True])
def test_is_never_worse_than_its_list(seed, whole):
    problem = crowd(seed=seed)
    order = np.argsort(problem.weight)
    answer = solve(problem, [order], whole=whole, iterations=0, limit=SolverLimit(0.001, 0.001))
    assert answer.schedule.cost <= answer.listed.cost == list_schedule(problem, order).cost
    assert answer.bound <= answer.schedule.cost
    assert overloads(problem, answer.schedule.starts) == []
    assert answer.source == ("cp-sat" if answer.schedule.cost < answer.listed.cost else "list")


def test_two_runs_are_identical():
    first, second = (solve(crowd(), whole=True, limit=SolverLimit(0.005, 0.005)) for _ in range(2))
    assert first.schedule.starts.tolist() == second.schedule.starts.tolist()
    assert (first.bound, first.spent) == (second.bound, second.spent)
    assert first.solver_time == second.solver_time > 0


def test_what_is_held_beyond_the_capacity_leaves_no_schedule():
    problem = Problem(
        np.array([5]),
        np.array([1]),
        np.array([[1]]),
        np.array([1]),
        np.array([[2]]),
        held_from=np.array([3]),
        held_to=np.array([4]),
        held_node=np.array([0]),
        held_amount=np.array([[3]]),
    )
    assert by_cp_sat_alone(problem).status is Status.INFEASIBLE


def test_a_job_that_asks_for_a_gpu_only_waits_for_the_gpu_alone():
    problem = Problem(
        np.array([10, 10]),
        np.array([1, 1]),
        np.array([[0, 1], [4, 0]]),
        np.array([1, 1]),
        np.array([[4, 1]]),
        held_from=np.array([0]),
        held_to=np.array([7]),
        held_node=np.array([0]),
        held_amount=np.array([[0, 1]]),
    )
    assert solve(problem).schedule.starts.tolist() == [7, 0]


def test_a_resource_that_no_job_asks_for_is_constrained_in_the_whole_model_only():
    problem = Problem(
        np.array([5]),
        np.array([1]),
        np.array([[1, 0]]),
        np.array([1]),
        np.array([[2, 1]]),
        held_from=np.array([0]),
        held_to=np.array([9]),
        held_node=np.array([0]),
        held_amount=np.array([[0, 2]]),
    )
    assert solve(problem).status is Status.OPTIMAL
    assert by_cp_sat_alone(problem).status is Status.INFEASIBLE


def test_a_duration_of_zero_counts_as_a_second():
    problem = Problem(np.array([0, 0]), np.array([1, 1]), np.array([[1], [1]]), np.array([1, 1]), np.array([[1]]))
    assert sorted(solve(problem).schedule.starts.tolist()) == [0, 1]


@given(problems())
@TINY
def test_ordering_equal_jobs_costs_nothing(problem):
    listed = best_of(problem, list_orders(problem))[0]
    starts = rearranged(problem, listed).starts
    assert problem.cost(starts) <= listed.cost
    assert fits(problem, starts)


def test_a_list_that_ends_after_the_horizon_is_not_the_answer():
    problem = Problem(np.array([5, 5]), np.array([1, 1]), np.array([[1], [1]]), np.array([1, 1]), np.array([[1]]))
    answer = solve(problem, [np.array([0, 1])], horizon=9)
    assert (answer.status, answer.schedule) == (Status.INFEASIBLE, None)
    assert answer.listed.starts.tolist() == [0, 5]


def test_a_solver_that_says_nothing_leaves_the_list(monkeypatch):
    problem = crowd(6)
    monkeypatch.setattr("ortools.sat.python.cp_model.CpSolver.solve", lambda self, model: None)
    monkeypatch.setattr("ortools.sat.python.cp_model.CpSolver.deterministic_time", 0.0)
    answer = solve(problem, iterations=0)
    assert (answer.status, answer.source) == (Status.FEASIBLE, "list")
    assert by_cp_sat_alone(problem).status is Status.UNKNOWN


def of_the_instant(problem):
    """The problem in which only what starts now has nodes."""
    return replace(problem.pooled, free_now=left_now(problem))


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


@pytest.mark.parametrize("nodes", ["pool", "now", "all"])
@given(problem=problems_on_nodes(most_jobs=3))
@settings(max_examples=number_of_inputs(60))
def test_no_other_jobs_that_start_now_cost_less(nodes, problem):
    problem = {"pool": problem.pooled, "now": of_the_instant(problem), "all": problem}[nodes]
    if nodes == "pool":
        problem = replace(problem, free_now=np.zeros((0, 0)))
    least = costs_by_start(problem)
    answer = solve(problem, iterations=50)
    now = tuple((answer.schedule.starts == 0).tolist())
    assert answer.decided
    assert least[now] == min(least.values())
    assert answer.bound <= min(least.values())
    assert answer.status is not Status.OPTIMAL or answer.schedule.cost == min(least.values())
    assert placed_now(problem, answer.schedule.starts)
    if nodes == "all":
        assert not overloads(problem, answer.schedule.starts, answer.schedule.counts)
    else:
        assert_placed(problem, answer.schedule)


@given(problem=problems_on_nodes(most_jobs=4))
@settings(max_examples=number_of_inputs(60))
def test_every_schedule_of_the_instant_has_places_for_what_starts_now(problem):
    problem = of_the_instant(problem)
    for order in list_orders(problem):
        schedule, _ = best_of(problem, [order])
        assert (schedule.counts[schedule.starts == 0].sum(axis=1) == problem.slots[schedule.starts == 0]).all()
        assert not schedule.counts[schedule.starts > 0].any()
        assert (np.einsum("jn,jr->nr", schedule.counts, problem.demand) <= np.maximum(problem.free_now, 0)).all()
        assert (schedule.starts[schedule.starts > 0] >= problem.first_later).all()


def test_schedules_of_the_instant_are_judged_alike():
    # The pool would start all three. One node holds one of them. In any schedule, two have to wait for 5.
    problem = Problem(
        np.array([5, 5, 5]),
        np.array([1, 1, 1]),
        np.array([[3], [3], [2]]),
        np.array([1, 1, 1]),
        np.array([[8]]),
        free_now=np.array([[4], [2], [2]]),
    )
    listed, _ = best_of(problem, list_orders(problem))
    answer = solve(problem)
    assert listed.cost == answer.schedule.cost == 5
    assert answer.decided
    assert answer.source == "list"


@dataclass(frozen=True)
class Apart:
    """Two jobs never run at the same time. List schedules ignore this."""

    problem: Problem
    first: int
    second: int

    def add_to(self, variables):
        jobs = variables.jobs
        variables.model.add_no_overlap([jobs[self.first].interval, jobs[self.second].interval])

    def holds(self, schedule):
        starts = schedule.starts
        first, second = sorted((self.first, self.second), key=lambda job: starts[job])
        return bool(starts[first] + self.problem.duration[first] <= starts[second])


def small(**changes):
    fields = {
        "duration": np.array([4, 4]),
        "slots": np.array([1, 1]),
        "demand": np.array([[1], [1]]),
        "weight": np.array([2, 1]),
        "capacity": np.array([[2]]),
    }
    return Problem(**{**fields, **changes})


@pytest.mark.parametrize("nodes", [1, 2])
def test_a_further_constraint_is_kept_though_no_list_knows_it(nodes):
    problem = small(capacity=np.full((nodes, 1), 2))
    assert solve(problem).schedule.starts.tolist() == [0, 0]
    answer = solve(problem, beside=(Apart(problem, 0, 1),))
    assert (answer.status, answer.schedule.starts.tolist()) == (Status.OPTIMAL, [0, 4])
    assert answer.listed is None


def test_equal_jobs_are_not_put_in_order_where_a_constraint_may_tell_them_apart():
    @dataclass(frozen=True)
    class SecondFirst:
        def add_to(self, variables):
            variables.model.add(variables.jobs[0].start >= variables.jobs[1].start + 4)

        def holds(self, schedule):
            return bool(schedule.starts[0] >= schedule.starts[1] + 4)

    answer = solve(small(weight=np.array([1, 1])), beside=(SecondFirst(),))
    assert (answer.status, answer.schedule.starts.tolist()) == (Status.OPTIMAL, [4, 0])


def test_an_objective_of_its_own_is_minimised():
    """The longest of two queues is the makespan. The weights would start one job last."""

    class Makespan:
        def expression(self, variables):
            end = variables.model.new_int_var(0, variables.horizon, "makespan")
            for job, duration in zip(variables.jobs, variables.problem.duration.tolist(), strict=True):
                variables.model.add(end >= job.start + duration)
            return end

        def cost(self, schedule):
            return float((schedule.starts + problem.duration).max())

    problem = Problem(
        np.array([6, 3, 3]), np.ones(3, dtype=int), np.ones((3, 1), dtype=int), np.array([1, 90, 90]), np.array([[2]])
    )
    assert solve(problem).schedule.starts.tolist() == [3, 0, 0]
    answer = solve(problem, objective=Makespan())
    assert answer.status is Status.OPTIMAL
    assert int((answer.schedule.starts + problem.duration).max()) == 6


@given(problems_on_nodes(most_jobs=3, late_holds=True))
@settings(max_examples=number_of_inputs(40))
def test_no_job_starts_before_it_may(problem):
    earliest = np.arange(problem.jobs) * 2 % 5
    for each in (problem, replace(problem.pooled, free_now=np.zeros((0, 0)))):
        late = replace(each, earliest=earliest)
        for schedule in (best_of(late, list_orders(late))[0], by_cp_sat_alone(late).schedule):
            assert (schedule.starts >= earliest).all()
            assert can_be_placed(each, tuple(schedule.starts.tolist()))


@pytest.mark.parametrize(
    ("costs", "limits"),
    [([8, 8, 8, 8], [1, 2, 4]), ([8, 4, 4, 4, 4], [1, 2, 4, 8]), ([8, 8, 4, 4, 4, 4], [1, 2, 4, 8, 16])],
)
def test_the_solver_is_called_again_until_k_calls_change_nothing(costs, limits, monkeypatch):
    problem = small(capacity=np.array([[1]]))
    starts = {8: (4, 0), 4: (0, 4)}
    calls, said = [], iter(costs)

    def call(self, model, seconds, *, hinted=False):
        calls.append(seconds)
        cost = next(said)
        names = {variable.name: place for place, variable in enumerate(model.proto.variables)}
        values = {names[f"start[{job}]"]: start for job, start in enumerate(starts[cost])}
        fake = SimpleNamespace(
            objective_value=cost, best_objective_bound=0, value=lambda variable: values[variable.index]
        )
        return SolverOutcome(Status.FEASIBLE, fake, 0.0)

    monkeypatch.setattr("hpcdispatch.models.cp.solver.Calls.solve", call)
    orders = [np.array([1, 0])]
    search = Search(problem, limit=SolverLimit(1, 16, 2), whole=True, hinted=False)
    answer = search.solve(orders)
    assert calls == limits
    assert answer.schedule.cost == min(costs)
    assert answer.status is Status.FEASIBLE


def test_a_decision_is_looked_for_again_until_k_calls_change_nothing(monkeypatch):
    limits = []

    def call(self, model, seconds, *, hinted=False):
        limits.append(seconds)
        return SolverOutcome(Status.UNKNOWN, None, 0.0)

    monkeypatch.setattr("hpcdispatch.models.cp.solver.Calls.solve", call)
    monkeypatch.setattr("hpcdispatch.models.cp.search.price_bounds", bounds_of_nothing)
    problem = small(capacity=np.array([[1]]), duration=np.array([4, 3]))
    answer = solve(problem, [np.array([1, 0])], limit=SolverLimit(1, 16, 2), iterations=0)
    assert limits == [1, 2, 4]
    assert (answer.status, answer.decided, answer.schedule.cost) == (Status.FEASIBLE, False, 6)


def bounds_of_nothing(problem, starts, cost):
    """Return bounds that settle no job."""
    del starts, cost
    return SimpleNamespace(least=0, now=np.zeros(problem.jobs), later=np.zeros(problem.jobs))


@pytest.mark.parametrize("nodes", [False, True])
@given(problem=problems_on_nodes(most_jobs=3, late_holds=True))
@settings(max_examples=number_of_inputs(80))
def test_prices_bound_every_schedule_and_every_start(nodes, problem):
    problem = of_the_instant(problem) if nodes else replace(problem.pooled, free_now=np.zeros((0, 0)))
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


def test_what_is_found_within_the_only_call_is_proved_with_another(monkeypatch):
    """Three jobs one after the other. The list starts the wrong one. No limit is left to double."""
    monkeypatch.setattr("hpcdispatch.models.cp.search.price_bounds", bounds_of_nothing)
    columns = [np.array(column) for column in ([1, 2, 1], [1, 1, 1], [[1]] * 3, [1, 1, 1], [[1]], [2, 0, 0])]
    answer = solve(Problem(*columns), [np.array([0, 2, 1])], limit=SolverLimit(1, 1), iterations=0)
    assert (answer.schedule.starts.tolist(), answer.decided) == ([1, 2, 0], True)


class TestBudget:
    @pytest.mark.parametrize("nodes", [1, 3])
    def test_a_decision_beyond_it_follows_its_best_list_schedule(self, nodes):
        problem = crowd()
        problem = replace(problem, capacity=np.repeat(problem.capacity, nodes, axis=0))
        answer = solve(problem, budget=DecisionBudget(1e-9))
        assert answer.exceeded
        assert (answer.source, answer.schedule) == ("list", answer.listed)
        assert answer.solver_time == 0

    @pytest.mark.parametrize("seconds", [0.001, 0.01, 0.1])
    def test_all_parts_stay_within_it(self, seconds):
        """Up to the last call of the solver. It ends a little after its limit."""
        problem = replace(crowd(60, seed=3), capacity=np.full((4, 2), 60))
        answer = solve(problem, budget=DecisionBudget(seconds), iterations=100_000, limit=SolverLimit(0.01, 64, 1000))
        assert answer.exceeded
        assert answer.spent <= 1.1 * seconds + 0.01
        assert answer.schedule.cost <= answer.listed.cost

    def test_what_needs_less_is_not_counted(self):
        answer = solve(crowd(4), budget=DecisionBudget(10))
        assert not answer.exceeded
        assert 0 < answer.spent < 10


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
        "duration": np.array([5]),
        "slots": np.array([1]),
        "demand": np.array([[1]]),
        "weight": np.array([1]),
        "capacity": np.array([[1]]),
    }
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
