"""The model for CP-SAT: its names and parts. It can be written and read again."""

import numpy as np
from ortools.sat.python import cp_model

from hpcdispatch.models import Calls, Problem, SchedulingModel, Search, SolverLimit
from hpcdispatch.models.cp import NodeAllocation


def two_nodes():
    """Two jobs beside a running one. One may only lie on the node with a GPU."""
    return Problem(
        np.array([4, 9]),
        np.array([1, 3]),
        np.array([[1, 1], [2, 0]]),
        np.array([3, 1]),
        np.array([[4, 1], [4, 0]]),
        due=np.array([2, 0]),
        held_from=np.array([0]),
        held_to=np.array([5]),
        held_node=np.array([1]),
        held_amount=np.array([[2, 0]]),
    )


def test_every_variable_and_interval_has_a_name():
    model = SchedulingModel(two_nodes(), 40, labels=["a", "b"]).build().variables.model
    names = [variable.name for variable in model.proto.variables]
    assert names == ["start[a]", "late[a]", "start[b]", "on[a,0]", "on[b,0]", "slots[b,0]", "on[b,1]", "slots[b,1]"]
    intervals = [each.name for each in model.proto.constraints if each.has_interval()]
    assert {"run[a]", "run[b]", "run[a,0]", "run[b,0]", "run[b,1]", "busy[0,5]"} <= set(intervals)


def test_there_is_a_conditional_interval_per_job_and_node_it_fits_on():
    allocation = NodeAllocation(two_nodes())
    model = SchedulingModel(two_nodes(), 40, allocation=allocation).build()
    assert sorted(allocation.on) == [(0, 0), (1, 0), (1, 1)]
    assert allocation.size == 3
    cumulatives = sum(each.has_cumulative() for each in model.variables.model.proto.constraints)
    # The cores of both nodes and of the pool can be short. The GPU cannot: one job requests it.
    assert cumulatives == 3


def test_a_model_that_is_written_and_read_again_has_the_same_optimum(tmp_path):
    exported = []

    def export(model):
        path = tmp_path / f"{len(exported)}.pbtxt"
        assert model.variables.model.export_to_file(str(path))
        exported.append(path)

    search = Search(two_nodes(), limit=SolverLimit(1, 1), whole=True, inspect=export)
    answer = search.solve([np.array([1, 0])])
    assert len(exported) == 1
    again = cp_model.CpModel()
    again.proto.parse_text_format(exported[0].read_text(encoding="utf-8"))
    solver = cp_model.CpSolver()
    assert solver.solve(again) == cp_model.OPTIMAL
    assert solver.objective_value == answer.schedule.cost


def test_the_progress_is_printed_on_demand_only(capfd):
    model = SchedulingModel(two_nodes(), 40).build().variables.model
    Calls().solve(model, 1.0)
    assert capfd.readouterr().out == ""
    Calls(log=True).solve(model, 1.0)
    assert "CP-SAT" in capfd.readouterr().out


def test_ctrl_c_is_not_swallowed_by_the_solver():
    """CP-SAT would end its search and the simulation would continue."""
    model = SchedulingModel(two_nodes(), 40).build().variables.model
    assert Calls().solve(model, 1.0).solver.parameters.catch_sigint_signal is False
