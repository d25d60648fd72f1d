"""Scheduling and allocation in one CP-SAT model: optional intervals on the nodes, as PCP of the paper has them.

It is exact and slow: an interval for every job and slot of a node (Galleguillos et al., CP 2019, section 2.2). See
`benders` for the same problem taken apart.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from ortools.sat.python import cp_model

from ...base import IntArray
from ..scheduling.list_schedules import Schedule
from ..scheduling.problem import Problem
from .answer import Answer, Limit, Status
from .pooled import SchedulingModel


@dataclass(frozen=True, slots=True)
class SlotVariables:
    """A slot that a job may have on a node: the `level`-th there.

    Attributes
    ----------
    job, node, level
        Which slot; levels from 0.
    present
        Whether the job has more than `level` slots on the node.
    interval
        From the job's start for its duration, if present.
    """

    job: int
    node: int
    level: int
    present: cp_model.IntVar
    interval: cp_model.IntervalVar


class DirectModel(SchedulingModel):
    """The jobs of `SchedulingModel`, with an alternative of slots each and a cumulative for each node and resource.

    Parameters
    ----------
    problem
        Jobs and machine.
    hint
        A schedule with its placement, to begin with; nothing worse is looked for.
    every_resource
        Whether a resource that no job asks for is constrained as well, as version 0 of the paper has it.

    Attributes
    ----------
    placed
        The problem with its nodes; `problem` is the pooled one.
    slots
        The variables of all slots that may be had.
    """

    def __init__(self, problem: Problem, hint: Schedule | None = None, *, every_resource: bool = False) -> None:
        self.placed = problem
        self.slots: list[SlotVariables] = []
        self.fixed: dict[tuple[int, int], cp_model.IntervalVar] = {}
        super().__init__(problem, hint, every_resource=every_resource)
        self.given = None if hint is None or self.hint is None else rearranged(problem, hint, self.chains)
        if self.given is not None:
            self.add_placement_hint(self.given.counts)

    def add_capacity(self, every_resource: bool = False) -> None:
        """Add the slots, an alternative for each job, and a cumulative for each node and resource."""
        self.add_slots()
        self.add_alternatives()
        if self.placed.overfull:
            self.model.add_bool_or(())  # More is held than there is, be it on a node that nobody wants.
        asked = self.problem.demand.any(axis=0) | every_resource
        for node in range(self.placed.nodes):
            here = [slot for slot in self.slots if slot.node == node]
            if here:
                for resource in np.flatnonzero(asked).tolist():
                    self.add_cumulative(node, resource, here)

    def add_slots(self) -> None:
        """Make an optional interval for each slot that fits on a node of the empty machine."""
        for job, most in enumerate(empty_slots(self.placed)):
            start, duration = self.jobs[job].start, int(self.placed.duration[job])
            for node in np.flatnonzero(most).tolist():
                for level in range(int(most[node])):
                    present = self.model.new_bool_var("")
                    interval = self.model.new_optional_fixed_size_interval_var(start, duration, present, "")
                    self.slots.append(SlotVariables(job, node, level, present, interval))

    def add_alternatives(self) -> None:
        """Let each job have as many slots as it asks for; on a node, the levels from 0 up."""
        of_job = defaultdict(list)
        for before, slot in zip([None, *self.slots], self.slots, strict=False):
            of_job[slot.job].append(slot.present)
            if before is not None and slot.level:
                self.model.add_implication(slot.present, before.present)
        for job, asked in enumerate(self.placed.slots.tolist()):
            if len(of_job[job]) < asked:
                self.model.add_bool_or(())  # Not even the empty machine has room for it.
            else:
                self.model.add(cp_model.LinearExpr.sum(of_job[job]) == asked)

    def add_cumulative(self, node: int, resource: int, slots: list[SlotVariables]) -> None:
        """Keep the slots on a node, beside what is held there, within one of its resources."""
        placed = self.placed
        demand = placed.demand[:, resource]
        asking = [slot for slot in slots if demand[slot.job]]
        holding = np.flatnonzero((placed.held_node == node) & (placed.held_amount[:, resource] > 0)).tolist()
        if not asking and not holding:
            return
        self.model.add_cumulative(
            [slot.interval for slot in asking] + [self.held_interval(part) for part in holding],
            [int(demand[slot.job]) for slot in asking] + placed.held_amount[holding, resource].tolist(),
            int(placed.capacity[node, resource]),
        )

    def held_interval(self, part: int) -> cp_model.IntervalVar:
        """Return the interval of a part that is held; those of the same time share one."""
        span = (int(self.placed.held_from[part]), int(self.placed.held_to[part]))
        if span not in self.fixed:
            self.fixed[span] = self.model.new_fixed_size_interval_var(span[0], max(span[1] - span[0], 0), "")
        return self.fixed[span]

    def add_placement_hint(self, counts: IntArray) -> None:
        """Complete the hint with the slots on the nodes."""
        for slot in self.slots:
            self.model.add_hint(slot.present, bool(counts[slot.job, slot.node] > slot.level))

    def placement(self, solver: cp_model.CpSolver) -> Schedule:
        """Return the schedule that the solver found."""
        starts = np.array([solver.value(job.start) for job in self.jobs], dtype=np.int64)
        counts = np.zeros((self.placed.jobs, self.placed.nodes), dtype=np.int64)
        for slot in self.slots:
            counts[slot.job, slot.node] += solver.value(slot.present)
        return Schedule(starts, self.placed.cost(starts), counts)

    def solve(self, limit: Limit) -> Answer:
        """Solve within a limit; without a schedule, again with twice as much while the limit allows."""
        spent = 0.0
        hint, found, bound, status = self.given, None, None, Status.UNKNOWN
        for seconds in limit.attempts():
            solver = self.solver(seconds, wall=limit.wall)
            code = solver.solve(self.model)
            spent += solver.deterministic_time
            if code == cp_model.INFEASIBLE:
                status = Status.INFEASIBLE
                break
            if code in {cp_model.OPTIMAL, cp_model.FEASIBLE}:
                status = Status.OPTIMAL if code == cp_model.OPTIMAL else Status.FEASIBLE
                found = self.placement(solver)
                bound = self.constant + math.ceil(solver.best_objective_bound - 1e-6)
                break
        if hint is not None and (found is None or hint.cost <= found.cost):
            proved = found is not None and hint.cost == found.cost and status is Status.OPTIMAL
            return Answer(Status.OPTIMAL if proved else Status.FEASIBLE, hint, bound, spent, "hint")
        return Answer(status, found, bound, spent, "none" if found is None else "solver")


def solve_direct(problem: Problem, hint: Schedule | None, limit: Limit, *, every_resource: bool = False) -> Answer:
    """Return the best schedule found with its placement, never worse than the hint.

    Parameters
    ----------
    problem, hint, every_resource
        As for :class:`DirectModel`.
    limit
        How long the solver may think.
    """
    return DirectModel(problem, hint, every_resource=every_resource).solve(limit)


def empty_slots(problem: Problem) -> IntArray:
    """Return how many slots of each job fit on each node where nothing is held, at most those it asks for.

    Returns
    -------
    Shape (jobs, nodes).
    """
    most = np.broadcast_to(problem.slots[:, None], (problem.jobs, problem.nodes)).copy()
    for resource in range(problem.capacity.shape[1]):
        demand = problem.demand[:, resource]
        fit = problem.capacity[None, :, resource] // np.maximum(demand, 1)[:, None]
        np.minimum(most, np.where(demand[:, None] > 0, np.maximum(fit, 0), most), out=most)
    return most


def rearranged(problem: Problem, schedule: Schedule, chains: list[list[int]]) -> Schedule:
    """Return the schedule with the starts and places of jobs that differ in nothing dealt out along each chain."""
    starts, counts = schedule.starts.copy(), schedule.counts.copy()
    for chain in chains:
        order = np.argsort(starts[chain], kind="stable")
        starts[chain], counts[chain] = starts[chain][order], counts[chain][order]
    return Schedule(starts, problem.cost(starts), counts)
