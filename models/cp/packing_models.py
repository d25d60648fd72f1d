"""Placing jobs whose times are fixed, exactly: the problem, and two models of it for CP-SAT.

Slots as integers where the nodes that count are few; else how many nodes of each class hold which pattern of slots, so
that the size of the model does not hang on the number of nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from ortools.sat.python import cp_model

from ...base import IntArray
from ..scheduling.node_classes import NodeClasses
from ..scheduling.problem import Problem
from ..scheduling.serial_on_nodes import node_arrays
from .packing import add_patterns, pack_in_order

#: Up to how many patterns there is a model of them, and how many are looked at for those of a class.
PATTERNS, LOOKED_AT = 3000, 20_000


@dataclass(frozen=True, eq=False)
class PackingProblem:
    """Jobs to be placed on nodes at steps of time, each on the same nodes at all of its steps.

    Attributes
    ----------
    slots
        Shape (jobs,).
    demand
        Amounts of a slot, shape (jobs, resources).
    classes
        The nodes by class, with what is free beside what is held at each step.
    first, last
        The steps that a job holds its slots: from the first to before the last, shape (jobs,).
    """

    slots: IntArray
    demand: IntArray
    classes: NodeClasses
    first: IntArray
    last: IntArray

    @cached_property
    def fits(self) -> IntArray:
        """Slots of each job that fit on a node of each class at all of its steps, alone, shape (jobs, classes)."""
        free = self.classes.free
        fits = np.empty((len(self.slots), free.shape[1]), dtype=np.int64)
        for job, (first, last) in enumerate(zip(self.first.tolist(), self.last.tolist(), strict=True)):
            least = np.maximum(free[first:last].min(axis=0), 0)
            asked = np.flatnonzero(self.demand[job])
            fits[job] = self.slots[job]
            if len(asked):
                fits[job] = np.minimum((least[:, asked] // self.demand[job, asked]).min(axis=1), self.slots[job])
        return fits

    @cached_property
    def wanted(self) -> IntArray:
        """How many nodes of each class the jobs can use at most, shape (classes,)."""
        return np.minimum(self.slots @ (self.fits > 0), self.classes.count)

    @cached_property
    def few(self) -> PackingProblem:
        """The same on no more nodes of each class than the jobs have slots for, every node a class of its own."""
        return PackingProblem(self.slots, self.demand, self.classes.few(self.wanted), self.first, self.last)

    def greedy(self, tries: int) -> IntArray | None:
        """Return counts, shape (jobs, nodes), if best-fit finds them in so many tries; else ``None``."""
        jobs, duration = len(self.slots), self.last - self.first
        inputs = node_arrays(self.classes, duration, self.slots, self.demand, True)
        counts = np.zeros((jobs, len(self.classes.members)), dtype=np.int64)
        share = (self.demand / np.maximum(self.classes.capacity.max(axis=0), 1)).max(axis=1)
        choice = (self.fits > 0) @ self.classes.count
        for keys in ((choice, -share), (-share * self.slots, -duration)):
            order = np.lexsort(keys[::-1]).astype(np.int64)
            if pack_in_order(order, self.first, self.last, *inputs, counts, tries):
                return counts
        return None


def packing_problem(problem: Problem, starts: IntArray, jobs: IntArray) -> PackingProblem:
    """Return the problem of placing jobs at their start times, at as few steps as are needed.

    What is used only grows when a job starts or something else begins to hold, so those times are enough.
    """
    begins, ends = starts[jobs], starts[jobs] + problem.duration[jobs]
    later = problem.held_from[problem.held_from > 0]
    steps = np.unique(np.concatenate((begins, later)))
    return PackingProblem(
        problem.slots[jobs], problem.demand[jobs], problem.classes.at(steps),
        np.searchsorted(steps, begins), np.searchsorted(steps, ends),
    )  # fmt: skip


def packing_at(problem: Problem, step: int, jobs: IntArray) -> PackingProblem:
    """Return the problem of placing jobs all at once, beside what is held from a step of the profile on."""
    nothing = np.zeros(len(jobs), dtype=np.int64)
    classes = problem.classes.alone(step)
    return PackingProblem(problem.slots[jobs], problem.demand[jobs], classes, nothing, nothing + 1)


def packing_now(classes: NodeClasses, slots: IntArray, demand: IntArray) -> PackingProblem:
    """Return the problem of placing jobs all at once on nodes, by class, at the one step there is."""
    nothing = np.zeros(len(slots), dtype=np.int64)
    return PackingProblem(slots, demand, classes, nothing, nothing + 1)


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
        self.nodes = len(packing.classes.members)
        self.packing = packing.few
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
        packing, free = self.packing, self.packing.classes.free
        done: set[tuple[int, ...]] = set()
        for step in range(len(free)):
            running = np.flatnonzero((packing.first <= step) & (step < packing.last))
            most = packing.fits[running].T @ packing.demand[running]
            for node, resource in np.argwhere(most > np.maximum(free[step], 0)).tolist():
                asking = [job for job in running.tolist() if packing.demand[job, resource] and node in self.slots[job]]
                room = max(int(free[step, node, resource]), 0)
                key = (node, resource, room, *asking)
                if key not in done:
                    done.add(key)
                    slots = [self.slots[job][node] for job in asking]
                    amounts = packing.demand[asking, resource].tolist()
                    self.model.add(cp_model.LinearExpr.weighted_sum(slots, amounts) <= room)

    def counts(self, solver: cp_model.CpSolver) -> IntArray:
        """Return what the solver found, shape (jobs, nodes)."""
        counts = np.zeros((len(self.slots), self.nodes), dtype=np.int64)
        for job, here in enumerate(self.slots):
            left = int(self.packing.slots[job])
            for node, variable in zip(self.packing.classes.members[list(here)].tolist(), here.values(), strict=True):
                counts[job, node] = min(left, solver.value(variable))
                left -= counts[job, node]
        return counts


class PatternModel:
    """How many nodes of each class hold each pattern: slots of each kind of job that fit on a node together.

    Jobs of a kind have the same demand at the same steps, so that their slots may change places. A class has only
    patterns to which nothing can be added.

    Parameters
    ----------
    packing
        Jobs and nodes.
    kind
        Of each job, shape (jobs,).
    patterns
        Of each class, shape (patterns, kinds).

    Attributes
    ----------
    model, placed
        As of :class:`PackingModel`.
    """

    def __init__(self, packing: PackingProblem, kind: IntArray, patterns: list[IntArray]) -> None:
        self.packing, self.kind, self.patterns = packing, kind, patterns
        self.model = cp_model.CpModel()
        self.placed = [self.model.new_bool_var("") for _ in packing.slots]
        self.nodes: list[list[cp_model.IntVar]] = []
        for most, rows in zip(packing.classes.count.tolist(), patterns, strict=True):
            here = [self.model.new_int_var(0, most, "") for _ in rows]
            self.model.add(cp_model.LinearExpr.sum(here) <= most)
            self.nodes.append(here)
        nodes = [variable for here in self.nodes for variable in here]
        for number, slots in enumerate(np.concatenate(patterns).T):
            jobs = np.flatnonzero(kind == number).tolist()
            asked = cp_model.LinearExpr.weighted_sum([self.placed[job] for job in jobs], packing.slots[jobs].tolist())
            self.model.add(cp_model.LinearExpr.weighted_sum(nodes, slots.tolist()) >= asked)
        self.model.add_assumptions(self.placed)

    def counts(self, solver: cp_model.CpSolver) -> IntArray:
        """Return what the solver found, shape (jobs, nodes)."""
        classes = self.packing.classes
        room = np.zeros((len(classes.members), int(self.kind.max()) + 1), dtype=np.int64)
        for begin, here, rows in zip(classes.begin.tolist(), self.nodes, self.patterns, strict=False):
            of_each = np.repeat(rows, [solver.value(variable) for variable in here], axis=0)
            room[classes.members[begin : begin + len(of_each)]] = of_each
        counts = np.zeros((len(self.kind), len(room)), dtype=np.int64)
        for job, kind in enumerate(self.kind.tolist()):
            before = np.cumsum(room[:, kind]) - room[:, kind]
            counts[job] = np.clip(self.packing.slots[job] - before, 0, room[:, kind])
            room[:, kind] -= counts[job]
        return counts


def pattern_model(packing: PackingProblem) -> PatternModel | None:
    """Return the model of patterns; ``None`` if there are too many of them."""
    rows = np.column_stack((packing.first, packing.last, packing.demand))
    kinds, job, kind = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    first, last, demand = (np.ascontiguousarray(part) for part in (kinds[:, 0], kinds[:, 1], kinds[:, 2:]))
    kind = kind.ravel()
    asked = np.bincount(kind, weights=packing.slots).astype(np.int64)
    patterns, left = [], PATTERNS
    for number, fits in enumerate(packing.fits[job].T):
        table = np.zeros((left + 1, len(kinds)), dtype=np.int64)
        free = np.ascontiguousarray(packing.classes.free[:, number])
        found = add_patterns(np.where(fits > 0, asked, 0), demand, first, last, free, LOOKED_AT, table)
        left -= found
        if found < 0 or left < 0:
            return None
        patterns.append(table[:found].copy())
    return PatternModel(packing, kind, patterns)
