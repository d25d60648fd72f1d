"""Whether jobs whose start times are fixed can all be placed on nodes, and if not, which few of them cannot.

Fast first: best-fit in a few orders, a job that failed put first. Then CP-SAT, exact, with an assumption for each job.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from ortools.sat.python import cp_model

from ...base import IntArray
from ..scheduling.node_layout import node_arrays
from ..scheduling.problem import Problem
from .packing import pack_in_order, search_packing

#: Up to how many times a job may be on a node at a step the exact check is made: a larger one would tell nothing.
LARGEST = 30_000


@dataclass(frozen=True, eq=False)
class Allocation:
    """What is known of a set of jobs with fixed start times.

    Attributes
    ----------
    possible
        Whether they can be placed; ``None`` if that is not known.
    counts
        Slots of each job of the problem on each node, shape (jobs, nodes), zeros for jobs not asked about; or
        ``None``.
    core
        Where it is not possible, jobs that cannot be placed together, rising.
    time
        Deterministic time that CP-SAT spent.
    """

    possible: bool | None
    counts: IntArray | None = None
    core: tuple[int, ...] = ()
    time: float = 0.0


@dataclass(frozen=True, eq=False)
class PackingProblem:
    """Jobs to be placed on nodes at steps of time, each on the same nodes at all of its steps.

    Attributes
    ----------
    slots
        Shape (jobs,).
    demand
        Amounts of a slot, shape (jobs, resources).
    capacity
        Shape (nodes, resources).
    free
        What is free beside what is held at each step, shape (steps, nodes, resources).
    first, last
        The steps that a job holds its slots: from the first to before the last, shape (jobs,).
    """

    slots: IntArray
    demand: IntArray
    capacity: IntArray
    free: IntArray
    first: IntArray
    last: IntArray

    @cached_property
    def fits(self) -> IntArray:
        """Slots of each job that fit on each node at all of its steps, each job taken alone, shape (jobs, nodes)."""
        fits = np.empty((len(self.slots), len(self.capacity)), dtype=np.int64)
        for job, (first, last) in enumerate(zip(self.first.tolist(), self.last.tolist(), strict=True)):
            least = np.maximum(self.free[first:last].min(axis=0), 0)
            asked = np.flatnonzero(self.demand[job])
            fits[job] = self.slots[job]
            if len(asked):
                fits[job] = np.minimum((least[:, asked] // self.demand[job, asked]).min(axis=1), self.slots[job])
        return fits

    def greedy(self, tries: int) -> IntArray | None:
        """Return counts, shape (jobs, nodes), if best-fit finds them in so many tries; else ``None``."""
        jobs = len(self.slots)
        duration = self.last - self.first
        steps = np.arange(len(self.free), dtype=np.int64)
        inputs = node_arrays((steps, self.free), duration, self.slots, self.demand, self.capacity, True)
        counts = np.zeros((jobs, len(self.capacity)), dtype=np.int64)
        share = (self.demand / np.maximum(self.capacity.max(axis=0), 1)).max(axis=1)
        choice = (self.fits > 0).sum(axis=1)
        for keys in ((choice, -share), (-share * self.slots, -duration)):
            order = np.lexsort(keys[::-1]).astype(np.int64)
            if pack_in_order(order, self.first, self.last, *inputs, counts, tries):
                return counts
        return None


def allocate(
    problem: Problem,
    starts: IntArray,
    jobs: IntArray | None = None,
    *,
    limit: float = 0.05,
    tries: int = 50,
) -> Allocation:
    """Place jobs for their whole durations beside what is held.

    Parameters
    ----------
    problem
        Jobs and machine.
    starts
        Seconds from now, shape (jobs of the problem,).
    jobs
        Which of them are to be placed, shape (some,); all by default. The others hold nothing.
    limit
        Deterministic time for the exact check; none if zero.
    tries
        How often best-fit is tried in each of its orders.
    """
    chosen = np.arange(problem.jobs) if jobs is None else np.sort(np.asarray(jobs, dtype=np.int64))
    packing = packing_problem(problem, starts, chosen)
    counts = packing.greedy(tries)
    if counts is not None:
        return Allocation(True, scattered(problem, chosen, counts))
    found = check(packing, limit) if limit > 0 else Allocation(None)
    if found.counts is not None:
        return Allocation(True, scattered(problem, chosen, found.counts), (), found.time)
    return Allocation(found.possible, None, tuple(chosen[list(found.core)].tolist()), found.time)


def scattered(problem: Problem, jobs: IntArray, counts: IntArray) -> IntArray:
    """Return the counts of some jobs as those of all, shape (jobs, nodes)."""
    all_counts = np.zeros((problem.jobs, problem.nodes), dtype=np.int64)
    all_counts[jobs] = counts
    return all_counts


def packing_problem(problem: Problem, starts: IntArray, jobs: IntArray) -> PackingProblem:
    """Return the problem of placing jobs at their start times, at as few steps as are needed.

    What is used only grows when a job starts or something else begins to hold, so those times are enough.
    """
    times, free = problem.profile
    begins, ends = starts[jobs], starts[jobs] + problem.duration[jobs]
    later = problem.held_from[problem.held_from > 0]
    steps = np.unique(np.concatenate((begins, later)))
    return PackingProblem(
        problem.slots[jobs], problem.demand[jobs], problem.capacity,
        free[np.searchsorted(times, steps, side="right") - 1],
        np.searchsorted(steps, begins), np.searchsorted(steps, ends),
    )  # fmt: skip


def packing_at(problem: Problem, step: int, jobs: IntArray) -> PackingProblem:
    """Return the problem of placing jobs all at once, beside what is held from a step of the profile on."""
    nothing = np.zeros(len(jobs), dtype=np.int64)
    free = problem.profile[1][step : step + 1]
    return PackingProblem(
        problem.slots[jobs], problem.demand[jobs], problem.capacity, free, nothing, nothing + 1
    )  # fmt: skip


def check(packing: PackingProblem, limit: float) -> Allocation:
    """Decide with CP-SAT whether jobs can be placed; if not, which few cannot. Numbers are those of the packing."""
    alone = np.flatnonzero(packing.fits.sum(axis=1) < packing.slots)
    if len(alone):
        return Allocation(False, None, (int(alone[0]),))
    if np.count_nonzero(packing.fits) * len(packing.free) > LARGEST:
        return Allocation(None)
    model = PackingModel(packing)
    solver = cp_model.CpSolver()
    solver.parameters.catch_sigint_signal = False
    solver.parameters.num_workers = 1
    solver.parameters.max_deterministic_time = limit
    solver.parameters.linearization_level = 2
    code = solver.solve(model.model)
    if code in {cp_model.OPTIMAL, cp_model.FEASIBLE}:
        return Allocation(True, model.counts(solver), (), solver.deterministic_time)
    if code != cp_model.INFEASIBLE:
        return Allocation(None, None, (), solver.deterministic_time)
    placed = {literal.index: job for job, literal in enumerate(model.placed)}
    core = sorted(placed[index] for index in solver.sufficient_assumptions_for_infeasibility())
    return Allocation(False, None, tuple(core), solver.deterministic_time)


class PackingModel:
    """Slots of each job on each node as integers, linear in each node, resource and step.

    Attributes
    ----------
    model
        CP-SAT's model.
    placed
        For each job, the assumption that it is placed.
    slots
        Variables by job and node, where a slot fits.
    """

    def __init__(self, packing: PackingProblem) -> None:
        self.packing = packing
        self.model = cp_model.CpModel()
        self.placed = [self.model.new_bool_var("") for _ in packing.slots]
        self.slots: list[dict[int, cp_model.IntVar]] = []
        self.add_slots()
        self.add_capacity()
        self.model.add_assumptions(self.placed)

    def add_slots(self) -> None:
        """Make the variables, and let each job that is placed have its slots."""
        for job, fits in enumerate(self.packing.fits):
            here = {int(node): self.model.new_int_var(0, int(fits[node]), "") for node in np.flatnonzero(fits)}
            self.slots.append(here)
            enough = self.model.add(cp_model.LinearExpr.sum(list(here.values())) >= int(self.packing.slots[job]))
            enough.only_enforce_if(self.placed[job])

    def add_capacity(self) -> None:
        """Keep every node within its resources at every step, where that is not so anyway."""
        packing = self.packing
        done: set[tuple[int, ...]] = set()
        for step in range(len(packing.free)):
            running = np.flatnonzero((packing.first <= step) & (step < packing.last))
            most = packing.fits[running].T @ packing.demand[running]
            for node, resource in np.argwhere(most > np.maximum(packing.free[step], 0)).tolist():
                asking = [job for job in running.tolist() if packing.demand[job, resource] and node in self.slots[job]]
                room = max(int(packing.free[step, node, resource]), 0)
                key = (node, resource, room, *asking)
                if key not in done:
                    done.add(key)
                    slots = [self.slots[job][node] for job in asking]
                    amounts = packing.demand[asking, resource].tolist()
                    self.model.add(cp_model.LinearExpr.weighted_sum(slots, amounts) <= room)

    def counts(self, solver: cp_model.CpSolver) -> IntArray:
        """Return what the solver found, shape (jobs, nodes)."""
        counts = np.zeros((len(self.slots), len(self.packing.capacity)), dtype=np.int64)
        for job, here in enumerate(self.slots):
            left = int(self.packing.slots[job])
            for node, variable in here.items():
                counts[job, node] = min(left, solver.value(variable))
                left -= counts[job, node]
        return counts


def pack_at_once(free: IntArray, slots: IntArray, demand: IntArray, most: int = 2000) -> bool | None:
    """Decide whether jobs can be packed at one time; ``None`` if it takes too long to tell.

    Parameters
    ----------
    free
        Shape (nodes, resources).
    slots
        Shape (jobs,).
    demand
        Shape (jobs, resources).
    most
        How many slots are placed before the search is given up.
    """
    asked = demand > 0
    fits = ((free[None] >= demand[:, None]) | ~asked[:, None]).all(axis=2)
    # Jobs with few nodes and big slots first; what no job can use up does not tell nodes apart.
    order = np.lexsort((-demand.sum(axis=1), fits.sum(axis=1)))
    useful, columns = fits.any(axis=0), asked.any(axis=0)
    total = (slots[:, None] * demand).sum(axis=0)
    room = np.ascontiguousarray(np.minimum(free, total)[useful][:, columns])
    job = np.repeat(order, slots[order])
    found = search_packing(job, demand[job][:, columns].copy(), room, most, np.empty(len(job), dtype=np.int64))
    return None if found < 0 else found == 1
