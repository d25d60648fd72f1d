"""CP-SAT model of the eviction actions of running jobs."""

from collections.abc import Iterable, Sequence

from ortools.sat.python import cp_model

from .evictable import Action, Evictable, cost, integers

ACTIONS: tuple[Action, ...] = ("kill", "system", "application", "end")


class Choices:
    """CP-SAT model: each job has at most one action, and enough nodes come free.

    Parameters
    ----------
    jobs, nodes_needed
        Running jobs, and number of nodes to free.
    allowed
        Positions of jobs with their possible actions.

    Attributes
    ----------
    model
        For further constraints.
    does
        Literal by position and action.

    Raises
    ------
    ValueError
        If the losses sum to 2**60 or more in their common unit.
    """

    def __init__(self, jobs: Sequence[Evictable], nodes_needed: int, allowed: Iterable[tuple[int, Action]]) -> None:
        self.jobs = jobs
        self.model = cp_model.CpModel()
        self.does = {
            (place, action): self.model.new_bool_var(f"{action} {jobs[place].id}") for place, action in allowed
        }
        losses = integers([cost(jobs[place], action) for place, action in self.does], "plan", 60)[0]
        self.losses = dict(zip(self.does, losses, strict=True))
        for place in range(len(jobs)):
            self.model.add_at_most_one(self.does[place, action] for action in ACTIONS if (place, action) in self.does)
        freed = sum(jobs[place].nodes * literal for (place, _), literal in self.does.items())
        self.model.add(freed >= nodes_needed)

    def best(self, time: cp_model.LinearExprT) -> dict[str, Action]:
        """Return the actions by job id: least loss first, then least time.

        Raises
        ------
        RuntimeError
            If CP-SAT ends without a proof.
        """
        loss = sum(self.losses[key] * literal for key, literal in self.does.items())
        self.model.minimize(loss)
        solver = self._solved()
        least = sum(self.losses[key] for key, literal in self.does.items() if solver.boolean_value(literal))
        self.model.add(loss == least)
        self.model.minimize(time)
        solver = self._solved()
        return {self.jobs[key[0]].id: key[1] for key, literal in self.does.items() if solver.boolean_value(literal)}

    def _solved(self) -> cp_model.CpSolver:
        """Return a solver that has proved an optimum."""
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        status = solver.solve(self.model)
        if status != cp_model.OPTIMAL:
            raise RuntimeError(f"plan: CP-SAT ended without a proof: {solver.status_name(status)}")
        return solver
