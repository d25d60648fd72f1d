"""The search for a schedule: lists, bounds, local search, and CP-SAT, within one budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...base import BoolArray, IntArray
from ..scheduling.list_schedules import Schedule, best_of, earliest_starts, improve, list_schedule
from ..scheduling.problem import Problem, least_cost
from .allocation import WRITING, Allocation, allocation_of
from .answer import Answer, Source, Status
from .constraints import Constraint, OthersStart, PoolCapacity
from .limits import Budget, Limit
from .objective import PlanObjective
from .prices import INTERVALS, STEPS, Bounds, price_bounds
from .scheduling_model import SchedulingModel, holds
from .solver import Calls, Outcome
from .symmetry import only_chain, rearranged

#: Jobs of a pool that bounds leave free to start now or later with which CP-SAT is asked: with more it hardly proves
#: anything. And modes of all jobs of a plan.
MOST_CONTESTED, MOST_MODES = 8, 12
#: How often at most jobs that cannot all start now are learnt of in one call of the solver.
_REFUSALS = 20
#: The local search goes in so many parts; one that brings nothing is the last.
_PARTS = 4
#: Seconds of an ordinary core per job, resource, step of the profile and class of nodes in a list schedule; and per
#: job, resource and interval in a step of the bounds.
_LISTING, _PRICING = 1e-9, 2e-9


@dataclass(eq=False)
class Search:
    """How a problem is solved, and what is known of it on the way. :meth:`solve` is its table of contents.

    Attributes
    ----------
    problem
        Jobs and machine.
    horizon
        No job ends later, seconds from now; by default late enough for all jobs one after the other.
    budget
        What all parts may take together.
    limit
        How long the solver may think in each call.
    iterations
        Steps of the local search.
    solver
        Whether CP-SAT is asked.
    whole
        Version 0 of the paper: no bounds and no local search, every resource is constrained, CP-SAT in each decision.
    hinted
        Whether CP-SAT begins at the best schedule known.
    beside
        Further constraints.
    objective
        What is minimised, where it is not the cost of the problem; then no bound is known.
    allocation
        Where the nodes are in the model; by default what the problem asks for.
    calls
        How CP-SAT is called.
    labels
        What the names of the variables call each job.
    rng
        Of the local search.
    inspect
        Called with each model before it is solved.
    """

    problem: Problem
    horizon: int | None = None
    budget: Budget = field(default_factory=Budget)
    limit: Limit = field(default_factory=Limit)
    iterations: int = 1000
    solver: bool = True
    whole: bool = False
    hinted: bool = True
    beside: Sequence[Constraint] = ()
    objective: PlanObjective | None = None
    allocation: Allocation | None = None
    calls: Calls = field(default_factory=Calls)
    labels: Sequence[str] = ()
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    inspect: Callable[[SchedulingModel], None] | None = None

    def __post_init__(self) -> None:
        problem = self.problem
        self.end = problem.horizon if self.horizon is None else self.horizon
        if self.allocation is None:
            self.allocation = allocation_of(problem, self.whole)
        self.listed: Schedule | None = None
        self.best: Schedule | None = None
        self.source: Source = "none"
        self.least: int | None = None
        self.bounds: Bounds | None = None
        self.status = Status.UNKNOWN
        self.decided = False
        self.solver_time = 0.0
        self.order = np.arange(problem.jobs)

    def solve(self, orders: Sequence[IntArray]) -> Answer:
        """Return the best schedule found, never worse than the best of the lists in these orders."""
        self.list(orders)
        if not self.whole:
            self.bound()
            self.improve()
        if self.solver and not self.known:
            self.ask()
        return self.answer()

    @property
    def known(self) -> bool:
        """Whether nothing is left to be found out."""
        return self.decided or self.status in {Status.OPTIMAL, Status.INFEASIBLE}

    @property
    def linear(self) -> bool:
        """Whether the cost is that of the problem, and every schedule of the problem may be used."""
        return not self.beside and self.objective is None

    def value(self, schedule: Schedule) -> float:
        """Return what a schedule costs."""
        return schedule.cost if self.objective is None else self.objective.cost(schedule)

    def usable(self, schedule: Schedule | None) -> bool:
        """Return whether a schedule meets all constraints and ends by the horizon."""
        assert self.allocation is not None
        pool = PoolCapacity(self.problem.pooled, self.whole)
        return schedule is not None and holds(self.problem, schedule, self.end, (pool, self.allocation, *self.beside))

    def offer(self, schedule: Schedule | None, source: Source) -> bool:
        """Keep a schedule, and what made it, if it is the best; return whether it is."""
        if schedule is None or (self.best is not None and self.value(schedule) >= self.value(self.best)):
            return False
        self.best, self.source = schedule, source
        if self.status is Status.UNKNOWN:
            self.status = Status.FEASIBLE
        return True

    # Lists.

    def list(self, orders: Sequence[IntArray]) -> None:
        """Start the jobs in each of some orders, each job as early as it fits, and keep the best schedule."""
        chain = only_chain(self.problem) if self.linear and not self.whole else None
        if chain is not None:
            listed = list_schedule(self.problem, chain)
            if self._in_time(listed):
                self.listed = listed
                self.offer(listed, "list")
                self.least, self.status = self.best.cost if self.best else None, Status.OPTIMAL
                return
        tried = orders[: max(self.budget.count(len(orders), self.decoding), 1)]
        if self.linear:
            self.listed, which = best_of(self.problem, tried)
            self.order = tried[which]
        for order in () if self.linear else tried:
            found = list_schedule(self.problem, order)
            better = found is not None and (self.listed is None or self.value(found) < self.value(self.listed))
            if better and self.usable(found):
                self.listed, self.order = found, order
        if self.hinted and self._in_time(self.listed) and (not self.whole or self.usable(self.listed)):
            self.offer(self.listed, "list")

    @property
    def decoding(self) -> float:
        """About the seconds that a list schedule takes, from the size of the problem."""
        problem = self.problem
        parts = len(problem.classes.count) + problem.jobs if problem.nodes > 1 else 1
        steps = len(problem.classes.times if problem.nodes > 1 else problem.profile[0]) + problem.jobs
        return _LISTING * float(problem.jobs * steps * parts * problem.capacity.shape[1])

    def _in_time(self, schedule: Schedule | None) -> bool:
        """Return whether a schedule ends by the horizon."""
        if schedule is None:
            return False
        ends = (schedule.starts + self.problem.duration)[schedule.starts >= 0]
        return int(ends.max(initial=0)) <= self.end

    # Bounds.

    def bound(self) -> None:
        """Bound the cost of all schedules, and of those in which other jobs start now; compare the best one."""
        if self.best is None or self.known or self.objective is not None:
            return
        problem = self.problem
        if self.least is None:
            self.least = _alone(problem) if problem.has_modes else problem.cost(problem.earliest)
            work = _PRICING * STEPS * INTERVALS * problem.jobs * problem.capacity.shape[1]
            if not problem.has_modes and self.best.cost > self.least and self.budget.pay(work):
                self.bounds = price_bounds(problem.pooled, self.best.starts, self.best.cost)
                self.least = max(self.least, self.bounds.least)
        if self.best.cost <= self.least:
            self.status = Status.OPTIMAL
        elif self.bounds is not None:
            self.decided = bool(self.settled.all())

    @property
    def settled(self) -> BoolArray:
        """Whether a job starts now in all schedules that cost less, or in none, as in the best one, shape (jobs,)."""
        assert self.best is not None
        if self.bounds is None:
            return np.zeros(self.problem.jobs, dtype=np.bool_)
        otherwise = np.where(self.best.starts == 0, self.bounds.later, self.bounds.now)
        settled: BoolArray = otherwise > self.best.cost - 1
        return settled

    # Local search.

    def improve(self) -> None:
        """Improve the order of the best list by swaps, moves and changes of mode."""
        listed, problem = self.listed, self.problem
        if self.known or listed is None or not self.iterations or listed.cost == problem.cost(problem.earliest):
            return
        iterations = self.budget.count(self.iterations, self.decoding)
        if not iterations:
            return
        found, _ = improve(problem, self.order, iterations, self.rng, parts=_PARTS)
        if found.cost >= listed.cost:
            return
        found = rearranged(problem, found) if self.linear else found
        if self._in_time(found) and (self.linear or self.usable(found)):
            self.offer(found, "local search")
            self.bound()

    # CP-SAT.

    def ask(self) -> None:
        """Let CP-SAT look for a better schedule: one in which other jobs start now, or any."""
        assert self.allocation is not None
        jobs = self.problem.jobs
        if self.best is None or self.whole or not self.linear or self.problem.has_modes:
            if not self.problem.has_modes or jobs <= MOST_MODES:
                self.minimise()
        elif self.problem.nodes > 1 or (self.bounds is not None and (~self.settled).sum() <= MOST_CONTESTED):
            self.decide()

    def write(self, *, decide: bool = False) -> SchedulingModel | None:
        """Write the model, if the budget has what it takes."""
        assert self.allocation is not None
        if not self.budget.pay(WRITING * (self.allocation.size + self.problem.jobs)):
            return None
        hint, others = self.best if self.hinted else None, None
        if decide and hint is not None:
            hint = rearranged(self.problem, hint)
            self.offer(hint, self.source)
            others = OthersStart(hint.starts == 0, self.settled)
        model = SchedulingModel(
            self.problem, self.end, hint, decide, self.whole, self.beside, others, self.objective,
            self.allocation, self.labels,
        ).build()  # fmt: skip
        if self.inspect is not None:
            self.inspect(model)
        return model

    def call(self, model: SchedulingModel, seconds: float, hinted: bool = False) -> Outcome:
        """Call the solver until it finds what has places, or nothing."""
        assert self.allocation is not None
        for _ in range(_REFUSALS):
            outcome = self.calls.solve(model.variables.model, seconds, hinted=hinted)
            self.solver_time += outcome.spent
            self.budget.charge(outcome.spent)
            starts = model.variables.starts(outcome.solver) if outcome.found else None
            if starts is None or not self.allocation.refuse(model.variables, starts, self.budget):
                break
        return outcome

    def decide(self) -> None:
        """Look for a schedule that costs less and in which other jobs start now, until none is left.

        After each that is found and proved to be the best of its kind, those that start the same jobs remain: the next
        search begins from it, within the same limit.
        """
        attempts = self.limit.attempts()
        model: SchedulingModel | None = None
        cost: int | None = None
        for limit in attempts:
            seconds, better, optimal = self.budget.part(limit), True, True
            while better and optimal and seconds > 0:
                assert self.best is not None
                if cost != self.best.cost:
                    model, cost = self.write(decide=True), self.best.cost
                if model is None:
                    return
                outcome = self.call(model, seconds)
                better = outcome.found and self.offer(model.schedule(outcome, self.budget), "cp-sat")
                optimal = outcome.status is Status.OPTIMAL
                self.decided = outcome.status is Status.INFEASIBLE
            attempts.note(proved=self.decided, found=True, better=bool(self.best and self.best.cost != cost))
            if self.budget.left <= 0:
                break

    def minimise(self) -> None:
        """Look for the best schedule, from the best one known if there is any."""
        attempts, model, least = self.limit.attempts(), self.write(), np.inf
        if model is None:
            return
        hinted = model.hint is not None
        for seconds in attempts:
            outcome = self.call(model, self.budget.part(seconds), hinted)
            better = False
            if outcome.found:
                found, reached = model.schedule(outcome, self.budget), outcome.solver.objective_value
                better, least = reached < least, min(reached, least)
                kept = self.offer(found, "cp-sat")
                best = found is not None and self.best is not None and self.value(self.best) == self.value(found)
                if outcome.status is Status.OPTIMAL and (kept or best):
                    self.status = Status.OPTIMAL
                if self.linear or self.objective is None:
                    self.least = max(model.lateness.constant + outcome.bound, self.least or 0)
                if found is not None and better:
                    hinted = True
                    model.suggest(found)
            proved = outcome.status in {Status.OPTIMAL, Status.INFEASIBLE}
            if outcome.status is Status.INFEASIBLE and self.best is None:
                self.status = Status.INFEASIBLE
            attempts.note(proved=proved, found=outcome.found, better=better)
            if self.budget.left <= 0:
                break

    def answer(self) -> Answer:
        """Return what is known now."""
        least = self.least
        if self.best is not None and least is not None:
            least = min(least, self.best.cost)
        return Answer(
            self.status, self.best, least, self.source, self.decided, self.listed, self.solver_time,
            self.budget.spent, self.budget.exceeded,
        )  # fmt: skip


def _alone(problem: Problem) -> int:
    """Return what the jobs cost if each were alone beside what is held."""
    starts = earliest_starts(problem)
    if starts is None:
        return least_cost(problem)
    late = problem.weight * np.maximum(starts - problem.due_start, 0)
    return int(np.minimum.reduceat(late, problem.first_rows).sum())
