"""Jobs that cannot be packed together, and the inequalities that follow."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

import numpy as np

from ...base import IntArray
from ..scheduling.problem import Problem
from .allocation import check, pack_at_once
from .cuts import Cut
from .integer_packing import pack_most
from .packing import first_together
from .packing_models import packing_at

#: Jobs that a core may have to be lifted, and subsets looked at for it.
LIFTED_CORE = 5
#: From more jobs on, a search through all placements is not tried.
MANY = 10
#: What an integer program counts as, in deterministic seconds.
PROGRAM = 0.004
#: Pairs of a job and a node that it fits on, up to which there is one.
LARGEST = 500
LIFTED_SUBSETS = 60
#: Slots that are placed before the search for a place of two jobs is given up.
PLACED = 200


class Packer:
    """Which jobs can be packed at once at which step of a problem's profile.

    Parameters
    ----------
    problem
        Jobs and machine.
    limit
        Deterministic seconds of one exact check.
    tries
        How often best-fit is tried in each of its orders before that.
    branches
        Nodes of the search tree of an integer program where that does not tell.

    Attributes
    ----------
    monotone
        Whether what is held only shrinks.
    spent
        Deterministic time of the checks so far.
    budget
        How much it may be at most.
    """

    def __init__(self, problem: Problem, limit: float, tries: int, branches: int) -> None:
        self.problem = problem
        self.limit = limit
        self.tries = tries
        self.branches = branches
        self.monotone = not problem.held_from.any()
        self.spent = 0.0
        self.budget = 0.0
        self.first = np.zeros((problem.jobs, problem.jobs), dtype=np.int64)
        if self.monotone:
            classes = problem.classes
            first_together(problem.slots, problem.demand, classes.free, classes.count, PLACED, self.first)

    def core(self, step: int, jobs: IntArray, *, thorough: bool = False) -> tuple[IntArray, int] | None:
        """Return some of the jobs and how many of them can run at once at a step, fewer than all.

        ``None`` if all the jobs can be packed, or nobody knows. An integer program is tried only if `thorough`.
        """
        conflict = np.argwhere(np.triu(self.first[np.ix_(jobs, jobs)] > step))
        if len(conflict):
            return jobs[conflict[0]], 1
        if len(jobs) <= MANY:
            found = self.searched(step, jobs)
            if found is not None:
                return None if found else (jobs, len(jobs) - 1)
        packing = packing_at(self.problem, step, jobs)
        if packing.greedy(self.tries) is not None or self.spent >= self.budget:
            return None
        checked = check(packing, self.limit)
        self.spent += checked.time
        few = packing.few
        if checked.possible is not None or not thorough or np.count_nonzero(few.fits) > LARGEST:
            return (jobs[list(checked.core)], len(checked.core) - 1) if checked.possible is False else None
        self.spent += PROGRAM
        most = pack_most(few.fits, few.slots, few.demand, few.classes.free[0], np.ones_like(jobs), self.branches).most
        return (jobs, most) if most < len(jobs) else None

    def searched(self, step: int, jobs: IntArray) -> bool | None:
        """Decide by a short search whether jobs can be packed at once at a step."""
        problem, classes = self.problem, self.problem.classes
        return pack_at_once(classes.free[step], problem.slots[jobs], problem.demand[jobs], classes.count)

    def pairs(self, starts: IntArray, jobs: IntArray) -> list[Cut]:
        """Return cuts for jobs that run at once and cannot in pairs, each with all that conflict with each other."""
        cuts: dict[bytes, Cut] = {}
        ends = starts + self.problem.duration
        for time in np.unique(starts[jobs]).tolist():
            running = jobs[(starts[jobs] <= time) & (time < ends[jobs])]
            step = self.step(time)
            for one, two in np.argwhere(np.triu(self.first[np.ix_(running, running)] > step)).tolist():
                cut = self.clique(step, int(running[one]), int(running[two]))
                cuts[cut.key] = cut
        return list(cuts.values())

    def step(self, time: int) -> int:
        """Return the step of the profile that holds a time."""
        return int(np.searchsorted(self.problem.classes.times, time, side="right")) - 1

    def clique(self, step: int, one: int, two: int) -> Cut:
        """Return the cut of two jobs in conflict, and more that conflict with all for as long."""
        until = int(self.first[one, two])
        clique = [one, two]
        for job in np.argsort(-self.problem.weight, kind="stable").tolist():
            if job not in clique and (self.first[job, clique] >= until).all():
                clique.append(job)
        return self.cut(clique, 1, 0, until)

    def cut(self, jobs: Iterable[int], level: int, step: int, until: int) -> Cut:
        """Return the cut that of some jobs so many run at once at most, from a step to before another.

        Where what is held only shrinks, before the first as well.
        """
        demand = np.zeros(self.problem.jobs, dtype=np.int64)
        demand[list(jobs)] = 1
        steps = np.arange(len(self.problem.classes.times))
        holds = (steps < until) & (self.monotone | (steps >= step))
        return Cut(demand, np.where(holds, level, int(demand.sum())))

    def cores(self, starts: IntArray, jobs: IntArray, most: int = 4) -> list[Cut]:
        """Return cuts for times at which the jobs that run cannot be packed, `most` for each time at most."""
        cuts: list[Cut] = []
        ends = starts + self.problem.duration
        for time in np.unique(starts[jobs]).tolist():
            running = jobs[(starts[jobs] <= time) & (time < ends[jobs])]
            step = self.step(time)
            for _ in range(most):
                # Leave what is forbidden already to the cuts there are.
                if len(running) < 2 or any(int(cut.demand[running].sum()) > cut.level[step] for cut in cuts):
                    break
                found = self.core(step, running, thorough=True)
                if found is None:
                    break
                core, level = found
                if level == len(core) - 1:
                    core = self.shrunk(step, core)
                    cuts.extend(self.core_cuts(step, core))
                else:
                    cuts.append(self.cut(core, level, step, step + 1))
                running = running[running != core[self.problem.weight[core].argmin()]]
        return cuts

    def shrunk(self, step: int, core: IntArray) -> IntArray:
        """Return a core without jobs that it does not need, those of least weight left out first."""
        for job in core[np.argsort(self.problem.weight[core], kind="stable")].tolist():
            rest = core[core != job]
            if 1 < len(rest) < len(core):
                smaller = self.core(step, rest)
                if smaller is not None and smaller[1] == len(smaller[0]) - 1:
                    core = smaller[0]
        return core

    def core_cuts(self, step: int, core: IntArray) -> list[Cut]:
        """Return the cuts of a core: as long as it holds, and with all jobs that it holds for at the step."""
        until = self.until(step, core)
        cuts = [self.cut(self.lifted(until - 1, core), len(core) - 1, step, until)]
        if until - 1 > step:
            cuts.append(self.cut(self.lifted(step, core), len(core) - 1, step, step + 1))
        return cuts

    def until(self, step: int, core: IntArray) -> int:
        """Return the first step after one at which a core may fit."""
        low, high = step, len(self.problem.classes.times) if self.monotone else step + 1
        while high - low > 1:
            middle = (low + high) // 2
            if self.core(middle, core) is None:
                high = middle
            else:
                low = middle
        return high

    def lifted(self, step: int, core: IntArray) -> list[int]:
        """Return a core and more jobs, of which no more than of the core can run at once at a step."""
        jobs: list[int] = core.tolist()
        if len(core) > LIFTED_CORE:
            return jobs
        for job in np.argsort(-self.problem.weight, kind="stable").tolist():
            subsets = list(combinations(jobs, len(core) - 1))
            if len(subsets) > LIFTED_SUBSETS:
                break
            if job not in jobs and all(self.searched(step, np.array([*rest, job])) is False for rest in subsets):
                jobs.append(job)
        return jobs
