"""CP-SAT's search: its parameters, its limits, and what it says."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ortools.sat.python import cp_model

from .answer import Status

_STATUS = {cp_model.OPTIMAL: Status.OPTIMAL, cp_model.FEASIBLE: Status.FEASIBLE, cp_model.INFEASIBLE: Status.INFEASIBLE}


@dataclass(frozen=True, eq=False)
class Outcome:
    """What the solver said.

    Attributes
    ----------
    status
        Of the last call.
    solver
        The solver, which has the values of the variables if `status` is optimal or feasible.
    spent
        Deterministic time of all calls, seconds.
    known
        A bound from other calls.
    """

    status: Status
    solver: cp_model.CpSolver
    spent: float
    known: int = -(2**62)

    @property
    def found(self) -> bool:
        """Whether the variables have values."""
        return self.status in {Status.OPTIMAL, Status.FEASIBLE}

    @property
    def bound(self) -> int:
        """No values of the variables have a smaller objective; says nothing if there are none at all."""
        return max(self.known, math.ceil(self.solver.best_objective_bound - 1e-6))


def make_solver(limit: float, *, wall: bool = False, hinted: bool = False) -> cp_model.CpSolver:
    """Return a solver with the parameters that serve scheduling models best, one worker, and a limit in seconds.

    Parameters
    ----------
    limit
        Seconds of deterministic time; with `wall` of wall-clock time.
    hinted
        Whether the search begins at the hint of the model.
    """
    solver = cp_model.CpSolver()
    parameters = solver.parameters
    parameters.num_workers = 1
    parameters.catch_sigint_signal = False  # Ctrl-C is for the program, not for the solver alone.
    if wall:
        parameters.max_time_in_seconds = limit
    else:
        parameters.max_deterministic_time = limit
    parameters.use_dynamic_precedence_in_cumulative = True
    parameters.linearization_level = 0
    parameters.cp_model_presolve = False
    if hinted:
        parameters.search_branching = cp_model.HINT_SEARCH
    return solver


def call(solver: cp_model.CpSolver, model: cp_model.CpModel) -> Outcome:
    """Solve a model once."""
    status = _STATUS.get(solver.solve(model), Status.UNKNOWN)
    return Outcome(status, solver, solver.deterministic_time)
