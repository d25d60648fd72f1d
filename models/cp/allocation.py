"""Whether jobs whose start times are fixed can all be placed on nodes, and if not, which few of them cannot.

Fast first: best-fit in a few orders, a job that failed put first. Then CP-SAT, exact, with an assumption for each job.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from ortools.sat.python import cp_model

from ...base import IntArray
from ..scheduling.problem import Problem
from .packing import search_packing
from .packing_models import PackingModel, PackingProblem, PatternModel, packing_problem, pattern_model

#: Up to how many times a job may be on a node at a step the exact check is made: a larger one would tell nothing. To
#: write so large a model takes ten times as long as most decisions.
LARGEST, LARGEST_NOW = 30_000, 1500
#: So many nodes to a class, on average, that patterns of classes are tried before slots on nodes.
MANY_ALIKE = 4
#: Nodes up to which placements at one time are searched.
MOST_NODES = 200


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


def check(packing: PackingProblem, limit: float, largest: int = LARGEST) -> Allocation:
    """Decide with CP-SAT whether jobs can be placed; if not, which few cannot. Numbers are those of the packing."""
    alone = np.flatnonzero(packing.fits @ packing.classes.count < packing.slots)
    if len(alone):
        return Allocation(False, None, (int(alone[0]),))
    model = _model_of(packing, largest)
    if model is None:
        return Allocation(None)
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


def _model_of(packing: PackingProblem, largest: int) -> PackingModel | PatternModel | None:
    """Return a model of which the size allows an answer; ``None`` if there is none."""
    patterns = None
    if packing.wanted.sum() > MANY_ALIKE * len(packing.wanted):
        patterns = pattern_model(packing)
    pairs = int((packing.fits > 0).sum(axis=0) @ packing.wanted)
    if patterns is None and pairs * len(packing.classes.free) <= largest:
        return PackingModel(packing)
    return patterns


def pack_at_once(
    free: IntArray, slots: IntArray, demand: IntArray, count: IntArray | None = None, most: int = 2000
) -> bool | None:
    """Decide whether jobs can be packed at one time; ``None`` if it takes too long to tell.

    Parameters
    ----------
    free
        What is free on a node of each class, shape (classes, resources).
    slots
        Shape (jobs,).
    demand
        Shape (jobs, resources).
    count
        Nodes of each class, shape (classes,); one if not given.
    most
        How many slots are placed before the search is given up.
    """
    wanted = int(slots.sum())
    if wanted > most:
        return None
    asked = demand > 0
    fits = ((free[None] >= demand[:, None]) | ~asked[:, None]).all(axis=2)
    nodes = np.ones(len(free), dtype=np.int64) if count is None else count
    # Jobs with few nodes and big slots first; what no job can use up does not tell nodes apart.
    order = np.lexsort((-demand.sum(axis=1), fits @ nodes))
    useful, columns = fits.any(axis=0), asked.any(axis=0)
    total = (slots[:, None] * demand).sum(axis=0)
    room = np.minimum(free, total)[useful][:, columns]
    room, label = np.unique(room, axis=0, return_inverse=True)
    many = np.bincount(label.ravel(), weights=nodes[useful], minlength=len(room)).astype(np.int64)
    room = np.repeat(room, np.minimum(many, wanted), axis=0)
    if len(room) > MOST_NODES:
        return None
    job = np.repeat(order, slots[order])
    packed = search_packing(job, demand[job][:, columns].copy(), room, most, np.empty(len(job), dtype=np.int64))
    return None if packed < 0 else packed == 1
