"""The scheduling model on CP-SAT: start times for waiting jobs on pooled resources."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..scheduling.list_schedules import Schedule, list_schedule
from ..scheduling.problem import Problem
from .answer import Answer, Limit, better_of
from .constraints import Constraint, LikeInOrder, PoolCapacity
from .objective import Objective, WeightedLateness
from .solver import Outcome, call_within
from .symmetry import comparable, rearranged
from .variables import Variables

#: What a schedule on pooled resources must meet (CP 2019, section 2.2).
ON_THE_POOL: tuple[Constraint, ...] = (PoolCapacity(), LikeInOrder())
#: The same with every resource, asked for or not.
ON_THE_WHOLE_POOL: tuple[Constraint, ...] = (PoolCapacity(every_resource=True), LikeInOrder())


class SchedulingModel:
    """Interval variables, the constraints it is given, and the cost as objective (CP 2019, section 2.2).

    What makes it fast: a complete hint that bounds the start times by its cost, jobs that differ in nothing put in
    order, and search parameters for small models.

    Parameters
    ----------
    problem
        Jobs and machine; pooled if it is not.
    hint
        A schedule that holds, to begin with; nothing worse is looked for.
    horizon
        No job ends later; by default late enough for all of them one after the other.
    constraints
        Families of constraints, in the order in which they are added.
    objective
        What is minimised.

    Attributes
    ----------
    variables
        The variables, one entry a job, and CP-SAT's model.
    hint
        The given one, jobs that differ in nothing in order; ``None`` if it ends after the horizon.
    """

    def __init__(
        self,
        problem: Problem,
        hint: Schedule | None = None,
        *,
        horizon: int | None = None,
        constraints: Sequence[Constraint] = ON_THE_POOL,
        objective: Objective | None = None,
    ) -> None:
        self.problem = problem.pooled
        self.objective = objective or WeightedLateness()
        horizon = self.problem.horizon if horizon is None else horizon
        self.hint = _usable(self.problem, hint, horizon)
        latest = horizon - self.problem.duration
        if self.hint is not None:
            latest = np.minimum(latest, self.objective.latest(self.problem, self.hint.cost))
        self.variables = Variables(self.problem, horizon, latest)
        for family in constraints:
            family.add_to(self.variables)
        self.objective.add_to(self.variables)
        if self.hint is not None:
            self.variables.suggest(self.hint.starts)

    @property
    def constant(self) -> int:
        """What the cost has beside the objective of CP-SAT's model."""
        return self.objective.constant(self.problem)

    def search(self, limit: Limit) -> Outcome:
        """Let CP-SAT search from the hint within a limit."""
        return call_within(limit, self.variables.model, hinted=self.hint is not None)

    def answer(self, outcome: Outcome, found: Schedule | None) -> Answer:
        """Return the better of the hint and what the solver found."""
        bound = self.constant + outcome.bound if outcome.found else None
        return better_of(self.hint, found, outcome.status, bound, outcome.spent)

    def solve(self, limit: Limit) -> Answer:
        """Solve within a limit; what is found has its jobs moved up where they can be."""
        outcome, found = self.search(limit), None
        if outcome.found:
            starts = self.variables.starts(outcome.solver)
            found = Schedule(starts, self.problem.cost(starts), self.problem.slots[:, None])
            packed = list_schedule(self.problem, np.argsort(starts, kind="stable"))
            if packed is not None and packed.cost <= found.cost:
                found = packed
        return self.answer(outcome, found)


def _usable(problem: Problem, hint: Schedule | None, horizon: int) -> Schedule | None:
    if hint is None or int((hint.starts + problem.duration).max(initial=0)) > horizon:
        return None
    return rearranged(problem, hint, list(comparable(problem)))


def solve_pooled(
    problem: Problem,
    hint: Schedule | None,
    limit: Limit,
    *,
    horizon: int | None = None,
    every_resource: bool = False,
) -> Answer:
    """Return the best schedule found on pooled resources, never worse than the hint.

    Parameters
    ----------
    problem, hint, horizon
        As for :class:`SchedulingModel`.
    limit
        How long the solver may think.
    every_resource
        Whether a resource that no job asks for is constrained as well, as version 0 of the paper has it.
    """
    constraints = ON_THE_WHOLE_POOL if every_resource else ON_THE_POOL
    return SchedulingModel(problem, hint, horizon=horizon, constraints=constraints).solve(limit)
