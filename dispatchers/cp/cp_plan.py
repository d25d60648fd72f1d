"""The plan of one decision: the candidates as a problem, its hint, and the solver's answer."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...models import (
    Answer,
    Problem,
    Schedule,
    Status,
    best_of,
    improve,
    list_orders,
    list_schedule,
    solve_direct,
    solve_placed,
    solve_pooled,
)
from ..problems import problem_of
from ..protocol import State, Waiting
from .candidates import Chosen
from .cp_options import ConstraintProgrammingOptions
from .objectives import Goal, Objective


@dataclass(frozen=True, eq=False)
class Plan:
    """When the candidates start.

    Attributes
    ----------
    waiting
        Who gets a start time.
    objective, scale
        What is minimised, and the weight in `problem` that stands for a rate of one.
    problem
        What was to be solved.
    hint
        What the solver began with, if anything.
    answer
        What it said.
    schedule
        What is followed: the solver's, the list's, or ``None`` to wait.
    used
        Whose it is: ``hint``, ``solver``, ``list`` or ``none``.
    """

    waiting: list[Waiting]
    objective: Objective
    scale: float
    problem: Problem
    hint: Schedule | None
    answer: Answer
    schedule: Schedule | None
    used: str

    def starting(self, pooled: bool) -> Chosen:
        """Return who starts now, in order of priority, and where unless the nodes are pooled."""
        if self.schedule is None:
            return []
        now = np.flatnonzero(self.schedule.starts == 0).tolist()
        nodes = self.problem.nodes
        if pooled or nodes == 1:
            return [(self.waiting[index], None) for index in now]
        return [(self.waiting[index], np.repeat(np.arange(nodes), self.schedule.counts[index])) for index in now]


@dataclass(frozen=True, eq=False)
class Planner:
    """How plans are made.

    Attributes
    ----------
    options
        Settled.
    goal
        The objective.
    rng
        Of the local search.
    """

    options: ConstraintProgrammingOptions
    goal: Goal
    rng: np.random.Generator

    def plan(self, state: State, candidates: list[Waiting], most: int) -> Plan:
        """Ask the solver; without its schedule take the list's, or wait if there is proved to be none.

        Parameters
        ----------
        state, candidates
            Now, and who may get a start time, in order of priority.
        most
            How many do, where all jobs are candidates: the others are put at the end of the horizon.
        """
        horizon = self._horizon(state, candidates)
        free, pinned = self._split(candidates, most, horizon)
        objective = self.goal.objective(free, state.now)
        problem, scale = problem_of(
            state, free, objective.rates, due=objective.due, pooled=self.options.formulation == "hcp",
            overdue=bool(self.options.underestimates), pinned=pinned,
        )  # fmt: skip
        listed, hint = self._hint(problem)
        answer = self._solve(problem, hint, horizon)
        schedule, used = answer.schedule, answer.source
        if schedule is None and (answer.status is not Status.INFEASIBLE or not state.running):
            schedule, used = listed, "list"
        return Plan(free, objective, scale, problem, hint, answer, schedule, used)

    def _horizon(self, state: State, candidates: list[Waiting]) -> int:
        """Return the sum of all durations, from now."""
        remaining = [run.predicted_end - state.now for run in state.running]
        if self.options.underestimates:
            remaining = [max(rest, 1) for rest in remaining]
        return sum(remaining) + sum(entry.predicted for entry in candidates)

    def _split(
        self, candidates: list[Waiting], most: int, horizon: int
    ) -> tuple[list[Waiting], list[tuple[Waiting, int]]]:
        """Return who gets a start time, and who is put at the end of the horizon, with his start."""
        if self.options.reduced or self.options.formulation == "pcp":
            return candidates, []
        return candidates[:most], [(entry, max(horizon - entry.predicted, 0)) for entry in candidates[most:]]

    def _hint(self, problem: Problem) -> tuple[Schedule | None, Schedule | None]:
        """Return the list schedule of the priority, and what the solver gets as its hint.

        Version 0 of PCP has the solver's own search, from nothing; that of HCP goes by the priority first.
        """
        if not self.options.reduced:
            listed = list_schedule(problem, np.arange(problem.jobs))
            holds = self.options.formulation == "hcp" and not problem.overfull
            return listed, listed if holds else None
        orders = list_orders(problem)
        best, which = best_of(problem, orders)
        if best is not None and self.options.iterations:
            best, _ = improve(problem, orders[which], self.options.iterations, self.rng)
        return best, best

    def _solve(self, problem: Problem, hint: Schedule | None, horizon: int) -> Answer:
        options, limit = self.options, self.options.solver_limit
        if options.formulation == "hcp" or problem.nodes == 1:
            return solve_pooled(problem, hint, limit, horizon=horizon, every_resource=not options.reduced)
        if not options.reduced:
            return solve_direct(problem, hint, limit, every_resource=True)
        # There is a list schedule, so that no second call with a higher limit can be needed.
        once = replace(limit, most=limit.first)
        return solve_placed(problem, hint, once, horizon=options.horizon)
