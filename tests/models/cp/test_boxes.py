"""An independent formulation of scheduling on nodes, boxes on nodes side by side, against all schedules and ours."""

from hypothesis import given, settings
from oracles.boxes import least_cost_of_boxes
from oracles.placing import least_cost, problems

from hpcdispatch.models.cp.answer import Limit, Status
from hpcdispatch.models.cp.benders import solve_placed


@given(problems(most_jobs=3, late_holds=True))
@settings(max_examples=20)
def test_boxes_and_the_models_find_the_least_cost_there_is(problem):
    best, _ = least_cost(problem, 9)
    assert least_cost_of_boxes(problem, 9) == best
    answer = solve_placed(problem, None, Limit(2, 2))
    assert answer.status is Status.OPTIMAL
    assert answer.schedule.cost == best
