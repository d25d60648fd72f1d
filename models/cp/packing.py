"""Place the jobs that start now on nodes: by best fit, then exactly with CP-SAT."""

from dataclasses import dataclass

import numpy as np
from ortools.sat.python import cp_model

from ...base import IntArray
from ..placement import slots_of_each
from ..scheduling.node_classes import equal_rows
from ..scheduling.node_groups import place_in_order
from ..scheduling.problem import Problem

#: Largest exact model, in pairs of job and node, and its limit in deterministic seconds. Writing a larger model takes
#: longer than most decisions.
LARGEST, LIMIT = 1500, 0.005
#: Number of best-fit passes. Each pass moves the job that failed to the front.
TRIES = 30


@dataclass(frozen=True, eq=False)
class Places:
    """Result of placing the jobs that start now.

    Attributes
    ----------
    possible
        Whether a placement exists, or ``None`` if unknown.
    counts
        Slots of each job on each node, or ``None``. Shape (jobs, nodes). Zeros for jobs that do not start now.
    core
        Jobs that cannot be placed together, ascending. Empty if a placement may exist.
    time
        Deterministic seconds of CP-SAT.
    """

    possible: bool | None
    counts: IntArray | None = None
    core: tuple[int, ...] = ()
    time: float = 0.0


def place_now(problem: Problem, starts: IntArray, limit: float = LIMIT) -> Places:
    """Place the jobs that start now on the nodes, or return a few that do not fit together."""
    jobs = np.flatnonzero(starts == 0)
    counts = np.zeros((problem.jobs, len(problem.free_now)), dtype=np.int64)
    if not len(jobs) or _best_fit(problem, jobs, counts):
        return Places(True, counts)
    return PackingModel(problem, jobs).solve(limit)


def _best_fit(problem: Problem, jobs: IntArray, counts: IntArray) -> bool:
    """Place jobs in `counts`, largest share of a node first. Return whether all fit."""
    share = (problem.demand / np.maximum(problem.classes_now.capacity.max(axis=0, initial=0), 1)).max(axis=1)
    order = jobs[np.argsort(-share[jobs], kind="stable")]
    for _ in range(TRIES):
        failed = place_in_order(problem.instant, order, np.zeros(problem.jobs, dtype=np.int64), counts)
        if failed < 0:
            return True
        if failed == 0:
            return False
        order = np.concatenate((order[failed : failed + 1], np.delete(order, failed)))
        counts[:] = 0
    return False


class PackingModel:
    """Packing model: integer slots per job and node, a linear capacity per node and resource.

    Of equal nodes, the model contains at most as many as the jobs have slots.

    Parameters
    ----------
    problem
        Jobs, and the free nodes in `free_now`.
    jobs
        Numbers of the jobs to place, shape (jobs to place,).
    """

    def __init__(self, problem: Problem, jobs: IntArray) -> None:
        self.problem, self.jobs = problem, jobs
        classes = problem.classes_now
        demand = problem.demand[jobs]
        per_slot = np.maximum(demand[:, None], 1)
        room = np.where(demand[:, None] > 0, classes.capacity // per_slot, problem.slots[jobs][:, None, None])
        fits = np.minimum(room.min(axis=2), problem.slots[jobs][:, None])
        wanted = np.minimum(problem.slots[jobs] @ (fits > 0), classes.count)
        few = classes.few(wanted)
        self.nodes = few.members
        self.free = few.capacity
        self.fits = np.repeat(fits, wanted, axis=1)
        self.size = int(np.count_nonzero(self.fits))

    def solve(self, limit: float) -> Places:
        """Solve the model within a limit of deterministic seconds."""
        alone = np.flatnonzero(self.fits.sum(axis=1) < self.problem.slots[self.jobs])
        if len(alone):
            return Places(False, None, (int(self.jobs[alone[0]]),))
        if self.size > LARGEST:
            return Places(None)
        self.build()
        solver = cp_model.CpSolver()
        solver.parameters.catch_sigint_signal = False
        solver.parameters.num_workers = 1
        solver.parameters.max_deterministic_time = limit
        solver.parameters.linearization_level = 2
        code = solver.solve(self.model)
        if code in {cp_model.OPTIMAL, cp_model.FEASIBLE}:
            return Places(True, self.counts(solver), (), solver.deterministic_time)
        if code != cp_model.INFEASIBLE:
            return Places(None, None, (), solver.deterministic_time)
        number = {literal.index: job for literal, job in zip(self.placed, self.jobs.tolist(), strict=True)}
        core = sorted(number[index] for index in solver.sufficient_assumptions_for_infeasibility())
        return Places(False, None, tuple(core), solver.deterministic_time)

    def build(self) -> None:
        """Write the model: variables, slots per job, capacity per node."""
        self.model = cp_model.CpModel()
        self.placed = [self.model.new_bool_var(f"placed[{job}]") for job in self.jobs.tolist()]
        self.slots = {
            (job, node): self.model.new_int_var(0, int(self.fits[job, node]), f"slots[{job},{node}]")
            for job, node in np.argwhere(self.fits).tolist()
        }
        self.add_slots()
        self.add_capacity()
        self.model.add_assumptions(self.placed)

    def add_slots(self) -> None:
        """Give each placed job its slots: ``placed[j] => sum(slots[j, n] : n) >= slots[j]``."""
        for job, number in enumerate(self.jobs.tolist()):
            here = [self.slots[job, node] for node in np.flatnonzero(self.fits[job]).tolist()]
            enough = self.model.add(cp_model.LinearExpr.sum(here) >= int(self.problem.slots[number]))
            enough.only_enforce_if(self.placed[job])

    def add_capacity(self) -> None:
        """Limit the use of each node to its resources: ``sum(slots[j, n] * demand[j] : j) <= free[n]``."""
        demand = self.problem.demand[self.jobs]
        for node, resource in np.argwhere(self.fits.T @ demand > self.free).tolist():
            asking = np.flatnonzero((demand[:, resource] > 0) & (self.fits[:, node] > 0)).tolist()
            slots = [self.slots[job, node] for job in asking]
            weighted = cp_model.LinearExpr.weighted_sum(slots, demand[asking, resource].tolist())
            self.model.add(weighted <= int(self.free[node, resource]))

    def counts(self, solver: cp_model.CpSolver) -> IntArray:
        """Return the slots in the solver's solution. Shape (jobs of the problem, nodes)."""
        counts = np.zeros((self.problem.jobs, len(self.problem.free_now)), dtype=np.int64)
        left = self.problem.slots.copy()
        for (job, node), variable in self.slots.items():
            number = self.jobs[job]
            taken = min(left[number], solver.value(variable))
            counts[number, self.nodes[node]] = taken
            left[number] -= taken
        return counts


def slots_asked(problem: Problem) -> tuple[IntArray, IntArray]:
    """Return the required and the available slots for each distinct demand.

    Returns
    -------
    slots
        Slots of each job that needs at least the demand, else 0. Shape (jobs, demands).
    room
        Slots of the demand that fit on the nodes now. Shape (demands,). Per node at most the required slots.
    """
    kinds = problem.demand[equal_rows(problem.demand)[0]] if len(problem.free_now) else problem.demand[:0]
    asking = (problem.demand[:, None] >= kinds[None]).all(axis=2)
    slots = problem.slots[:, None] * asking
    classes = problem.classes_now
    return slots, slots_of_each(classes.capacity, classes.count, kinds, slots.sum(axis=0))
