"""The scheduling model as master of a decomposition: pooled, with cuts for what the nodes cannot hold."""

from __future__ import annotations

import numpy as np
from ortools.sat.python import cp_model

from ...base import IntArray
from ..scheduling.list_schedules import Schedule
from ..scheduling.problem import Problem
from .cuts import Cut
from .pooled import SchedulingModel


class Master(SchedulingModel):
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
        self.times = problem.profile[0]
        self.seen: set[bytes] = set()
        self.fixed: dict[tuple[int, int], cp_model.IntervalVar] = {}
        super().__init__(problem, hint)
        for job, time in zip(self.jobs, earliest.tolist(), strict=True):
            if time:
                self.model.add(job.start >= time)

    def add_capacity(self, every_resource: bool = False) -> None:
        """Add a cumulative for each resource of the pool."""
        free = np.maximum(self.problem.profile[1][:, 0], 0)
        for resource, need in enumerate(self.problem.need.T):
            if need.any() or every_resource:
                self.add_cut(Cut(need, np.minimum(free[:, resource], need.sum())))

    def add_cut(self, cut: Cut) -> bool:
        """Add an inequality as a cumulative; return whether it is new."""
        if cut.key in self.seen:
            return False
        self.seen.add(cut.key)
        jobs = np.flatnonzero(cut.demand)
        most = int(cut.level.max())
        intervals = [self.jobs[job].interval for job in jobs.tolist()]
        demands = cut.demand[jobs].tolist()
        changes = np.flatnonzero(np.diff(cut.level, prepend=-1))
        begins = self.times[changes].tolist()
        ends = [*begins[1:], max(self.horizon, begins[-1] + 1)]
        for begin, end, level in zip(begins, ends, cut.level[changes].tolist(), strict=True):
            if level < most:
                intervals.append(self.span(begin, end))
                demands.append(most - level)
        self.model.add_cumulative(intervals, demands, most)
        return True

    def span(self, begin: int, end: int) -> cp_model.IntervalVar:
        """Return the interval between two times."""
        if (begin, end) not in self.fixed:
            self.fixed[begin, end] = self.model.new_fixed_size_interval_var(begin, end - begin, "")
        return self.fixed[begin, end]

    def solver(self, limit: float, *, wall: bool = False, below: bool = False) -> cp_model.CpSolver:
        """Return a solver; the hint may be far from what is best here, so the search does not stay near it.

        Parameters
        ----------
        limit, wall
            As for the scheduling model.
        below
            Whether to search from below, for the sake of the bound.
        """
        solver = super().solver(limit, wall=wall)
        solver.parameters.search_branching = cp_model.AUTOMATIC_SEARCH
        solver.parameters.exploit_best_solution = not below
        solver.parameters.optimize_with_core = below
        return solver

    def confine(self, bound: int) -> None:
        """Look for no cost below a bound: the first schedule of that cost is the best."""
        domain = self.model.proto.objective.domain
        domain.clear()
        domain.extend([bound - self.constant, np.iinfo(np.int64).max])

    def forbid(self, core: tuple[int, ...], starts: IntArray, monotone: bool) -> None:
        """Forbid that jobs run beside each other as they do at `starts`, which no placement allows.

        Where what is held only shrinks: of those that overlap, some two must not, or one starts when more is free.
        Otherwise one starts at another time.
        """
        ways: list[cp_model.IntVar] = []
        for job in core:
            time = int(starts[job])
            if not monotone:
                ways.append(self.when(self.jobs[job].start <= time - 1))
                ways.append(self.when(self.jobs[job].start >= time + 1))
                continue
            later = int(np.searchsorted(self.times, time, side="right"))
            if later < len(self.times):
                ways.append(self.when(self.jobs[job].start >= int(self.times[later])))
        if monotone:
            ends = starts + self.problem.duration
            pairs = [(a, b) for a in core for b in core if a != b and starts[a] < ends[b] and starts[b] < ends[a]]
            for before, after in pairs:
                end = self.jobs[before].start + int(self.problem.duration[before])
                ways.append(self.when(end <= self.jobs[after].start))
        self.model.add_bool_or(ways)

    def when(self, holds: cp_model.BoundedLinearExpression | bool) -> cp_model.IntVar:
        """Return a literal that makes a constraint hold."""
        literal = self.model.new_bool_var("")
        self.model.add(holds).only_enforce_if(literal)
        return literal
