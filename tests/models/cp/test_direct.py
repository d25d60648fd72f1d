"""The direct model against all schedules of tiny problems."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.overloads import overloads
from oracles.placing import least_cost, problems

from hpcdispatch.models.cp.answer import Limit, Status
from hpcdispatch.models.cp.direct import DirectModel, solve_direct
from hpcdispatch.models.scheduling.list_schedules import list_schedule
from hpcdispatch.models.scheduling.problem import Problem

LONG = Limit(2, 2)


@given(problems(most_jobs=3, late_holds=True), st.booleans())
@settings(max_examples=40)
def test_finds_the_least_cost_there_is(problem, hinted):
    hint = list_schedule(problem, np.arange(problem.jobs)) if hinted else None
    answer = solve_direct(problem, hint, LONG)
    best, _ = least_cost(problem, 9)
    assert answer.status is Status.OPTIMAL
    assert answer.schedule.cost == best == answer.bound
    assert not overloads(problem, answer.schedule.starts, answer.schedule.counts)


def whole(**other):
    values = {
        "duration": np.array([4, 4]), "slots": np.array([1, 1]), "demand": np.array([[1, 1], [2, 1]]),
        "weight": np.array([1, 1]), "capacity": np.array([[4, 1], [4, 0]]),
    }  # fmt: skip
    return Problem(**{**values, **other})


def test_a_node_is_shared_and_the_gpu_is_not():
    answer = solve_direct(whole(), None, LONG)
    assert answer.schedule.counts[:, 1].tolist() == [0, 0]
    assert answer.schedule.cost == 4


@pytest.mark.parametrize("change", [{"slots": np.array([2, 1])}, {"demand": np.array([[5, 0], [1, 0]])}])
def test_a_job_that_no_machine_takes(change):
    assert solve_direct(whole(**change), None, LONG).status is Status.INFEASIBLE


def test_more_is_held_than_there_is():
    held = {
        "due": np.zeros(2, dtype=int), "held_from": np.array([0]), "held_to": np.array([3]), "held_node": np.array([0]),
        "held_amount": np.array([[5, 0]]),
    }  # fmt: skip
    assert solve_direct(whole(**held), None, LONG).status is Status.INFEASIBLE


def test_resources_that_nobody_asks_for():
    problem = whole(demand=np.array([[1, 0], [2, 0]]))
    few, many = DirectModel(problem), DirectModel(problem, every_resource=True)
    constraints = [len(model.scheduling.variables.model.proto.constraints) for model in (few, many)]
    assert constraints[0] <= constraints[1]
    assert few.solve(LONG).schedule.cost == many.solve(LONG).schedule.cost == 0


def test_the_hint_is_kept_when_time_is_short():
    problem = whole(duration=np.array([4, 9]))
    hint = list_schedule(problem, np.array([1, 0]))
    answer = solve_direct(problem, hint, Limit(1e-9, 1e-9))
    assert answer.schedule.cost <= hint.cost
    assert not overloads(problem, answer.schedule.starts, answer.schedule.counts)
