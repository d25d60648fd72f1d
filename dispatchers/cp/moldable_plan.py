"""Moldable jobs of the CP dispatchers: size and start are decided together, from a row of the problem for each size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ...base import IntArray
from ...models import (
    Answer,
    Problem,
    Schedule,
    Status,
    best_of,
    earliest_starts,
    in_order,
    least_cost,
    list_orders,
    list_schedule,
    solve_pooled,
)
from ...workloads import Machine
from ..moldable.job_modes import JobModes, modes_that_fit
from ..problems import problem_of
from ..protocol import State, Waiting
from ..space import NodeSpace, PoolSpace, Space
from .candidates import Candidates, Chosen, most_urgent
from .cp_options import Filter
from .cp_plan import Plan, Planner
from .restrictions import Restrictions
from .site_objectives import Goal, Objective

#: Modes of all jobs of a plan with which CP-SAT is asked: with more it hardly proves anything within its limits.
MOST_ROWS = 12


def moldable_candidates(
    state: State, space: PoolSpace | NodeSpace, modes: JobModes, goal: Goal, filtered: Filter, most: int
) -> Candidates:
    """Return the first `most` jobs by priority of those that fit now in some mode; nobody else."""
    each = modes.of_queue(state)
    if not each:
        return Candidates([], [])
    rows = [mode.waiting for job in each for mode in job]
    fits = modes_that_fit(state, space, rows, pooled=filtered == "pool")
    some = np.logical_or.reduceat(fits, np.cumsum([0, *map(len, each[:-1])]))
    return Candidates(most_urgent(state, goal, np.flatnonzero(some), most), [])


def all_fastest(space: Space, modes: JobModes, jobs: Sequence[Waiting], machine: Machine) -> Chosen | None:
    """Return all jobs in their fastest modes if the sums leave room for them together: the best there can be."""
    fastest = [modes.fastest(job, machine) for job in jobs]
    for resource, free in enumerate(space.totals):
        if sum(entry.nodes * entry.demand[resource] for entry in fastest) > free:
            return None
    return [(entry, None) for entry in fastest]


@dataclass(frozen=True, eq=False)
class EndObjective(Objective):
    """An objective of jobs by the starts of their modes, -1 for those that are not taken: the end counts.

    A job is as late as it would be in its fastest mode with the same end; so the slowdown is over the least time that
    it could take.

    Attributes
    ----------
    fastest, duration
        Seconds that a job takes in its fastest mode, and in this one, shape (rows,).
    """

    fastest: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    duration: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def value(self, starts: IntArray) -> float:
        """Return the objective of a schedule, recomputed."""
        late = starts + self.duration - self.fastest
        if self.due is not None:
            late = np.maximum(late - self.due, 0)
        return float((self.rates * late)[starts >= 0].sum()) + self.constant


@dataclass(eq=False)
class ModesPlanner(Planner):
    """How plans of moldable jobs are made.

    Attributes
    ----------
    modes
        Of the jobs.
    """

    modes: JobModes = field(default_factory=JobModes)

    def plan(self, state: State, candidates: Candidates, most: int, restrictions: Restrictions | None = None) -> Plan:
        """Look for the best modes and starts of the candidates; as always if nobody has a choice.

        Under constraints for all sites, which know no modes, every job runs on its own request.
        """
        jobs = candidates.fitting
        if self.families or all(len(self.modes.of(job, state.machine)) == 1 and not job.job.shapes for job in jobs):
            return super().plan(state, candidates, most, restrictions)
        each = [[mode.waiting for mode in self.modes.of(job, state.machine)] for job in jobs]
        rows, job_of = [entry for modes in each for entry in modes], np.repeat(np.arange(len(jobs)), [*map(len, each)])
        objective = self._ends(jobs, rows, job_of, state)
        due = None if objective.due is None else objective.due + objective.fastest
        problem, scale = problem_of(
            state, rows, objective.rates, due=due, overdue=bool(self.options.underestimates)
        )  # fmt: skip
        problem = replace(problem, mode_of=job_of)
        listed, answer = self._planned_modes(problem, rows)
        used = "list" if answer.source == "hint" else answer.source
        return Plan(rows, objective, scale, problem, listed, answer, answer.schedule, used)

    def objective(self, jobs: list[Waiting], chosen: Sequence[Waiting], state: State) -> EndObjective:
        """Return what the ends of jobs cost, each in the mode that is chosen."""
        return self._ends(jobs, chosen, np.arange(len(jobs)), state)

    def _ends(self, jobs: list[Waiting], rows: Sequence[Waiting], job_of: IntArray, state: State) -> EndObjective:
        fastest = [self.modes.fastest(job, state.machine).predicted for job in jobs]
        shown = [job.shown_as(predicted=least) for job, least in zip(jobs, fastest, strict=True)]
        terms = self.goal.objective(shown, state.now)
        return EndObjective(
            terms.rates[job_of], None if terms.due is None else terms.due[job_of], terms.constant,
            np.array(fastest, dtype=np.int64)[job_of], np.array([row.predicted for row in rows], dtype=np.int64),
        )  # fmt: skip

    def _planned_modes(self, problem: Problem, rows: list[Waiting]) -> tuple[Schedule | None, Answer]:
        if self.goal.failure:
            return list_schedule(problem, problem.first_rows), Answer(Status.UNKNOWN, None, None, 0.0, "none")
        orders = list_orders(problem)
        orders.append(self._resumed(rows, orders[1]))
        listed, which = best_of(problem, orders)
        if listed is None:
            return None, Answer(Status.INFEASIBLE, None, None, 0.0, "none")
        least = _least(problem)
        if listed.cost == least:
            return listed, Answer(Status.OPTIMAL, listed, least, 0.0, "list")
        best, source = self._improved(problem, listed, orders[which])
        answer = Answer(Status.OPTIMAL if best.cost == least else Status.FEASIBLE, best, least, 0.0, source)
        if self.options.solver == "cp-sat" and answer.status is not Status.OPTIMAL and problem.jobs <= MOST_ROWS:
            answer = solve_pooled(problem, best, self.options.solver_limit)
            answer = replace(answer, source=source) if answer.source == "hint" else answer
        assert answer.schedule is not None
        self.last = [rows[row].order for row in in_order(answer.schedule.starts).tolist()]
        return listed, answer


def _least(problem: Problem) -> int:
    """Return what the jobs cost if each were alone beside what is held."""
    alone = earliest_starts(problem)
    if alone is None:
        return least_cost(problem)
    late = problem.weight * np.maximum(alone - problem.due_start, 0)
    return int(np.minimum.reduceat(late, problem.first_rows).sum())
