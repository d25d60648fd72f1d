"""Model where slots lie: on a pool (HCP), on nodes for jobs that start now, or on nodes for all jobs (PCP)."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from ortools.sat.python import cp_model

from ...base import IntArray
from ..scheduling.list_schedules import Schedule
from ..scheduling.problem import Problem
from .constraints import Constraint
from .limits import DecisionBudget
from .packing import Places, place_now, slots_asked
from .variables import Variables

#: Seconds that CP-SAT's Python layer takes to write the interval of one job on one node. Deterministic time does not
#: count it.
WRITING = 3e-5


class Allocation(Constraint, Protocol):
    """Constraint on the nodes that the slots of each job use."""

    @property
    def size(self) -> int:
        """Number of conditional intervals that it adds to a model."""
        ...

    def suggest(self, variables: Variables, schedule: Schedule) -> None:
        """Add the placement of a schedule to the hint."""
        ...

    def places(self, solver: cp_model.CpSolver, starts: IntArray, budget: DecisionBudget) -> IntArray | None:
        """Return the slots of each job on each node in a solver's solution.

        ``None`` if no placement exists for these start times.
        """
        ...

    def refuse(self, variables: Variables, starts: IntArray, budget: DecisionBudget) -> bool:
        """Forbid start times for which no placement exists. Return whether a constraint was added."""
        ...


@dataclass
class Pooled:
    """Model the machine as one pool, as HCP does.

    Jobs that start now are placed on nodes after the search.
    """

    problem: Problem
    size: int = 0

    def add_to(self, variables: Variables) -> None:
        """Add nothing: the capacity of the pool is constrained elsewhere."""

    def holds(self, schedule: Schedule) -> bool:
        """Return True for every schedule."""
        return True

    def suggest(self, variables: Variables, schedule: Schedule) -> None:
        """Suggest nothing."""

    def places(self, solver: cp_model.CpSolver, starts: IntArray, budget: DecisionBudget) -> IntArray | None:
        """Return all slots of each scheduled job on one node."""
        return (self.problem.slots * (starts >= 0))[:, None]

    def refuse(self, variables: Variables, starts: IntArray, budget: DecisionBudget) -> bool:
        """Forbid nothing."""
        return False


class PlacesNow(Pooled):
    """Place the jobs that start now on nodes. Later jobs share the pool.

    This is the short form of PCP. For each demand ``d`` of a job it adds one inequality. ``room(d)`` is the number of
    slots of ``d`` that fit on the nodes now:

    ``sum(slots[j] : start[j] == 0, demand[j] >= d) <= room(d)``

    These inequalities are necessary but not sufficient. The model forbids each solution that cannot be placed.
    """

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.refused: list[tuple[int, ...]] = []
        self._known: dict[bytes, Places] = {}

    def add_to(self, variables: Variables) -> None:
        """Add an inequality for each demand with fewer free slots than the jobs require."""
        asked, rooms = slots_asked(self.problem)
        for slots, room in zip(asked.T, rooms.tolist(), strict=True):
            asking = np.flatnonzero(slots)
            if slots.sum() > room:
                literals = [variables.now(job) for job in asking.tolist()]
                variables.model.add(cp_model.LinearExpr.weighted_sum(literals, slots[asking].tolist()) <= room)
        for core in self.refused:
            variables.model.add_bool_or(~variables.now(job) for job in core)

    def holds(self, schedule: Schedule) -> bool:
        """Return whether the slots of jobs that start now fit into the free amounts."""
        now = schedule.starts == 0
        counts = schedule.counts[now]
        used = counts.T @ self.problem.demand[now]
        return bool((counts.sum(axis=1) == self.problem.slots[now]).all() and (used <= self.problem.free_now).all())

    def places(self, solver: cp_model.CpSolver, starts: IntArray, budget: DecisionBudget) -> IntArray | None:
        """Return the placement of the jobs that start now."""
        return self._place(starts, budget).counts

    def refuse(self, variables: Variables, starts: IntArray, budget: DecisionBudget) -> bool:
        """Forbid that jobs start now together if they cannot be placed together."""
        places = self._place(starts, budget)
        if places.possible is not False:
            return False
        self.refused.append(places.core)
        variables.model.add_bool_or(~variables.now(job) for job in places.core)
        return True

    def _place(self, starts: IntArray, budget: DecisionBudget) -> Places:
        """Place the jobs that start now. The result is cached by these jobs."""
        now = (starts == 0).tobytes()
        if now not in self._known:
            self._known[now] = place_now(self.problem, starts, min(0.005, budget.left))
            budget.charge(self._known[now].time)
        return self._known[now]


@dataclass(frozen=True, slots=True)
class PlaceVariables:
    """Variables for the slots of one job on one node.

    Attributes
    ----------
    slots
        Number of slots, an integer variable.
    present
        Whether the job has at least one slot here.
    interval
        From the job's start for its duration, conditional on `present`.
    """

    slots: cp_model.IntVar
    present: cp_model.IntVar
    interval: cp_model.IntervalVar


class NodeAllocation:
    """Place the slots of every job on nodes, within each node's capacity: PCP (CP 2019, section 2.2).

    The model has:

    * A conditional interval per job and node.
    * A choice of nodes per job.
    * A cumulative constraint per node and resource.

    Parameters
    ----------
    problem
        Jobs, and a machine with nodes.
    every_resource
        Whether to constrain resources that no job demands. Version 0 of the paper does.

    Attributes
    ----------
    on
        Variables by job and node. Only pairs where a slot fits on the empty node.
    """

    def __init__(self, problem: Problem, every_resource: bool = False) -> None:
        self.problem = problem
        self.every_resource = every_resource
        self.most = empty_slots(problem)
        self.size = int(np.count_nonzero(self.most))
        self.on: dict[tuple[int, int], PlaceVariables] = {}

    def add_to(self, variables: Variables) -> None:
        """Add the intervals and their constraints."""
        self.add_intervals(variables)
        self.add_alternatives(variables)
        self.add_capacity(variables)

    def add_intervals(self, variables: Variables) -> None:
        """Make a conditional interval for each job and node: ``present[j, n] <=> slots[j, n] >= 1``."""
        model = variables.model
        for job, node in np.argwhere(self.most).tolist():
            name = f"[{variables.labels[job]},{node}]"
            most = int(self.most[job, node])
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
        """Distribute all slots of each job over nodes: ``sum(slots[j, n] : n) == slots[j]``."""
        of_job = defaultdict(list)
        for (job, _), place in self.on.items():
            of_job[job].append(place.slots)
        for job, slots in enumerate(self.problem.slots.tolist()):
            if self.most[job].sum() < slots:
                variables.contradict()  # Even the empty machine is too small for it.
            else:
                variables.model.add(cp_model.LinearExpr.sum(of_job[job]) == slots)

    def add_capacity(self, variables: Variables) -> None:
        """Limit running jobs and occupied amounts to the capacity of each node and resource.

        At every time t, with one cumulative constraint per node and resource:

        ``sum(demand[j] * slots[j, n] : start[j] <= t < start[j] + duration[j])
        + held(n, t) <= capacity[n]``
        """
        if self.problem.overfull:
            variables.contradict()  # A node is over capacity, maybe one that no job can use.
        asked = self.problem.demand.any(axis=0) | self.every_resource
        on_node = defaultdict(list)
        for job, node in self.on:
            on_node[node].append(job)
        for node, jobs in sorted(on_node.items()):
            for resource in np.flatnonzero(asked).tolist():
                self.add_cumulative(variables, node, resource, jobs)

    def add_cumulative(self, variables: Variables, node: int, resource: int, jobs: list[int]) -> None:
        """Limit the jobs and occupied amounts of a node to one of its resources."""
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
        """Return the slots of a present interval, as a number if only one slot fits."""
        return self.on[job, node].slots if self.most[job, node] > 1 else 1

    def holds(self, schedule: Schedule) -> bool:
        """Check the use of each node whenever a job starts or an occupied interval begins."""
        problem = self.problem
        starts = schedule.starts
        classes = self.problem.classes
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
        """Add the slots on the nodes to the hint."""
        for (job, node), place in self.on.items():
            count = int(schedule.counts[job, node])
            variables.model.add_hint(place.present, count > 0)
            if place.slots is not place.present:
                variables.model.add_hint(place.slots, count)

    def places(self, solver: cp_model.CpSolver, starts: IntArray, budget: DecisionBudget) -> IntArray | None:
        """Return the slots of each job on each node in a solver's solution. Shape (jobs, nodes)."""
        counts = np.zeros((self.problem.jobs, self.problem.nodes), dtype=np.int64)
        for (job, node), place in self.on.items():
            counts[job, node] = solver.value(place.slots)
        return counts

    def refuse(self, variables: Variables, starts: IntArray, budget: DecisionBudget) -> bool:
        """Forbid nothing: the model contains the nodes."""
        return False


def allocation_of(problem: Problem, every_resource: bool = False) -> Allocation:
    """Return the allocation that fits a problem.

    All nodes if the problem has several, the nodes at this instant if they are known, else a pool.
    """
    if problem.nodes > 1:
        return NodeAllocation(problem, every_resource)
    return PlacesNow(problem) if len(problem.free_now) else Pooled(problem)


def empty_slots(problem: Problem) -> IntArray:
    """Return how many slots of each job fit on each empty node, at most the job's slots.

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
