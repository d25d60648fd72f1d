"""Calls of CP-SAT: parameters, limits and outcome."""

import math
from dataclasses import dataclass

from ortools.sat.python import cp_model

from .answer import Status

_STATUS = {cp_model.OPTIMAL: Status.OPTIMAL, cp_model.FEASIBLE: Status.FEASIBLE, cp_model.INFEASIBLE: Status.INFEASIBLE}


@dataclass(frozen=True, eq=False)
class SolverOutcome:
    """Outcome of one solver call.

    Attributes
    ----------
    status
        What is proved of the model.
    solver
        The solver. It holds values of the variables if `status` is optimal or feasible.
    spent
        Seconds of the call. Deterministic time, or wall-clock time under such a limit.
    valid
        Whether CP-SAT accepts the model. A site's constraint may make it invalid.
    """

    status: Status
    solver: cp_model.CpSolver
    spent: float
    valid: bool = True

    @property
    def found(self) -> bool:
        """Whether the variables have values."""
        return self.status in {Status.OPTIMAL, Status.FEASIBLE}

    @property
    def at_limit(self) -> bool:
        """Whether the limit ended the call without a result. False for an invalid model."""
        return self.status is Status.UNKNOWN and self.valid

    @property
    def bound(self) -> int:
        """Lower bound on the objective. Meaningless for an infeasible model."""
        return math.ceil(self.solver.best_objective_bound - 1e-6)


@dataclass(frozen=True)
class Calls:
    """Parameters of CP-SAT: one worker, and settings for scheduling models of this size.

    Attributes
    ----------
    wall
        Whether limits are wall-clock time instead of deterministic time.
    log
        Whether the solver prints its progress.
    """

    wall: bool = False
    log: bool = False

    def solve(self, model: cp_model.CpModel, seconds: float, *, hinted: bool = False) -> SolverOutcome:
        """Solve a model once within `seconds`. If `hinted`, start at the model's hint."""
        solver = cp_model.CpSolver()
        parameters = solver.parameters
        parameters.num_workers = 1
        parameters.catch_sigint_signal = False  # Ctrl-C is for the program, not only for the solver.
        if self.wall:
            parameters.max_time_in_seconds = seconds
        else:
            parameters.max_deterministic_time = seconds
        parameters.use_dynamic_precedence_in_cumulative = True
        parameters.linearization_level = 0
        parameters.cp_model_presolve = False
        parameters.log_search_progress = self.log
        if hinted:
            parameters.search_branching = cp_model.HINT_SEARCH
        code = solver.solve(model)
        spent = solver.wall_time if self.wall else solver.deterministic_time
        return SolverOutcome(_STATUS.get(code, Status.UNKNOWN), solver, spent, code != cp_model.MODEL_INVALID)
