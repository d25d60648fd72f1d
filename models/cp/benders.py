"""Scheduling and allocation taken apart: start times on a pool, and inequalities for what the nodes cannot hold.

Logic-based Benders decomposition (Hooker and Ottosson, Mathematical Programming 96, 2003): the scheduling model is the
master; where its jobs cannot be placed, a few of them that cannot be packed together become a new constraint of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...base import IntArray
from ..scheduling.list_schedules import Schedule, best_of, earliest_starts, improve, list_orders, list_schedule
from ..scheduling.problem import Problem
from .allocation import Allocation, allocate
from .answer import Answer, Limit, Source, Status
from .bounds import linear_bound, time_edges
from .conflicts import Packer
from .cuts import Cut, Family, joined, sizes, slot_cuts, usable_cuts
from .master import Master
from .solver import Outcome


@dataclass(frozen=True, slots=True)
class Effort:
    """How the work is divided; counts and shares, so that the same problem gives the same answer.

    Attributes
    ----------
    iterations
        Orders that the local search on the nodes tries over the number of jobs, at first and again at last.
    polish
        Orders that it tries from each schedule of the master.
    rounds
        How often at most the master is solved.
    share
        Part of the time that one solution of the master may take, while that leads to new cuts.
    proof
        Part of the time that is left at last to a search from below, for the bound.
    packing
        Deterministic seconds of one exact check.
    tries
        How often best-fit is tried in each of its orders before that.
    branches
        Nodes of the search tree of an integer program where the check does not tell.
    intervals
        Intervals of time of the linear program for the bound, times the number of jobs.
    """

    iterations: int = 10_000
    polish: int = 30
    rounds: int = 60
    share: float = 0.3
    proof: float = 0.3
    packing: float = 0.005
    tries: int = 30
    branches: int = 50
    intervals: int = 4000


@dataclass
class Search:
    """The state of one solution.

    Attributes
    ----------
    best
        The best schedule known that can be placed.
    bound
        No schedule costs less.
    spent
        Deterministic time.
    last
        Deterministic time after which no more cuts are looked for.
    source
        Whose the best schedule is.
    """

    problem: Problem
    effort: Effort
    earliest: IntArray
    best: Schedule | None
    bound: int = 0
    spent: float = 0.0
    last: float = 0.0
    source: Source = "hint"
    family: Family = field(init=False)
    packer: Packer = field(init=False)
    cuts: list[Cut] = field(default_factory=list)
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def __post_init__(self) -> None:
        size = sizes(self.problem)
        whole = np.zeros((1, size.shape[1]), dtype=np.int64)
        usable = usable_cuts(self.problem, np.concatenate((whole, size)))
        self.family = joined((slot_cuts(self.problem, size), usable))
        self.packer = Packer(self.problem, self.effort.packing, self.effort.tries, self.effort.branches)

    @property
    def proved(self) -> bool:
        """Whether the best schedule is known to be so."""
        return self.best is not None and self.best.cost <= self.bound

    def offer(self, schedule: Schedule | None, source: Source) -> bool:
        """Keep a schedule, and who made it, if it is the best; return whether it is."""
        if schedule is None or (self.best is not None and schedule.cost >= self.best.cost):
            return False
        self.best, self.source = schedule, source
        return True

    def sequence(self) -> None:
        """Try list schedules on the nodes, and improve the best."""
        orders = list_orders(self.problem)
        if self.best is not None:
            orders.insert(0, self.order(self.best))
        found, which = best_of(self.problem, orders)
        if found is not None:
            self.offer(found, "list")
            self.improve(orders[which], self.effort.iterations // self.problem.jobs)

    def improve(self, order: IntArray, iterations: int) -> bool:
        """Improve an order that leads to a schedule; return whether it becomes the best."""
        return self.offer(improve(self.problem, order, iterations, self.rng)[0], "local search")

    @staticmethod
    def order(schedule: Schedule) -> IntArray:
        """Return the jobs as they start."""
        return np.argsort(schedule.starts, kind="stable")

    def loop(self, limit: Limit) -> Status:
        """Solve the master and add cuts until its schedule can be placed, or the time is up."""
        master = Master(self.problem, self.best, self.earliest)
        master.add_cuts(self.cuts)
        self.last = limit.most * (1 - self.effort.proof)
        closed = self.exchange(master, limit)
        if not closed and not self.proved and self.best is not None:
            self.improve(self.order(self.best), self.effort.iterations // self.problem.jobs)
        if not closed and not self.proved and limit.most > self.spent:
            closed = self.ask(master, limit, limit.most - self.spent, below=True).status is Status.INFEASIBLE
        if self.best is None:
            return Status.INFEASIBLE if closed else Status.UNKNOWN
        return Status.OPTIMAL if closed or self.proved else Status.FEASIBLE

    def exchange(self, master: Master, limit: Limit) -> bool:
        """Solve the master and learn from it, in turns; return whether it has no schedule any more."""
        share = limit.most * self.effort.share
        for _ in range(self.effort.rounds):
            left = self.last - self.spent
            if left <= 0:
                break
            outcome = self.ask(master, limit, min(left, share))
            if outcome.status is Status.INFEASIBLE:
                return True
            if self.proved or not outcome.found:
                break
            if not self.learn(master, master.variables.starts(outcome.solver)):
                share = left  # A better schedule of the master may tell more.
            if self.proved:
                break
        return False

    def ask(self, master: Master, limit: Limit, seconds: float, *, below: bool = False) -> Outcome:
        """Solve the master; raises the bound unless it has no schedule."""
        outcome = master.search(seconds, wall=limit.wall, bound=self.bound, below=below)
        self.spent += outcome.solver.wall_time if limit.wall else outcome.spent
        if outcome.status is not Status.INFEASIBLE:
            self.bound = max(self.bound, master.scheduling.constant + outcome.bound)
        return outcome

    def first_cuts(self) -> list[Cut]:
        """Return the cuts that are broken if every job starts when it can alone, and by pooled list schedules."""
        found = self.family.broken(self.problem, self.earliest, 20)
        for order in list_orders(self.problem):
            schedule = list_schedule(self.problem.pooled, order)
            if schedule is not None:
                found += self.family.broken(self.problem, schedule.starts)
        return list({cut.key: cut for cut in found}.values())

    def relax(self) -> None:
        """Raise the bound by a linear program."""
        if self.best is not None:
            most = max(16, min(64, self.effort.intervals // self.problem.jobs))
            edges = time_edges(self.best.starts, self.problem.duration, most)
            self.bound = max(self.bound, linear_bound(self.problem, self.cuts, self.earliest, edges))

    def learn(self, master: Master, starts: IntArray) -> bool:
        """Place a schedule of the master, or add what forbids it; return whether there is anything new."""
        asked = np.arange(self.problem.jobs)
        new = master.add_cuts(self.family.broken(self.problem, starts) + self.packer.pairs(starts, asked))
        better = self.best is not None and self.improve(np.argsort(starts, kind="stable"), self.effort.polish)
        if new:
            return True
        found = allocate(self.problem, starts, asked, limit=0, tries=self.effort.tries)
        if found.counts is None and master.add_cuts(self.cores(starts, asked)):
            return True
        if found.counts is None:
            found = self.place(starts, asked, 4 * self.effort.packing)
        if found.counts is not None:
            return self.offer(Schedule(starts, self.problem.cost(starts), found.counts), "cp-sat") or better
        if found.possible is None:
            return better
        master.forbid(self.shrunk(starts, found.core), starts, self.packer.monotone)
        return True

    def cores(self, starts: IntArray, jobs: IntArray) -> list[Cut]:
        """Return cuts for times at which the jobs that run cannot be packed, within the time that is left."""
        self.packer.spent, self.packer.budget = 0.0, min(self.last / 4, self.last - self.spent)
        cuts = self.packer.cores(starts, jobs)
        self.spent += self.packer.spent
        return cuts

    def place(self, starts: IntArray, jobs: IntArray, limit: float) -> Allocation:
        """Place jobs for their whole durations, exactly if it does not take too long."""
        found = allocate(self.problem, starts, jobs, limit=limit, tries=1)
        self.spent += found.time
        return found

    def shrunk(self, starts: IntArray, core: tuple[int, ...]) -> tuple[int, ...]:
        """Return a core without jobs that it does not need."""
        for job in core:
            rest = [other for other in core if other != job]
            if len(rest) < len(core) and self.spent < self.last:
                found = self.place(starts, np.array(rest), self.effort.packing)
                core = found.core if found.possible is False else core
        return core


def solve_placed(
    problem: Problem,
    hint: Schedule | None,
    limit: Limit,
    *,
    effort: Effort | None = None,
) -> Answer:
    """Return the best schedule found that can be placed on the nodes, never worse than the hint.

    Parameters
    ----------
    problem
        Jobs and machine.
    hint
        A schedule with its placement, or ``None``.
    limit
        How long the solvers may think in all, at most ``limit.most``. The local search comes on top.
    effort
        How the work is divided.
    """
    earliest = earliest_starts(problem)
    if earliest is None or problem.overfull:
        return Answer(Status.INFEASIBLE, None, None, 0.0, "none")
    if not problem.jobs:
        nothing = Schedule(earliest, 0, np.zeros((0, problem.nodes), dtype=np.int64))
        return Answer(Status.OPTIMAL, nothing, 0, 0.0, "list")
    search = Search(problem, effort or Effort(), earliest, hint)
    search.bound = int((problem.weight * np.maximum(earliest - problem.due, 0)).sum())
    status = Status.OPTIMAL
    if not search.proved:
        search.sequence()
    if not search.proved:
        search.cuts = search.first_cuts()
        search.relax()
    if not search.proved:
        status = search.loop(limit)
    if search.best is None:
        return Answer(status, None, None, search.spent, "none")
    bound = search.best.cost if status is Status.OPTIMAL else search.bound
    return Answer(status, search.best, bound, search.spent, search.source)
