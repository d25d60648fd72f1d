"""Which jobs start now at the least cost, where what starts later is a fluid.

A job either starts now, as a whole, or later, and then it may start in parts, each at one of a few times. What starts
now has places on the nodes and runs for its whole duration; what starts later shares the pool, and of an interval
between two times it takes the mean. A mixed-integer program with whole numbers for this instant alone, solved by HiGHS:
the time-indexed formulation (Dyer and Wolsey, Discrete Applied Mathematics 26, 1990) with a few times, relaxed after
the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from ....base import BoolArray, FloatArray, IntArray
from ...scheduling.node_classes import NodeClasses, equal_rows
from ...scheduling.problem import Problem

#: Times at which a part of a job may start after the first release, and nodes of HiGHS's tree.
TIMES, TREE = 12, 200
#: Up to how many pairs of a demand and a node there is a program of the nodes one by one.
PAIRS = 800
#: What the best known schedule costs in the program: large against HiGHS's absolute tolerance of 1e-6.
_SCALE = 1000.0
_NEVER = 2**50
#: Inequalities: coefficients, and the least and the most that each may be.
Rows = tuple["scipy.sparse.csr_array", FloatArray, FloatArray]


@dataclass(frozen=True, eq=False)
class StartSet:
    """What is known of the best set of jobs to start now.

    Attributes
    ----------
    now
        Whether each job starts now in the best set found, shape (jobs,).
    cost
        Of that set, with the rest as a fluid.
    proved
        Whether no other set costs less, to HiGHS's tolerance.
    slots
        Of each demand on the nodes of each class, in the order of the program's variables.
    """

    now: BoolArray
    cost: float
    proved: bool
    slots: IntArray


class FluidModel:
    """The program of one instant.

    Jobs that differ in nothing are one group with a whole number of starts. Slots of one demand are told apart by
    neither job nor node of a class.

    Parameters
    ----------
    problem
        Jobs and a pool, perhaps with the nodes of this instant.
    starts, cost
        Of a schedule: its starts and ends are where times are worth having.
    classes
        The nodes of this instant: those of the problem, or each by itself, see :func:`each_node`.
    times
        How many of them after the first release.

    Attributes
    ----------
    edges
        The times, the first of them 0.
    group
        Of each job, shape (jobs,).
    """

    def __init__(
        self, problem: Problem, starts: IntArray, cost: int, classes: NodeClasses | None = None, times: int = TIMES
    ) -> None:
        self.problem = problem
        self.classes = problem.classes_now if classes is None else classes
        self.edges = _times(problem, starts, times)
        self._first, self.group = equal_rows(problem.kind[:, None])
        self._size = np.bincount(self.group)
        self._unit = max(cost, 1) / _SCALE
        self._rows: list[Rows] = []
        self._starts_at = np.tile(self.edges, len(self._size))
        self._add_starts()
        self._add_pool()
        self._columns = len(self._starts_at)
        self._of_kind, self._at, self._most = self._add_nodes()

    def solve(
        self, refused: Sequence[tuple[int, ...]] = (), fixed: BoolArray | None = None, tree: int = TREE
    ) -> StartSet | None:
        """Return the best set; ``None`` if HiGHS finds none.

        Parameters
        ----------
        refused
            Jobs of which not all can start now; :meth:`refusable`.
        fixed
            The set, if only its cost is asked for, shape (jobs,).
        tree
            Nodes of the search tree, which bound the effort whatever the machine.
        """
        places = len(self._at)
        columns = self._columns + places
        rows = [*self._rows, *(self._refusal(core) for core in refused)]
        constraints = [
            scipy.optimize.LinearConstraint(_widened(matrix, columns), low, high) for matrix, low, high in rows
        ]
        whole = np.append(self._starts_at == 0, np.ones(places))
        most = np.append(self._allowed(), self._most)
        least = np.zeros_like(most)
        if fixed is not None:
            now = np.flatnonzero(self._starts_at == 0)
            least[now] = most[now] = np.bincount(self.group[fixed], minlength=len(now))
        found = scipy.optimize.milp(
            np.concatenate((self._costs(), np.zeros(places))), integrality=whole,
            bounds=scipy.optimize.Bounds(least, most), constraints=constraints,
            options={"node_limit": tree, "mip_rel_gap": 0.0},
        )  # fmt: skip
        if found.x is None:
            return None
        count = np.rint(found.x[: self._columns : len(self.edges)]).astype(np.int64)
        slots = np.rint(found.x[self._columns :]).astype(np.int64)
        return StartSet(self._of_groups(count), float(found.fun) * self._unit, found.status == 0, slots)

    def counts(self, found: StartSet) -> IntArray:
        """Return the slots on each node of what starts now, shape (jobs, nodes now), where each class is one node."""
        problem, kind = self.problem, equal_rows(self.problem.demand)[1]
        room = np.zeros((len(problem.free_now), int(kind.max(initial=0)) + 1), dtype=np.int64)
        room[self.classes.members[self._at], self._of_kind] = found.slots
        counts = np.zeros((problem.jobs, len(room)), dtype=np.int64)
        for job in np.flatnonzero(found.now).tolist():
            there = room[:, kind[job]]
            counts[job] = np.clip(problem.slots[job] - (np.cumsum(there) - there), 0, there)
            room[:, kind[job]] -= counts[job]
        return counts

    def _of_groups(self, count: IntArray) -> BoolArray:
        """Return the first jobs of each group, so many of each."""
        order = np.argsort(self.group, kind="stable")
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order)) - np.repeat(np.cumsum(self._size) - self._size, self._size)
        starts: BoolArray = rank < count[self.group]
        return starts

    def _of_start(self, column: IntArray) -> IntArray:
        """Return a property of jobs for every start of every group."""
        return np.repeat(column[self._first], len(self.edges), axis=0)

    def _costs(self) -> FloatArray:
        problem = self.problem
        late = np.maximum(self._starts_at - self._of_start(problem.due), 0)
        costs: FloatArray = self._of_start(problem.weight) * late / self._unit
        return costs

    def _allowed(self) -> IntArray:
        """Return how many jobs of the group may start at each start."""
        earliest, latest = (self._of_start(column) for column in (self.problem.earliest, self.problem.latest))
        timely = (self._starts_at >= earliest) & (self._starts_at <= latest)
        return np.repeat(self._size, len(self.edges)) * timely

    def _add_starts(self) -> None:
        """Let each job start once."""
        groups, times = len(self._size), len(self.edges)
        once = scipy.sparse.coo_array(
            (np.ones(groups * times), (np.repeat(np.arange(groups), times), np.arange(groups * times)))
        )
        self._rows.append((once.tocsr(), self._size.astype(np.float64), self._size.astype(np.float64)))

    def _add_pool(self) -> None:
        """Let no interval but the last, which has no end, be asked for more than the pool has free on the mean."""
        problem, edges, starts = self.problem, self.edges, self._starts_at
        times, free = problem.profile
        begin, end = edges[:-1, None], edges[1:, None]
        room = _shared(times, np.append(times[1:], _NEVER), begin, end) @ np.maximum(free[:, 0], 0)
        taken = _shared(starts, starts + self._of_start(problem.duration), begin, end)
        asked = np.flatnonzero(problem.need.any(axis=0)).tolist()
        need = self._of_start(problem.need)
        matrix = scipy.sparse.csr_array(np.concatenate([taken * need[:, resource] for resource in asked]))
        most = np.concatenate([room[:, resource] for resource in asked])
        self._rows.append((matrix, np.full(len(most), -np.inf), most))

    def _add_nodes(self) -> tuple[IntArray, IntArray, IntArray]:
        """Let what starts now have slots on the nodes; return demand, class and bound of each variable that takes.

        Nodes of a class are one, so that this is necessary; where a class has one node it is sufficient, too.
        """
        problem, nothing = self.problem, np.zeros(0, dtype=np.int64)
        if not len(problem.free_now):
            return nothing, nothing, nothing
        heads, kind = equal_rows(problem.demand)
        classes, demand = self.classes, problem.demand[heads]
        fits = _slots_by_class(problem, classes)
        of_kind, at = np.nonzero(fits)
        count, slots = len(of_kind), self._columns + np.arange(len(of_kind))
        now = np.flatnonzero(self._starts_at == 0)
        rows = np.concatenate((of_kind, kind[self._first]))
        columns = np.concatenate((slots, now))
        values = np.concatenate((np.ones(count), -problem.slots[self._first].astype(np.float64)))
        zeros = np.zeros(len(heads))
        self._rows.append((_matrix(values, rows, columns, len(heads)), zeros, zeros))
        for resource in np.flatnonzero(demand.any(axis=0)).tolist():
            amount = demand[of_kind, resource].astype(np.float64)
            room = (np.maximum(classes.capacity[:, resource], 0) * classes.count).astype(np.float64)
            self._rows.append((_matrix(amount, at, slots, len(room)), np.full(len(room), -np.inf), room))
        return of_kind, at, fits[of_kind, at] * classes.count[at]

    def refusable(self, core: tuple[int, ...]) -> bool:
        """Return whether the program can say that jobs do not all start now: it knows but how many of a group do."""
        groups, count = np.unique(self.group[list(core)], return_counts=True)
        return bool((count == self._size[groups]).all())

    def _refusal(self, core: tuple[int, ...]) -> Rows:
        now = np.flatnonzero(self._starts_at == 0)[np.unique(self.group[list(core)])]
        row = _matrix(np.ones(len(now)), np.zeros(len(now), dtype=np.int64), now, 1)
        return row, np.full(1, -np.inf), np.full(1, len(core) - 1.0)


def each_node(problem: Problem, most: int = PAIRS) -> NodeClasses | None:
    """Return the nodes now on which anything fits, as many as can be used, each one a class; ``None`` if too many.

    Parameters
    ----------
    problem
        Jobs and the nodes of this instant.
    most
        Pairs of a demand and a node on which a slot fits.
    """
    fits = _slots_by_class(problem, problem.classes_now)
    asked = np.bincount(equal_rows(problem.demand)[1], weights=problem.slots).astype(np.int64)
    wanted = np.minimum((fits > 0).T @ asked, problem.classes_now.count)
    return problem.classes_now.few(wanted) if int((fits > 0).sum(axis=0) @ wanted) <= most else None


def _slots_by_class(problem: Problem, classes: NodeClasses) -> IntArray:
    """Return how many slots of each demand fit on a node of each class alone, shape (demands, classes)."""
    heads, kind = equal_rows(problem.demand)
    asked = np.bincount(kind, weights=problem.slots).astype(np.int64)
    return _slots_that_fit(classes.capacity, problem.demand[heads], asked)


def _times(problem: Problem, starts: IntArray, most: int) -> IntArray:
    """Return 0, the first release, the last end, and times between: releases, and starts and ends of a schedule."""
    ends = starts + problem.duration
    first, last = problem.first_later, int(ends.max(initial=1))
    found = np.unique(np.concatenate((problem.profile[0], starts, ends)))
    found = found[(found > first) & (found < last)]
    if len(found) > most:
        found = found[np.linspace(0, len(found) - 1, most).astype(np.int64)]
    return np.unique(np.concatenate((np.array([0, first, max(first, last)]), found)))


def _shared(begin: IntArray, end: IntArray, since: IntArray, until: IntArray) -> FloatArray:
    """Return the part of each interval [`since`, `until`) that is in [`begin`, `end`), shape (intervals, spans)."""
    seconds = np.minimum(end, until) - np.maximum(begin, since)
    shared: FloatArray = np.maximum(seconds, 0) / (until - since)
    return shared


def _slots_that_fit(free: IntArray, demand: IntArray, most: IntArray) -> IntArray:
    """Return how many slots of each demand fit on a node of each class, shape (demands, classes), up to `most`."""
    fits = np.repeat(most[:, None], len(free), axis=1)
    for resource, amount in enumerate(demand.T):
        asked = amount > 0
        fits[asked] = np.minimum(fits[asked], np.maximum(free[:, resource], 0) // amount[asked, None])
    return fits


def _matrix(values: FloatArray, rows: IntArray, columns: IntArray, height: int) -> scipy.sparse.csr_array:
    return scipy.sparse.coo_array((values, (rows, columns)), shape=(height, int(columns.max(initial=0)) + 1)).tocsr()


def _widened(matrix: scipy.sparse.csr_array, columns: int) -> scipy.sparse.csr_array:
    """Return the same with columns of zeros behind."""
    return scipy.sparse.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=(matrix.shape[0], columns))
