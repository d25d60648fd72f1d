"""The scheduling model as master of a decomposition: pooled, with cuts for what the nodes cannot hold."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from ortools.sat.python import cp_model

from ...base import IntArray
from ..scheduling.list_schedules import Schedule
from ..scheduling.problem import Problem
from .constraints import CutCapacity, LikeInOrder, NotBefore
from .cuts import Cut
from .pooled import SchedulingModel
from .solver import Outcome, call, make_solver


class Master:
    """The pooled model with the earliest start of each job alone on the nodes, and cuts.

    Parameters
    ----------
    problem
        Jobs and machine, with its nodes.
    hint
        A schedule that can be placed.
    earliest
        Shape (jobs,).
    """

    def __init__(self, problem: Problem, hint: Schedule | None, earliest: IntArray) -> None:
        self.cuts = CutCapacity()
        self.scheduling = SchedulingModel(
            problem, hint, constraints=(self.cuts, LikeInOrder(), NotBefore(earliest))
        )  # fmt: skip
        self.variables = self.scheduling.variables

    def add_cuts(self, cuts: Iterable[Cut]) -> bool:
        """Add inequalities; return whether one of them is new."""
        return bool([cut for cut in cuts if self.cuts.add(self.variables, cut)])

    def search(self, limit: float, *, wall: bool, bound: int, below: bool = False) -> Outcome:
        """Solve it once; the hint may be far from what is best here, so the search does not stay near it.

        Parameters
        ----------
        limit, wall
            As for :func:`.solver.make_solver`.
        bound
            No cost below it is looked for: the first schedule of that cost is the best.
        below
            Whether to search from below, for the sake of the bound.
        """
        domain = self.variables.model.proto.objective.domain
        domain.clear()
        domain.extend([bound - self.scheduling.constant, np.iinfo(np.int64).max])
        solver = make_solver(limit, wall=wall)
        solver.parameters.search_branching = cp_model.AUTOMATIC_SEARCH
        solver.parameters.exploit_best_solution = not below
        solver.parameters.optimize_with_core = below
        return call(solver, self.variables.model)

    def forbid(self, core: tuple[int, ...], starts: IntArray, monotone: bool) -> None:
        """Forbid that jobs run beside each other as they do at `starts`, which no placement allows.

        Where what is held only shrinks: of those that overlap, some two must not, or one starts when more is free.
        Otherwise one starts at another time.
        """
        ways = self._other_start_ways(core, starts) if not monotone else self._apart_ways(core, starts)
        self.variables.model.add_bool_or(ways)

    def _other_start_ways(self, core: tuple[int, ...], starts: IntArray) -> list[cp_model.IntVar]:
        """Return literals of ``start[j] < s[j]`` and of ``start[j] > s[j]``, j in the core."""
        literal, jobs = self.variables.literal, self.variables.jobs
        return [
            way
            for job in core
            for way in (
                literal(jobs[job].start <= int(starts[job]) - 1),
                literal(jobs[job].start >= int(starts[job]) + 1),
            )
        ]

    def _apart_ways(self, core: tuple[int, ...], starts: IntArray) -> list[cp_model.IntVar]:
        """Return literals of ``start[j] >= t``, when more is free, and of ``end[j] <= start[k]`` where they overlap."""
        literal, jobs, problem = self.variables.literal, self.variables.jobs, self.scheduling.problem
        times, ends = problem.classes.times, starts + problem.duration
        later = [(job, int(np.searchsorted(times, int(starts[job]), side="right"))) for job in core]
        ways = [literal(jobs[job].start >= int(times[step])) for job, step in later if step < len(times)]
        for before in core:
            for after in core:
                if before != after and starts[before] < ends[after] and starts[after] < ends[before]:
                    ways.append(literal(jobs[before].start + int(problem.duration[before]) <= jobs[after].start))
        return ways
