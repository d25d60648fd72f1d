"""The scheduling model on CP-SAT: start times for waiting jobs on pooled resources."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from ortools.sat.python import cp_model

from ...base import IntArray
from ..scheduling.list_schedules import Schedule, list_schedule
from ..scheduling.problem import Problem
from .answer import Answer, Limit, Status

_STATUS = {cp_model.OPTIMAL: Status.OPTIMAL, cp_model.FEASIBLE: Status.FEASIBLE, cp_model.INFEASIBLE: Status.INFEASIBLE}


@dataclass(frozen=True, slots=True)
class JobVariables:
    """What the model knows of one job.

    Attributes
    ----------
    start
        Seconds from now.
    interval
        From its start for its duration.
    late
        Seconds past its due date; the start itself where that is a constant less.
    """

    start: cp_model.IntVar
    interval: cp_model.IntervalVar
    late: cp_model.IntVar


class SchedulingModel:
    """Interval variables, a cumulative for each resource, and the cost as objective (CP 2019, section 2.2).

    The resources of all nodes are pooled, as HCP has them. What makes it fast: a complete hint that bounds the start
    times by its cost, jobs that differ in nothing put in order, and search parameters for small models.

    Parameters
    ----------
    problem
        Jobs and machine; pooled if it is not.
    hint
        A schedule that holds, to begin with; nothing worse is looked for.
    horizon
        No job ends later; by default late enough for all of them one after the other.
    every_resource
        Whether a resource that no job asks for is constrained as well, as version 0 of the paper has it.

    Attributes
    ----------
    model
        CP-SAT's model, for further constraints.
    jobs
        The variables, one entry a job.
    """

    def __init__(
        self,
        problem: Problem,
        hint: Schedule | None = None,
        *,
        horizon: int | None = None,
        every_resource: bool = False,
    ) -> None:
        self.problem = problem.pooled
        self.horizon = self.problem.horizon if horizon is None else horizon
        self.chains = list(comparable(self.problem))
        self.hint = None if hint is None else ordered(self.problem, hint.starts, self.chains)
        if self.hint is not None and int((self.hint + self.problem.duration).max(initial=0)) > self.horizon:
            self.hint = None
        self.model = cp_model.CpModel()
        self.jobs: list[JobVariables] = []
        self.add_jobs()
        self.add_capacity(every_resource)
        self.add_order()
        self.add_objective()
        self.add_hint()

    def add_jobs(self) -> None:
        """Make the variables: a start between now and the horizon, and no later than the hint's cost allows."""
        problem, model = self.problem, self.model
        latest = self.horizon - problem.duration
        if self.hint is not None:
            delay = problem.cost(self.hint) // np.maximum(problem.weight, 1)
            bound = np.where(problem.weight > 0, np.maximum(problem.due, 0) + delay, latest)
            latest = np.minimum(latest, bound)
        for most, duration, due in zip(latest.tolist(), problem.duration.tolist(), problem.due.tolist(), strict=True):
            start = model.new_int_var(0, max(most, 0), "")
            late = start
            if due > 0:
                late = model.new_int_var(0, max(most - due, 0), "")
                model.add(late >= start - due)
            if most < 0:
                model.add_bool_or(())  # It cannot end by the horizon.
            self.jobs.append(JobVariables(start, model.new_fixed_size_interval_var(start, duration, ""), late))

    def add_capacity(self, every_resource: bool = False) -> None:
        """Add a cumulative for each resource, with what is held as fixed intervals."""
        problem = self.problem
        spans, index = np.unique(np.column_stack((problem.held_from, problem.held_to)), axis=0, return_inverse=True)
        held = np.zeros((len(spans), problem.capacity.shape[1]), dtype=np.int64)
        np.add.at(held, index.ravel(), problem.held_amount)
        fixed = {
            span: self.model.new_fixed_size_interval_var(begin, end - begin, "")
            for span, (begin, end) in enumerate(spans.tolist())
        }
        for resource, capacity in enumerate(problem.capacity[0].tolist()):
            need = problem.need[:, resource]
            if not (need.any() or every_resource):
                continue
            asking = np.flatnonzero(need)
            holding = np.flatnonzero(held[:, resource])
            self.model.add_cumulative(
                [self.jobs[job].interval for job in asking.tolist()] + [fixed[span] for span in holding.tolist()],
                need[asking].tolist() + held[holding, resource].tolist(),
                capacity,
            )

    def add_order(self) -> None:
        """Start jobs that differ in nothing in a fixed order."""
        for chain in self.chains:
            for before, after in pairwise(chain):
                self.model.add(self.jobs[before].start <= self.jobs[after].start)

    def add_objective(self) -> None:
        """Minimise the cost: a constant less where a job is late already."""
        weights = self.problem.weight.tolist()
        self.model.minimize(cp_model.LinearExpr.weighted_sum([job.late for job in self.jobs], weights))

    def add_hint(self) -> None:
        """Give the solver the hint, complete."""
        if self.hint is None:
            return
        for job, start, due in zip(self.jobs, self.hint.tolist(), self.problem.due.tolist(), strict=True):
            self.model.add_hint(job.start, start)
            if job.late is not job.start:
                self.model.add_hint(job.late, max(start - due, 0))

    @property
    def constant(self) -> int:
        """What the cost has beside the objective: the weight of what is late already."""
        problem = self.problem
        return int((problem.weight * np.maximum(-problem.due, 0)).sum())

    def solver(self, limit: float, *, wall: bool = False) -> cp_model.CpSolver:
        """Return a solver with the parameters that serve best here, one worker, and a limit in seconds."""
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
        if self.hint is not None:
            parameters.search_branching = cp_model.HINT_SEARCH
        return solver

    def solve(self, limit: Limit) -> Answer:
        """Solve within a limit; without a schedule, again with twice as much while the limit allows."""
        spent = 0.0
        status, starts, bound = Status.UNKNOWN, None, None
        for seconds in limit.attempts():
            solver = self.solver(seconds, wall=limit.wall)
            status = _STATUS.get(solver.solve(self.model), Status.UNKNOWN)
            spent += solver.deterministic_time
            if status in {Status.OPTIMAL, Status.FEASIBLE}:
                starts = np.array([solver.value(job.start) for job in self.jobs], dtype=np.int64)
            if status is not Status.UNKNOWN:
                bound = None if status is Status.INFEASIBLE else self.constant + math.ceil(solver.best_objective_bound)
                break
        return self.judge(status, starts, bound, spent)

    def judge(self, status: Status, starts: IntArray | None, bound: int | None, spent: float) -> Answer:
        """Return the better of the hint and what the solver found, its jobs moved up where they can be."""
        problem = self.problem
        slots = problem.slots[:, None]
        found = None
        if starts is not None:
            found = Schedule(starts, problem.cost(starts), slots)
            packed = list_schedule(problem, np.argsort(starts, kind="stable"))
            if packed is not None and packed.cost <= found.cost:
                found = packed
        if self.hint is not None:
            hint = Schedule(self.hint, problem.cost(self.hint), slots)
            if found is None or hint.cost <= found.cost:
                proved = status if found is not None and hint.cost == found.cost else Status.FEASIBLE
                return Answer(proved, hint, bound, spent, "hint")
        return Answer(status, found, bound, spent, "none" if found is None else "solver")


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
    problem, hint, horizon, every_resource
        As for :class:`SchedulingModel`.
    limit
        How long the solver may think.
    """
    return SchedulingModel(problem, hint, horizon=horizon, every_resource=every_resource).solve(limit)


def comparable(problem: Problem) -> Iterator[list[int]]:
    """Yield chains of jobs that may be started in that order without loss.

    They ask for the same, the weight does not rise along a chain and the due date does not fall, so that swapping two
    that are out of order never costs more. An order of jobs that dominate each other in demand or duration would lose
    schedules.
    """
    for group in problem.alike:
        by_urgency = group[np.lexsort((problem.due[group], -problem.weight[group]))]
        chain = [int(by_urgency[0])]
        for job in by_urgency[1:].tolist():
            if problem.due[job] >= problem.due[chain[-1]]:
                chain.append(job)
                continue
            if len(chain) > 1:
                yield chain
            chain = [job]
        if len(chain) > 1:
            yield chain


def ordered(problem: Problem, starts: IntArray, chains: list[list[int]]) -> IntArray:
    """Return start times that hold and cost no more, rising along each chain."""
    starts = starts.copy()
    for chain in chains:
        starts[chain] = np.sort(starts[chain])
    return starts
