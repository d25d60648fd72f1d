"""Prove the decision, not the schedule: that no schedule in which other jobs start now costs less."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ...base import BoolArray, IntArray
from ..scheduling.list_schedules import Schedule
from ..scheduling.problem import Problem
from .answer import Answer, Limit, Source, Status
from .constraints import Constraint
from .pooled import ON_THE_POOL, SchedulingModel
from .prices import Bounds, price_bounds
from .solver import Outcome, call, make_solver
from .starting import OthersStart, PlacesNow

#: Jobs that may or may not start now, as far as bounds tell, with which CP-SAT is asked: with more it hardly proves
#: anything.
MOST_CONTESTED = 8
#: How often at most jobs that cannot all start now are learnt of in one call of the solver.
_REFUSALS = 20


@dataclass
class Decision:
    """A schedule, and the search for one that costs less and starts other jobs now.

    Attributes
    ----------
    problem
        Jobs and a pool, perhaps with the nodes of this instant.
    best
        The best schedule known.
    source
        Who made it.
    horizon
        No job ends later.
    constraints
        What a schedule must meet beside the places now.
    decided
        Whether none in which other jobs start now costs less.
    spent
        Deterministic time.
    places
        The places of what starts now.
    bounds
        What schedules cost at least, if that is known before.
    """

    problem: Problem
    best: Schedule
    source: Source
    horizon: int
    constraints: Sequence[Constraint] = ON_THE_POOL
    decided: bool = False
    spent: float = 0.0
    places: PlacesNow = field(default_factory=PlacesNow)
    bounds: Bounds | None = None

    def search(self, limit: Limit) -> Answer:
        """Look for one with CP-SAT, where prices leave open whether some few jobs start now; or prove there is none."""
        known = self.known()
        if known.decided or known.bound is None or (~self.settled).sum() > MOST_CONTESTED:
            return known
        self.ask(limit)
        least = min(known.bound, self.best.cost)
        return Answer(Status.FEASIBLE, self.best, least, self.spent, self.source, self.decided)

    def known(self) -> Answer:
        """Return what prices tell of the schedule, without CP-SAT."""
        least = self.problem.cost(self.problem.earliest)
        if self.best.cost > least:
            self.bounds = self.bounds or price_bounds(self.problem, self.best.starts, self.best.cost)
            least = self.bounds.least
        if self.best.cost <= least:
            return Answer(Status.OPTIMAL, self.best, least, 0.0, self.source)
        return Answer(Status.FEASIBLE, self.best, least, 0.0, self.source, bool(self.settled.all()))

    @property
    def settled(self) -> BoolArray:
        """Whether a job starts now in all schedules that cost less, or in none, as in the best one, shape (jobs,).

        A bound on the schedules in which it is otherwise tells.
        """
        if self.bounds is None:
            return np.zeros(self.problem.jobs, dtype=np.bool_)
        otherwise = np.where(self.best.starts == 0, self.bounds.later, self.bounds.now)
        settled: BoolArray = otherwise > self.best.cost - 1
        return settled

    def ask(self, limit: Limit) -> None:
        """Let CP-SAT look, again and again while the limit allows, until there is none.

        What it found and proved to be the best that starts other jobs leaves those that start the same as before: with
        them it begins anew, within the same limit.
        """
        attempts, cost = limit.attempts(), -1
        for seconds in attempts:
            better = found = True
            while better and found:
                if cost != self.best.cost:
                    model, cost = self.model(), self.best.cost
                outcome = self.call(model, seconds, limit.wall)
                better = outcome.found and self.offer(model, model.variables.starts(outcome.solver))
                found = outcome.status is Status.OPTIMAL
            self.decided = outcome.status is Status.INFEASIBLE
            attempts.note(proved=self.decided, found=True, better=self.best.cost < cost)

    def model(self) -> SchedulingModel:
        """Return the model of all schedules that cost less and start other jobs now."""
        model = SchedulingModel(
            self.problem, self.best, horizon=self.horizon, constraints=(*self.constraints, self.places)
        )  # fmt: skip
        starts_now = self.best.starts == 0
        OthersStart(starts_now).add_to(model.variables)
        for job in np.flatnonzero(self.settled).tolist():
            model.variables.model.add(model.variables.now(job) == int(starts_now[job]))
        domain = model.variables.model.proto.objective.domain
        domain.clear()
        domain.extend([0, self.best.cost - 1 - model.constant])
        return model

    def call(self, model: SchedulingModel, seconds: float, wall: bool) -> Outcome:
        """Call the solver until it finds what has places, or nothing."""
        for _ in range(_REFUSALS):
            outcome = call(make_solver(seconds, wall=wall), model.variables.model)
            self.spent += outcome.spent
            if not outcome.found:
                break
            placed = self.places.place(self.problem, model.variables.starts(outcome.solver))
            self.spent += placed.time
            if placed.possible is not False:
                break
            self.places.refuse(model.variables, placed.core)
        return outcome

    def offer(self, model: SchedulingModel, starts: IntArray) -> bool:
        """Keep what was found, or that with its jobs moved up; return whether it is better."""
        found = model.judge(starts)
        if found is None or found.cost >= self.best.cost:
            return False
        self.best, self.source = found, "cp-sat"
        return True
