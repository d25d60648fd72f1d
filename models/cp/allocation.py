"""Where the nodes are in a scheduling model: nowhere (HCP), for the jobs that start now, or for all jobs (PCP)."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from ortools.sat.python import cp_model

from ...base import IntArray
from ..scheduling.list_schedules import Schedule
from ..scheduling.problem import Problem
from .constraints import Constraint
from .limits import Budget
from .packing import Places, place_now, slots_asked
from .variables import Variables

#: Seconds that it takes CP-SAT's Python layer to write an interval of a job on a node and its part of a cumulative,
#: which deterministic time does not count.
WRITING = 3e-5


class Allocation(Constraint, Protocol):
    """A constraint that knows where the slots of jobs lie."""

    @property
    def size(self) -> int:
        """How many conditional intervals it adds to a model."""
        ...

    def suggest(self, variables: Variables, schedule: Schedule) -> None:
        """Complete the hint with the places of a schedule."""
        ...

    def places(self, solver: cp_model.CpSolver, starts: IntArray, budget: Budget) -> IntArray | None:
        """Return the slots of each job on each node in what a solver found, or ``None`` if there are none."""
        ...

    def refuse(self, variables: Variables, starts: IntArray, budget: Budget) -> bool:
        """Add what forbids start times for which there are no places; return whether there was anything to forbid."""
        ...


@dataclass
class Pooled:
    """All nodes are one: HCP's model. The jobs that start now are placed after it."""

    problem: Problem
    size: int = 0

    def add_to(self, variables: Variables) -> None:
        """Add nothing: the capacity of the pool is all there is."""

    def holds(self, schedule: Schedule) -> bool:
        """Return that it does."""
        return True

    def suggest(self, variables: Variables, schedule: Schedule) -> None:
        """Suggest nothing."""

    def places(self, solver: cp_model.CpSolver, starts: IntArray, budget: Budget) -> IntArray | None:
        """Return all slots on the one node."""
        return (self.problem.slots * (starts >= 0))[:, None]

    def refuse(self, variables: Variables, starts: IntArray, budget: Budget) -> bool:
        """Forbid nothing."""
        return False


class PlacesNow(Pooled):
    """The jobs that start now find places on the nodes; what starts later shares the pool: the short form of PCP.

    ``sum(slots[j] : start[j] == 0, demand[j] >= d) <= room(d)`` for every demand d that a job has, with the slots of d
    that fit on the nodes. That is necessary; what is not sufficient is refused when CP-SAT finds it.
    """

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.refused: list[tuple[int, ...]] = []
        self._known: dict[bytes, Places] = {}

    def add_to(self, variables: Variables) -> None:
        """Add an inequality for each demand of which more slots are asked for than there are."""
        asked, rooms = slots_asked(self.problem)
        for slots, room in zip(asked.T, rooms.tolist(), strict=True):
            asking = np.flatnonzero(slots)
            if slots.sum() > room:
                literals = [variables.now(job) for job in asking.tolist()]
                variables.model.add(cp_model.LinearExpr.weighted_sum(literals, slots[asking].tolist()) <= room)
        for core in self.refused:
            variables.model.add_bool_or(~variables.now(job) for job in core)

    def holds(self, schedule: Schedule) -> bool:
        """Return whether the jobs that start now have their slots within what is free."""
        now = schedule.starts == 0
        counts = schedule.counts[now]
        used = counts.T @ self.problem.demand[now]
        return bool((counts.sum(axis=1) == self.problem.slots[now]).all() and (used <= self.problem.free_now).all())

    def places(self, solver: cp_model.CpSolver, starts: IntArray, budget: Budget) -> IntArray | None:
        """Return the places of the jobs that start now."""
        return self._place(starts, budget).counts

    def refuse(self, variables: Variables, starts: IntArray, budget: Budget) -> bool:
        """Let the few jobs that cannot be placed together not all start now."""
        places = self._place(starts, budget)
        if places.possible is not False:
            return False
        self.refused.append(places.core)
        variables.model.add_bool_or(~variables.now(job) for job in places.core)
        return True

    def _place(self, starts: IntArray, budget: Budget) -> Places:
        """Place the jobs that start now, once for the same jobs."""
        now = (starts == 0).tobytes()
        if now not in self._known:
            self._known[now] = place_now(self.problem, starts, min(0.005, budget.left))
            budget.charge(self._known[now].time)
        return self._known[now]


@dataclass(frozen=True, slots=True)
class PlaceVariables:
    """The slots that a job may have on a node.

    Attributes
    ----------
    slots
        How many, an integer variable.
    present
        Whether there is any.
    interval
        From the job's start for its duration, conditional on `present`.
    """

    slots: cp_model.IntVar
    present: cp_model.IntVar
    interval: cp_model.IntervalVar


class NodeAllocation:
    """Every job has its slots on nodes, and no node more than it holds: the model of PCP (CP 2019, section 2.2).

    A conditional interval for each job and node, a choice of nodes for each job, a cumulative for each node and
    resource.

    Parameters
    ----------
    problem
        Jobs and machine, with its nodes.
    every_resource
        Whether a resource that no job asks for is constrained as well, as version 0 of the paper has it.

    Attributes
    ----------
    on
        The variables by job and node, where a slot fits on the empty node.
    """

    def __init__(self, problem: Problem, every_resource: bool = False) -> None:
        self.problem = problem
        self.every_resource = every_resource
        self.most = empty_slots(problem)
        self.size = int(np.count_nonzero(self.most))
        self.on: dict[tuple[int, int], PlaceVariables] = {}

    def add_to(self, variables: Variables) -> None:
        """Add the intervals and what they must meet."""
        self.add_intervals(variables)
        self.add_alternatives(variables)
        self.add_capacity(variables)

    def add_intervals(self, variables: Variables) -> None:
        """Make a conditional interval for each job and node: ``present[j, n] <=> slots[j, n] >= 1``."""
        model = variables.model
        for job, node in np.argwhere(self.most).tolist():
            name, most = f"[{variables.labels[job]},{node}]", int(self.most[job, node])
            present = slots = model.new_bool_var(f"on{name}")
            if most > 1:
                slots = model.new_int_var(0, most, f"slots{name}")
                model.add(slots >= 1).only_enforce_if(present)
                model.add(slots == 0).only_enforce_if(~present)
            duration = int(self.problem.duration[job])
            interval = model.new_optional_fixed_size_interval_var(
                variables.jobs[job].start, duration, present, f"run{name}"
            )
            self.on[job, node] = PlaceVariables(slots, present, interval)
            variables.on[job, node] = present

    def add_alternatives(self, variables: Variables) -> None:
        """Let each job choose nodes for all its slots: ``sum(slots[j, n] : n) == slots[j]``."""
        of_job = defaultdict(list)
        for (job, _), place in self.on.items():
            of_job[job].append(place.slots)
        for job, slots in enumerate(self.problem.slots.tolist()):
            if self.most[job].sum() < slots:
                variables.contradict()  # Not even the empty machine has room for it.
            else:
                variables.model.add(cp_model.LinearExpr.sum(of_job[job]) == slots)

    def add_capacity(self, variables: Variables) -> None:
        """At every time t, for every node and resource: what runs there, and what is held, is within the capacity.

        ``sum(demand[j] * slots[j, n] : start[j] <= t < start[j] + duration[j]) + held(n, t) <= capacity[n]``, a
        cumulative for each.
        """
        if self.problem.overfull:
            variables.contradict()  # More is held than there is, be it on a node that no job asks for.
        asked = self.problem.demand.any(axis=0) | self.every_resource
        on_node = defaultdict(list)
        for job, node in self.on:
            on_node[node].append(job)
        for node, jobs in sorted(on_node.items()):
            for resource in np.flatnonzero(asked).tolist():
                self.add_cumulative(variables, node, resource, jobs)

    def add_cumulative(self, variables: Variables, node: int, resource: int, jobs: list[int]) -> None:
        """Keep the jobs on a node, beside what is held there, within one of its resources."""
        problem = self.problem
        asking = [job for job in jobs if problem.demand[job, resource]]
        holding = np.flatnonzero((problem.held_node == node) & (problem.held_amount[:, resource] > 0))
        capacity = int(problem.capacity[node, resource])
        needed = self.most[asking, node] @ problem.demand[asking, resource]
        if needed + problem.held_amount[holding, resource].sum() <= capacity:
            return
        spans = zip(problem.held_from[holding].tolist(), problem.held_to[holding].tolist(), strict=True)
        variables.model.add_cumulative(
            [self.on[job, node].interval for job in asking] + [variables.span(begin, end) for begin, end in spans],
            [int(problem.demand[job, resource]) * self._slots(job, node) for job in asking]
            + problem.held_amount[holding, resource].tolist(),
            capacity,
        )

    def _slots(self, job: int, node: int) -> cp_model.IntVar | int:
        """Return the slots of an interval that is present, as a number if there is only one."""
        return self.on[job, node].slots if self.most[job, node] > 1 else 1

    def holds(self, schedule: Schedule) -> bool:
        """Add up what lies on each node whenever a job starts or something begins to hold."""
        problem, starts, classes = self.problem, schedule.starts, self.problem.classes
        if (schedule.counts.sum(axis=1) != problem.slots).any():
            return False
        used = schedule.counts[:, :, None] * problem.demand[:, None, :]
        step_of_node = np.empty(problem.nodes, dtype=np.int64)
        step_of_node[classes.members] = np.repeat(np.arange(len(classes.count)), classes.count)
        for time in np.unique(np.concatenate((starts, problem.held_from))).tolist():
            step = int(np.searchsorted(classes.times, time, side="right")) - 1
            runs = (starts <= time) & (time < starts + problem.duration)
            amount = used[runs].sum(axis=0)
            if (amount > np.maximum(classes.free[step, step_of_node], 0))[amount > 0].any():
                return False
        return True

    def suggest(self, variables: Variables, schedule: Schedule) -> None:
        """Complete the hint with the slots on the nodes."""
        for (job, node), place in self.on.items():
            count = int(schedule.counts[job, node])
            variables.model.add_hint(place.present, count > 0)
            if place.slots is not place.present:
                variables.model.add_hint(place.slots, count)

    def places(self, solver: cp_model.CpSolver, starts: IntArray, budget: Budget) -> IntArray | None:
        """Return the slots of each job on each node that a solver found, shape (jobs, nodes)."""
        counts = np.zeros((self.problem.jobs, self.problem.nodes), dtype=np.int64)
        for (job, node), place in self.on.items():
            counts[job, node] = solver.value(place.slots)
        return counts

    def refuse(self, variables: Variables, starts: IntArray, budget: Budget) -> bool:
        """Forbid nothing: the model has the nodes."""
        return False


def allocation_of(problem: Problem, every_resource: bool = False) -> Allocation:
    """Return the allocation that a problem asks for: by its nodes, by the nodes of this instant, or none."""
    if problem.nodes > 1:
        return NodeAllocation(problem, every_resource)
    return PlacesNow(problem) if len(problem.free_now) else Pooled(problem)


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
