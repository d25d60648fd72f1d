"""Scheduling and allocation in one CP-SAT model: optional intervals on the nodes, as PCP of the paper has them.

It is exact and slow: an interval for every job and slot of a node (Galleguillos et al., CP 2019, section 2.2). See
`benders` for the same problem taken apart.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from ortools.sat.python import cp_model

from ...base import IntArray
from ..scheduling.list_schedules import Schedule
from ..scheduling.problem import Problem
from .answer import Answer, Limit
from .constraints import Constraint, Family, LikeInOrder, PoolCapacity
from .pooled import SchedulingModel
from .variables import SlotVariables, Variables


class NodeAllocation(Family):
    """Every job has its slots on nodes, and no node more than it holds.

    Parameters
    ----------
    problem
        Jobs and machine, with its nodes.
    every_resource
        Whether a resource that no job asks for is constrained as well, as version 0 of the paper has it.

    Attributes
    ----------
    slots
        The variables of all slots that may be had.
    """

    def __init__(self, problem: Problem, every_resource: bool = False) -> None:
        self.problem = problem
        self.every_resource = every_resource
        self.slots: list[SlotVariables] = []

    def add_to(self, variables: Variables) -> None:
        """Add the slots and what they must meet."""
        self.add_slots(variables)
        self.add_alternatives(variables)
        self.add_capacity(variables)

    def add_slots(self, variables: Variables) -> None:
        """Make an optional interval for each slot that fits on a node of the empty machine."""
        model = variables.model
        for job, most in enumerate(empty_slots(self.problem)):
            start, duration = variables.jobs[job].start, int(self.problem.duration[job])
            for node in np.flatnonzero(most).tolist():
                for level in range(int(most[node])):
                    present = model.new_bool_var("")
                    interval = model.new_optional_fixed_size_interval_var(start, duration, present, "")
                    self.slots.append(SlotVariables(job, node, level, present, interval))

    def add_alternatives(self, variables: Variables) -> None:
        """Let each job have what it asks for; on a node, the levels from 0 up.

        ``sum(present[j, n, l] : n, l) == slots[j]`` and ``present[j, n, l] => present[j, n, l - 1]``.
        """
        of_job = defaultdict(list)
        for before, slot in zip([None, *self.slots], self.slots, strict=False):
            of_job[slot.job].append(slot.present)
            if before is not None and slot.level:
                variables.model.add_implication(slot.present, before.present)
        for job, asked in enumerate(self.problem.slots.tolist()):
            if len(of_job[job]) < asked:
                variables.contradict()  # Not even the empty machine has room for it.
            else:
                variables.model.add(cp_model.LinearExpr.sum(of_job[job]) == asked)

    def add_capacity(self, variables: Variables) -> None:
        """At every time t, for every node and resource: what lies there, and what is held, is within the capacity.

        ``sum(demand[j] * present[j, n, l] : start[j] <= t < start[j] + duration[j]) + held(n, t) <= capacity[n]``, a
        cumulative for each.
        """
        if self.problem.overfull:
            variables.contradict()  # More is held than there is, be it on a node that nobody wants.
        asked = self.problem.demand.any(axis=0) | self.every_resource
        on_node = defaultdict(list)
        for slot in self.slots:
            on_node[slot.node].append(slot)
        for node, here in sorted(on_node.items()):
            for resource in np.flatnonzero(asked).tolist():
                self.add_cumulative(variables, node, resource, here)

    def add_cumulative(self, variables: Variables, node: int, resource: int, slots: list[SlotVariables]) -> None:
        """Keep the slots on a node, beside what is held there, within one of its resources."""
        problem = self.problem
        demand = problem.demand[:, resource]
        asking = [slot for slot in slots if demand[slot.job]]
        holding = np.flatnonzero((problem.held_node == node) & (problem.held_amount[:, resource] > 0))
        if not asking and not len(holding):
            return
        spans = zip(problem.held_from[holding].tolist(), problem.held_to[holding].tolist(), strict=True)
        variables.model.add_cumulative(
            [slot.interval for slot in asking] + [variables.span(begin, end) for begin, end in spans],
            [int(demand[slot.job]) for slot in asking] + problem.held_amount[holding, resource].tolist(),
            int(problem.capacity[node, resource]),
        )

    def suggest(self, model: cp_model.CpModel, counts: IntArray) -> None:
        """Complete the hint with the slots on the nodes, shape (jobs, nodes)."""
        for slot in self.slots:
            model.add_hint(slot.present, bool(counts[slot.job, slot.node] > slot.level))

    def counts(self, solver: cp_model.CpSolver) -> IntArray:
        """Return the slots of each job on each node that a solver found, shape (jobs, nodes)."""
        counts = np.zeros((self.problem.jobs, self.problem.nodes), dtype=np.int64)
        for slot in self.slots:
            counts[slot.job, slot.node] += solver.value(slot.present)
        return counts


class DirectModel:
    """The scheduling model with an alternative of slots for each job and a cumulative for each node and resource.

    Parameters
    ----------
    problem
        Jobs and machine.
    hint
        A schedule with its placement, to begin with; nothing worse is looked for.
    every_resource
        Whether a resource that no job asks for is constrained as well, as version 0 of the paper has it.
    beside
        Further constraints.
    """

    def __init__(
        self,
        problem: Problem,
        hint: Schedule | None = None,
        *,
        every_resource: bool = False,
        beside: Sequence[Constraint] = (),
    ) -> None:
        self.problem = problem
        self.allocation = NodeAllocation(problem, every_resource)
        families: Sequence[Constraint] = (self.allocation, PoolCapacity(quotas_only=True), LikeInOrder(), *beside)
        self.scheduling = SchedulingModel(problem, hint, constraints=families)
        if self.scheduling.hint is not None:
            self.allocation.suggest(self.scheduling.variables.model, self.scheduling.hint.counts)

    def solve(self, limit: Limit) -> Answer:
        """Solve within a limit; without a schedule, again with twice as much while the limit allows."""
        outcome, found = self.scheduling.search(limit), None
        if outcome.found:
            starts = self.scheduling.variables.starts(outcome.solver)
            if self.scheduling.allows(starts):
                found = Schedule(starts, self.problem.cost(starts), self.allocation.counts(outcome.solver))
        return self.scheduling.answer(outcome, found)


def solve_direct(
    problem: Problem,
    hint: Schedule | None,
    limit: Limit,
    *,
    every_resource: bool = False,
    beside: Sequence[Constraint] = (),
) -> Answer:
    """Return the best schedule found with its placement, never worse than the hint.

    Parameters
    ----------
    problem, hint, every_resource, beside
        As for :class:`DirectModel`.
    limit
        How long the solver may think.
    """
    return DirectModel(problem, hint, every_resource=every_resource, beside=beside).solve(limit)


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
