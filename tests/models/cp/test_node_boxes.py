"""The boxes of PCP'21 against all schedules. What makes their model small."""

import numpy as np
import pytest
from oracles.one_decision import paper_model, random_decision
from ortools.sat.python import cp_model

from hpcdispatch.models.cp.boxes import NodeBoxes
from hpcdispatch.models.cp.limits import DecisionBudget
from hpcdispatch.models.cp.variables import Variables
from hpcdispatch.models.scheduling.problem import Problem


def problem_of(jobs, capacity, held=(), weight=None):
    """Return a problem. Waiting jobs are (duration, slots, demand), held amounts (until, node, amount)."""
    duration, slots, demand = zip(*jobs, strict=True)
    until, node, amount = zip(*held, strict=True) if held else ((), (), np.zeros((0, len(capacity[0]))))
    return Problem(
        np.array(duration),
        np.array(slots),
        np.array(demand),
        np.array(weight or [1] * len(jobs)),
        np.array(capacity),
        held_from=np.zeros(len(until), dtype=np.int64),
        held_to=np.array(until, dtype=np.int64),
        held_node=np.array(node, dtype=np.int64),
        held_amount=np.array(amount, dtype=np.int64),
    )


def solved(problem):
    """Return the starts and counts of the box model's best schedule."""
    variables = Variables(problem, problem.horizon, problem.horizon - problem.duration)
    boxes = NodeBoxes(problem)
    boxes.add_to(variables)
    variables.model.minimize(
        cp_model.LinearExpr.weighted_sum([job.start for job in variables.jobs], problem.weight.tolist())
    )
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    assert solver.solve(variables.model) == cp_model.OPTIMAL
    starts = variables.starts(solver)
    return starts, boxes.places(solver, starts, DecisionBudget())


def overloaded(problem, starts, counts):
    """Return whether a node ever holds more than it has."""
    for time in starts.tolist():
        runs = (starts <= time) & (time < starts + problem.duration)
        used = counts[runs].T @ problem.demand[runs]
        held = problem.held_to > time
        np.add.at(used, problem.held_node[held], problem.held_amount[held])
        if (used > problem.capacity).any():
            return True
    return False


@pytest.mark.nightly
@pytest.mark.parametrize("count", [25, pytest.param(2000, marks=pytest.mark.nightly)])
def test_the_best_boxes_are_the_best_schedule(count):
    for seed in range(count):
        decision = random_decision(np.random.default_rng(seed))
        model = paper_model(decision, "pcp", 3)
        if model is None or not model.candidates:
            continue
        jobs = [decision.waiting[place] for place in model.candidates]
        held = [
            (left, node, job.demand)
            for job, left in zip(decision.running, model.left, strict=True)
            for node in job.nodes
        ]
        weight = [round(60 * rate) for rate in model.rate]  # All durations divide it.
        problem = problem_of([(job.duration, job.slots, job.demand) for job in jobs], decision.capacity, held, weight)
        starts, counts = solved(problem)
        assert model.cost(starts.tolist()) == pytest.approx(model.least_cost()), seed
        assert (counts.sum(axis=1) == problem.slots).all(), seed
        assert not overloaded(problem, starts, counts), seed


def test_a_slot_stays_on_one_node():
    """Two nodes have three free units each. A slot of four waits until one is empty."""
    problem = problem_of([(5, 1, (4,))], [(5,), (5,)], [(7, 0, (2,)), (9, 1, (2,))])
    starts, counts = solved(problem)
    assert starts.tolist() == [7]
    assert counts.tolist() == [[1, 0]]


def test_a_slot_has_all_its_resources_on_one_node():
    """The first node has free cores, the second free GPUs, until later."""
    problem = problem_of([(5, 1, (2, 1))], [(4, 1), (4, 2)], [(6, 0, (0, 1)), (8, 1, (3, 0))])
    starts, counts = solved(problem)
    assert starts.tolist() == [6]
    assert counts.tolist() == [[1, 0]]


def test_the_model_does_not_grow_with_the_machine():
    """A job of 3 slots. All other nodes are held until the same time."""
    sizes = []
    for nodes in (10, 1000):
        problem = problem_of([(5, 3, (4,))], [(4,)] * nodes, [(9, node, (4,)) for node in range(3, nodes)])
        boxes = NodeBoxes(problem)
        variables = Variables(problem, problem.horizon, problem.horizon - problem.duration)
        boxes.add_to(variables)
        sizes.append((len(boxes.boxes[0, 0]), len(boxes.held[0]), len(variables.model.proto.variables)))
    assert sizes[0] == sizes[1] == (3, 1, 4)


def test_variables_have_names():
    problem = problem_of([(5, 2, (4, 1))], [(4, 2)] * 3)
    variables = Variables(problem, problem.horizon, problem.horizon - problem.duration)
    NodeBoxes(problem).add_to(variables)
    names = {variable.name for variable in variables.model.proto.variables} - {""}
    assert {"lowest[0,1,1]", "node[0,0]"} <= names
