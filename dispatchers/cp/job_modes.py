"""Moldable jobs of the CP dispatchers: size and start are decided together, from a row of the problem for each size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from ...base import BoolArray, IntArray
from ...models import (
    Answer,
    Problem,
    Schedule,
    Status,
    best_of,
    earliest_starts,
    in_order,
    list_orders,
    list_schedule,
    solve_pooled,
)
from ...models import fitting as fitting_in
from ...workloads import Machine
from ..fitting import fitting as fitting_on
from ..fitting import needs
from ..moldable.rigid_jobs import as_rigid, sizes_of
from ..problems import problem_of
from ..protocol import Start, State, Waiting
from ..space import NodeSpace, PoolSpace
from .candidates import Candidates, Chosen, most_urgent
from .cp_options import Filter
from .cp_plan import Plan, Planner
from .restrictions import Restrictions
from .site_objectives import Goal, Objective

#: Modes of all jobs of a plan with which CP-SAT is asked: with more it hardly proves anything within its limits.
MOST_ROWS = 12


class Mode(NamedTuple):
    """A job on one of its sizes.

    Attributes
    ----------
    waiting
        The job as a rigid one.
    shape
        Index of its shape; ``None`` for its own request.
    """

    waiting: Waiting
    shape: int | None


class JobModes:
    """The modes of waiting jobs, kept for as long as they wait."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[Waiting, list[Mode]]] = {}

    def of(self, waiting: Waiting, machine: Machine) -> list[Mode]:
        """Return the modes of a job, its own request first, without those that take as much for no less time."""
        kept = self._kept.get(waiting.order)
        if kept is None or kept[0] is not waiting:
            kept = self._kept[waiting.order] = (waiting, _undominated(waiting, machine))
        return kept[1]

    def fastest(self, waiting: Waiting, machine: Machine) -> Waiting:
        """Return a job in its fastest mode."""
        return min((mode.waiting for mode in self.of(waiting, machine)), key=lambda entry: entry.predicted)

    def shaped(self, start: Start) -> Start:
        """Return the start of a mode as one of the moldable job."""
        shape = next(mode.shape for mode in self._kept[start.job.order][1] if mode.waiting is start.job)
        return start if shape is None else replace(start, shape=shape)

    def candidates(
        self, state: State, space: PoolSpace | NodeSpace, goal: Goal, filtered: Filter, most: int
    ) -> Candidates:
        """Return the first `most` jobs by priority of those that fit now in some mode; nobody else."""
        waiting = {entry.order: self._kept.get(entry.order) for entry in state.queue}
        self._kept = {order: kept for order, kept in waiting.items() if kept is not None}
        modes = [self.of(entry, state.machine) for entry in state.queue]
        fits = self._fitting(state, space, filtered, [mode.waiting for each in modes for mode in each])
        first = np.cumsum([0, *map(len, modes[:-1])])
        some = np.flatnonzero(np.logical_or.reduceat(fits, first)) if modes else np.zeros(0, dtype=np.int64)
        return Candidates(most_urgent(state, goal, some, most), [])

    @staticmethod
    def _fitting(state: State, space: PoolSpace | NodeSpace, filtered: Filter, rows: list[Waiting]) -> BoolArray:
        """Return which modes fit now, each alone."""
        ahead = State(state.now, rows, state.running, state.free, state.machine)
        need = needs(ahead.queue)
        if filtered == "nodes":
            return fitting_on(ahead, need, space)[0]
        return fitting_in(need, np.array(space.totals, dtype=np.int64))[0]

    def together(self, space: PoolSpace | NodeSpace, jobs: Sequence[Waiting], machine: Machine) -> Chosen | None:
        """Return all jobs in their fastest modes if these can start together: the best there can be."""
        fastest = [self.fastest(job, machine) for job in jobs]
        for resource, free in enumerate(space.totals):
            if sum(entry.nodes * entry.demand[resource] for entry in fastest) > free:
                return None
        return [(entry, None) for entry in fastest]


def _undominated(waiting: Waiting, machine: Machine) -> list[Mode]:
    modes = [Mode(as_rigid(waiting, size), size.shape) for size in sizes_of(waiting, machine)]
    needed = [tuple(mode.waiting.nodes * unit for unit in mode.waiting.demand) for mode in modes]
    times = [mode.waiting.predicted for mode in modes]
    left = []
    for place, mode in enumerate(modes):
        beaten = any(
            all(least <= unit for least, unit in zip(needed[other], needed[place], strict=True))
            and times[other] <= times[place]
            and (needed[other] != needed[place] or times[other] < times[place] or other < place)
            for other in range(len(modes))
        )
        if not beaten:
            left.append(mode)
    return left


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
        """Look for the best modes and starts of the candidates; as always if nobody has a choice."""
        jobs = candidates.fitting
        if all(len(self.modes.of(job, state.machine)) == 1 and not job.job.shapes for job in jobs):
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
        return problem.least_cost
    late = problem.weight * np.maximum(alone - problem.due_start, 0)
    return int(np.minimum.reduceat(late, problem.first_rows).sum())
