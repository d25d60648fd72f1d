"""An independent formulation of scheduling: boxes on nodes side by side. Against all schedules and ours."""

import numpy as np
from drawn import number_of_inputs
from hypothesis import given, settings
from oracles.boxes import least_cost_of_boxes
from oracles.placing import least_cost, problems

from hpcdispatch.models import Search, SolverLimit, Status


@given(problems(most_jobs=3, late_holds=True))
@settings(max_examples=number_of_inputs(20))
def test_boxes_and_the_models_find_the_least_cost_there_is(problem):
    best, _ = least_cost(problem, 9)
    assert least_cost_of_boxes(problem, 9) == best
    answer = Search(problem, limit=SolverLimit(2, 2), whole=True, hinted=False).solve([np.arange(problem.jobs)])
    assert answer.status is Status.OPTIMAL
    assert answer.schedule.cost == best
