"""Search for a schedule within one budget: lists, bounds, local search and CP-SAT."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...base import BoolArray, IntArray
from ..scheduling.list_schedules import Schedule, best_of, earliest_starts, improve, list_schedule
from ..scheduling.problem import Problem, least_cost
from .allocation import WRITING, Allocation, allocation_of
from .answer import Answer, Source, Status
from .constraints import Constraint, OthersStart, PoolCapacity
from .limits import DecisionBudget, SolverLimit
from .objective import PlanObjective
from .postponing import schedule_or_postpone
from .prices import INTERVALS, STEPS, CostBounds, price_bounds
from .scheduling_model import SchedulingModel, holds
from .solver import Calls, SolverOutcome
from .symmetry import only_chain, rearranged

#: Limits for calling CP-SAT. The first is the number of undecided jobs on a pool: above it a proof is rare. The second
#: is the number of modes of all jobs.
MOST_CONTESTED, MOST_MODES = 8, 12
#: Most solutions without a placement that one call of the solver may reject.
_REFUSALS = 20
#: Number of parts of the local search. It ends at the first part without improvement.
_PARTS = 4
#: Seconds on an ordinary core. The first: per job, resource, profile step and node class of a list schedule. The
#: second: per job, resource and interval of a bound step.
_LISTING, _PRICING = 1e-9, 2e-9


@dataclass(eq=False)
class Search:
    """Search for the schedule of one problem. :meth:`solve` lists its parts.

    Attributes
    ----------
    problem
        Jobs and machine.
    horizon
        Latest end of any job, seconds from now. By default late enough for all jobs in sequence.
    budget
        Time of all parts together.
    limit
        Time limit of each solver call.
    iterations
        Steps of the local search.
    solver
        Whether to use CP-SAT.
    whole
        Version 0 of the paper. No bounds and no local search, every resource is constrained, and each decision calls
        CP-SAT.
    postponing
        Whether to use the paper's search, schedule or postpone, instead of bounds, local search and CP-SAT. Only on a
        pool.
    hinted
        Whether CP-SAT starts at the best schedule so far.
    beside
        Further constraints.
    objective
        What to minimise, if not the cost of the problem. Then no bounds are used.
    allocation
        How slots lie on nodes. By default the problem chooses.
    calls
        Parameters of CP-SAT.
    labels
        Name of each job in the names of variables.
    rng
        Random generator of the local search.
    inspect
        Function to call with each model before it is solved.
    """

    problem: Problem
    horizon: int | None = None
    budget: DecisionBudget = field(default_factory=DecisionBudget)
    limit: SolverLimit = field(default_factory=SolverLimit)
    iterations: int = 1000
    solver: bool = True
    whole: bool = False
    postponing: bool = False
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
        self.placing = self.allocation or allocation_of(problem, self.whole)
        self.listed: Schedule | None = None
        self.best: Schedule | None = None
        self.source: Source = "none"
        self.least: int | None = None
        self.bounds: CostBounds | None = None
        self.status = Status.UNKNOWN
        self.decided = False
        self.solver_time = 0.0
        self.unsolved = False
        self.refused = False
        self.order = np.arange(problem.jobs)

    def solve(self, orders: Sequence[IntArray]) -> Answer:
        """Return the best schedule, never worse than the best list schedule of these orders."""
        self.list(orders)
        if self.postponing:
            if not self.known:
                self.postpone()
            return self.answer()
        if not self.whole:
            self.bound()
            self.improve()
        if self.solver and not self.known:
            self.ask()
        return self.answer()

    @property
    def known(self) -> bool:
        """Whether the search has nothing left to decide."""
        return self.decided or self.status in {Status.OPTIMAL, Status.INFEASIBLE}

    @property
    def linear(self) -> bool:
        """Whether the cost is the problem's own and no further constraints exist."""
        return not self.beside and self.objective is None

    def value(self, schedule: Schedule) -> float:
        """Return the cost of a schedule."""
        return schedule.cost if self.objective is None else self.objective.cost(schedule)

    def usable(self, schedule: Schedule | None) -> bool:
        """Return whether a schedule meets all constraints and ends by the horizon."""
        pool = PoolCapacity(self.problem.pooled, self.whole)
        return schedule is not None and holds(self.problem, schedule, self.end, (pool, self.placing, *self.beside))

    def offer(self, schedule: Schedule | None, source: Source) -> bool:
        """Keep a schedule and its origin if it is the best so far. Return whether it is."""
        if schedule is None or (self.best is not None and self.value(schedule) >= self.value(self.best)):
            return False
        self.best, self.source = schedule, source
        if self.status is Status.UNKNOWN:
            self.status = Status.FEASIBLE
        return True

    def list(self, orders: Sequence[IntArray]) -> None:
        """Build list schedules in the given orders, each job at its earliest fit, and keep the best."""
        chain = only_chain(self.problem) if self.linear and not self.whole else None
        if chain is not None:
            listed = list_schedule(self.problem, chain)
            if self._in_time(listed):
                self.listed = listed
                self.offer(listed, "list")
                self.least = self.best.cost if self.best else None
                self.status = Status.OPTIMAL
                return
        tried = orders[: max(self.budget.count(len(orders), self.decoding), 1)]
        if self.linear:
            self.listed, which = best_of(self.problem, tried)
            self.order = tried[which]
        for order in () if self.linear else tried:
            schedule = list_schedule(self.problem, order)
            better = schedule is not None and (self.listed is None or self.value(schedule) < self.value(self.listed))
            if better and self.usable(schedule):
                self.listed, self.order = schedule, order
        if self.hinted and self._in_time(self.listed) and (not self.whole or self.usable(self.listed)):
            self.offer(self.listed, "list")

    @property
    def decoding(self) -> float:
        """Approximate seconds of one list schedule, from the size of the problem."""
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

    def bound(self) -> None:
        """Bound the cost of all schedules and of those that start other jobs now.

        If the best schedule reaches a bound, the search is decided.
        """
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
        """Whether every better schedule agrees with the best one on a job's start now. Shape (jobs,)."""
        assert self.best is not None
        if self.bounds is None:
            return np.zeros(self.problem.jobs, dtype=np.bool_)
        otherwise = np.where(self.best.starts == 0, self.bounds.later, self.bounds.now)
        return otherwise > self.best.cost - 1

    def improve(self) -> None:
        """Improve the order of the best list by swaps, moves and changes of mode."""
        listed, problem = self.listed, self.problem
        if self.known or listed is None or not self.iterations or listed.cost == problem.cost(problem.earliest):
            return
        iterations = self.budget.count(self.iterations, self.decoding)
        if not iterations:
            return
        improved, _ = improve(problem, self.order, iterations, self.rng, parts=_PARTS)
        if improved.cost >= listed.cost:
            return
        schedule = rearranged(problem, improved) if self.linear else improved
        if self._in_time(schedule) and (self.linear or self.usable(schedule)):
            self.offer(schedule, "local search")
            self.bound()

    def ask(self) -> None:
        """Search for a better schedule with CP-SAT, where a proof is likely.

        With a known best schedule, only schedules that start other jobs now are of interest.
        """
        jobs = self.problem.jobs
        if self.best is None or self.whole or not self.linear or self.problem.has_modes:
            if not self.problem.has_modes or jobs <= MOST_MODES:
                self.minimise()
        elif self.problem.nodes > 1 or (self.bounds is not None and (~self.settled).sum() <= MOST_CONTESTED):
            self.decide()

    def write(self, *, decide: bool = False) -> SchedulingModel | None:
        """Write the model, or return ``None`` if the budget is too small."""
        if not self.budget.pay(WRITING * (self.placing.size + self.problem.jobs)):
            return None
        hint = self.best if self.hinted else None
        others = None
        if decide and hint is not None:
            hint = rearranged(self.problem, hint)
            self.offer(hint, self.source)
            others = OthersStart(hint.starts == 0, self.settled)
        model = SchedulingModel(
            self.problem,
            self.end,
            hint,
            decide,
            self.whole,
            self.beside,
            others,
            self.objective,
            self.placing,
            self.labels,
        ).build()
        if self.inspect is not None:
            self.inspect(model)
        return model

    def call(self, model: SchedulingModel, seconds: float, hinted: bool = False) -> SolverOutcome:
        """Call the solver until its solution has a placement or it has no solution."""
        for _ in range(_REFUSALS):
            outcome = self.calls.solve(model.variables.model, seconds, hinted=hinted)
            self.solver_time += outcome.spent
            self.budget.charge(outcome.spent)
            starts = model.variables.starts(outcome.solver) if outcome.found else None
            if starts is None or not self.placing.refuse(model.variables, starts, self.budget):
                break
        return outcome

    def decide(self) -> None:
        """Search for cheaper schedules that start other jobs now, until none exists.

        A proved optimum leaves only schedules that start the same jobs. The next search starts from it, within the same
        limit.
        """
        attempts = self.limit.attempts()
        model: SchedulingModel | None = None
        cost: int | None = None
        for limit in attempts:
            seconds = self.budget.part(limit)
            better = True
            optimal = True
            while better and optimal and seconds > 0:
                assert self.best is not None
                if cost != self.best.cost:
                    model = self.write(decide=True)
                    cost = self.best.cost
                if model is None:
                    return
                outcome = self.call(model, seconds)
                better = outcome.found and self.offer(model.schedule(outcome, self.budget), "cp-sat")
                optimal = outcome.status is Status.OPTIMAL
                self.decided = outcome.status is Status.INFEASIBLE
            attempts.note(proved=self.decided, found=True, better=bool(self.best and self.best.cost != cost))
            if self.budget.left <= 0:
                break

    def postpone(self) -> None:
        """Search for the cheapest schedule as the paper does: jobs in the given order, schedule or postpone."""
        attempts = self.limit.attempts()
        for limit in attempts:
            seconds = self.budget.part(limit)
            if seconds <= 0:
                break
            below = None if self.best is None else self.best.cost
            outcome = schedule_or_postpone(self.problem, self.end, seconds, wall=self.limit.wall, below=below)
            self.solver_time += outcome.spent
            self.budget.charge(outcome.spent)
            better = False
            if outcome.starts is not None:
                cost = self.problem.cost(outcome.starts)
                schedule = Schedule(outcome.starts, cost, self.problem.slots[:, None])
                better = self.usable(schedule) and self.offer(schedule, "schedule-or-postpone")
            if outcome.proved:
                self.status = Status.INFEASIBLE if self.best is None else Status.OPTIMAL
                self.least = None if self.best is None else self.best.cost
            self.unsolved = not outcome.proved
            attempts.note(proved=outcome.proved, found=self.best is not None, better=better)

    def minimise(self) -> None:
        """Search for the cheapest schedule, from the best one so far."""
        attempts = self.limit.attempts()
        model = self.write()
        least = np.inf
        if model is None:
            self.unsolved = True
            return
        hinted = model.hint is not None
        for seconds in attempts:
            outcome = self.call(model, self.budget.part(seconds), hinted)
            better = False
            self.unsolved = outcome.at_limit
            if outcome.found:
                schedule = model.schedule(outcome, self.budget)
                self.refused |= schedule is None and bool(self.beside)
                reached = outcome.solver.objective_value
                better = reached < least
                least = min(reached, least)
                kept = self.offer(schedule, "cp-sat")
                best = schedule is not None and self.best is not None and self.value(self.best) == self.value(schedule)
                if outcome.status is Status.OPTIMAL and (kept or best):
                    self.status = Status.OPTIMAL
                if self.linear or self.objective is None:
                    self.least = max(model.lateness.constant + outcome.bound, self.least or 0)
                if schedule is not None and better:
                    hinted = True
                    model.suggest(schedule)
            proved = outcome.status in {Status.OPTIMAL, Status.INFEASIBLE}
            if outcome.status is Status.INFEASIBLE and self.best is None:
                self.status = Status.INFEASIBLE
            attempts.note(proved=proved, found=outcome.found, better=better)
            if self.budget.left <= 0:
                break

    def answer(self) -> Answer:
        """Return the result so far."""
        least = self.least
        if self.best is not None and least is not None:
            least = min(least, self.best.cost)
        return Answer(
            self.status,
            self.best,
            least,
            self.source,
            self.decided,
            self.listed,
            self.solver_time,
            self.budget.spent,
            self.budget.exceeded,
            self.unsolved and self.best is None,
            self.refused,
        )


def _alone(problem: Problem) -> int:
    """Return a lower bound on the cost: each job alone beside the occupied amounts."""
    starts = earliest_starts(problem)
    if starts is None:
        return least_cost(problem)
    late = problem.weight * np.maximum(starts - problem.due_start, 0)
    return int(np.minimum.reduceat(late, problem.first_rows).sum())
