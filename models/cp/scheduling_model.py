"""The scheduling model on CP-SAT: start times and placements of waiting jobs (CP 2019, section 2.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from ..scheduling.list_schedules import Schedule, in_order, list_schedule
from ..scheduling.problem import Problem, taken_modes
from .allocation import Allocation, allocation_of
from .constraints import Constraint, OthersStart, PoolCapacity
from .limits import DecisionBudget
from .objective import PlanObjective, WeightedLateness
from .solver import SolverOutcome
from .symmetry import comparable, rearranged
from .variables import Variables


@dataclass(eq=False)
class SchedulingModel:
    """Variables, constraints and objective of one problem. ``build()`` lists its parts.

    Three things make it fast:

    * A complete hint. Its cost bounds the start times.
    * A fixed order of equal jobs.
    * Search parameters for small models.

    ``model.variables.model`` is CP-SAT's model, with named variables.

    Attributes
    ----------
    problem
        Jobs, and a pool or nodes.
    horizon
        Latest end of any job, seconds from now.
    hint
        A valid initial schedule. Worse schedules are excluded.
    below
        Whether to exclude schedules of the same cost as the hint.
    every_resource
        Whether to constrain resources that no job demands. Version 0 of the paper does.
    beside
        Further constraints. They may distinguish jobs of equal demands.
    others
        Requires that another set of jobs starts now than in the hint.
    objective
        What to minimise. By default the cost of the problem.
    allocation
        How slots lie on nodes. By default the problem chooses.
    labels
        Name of each job in the names of variables.
    """

    problem: Problem
    horizon: int
    hint: Schedule | None = None
    below: bool = False
    every_resource: bool = False
    beside: Sequence[Constraint] = ()
    others: OthersStart | None = None
    objective: PlanObjective | None = None
    allocation: Allocation | None = None
    labels: Sequence[str] = ()
    variables: Variables = field(init=False)

    def __post_init__(self) -> None:
        self.pool = self.problem.pooled
        self.lateness = WeightedLateness(self.pool)
        self.placing = self.allocation or allocation_of(self.problem, self.every_resource)
        self.capacity = PoolCapacity(self.pool, self.every_resource)
        self.symmetric = not self.beside and self.objective is None
        if self.hint is not None and self.symmetric:
            self.hint = rearranged(self.problem, self.hint)

    def build(self) -> SchedulingModel:
        """Write the model."""
        self.add_jobs()
        self.add_capacity()
        self.add_allocation()
        self.add_order_of_equal_jobs()
        self.add_further_constraints()
        self.add_objective()
        self.add_hint()
        return self

    def add_jobs(self) -> None:
        """Add a start and an interval for each job, within the horizon and the cost of the hint."""
        latest = np.minimum(self.horizon - self.pool.duration, self.pool.latest)
        if self.hint is not None and self.objective is None:
            latest = np.minimum(latest, self.lateness.latest(self.hint.cost))
        # A job moved as early as possible starts now or at some end. Further constraints may prevent the move.
        first_later = 1 if self.beside or self.objective is not None else self.pool.first_later
        self.variables = Variables(self.pool, self.horizon, latest, self.labels, first_later)

    def add_capacity(self) -> None:
        """Add a cumulative constraint per resource of the machine."""
        self.capacity.add_to(self.variables)

    def add_allocation(self) -> None:
        """Add nodes for all jobs, for jobs that start now, or none."""
        self.placing.add_to(self.variables)

    def add_order_of_equal_jobs(self) -> None:
        """Fix the order of equal jobs: ``start[j] <= start[k]`` for j before k in a chain."""
        for chain in comparable(self.pool) if self.symmetric else ():
            for before, after in pairwise(chain):
                self.variables.model.add(self.variables.jobs[before].start <= self.variables.jobs[after].start)

    def add_further_constraints(self) -> None:
        """Add the constraints of a site and of the search."""
        for constraint in self.beside:
            constraint.add_to(self.variables)
        if self.others is not None:
            self.others.add_to(self.variables)

    def add_objective(self) -> None:
        """Minimise the cost, below that of the hint if `below` is set."""
        model = self.variables.model
        cost = (self.objective or self.lateness).expression(self.variables)
        model.minimize(cost)
        if self.below and self.hint is not None:
            model.add(cost <= self.hint.cost - self.lateness.constant - 1)

    def add_hint(self) -> None:
        """Start the search at the hint."""
        if self.hint is not None:
            self.suggest(self.hint)

    def suggest(self, schedule: Schedule) -> None:
        """Set the hint of CP-SAT to a schedule."""
        self.variables.suggest(schedule.starts)
        self.placing.suggest(self.variables, schedule)

    def schedule(self, outcome: SolverOutcome, budget: DecisionBudget) -> Schedule | None:
        """Return the solver's schedule, or ``None`` if it violates a constraint.

        Its jobs are moved to earlier starts where all constraints still hold.
        """
        starts = self.variables.starts(outcome.solver)
        cost = self.problem.cost(starts)
        packed = list_schedule(self.problem, in_order(starts))
        if packed is not None and self.objective is None and packed.cost <= cost and self.allows(packed):
            return packed
        counts = self.placing.places(outcome.solver, starts, budget)
        schedule = None if counts is None else Schedule(starts, cost, counts)
        return schedule if schedule is not None and self.allows(schedule) else None

    def allows(self, schedule: Schedule) -> bool:
        """Return whether a schedule meets all constraints and time limits."""
        return holds(self.problem, schedule, self.horizon, (self.capacity, self.placing, *self.beside))

    def value(self, schedule: Schedule) -> float:
        """Return the cost of a schedule."""
        return schedule.cost if self.objective is None else self.objective.cost(schedule)


def holds(problem: Problem, schedule: Schedule, horizon: int, constraints: Sequence[Constraint]) -> bool:
    """Return whether a schedule meets constraints, and each job its earliest and latest times."""
    one_each, starts = taken_modes(problem, schedule.starts)
    timely = (starts <= one_each.latest).all() and (starts >= one_each.earliest).all()
    within = int((starts + one_each.duration).max(initial=0)) <= horizon
    return bool(timely and within) and all(constraint.holds(schedule) for constraint in constraints)
