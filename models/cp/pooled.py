"""The scheduling model on CP-SAT: start times for waiting jobs on pooled resources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...base import IntArray
from ..scheduling.list_schedules import Schedule, in_order, list_schedule
from ..scheduling.problem import Problem, taken_modes
from .answer import Answer, Limit, Status, better_of
from .constraints import Constraint, LikeInOrder, PoolCapacity
from .objective import Objective, WeightedLateness
from .solver import Outcome, call, make_solver
from .starting import place_now
from .symmetry import comparable, rearranged
from .variables import Variables

#: What a schedule on pooled resources must meet (CP 2019, section 2.2).
ON_THE_POOL: tuple[Constraint, ...] = (PoolCapacity(), LikeInOrder())
#: The same with every resource, asked for or not.
ON_THE_WHOLE_POOL: tuple[Constraint, ...] = (PoolCapacity(every_resource=True), LikeInOrder())


class SchedulingModel:
    """Interval variables, the constraints it is given, and the cost as objective (CP 2019, section 2.2).

    A schedule is used only if every constraint holds for it, be it the hint, what CP-SAT found, or that with its jobs
    moved up. What makes it fast: a complete hint that bounds the start times by its cost, jobs that differ in nothing
    put in order, and search parameters for small models.

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
        self.constraints = tuple(constraints)
        self.problem = problem.pooled
        for family in self.constraints:
            self.problem = family.narrow(self.problem)
        self.objective = objective or WeightedLateness()
        horizon = self.problem.horizon if horizon is None else horizon
        self.hint = self._usable(hint, horizon)
        latest = np.minimum(horizon - self.problem.duration, self.problem.latest)
        if self.hint is not None:
            latest = np.minimum(latest, self.objective.latest(self.problem, self.hint.cost))
        self.variables = Variables(self.problem, horizon, latest)
        for family in self.constraints:
            family.add_to(self.variables)
        self.objective.add_to(self.variables)
        if self.hint is not None:
            self.variables.suggest(self.hint.starts)

    @property
    def constant(self) -> int:
        """What the cost has beside the objective of CP-SAT's model."""
        return self.objective.constant(self.problem)

    def search(self, limit: Limit) -> Outcome:
        """Let CP-SAT search from the hint; again from the best so far, while the limit allows and nothing is proved."""
        attempts, spent, best, known = limit.attempts(), 0.0, None, -(2**62)
        least = np.inf if self.hint is None else self.hint.cost - self.constant
        for seconds in attempts:
            hinted = self.hint is not None or best is not None
            outcome = call(make_solver(seconds, wall=limit.wall, hinted=hinted), self.variables.model)
            spent += outcome.spent
            known = max(known, outcome.bound) if outcome.found else known
            better = outcome.found and outcome.solver.objective_value < least
            if better or (outcome.found and best is None):
                least, best = outcome.solver.objective_value, outcome
                self.variables.suggest(self.variables.starts(outcome.solver))
            proved = outcome.status in {Status.OPTIMAL, Status.INFEASIBLE}
            attempts.note(proved=proved, found=outcome.found, better=better)
        if best is None:
            return replace(outcome, spent=spent)
        status = Status.OPTIMAL if outcome.status is Status.OPTIMAL else Status.FEASIBLE
        return Outcome(status, best.solver, spent, known)

    def answer(self, outcome: Outcome, found: Schedule | None) -> Answer:
        """Return the better of the hint and what the solver found."""
        bound = self.constant + outcome.bound if outcome.found else None
        return better_of(self.hint, found, outcome.status, bound, outcome.spent)

    def solve(self, limit: Limit) -> Answer:
        """Solve within a limit; what is found has its jobs moved up where they can be."""
        outcome = self.search(limit)
        return self.answer(outcome, self.judge(self.variables.starts(outcome.solver)) if outcome.found else None)

    def judge(self, starts: IntArray) -> Schedule | None:
        """Return the schedule of some start times, its jobs moved up where they can be and every constraint holds."""
        packed = list_schedule(self.problem, in_order(starts))
        cost = self.problem.cost(starts)
        if packed is not None and packed.cost <= cost and self.allows(packed.starts):
            return packed
        counts: IntArray | None = self.problem.slots[:, None]
        if len(self.problem.free_now):
            counts = place_now(self.problem, starts).counts
        return Schedule(starts, cost, counts) if counts is not None and self.allows(starts) else None

    def allows(self, starts: IntArray) -> bool:
        """Return whether start times meet every constraint, and no job starts after its latest time."""
        timely = bool((starts <= self.problem.latest).all())
        problem, starts = taken_modes(self.problem, starts)
        return timely and all(family.holds(problem, starts) for family in self.constraints)

    def _usable(self, hint: Schedule | None, horizon: int) -> Schedule | None:
        if hint is None or int((hint.starts + self.problem.duration)[hint.starts >= 0].max(initial=0)) > horizon:
            return None
        found = rearranged(self.problem, hint, list(comparable(self.problem)))
        return found if self.allows(found.starts) else None


def solve_pooled(
    problem: Problem,
    hint: Schedule | None,
    limit: Limit,
    *,
    horizon: int | None = None,
    every_resource: bool = False,
    beside: Sequence[Constraint] = (),
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
    beside
        Further constraints.
    """
    constraints = (*(ON_THE_WHOLE_POOL if every_resource else ON_THE_POOL), *beside)
    return SchedulingModel(problem, hint, horizon=horizon, constraints=constraints).solve(limit)
