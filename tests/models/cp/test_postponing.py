"""The paper's search, schedule or postpone, against every order, and as HCP's search."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from ruled.postponed import drawn, valid, wrong

from hpcdispatch.dispatchers import ConstraintProgramming
from hpcdispatch.dispatchers.cp import PlanGoal
from hpcdispatch.models import Problem
from hpcdispatch.models.cp import postponing
from hpcdispatch.models.cp.postponing import FAILURES, schedule_or_postpone
from hpcdispatch.simulation import check, simulate
from hpcdispatch.workloads import Machine, generate

PRESETS = ["hcp", "hcp1", "hcp2", "hcp3"]
PAPER = "search=schedule-or-postpone"


@pytest.mark.parametrize("count", [40, pytest.param(1000, marks=pytest.mark.nightly)])
def test_a_proved_schedule_is_the_best_of_all_orders(count):
    counts = Counter()
    found = {seed: told for seed in range(count) if (told := wrong(seed, counts))}
    assert not found
    assert counts["proved"] > 0.9 * count


def test_the_optimum_notices_a_search_that_ends_early(monkeypatch):
    def first(problem, horizon, seconds):
        return replace(schedule_or_postpone(problem, horizon, 1 / FAILURES), proved=True)

    monkeypatch.setattr("ruled.postponed.schedule_or_postpone", first)
    assert any(wrong(seed) for seed in range(40))


def test_the_first_descent_is_the_list_in_the_order_of_jobs():
    for seed in range(20):
        problem = drawn(seed)
        problem = Problem(problem.duration, problem.slots, problem.demand, 0 * problem.weight, problem.capacity)
        found = schedule_or_postpone(problem, problem.horizon, 1 / FAILURES)
        assert found.starts[0] == 0
        assert valid(problem, found.starts)


def test_branches_end_a_search_that_rarely_fails(monkeypatch):
    """A job can be postponed again and again without a failure."""
    problems = [problem for problem in map(drawn, range(60)) if problem.jobs == 6]
    assert all(schedule_or_postpone(problem, problem.horizon, 1.0).proved for problem in problems)
    monkeypatch.setattr(postponing, "BRANCHES", 1)
    found = [schedule_or_postpone(problem, problem.horizon, 1.0) for problem in problems]
    assert not all(cut.proved for cut in found)
    for problem, cut in zip(problems, found, strict=True):
        assert valid(problem, cut.starts)
        assert cut.proved or cut.spent == 1


def test_only_better_schedules_are_of_interest():
    problem = drawn(3)
    best = problem.cost(schedule_or_postpone(problem, problem.horizon, 1.0).starts)
    none = schedule_or_postpone(problem, problem.horizon, 1.0, below=best)
    assert none.starts is None
    assert none.proved


def test_a_horizon_that_is_too_short_is_proved():
    problem = drawn(3)
    assert schedule_or_postpone(problem, 1, 1.0).proved


@pytest.mark.parametrize("preset", PRESETS)
def test_hcp_searches_as_the_paper_does(preset):
    """The limit counts failures, so two runs are equal."""
    workload = generate("lublin:jobs=60,processors=32,load=1.0", seed=2)
    first, second = (simulate(workload, f"{preset}:{PAPER}") for _ in range(2))
    check(workload, first)
    assert first.jobs.equals(second.jobs)
    assert set(first.jobs["status"]) == {"completed"}
    assert set(first.decisions["used"]) <= {"none", "list", "schedule-or-postpone"}
    assert (first.decisions["used"] == "schedule-or-postpone").any()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"formulation": "pcp"}, "with formulation pcp: the original solver has no alternatives of nodes"),
        ({"constraints": "at-most(user;2)"}, "with constraints, which are written for CP-SAT"),
        ({"objective": PlanGoal()}, "with an objective of whole plans"),
        ({"solver": "none"}, "with solver none"),
        ({"molds": True}, "with molds"),
    ],
)
def test_what_the_paper_does_not_have_is_named(options, message):
    with pytest.raises(ValueError, match=f"search must be cp-sat {message}"):
        ConstraintProgramming(**{"formulation": "hcp", "search": "schedule-or-postpone", **options})


def test_nodes_are_not_in_this_search():
    problem = Problem(np.array([1]), np.array([1]), np.array([[1]]), np.array([1]), np.array([[1], [1]]))
    with pytest.raises(ValueError, match="on one node"):
        schedule_or_postpone(problem, 9, 1.0)
    assert Machine.pool(2).nodes == 1
