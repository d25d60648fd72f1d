"""The scheduling problem at one instant: start times of waiting jobs beside occupied amounts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...base import IntArray
from ...base.argument_types import names_wrong_types
from .binding import Shortage, shortage
from .node_classes import NodeClasses, classes_now, equal_rows, node_classes
from .node_groups import NodesNow, instant_of, no_instant


@dataclass(frozen=True, eq=False)
class Quotas:
    """Limit ``sum(need[j] : start[j] <= t < start[j] + duration[j]) + held(t) <= most`` at every time t.

    Attributes
    ----------
    need
        Amounts of each job, shape (jobs, quotas).
    most
        Limits, shape (quotas,).
    held_from, held_to
        Half-open intervals of occupied amounts, seconds from now, shape (held,).
    held_amount
        Occupied amounts, shape (held, quotas).
    """

    need: IntArray
    most: IntArray
    held_from: IntArray
    held_to: IntArray
    held_amount: IntArray

    def beside(self, other: Quotas) -> Quotas:
        """Return these quotas and other ones of the same jobs together."""
        behind, before = ((0, 0), (0, len(other.most))), ((0, 0), (len(self.most), 0))
        return Quotas(
            np.append(self.need, other.need, axis=1),
            np.append(self.most, other.most),
            np.append(self.held_from, other.held_from),
            np.append(self.held_to, other.held_to),
            np.append(np.pad(self.held_amount, behind), np.pad(other.held_amount, before), axis=0),
        )

    @cached_property
    def times(self) -> IntArray:
        """Times at which free amounts change. Shape (steps,). The first is 0."""
        return np.unique(np.concatenate((np.zeros(1, dtype=np.int64), self.held_from, self.held_to)))

    @cached_property
    def left(self) -> IntArray:
        """Free amounts from each of the times on, shape (steps, quotas)."""
        change = np.zeros((len(self.times), len(self.most)), dtype=np.int64)
        change[0] = self.most
        np.subtract.at(change, np.searchsorted(self.times, self.held_from), self.held_amount)
        np.add.at(change, np.searchsorted(self.times, self.held_to), self.held_amount)
        return np.cumsum(change, axis=0)


@names_wrong_types
def quotas_beside(
    need: IntArray, most: IntArray, ends: IntArray, taken: IntArray, begins: IntArray | None = None
) -> Quotas:
    """Return the quotas beside occupied amounts. If these exceed a limit, nothing is left.

    Parameters
    ----------
    need, most
        As in :class:`Quotas`.
    ends
        End of each occupation, seconds from now, above 0. Shape (held,).
    taken
        Occupied amounts, shape (held, quotas).
    begins
        Begin of each, seconds from now, at least 0. By default 0, as for running jobs.
    """
    begins = np.zeros_like(ends) if begins is None else begins
    times = np.unique(np.concatenate((np.zeros(1, dtype=np.int64), begins, ends)))
    still = (begins <= times[:-1, None]) & (ends > times[:-1, None])
    return Quotas(need, most, times[:-1], times[1:], np.minimum(still @ taken, most))


#: Latest start of a job without a bound.
WHENEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class Problem:
    """Jobs to start on a partly occupied machine. All times are whole seconds from now.

    A job occupies ``slots`` times ``demand`` for ``duration`` seconds from its start. Several slots may share a node.
    Slots never move. The cost of a schedule is the sum of ``weight * max(0, start - due)`` (Galleguillos et al., CP
    2019, sections 2.2 and 4, without the constants).

    **Machines.** One node gives the pooled problem of HCP. Several nodes give the problem of PCP with its allocation.
    One node with `free_now` gives PCP of the instant: jobs that start now need places on those nodes, and later jobs
    share the pool.

    **Modes.** A job with several modes has one row per mode in all arrays of shape (jobs,). Its rows are adjacent and
    share a number in `mode_of`. A schedule chooses exactly one of them. The others have the start -1. Then the end
    counts: the cost is the sum of ``weight * max(0, start + duration - due)`` over the chosen rows. Lists, local search
    and CP-SAT support modes only on one node, without bounds of the starts.

    Attributes
    ----------
    duration
        Seconds, at least 1, shape (jobs,).
    slots
        Node slots, shape (jobs,), at least 1.
    demand
        Amounts per slot, shape (jobs, resources).
    weight
        Cost per second of delay past `due`, shape (jobs,), not negative.
    due
        Latest start without cost, seconds from now, shape (jobs,). Default zero.
    capacity
        Shape (nodes, resources).
    held_from, held_to
        Half-open intervals of occupied amounts, shape (held,). A running job has 0 to its expected end.
    held_node, held_amount
        Node, shape (held,), and amounts, shape (held, resources).
    earliest
        Earliest start of each job, seconds from now, shape (jobs,). Default zero.
    free_now
        Free amounts now on each node behind the one node of `capacity`. Shape (nodes now, resources). Without rows for
        a plain pool.
    latest
        Latest start of each job, seconds from now, shape (jobs,). Default :data:`WHENEVER`.
    whole
        Amounts per job beside those of its slots, shape (jobs, resources). Default zero. Always zero on several nodes.
    quotas
        Quotas of whole jobs on several nodes. On one node each quota is a resource: see :meth:`with_quotas`.
    mode_of
        Job of each row, shape (jobs,), ascending from 0 without gaps. By default each row is its own job.

    Raises
    ------
    ValueError
        If shapes disagree, or a value is negative that must not be.
    """

    duration: IntArray
    slots: IntArray
    demand: IntArray
    weight: IntArray
    capacity: IntArray
    due: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    held_from: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    held_to: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    held_node: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    held_amount: IntArray = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))
    earliest: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    free_now: IntArray = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))
    latest: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    whole: IntArray = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))
    quotas: Quotas | None = None
    mode_of: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def __post_init__(self) -> None:
        jobs = len(self.duration)
        resources = np.asarray(self.capacity).shape[1]
        zeros = np.zeros(jobs, dtype=np.int64)
        held = len(self.held_from)
        nothing = np.zeros((jobs + held, resources), dtype=np.int64)
        defaults = {"due": zeros, "earliest": zeros, "latest": np.full(jobs, WHENEVER), "mode_of": np.arange(jobs)}
        for name, default in (defaults | {"whole": nothing[:jobs], "held_amount": nothing[:0]}).items():
            if not np.size(getattr(self, name)):
                object.__setattr__(self, name, default)
        names = ("duration", "slots", "weight", "due", "earliest", "latest", "mode_of")
        shapes: dict[str, tuple[int, ...]] = dict.fromkeys(names, (jobs,))
        shapes |= dict.fromkeys(("demand", "whole"), (jobs, resources))
        shapes |= {"held_to": (held,), "held_node": (held,), "held_amount": (held, resources)}
        for name, shape in shapes.items():
            array = np.ascontiguousarray(getattr(self, name), dtype=np.int64)
            if array.shape != shape:
                raise ValueError(f"{name} must have shape {shape}, got {array.shape}")
            if name != "due" and array.size and int(array.min()) < (1 if name == "slots" else 0):
                raise ValueError(f"{name} must be >= {1 if name == 'slots' else 0}, got {int(array.min())}")
            object.__setattr__(self, name, array)
        object.__setattr__(self, "duration", np.maximum(self.duration, 1))
        object.__setattr__(self, "capacity", np.ascontiguousarray(self.capacity, dtype=np.int64))
        object.__setattr__(self, "held_from", np.ascontiguousarray(self.held_from, dtype=np.int64))
        _check_modes(self)

    @property
    def jobs(self) -> int:
        """Number of jobs to start, or of their modes."""
        return len(self.duration)

    @cached_property
    def has_modes(self) -> bool:
        """Whether a job has several modes."""
        return bool(self.jobs and self.mode_of[-1] + 1 < self.jobs)

    @cached_property
    def first_rows(self) -> IntArray:
        """The first row of each job."""
        return np.flatnonzero(np.diff(self.mode_of, prepend=-1))

    @cached_property
    def due_start(self) -> IntArray:
        """Latest start without cost, seconds from now, shape (jobs,)."""
        return self.due - self.duration if self.has_modes else self.due

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return len(self.capacity)

    @cached_property
    def need(self) -> IntArray:
        """Amounts per job, shape (jobs, resources)."""
        return self.slots[:, None] * self.demand + self.whole

    @cached_property
    def share(self) -> NDArray[np.float64]:
        """Share of the machine per job, mean over the resources. Shape (jobs,)."""
        share: NDArray[np.float64] = (self.need / np.maximum(self.capacity.sum(axis=0), 1)).mean(axis=1)
        return share

    @cached_property
    def horizon(self) -> int:
        """A time by which all jobs can end if run in sequence."""
        ends = [self.held_to, self.earliest, *([] if self.quotas is None else [self.quotas.held_to])]
        return max(int(times.max(initial=0)) for times in ends) + int(self.duration.sum())

    @property
    def pooled(self) -> Problem:
        """The relaxation with all nodes as one pool, except for jobs that start now. Bounds use it."""
        return self if self.nodes == 1 else self._pooled  # A stored reference to itself would be a cycle.

    @cached_property
    def _pooled(self) -> Problem:
        pool = Problem(
            self.duration,
            self.slots,
            self.demand,
            self.weight,
            self.capacity.sum(axis=0, keepdims=True),
            self.due,
            self.held_from,
            self.held_to,
            np.zeros_like(self.held_node),
            self.held_amount,
            self.earliest,
            free_now=self._free_at_once(),
            latest=self.latest,
            mode_of=self.mode_of,
        )
        return pool if self.quotas is None else pool.with_quotas(self.quotas)

    def _free_at_once(self) -> IntArray:
        """Return the free amounts now on each node. Shape (nodes, resources), at least zero."""
        free = self.capacity.copy()
        held = self.held_from == 0
        np.subtract.at(free, self.held_node[held], self.held_amount[held])
        return np.maximum(free, 0)

    def of_jobs(self, jobs: IntArray) -> Problem:
        """Return the problem of some rows alone, each job in the mode of its row."""
        columns = ("duration", "slots", "demand", "weight", "due", "earliest", "latest", "whole")
        quotas = self.quotas and replace(self.quotas, need=self.quotas.need[jobs])
        rows = {name: getattr(self, name)[jobs] for name in columns}
        part = replace(self, quotas=quotas, **rows | {"due": self.due_start[jobs], "mode_of": np.arange(len(jobs))})
        part.__dict__["classes"] = self.classes  # Independent of the jobs.
        return part

    def with_quotas(self, quotas: Quotas) -> Problem:
        """Return the problem with further quotas of whole jobs. On one node they become resources."""
        if self.nodes > 1:
            return replace(self, quotas=quotas if self.quotas is None else self.quotas.beside(quotas))
        return _with_resources(self, quotas)

    @cached_property
    def profile(self) -> tuple[IntArray, IntArray]:
        """Free amounts on one node beside the occupied ones.

        The first part holds the times of changes, shape (steps,), from 0 on. The second part holds the free amounts
        from each on, shape (steps, resources). They are negative where over capacity.
        """
        noted = () if self.quotas is None else (self.quotas.times,)
        times = rising(np.concatenate((np.zeros(1, dtype=np.int64), self.held_from, self.held_to, *noted)))
        begun, ended = (_passed(each, self.held_amount, times) for each in (self.held_from, self.held_to))
        return times, self.capacity[0] + ended - begun

    @cached_property
    def shortage(self) -> Shortage:
        """Resources that can be short on one node."""
        return shortage(self.need, *self.profile)

    @cached_property
    def classes(self) -> NodeClasses:
        """The profile by class of equal nodes."""
        classes = node_classes(self.capacity, self.held_from, self.held_to, self.held_node, self.held_amount)
        return classes if self.quotas is None else classes.at(np.union1d(classes.times, self.quotas.times))

    @cached_property
    def classes_now(self) -> NodeClasses:
        """The nodes of `free_now` by class."""
        return classes_now(self.free_now)

    @cached_property
    def instant(self) -> NodesNow:
        """Compiled data of the nodes of `free_now`. Without nodes if there are none."""
        there = len(self.free_now)
        return instant_of(self.classes_now, self.slots, self.demand, self.first_later) if there else no_instant()

    @cached_property
    def first_later(self) -> int:
        """First useful start after now, at least 1 second.

        A job moved as early as possible starts now, at its earliest start, or when something ends.
        """
        times = np.concatenate((self.held_to, self.earliest, self.duration))
        return int(times[times > 0].min(initial=np.iinfo(np.int64).max))

    @property
    def overfull(self) -> bool:
        """Whether occupied amounts exceed the capacity at some time."""
        return bool(self.classes.free.min(initial=0) < 0)

    @cached_property
    def alike(self) -> list[IntArray]:
        """Groups of two or more jobs that are equal except for number, weight and due date.

        Empty for jobs with modes, where all modes would have to be equal.
        """
        if self.has_modes:
            return []
        taken = () if self.quotas is None else (self.quotas.need,)
        columns = (self.duration, self.earliest, self.latest, self.slots, self.demand, self.whole, *taken)
        _, group = equal_rows(np.column_stack(columns))
        return [np.flatnonzero(group == number) for number in np.flatnonzero(np.bincount(group) > 1).tolist()]

    @cached_property
    def kind(self) -> IntArray:
        """Equal numbers for jobs that are equal except for their number. Shape (jobs,)."""
        kind = np.arange(self.jobs)
        for group in self.alike:
            first, label = equal_rows(np.column_stack((self.weight[group], self.due[group])))
            kind[group] = group[first][label]
        return kind

    def cost(self, starts: IntArray) -> int:
        """Return the cost of start times. Shape (jobs,). Negative starts for modes that are not chosen."""
        late = np.maximum(starts - self.due_start, 0)
        return int((self.weight * late)[starts >= 0].sum() if self.has_modes else (self.weight * late).sum())


@names_wrong_types
def taken_modes(problem: Problem, starts: IntArray) -> tuple[Problem, IntArray]:
    """Return the problem of the chosen modes, and their starts. Unchanged without modes."""
    if not problem.has_modes:
        return problem, starts
    rows = np.flatnonzero(starts >= 0)
    if not np.array_equal(problem.mode_of[rows], np.arange(len(problem.first_rows))):
        raise ValueError(f"starts: expected one mode of each job, got rows {rows.tolist()}")
    return problem.of_jobs(rows), starts[rows]


@names_wrong_types
def least_cost(problem: Problem) -> int:
    """Return the cost if every job started at its earliest start, in its cheapest mode."""
    late = problem.weight * np.maximum(problem.earliest - problem.due_start, 0)
    return int(np.minimum.reduceat(late, problem.first_rows).sum()) if problem.jobs else 0


def _check_modes(problem: Problem) -> None:
    steps = np.diff(problem.mode_of)
    if problem.jobs and (problem.mode_of[0] or ((steps < 0) | (steps > 1)).any()):
        raise ValueError(f"mode_of must rise from 0 by 0 or 1 a row, got {problem.mode_of.tolist()}")
    if not problem.has_modes:
        return
    if problem.nodes > 1 or len(problem.free_now) or problem.earliest.any() or int(problem.latest.min()) < WHENEVER:
        raise ValueError("modes are for jobs on one node without free_now, earliest and latest")
    if (problem.weight != problem.weight[problem.first_rows][problem.mode_of]).any():
        raise ValueError("weight must be the same for all modes of a job")


def rising(times: IntArray) -> IntArray:
    """Return the distinct times in ascending order. Faster than ``numpy.unique`` for mostly distinct times."""
    times = np.sort(times, kind="stable")
    different: IntArray = times[np.append(True, times[1:] != times[:-1])]
    return different


def _passed(time: IntArray, amount: IntArray, times: IntArray) -> IntArray:
    """Return the sum of amounts with a `time` at or before each of `times`. Shape (steps, resources)."""
    order = np.argsort(time, kind="stable")
    sums = np.concatenate((np.zeros((1, amount.shape[1]), dtype=np.int64), np.cumsum(amount[order], axis=0)))
    return sums[np.searchsorted(time[order], times, side="right")]


def _with_resources(problem: Problem, quotas: Quotas) -> Problem:
    """Return the problem of one node with quotas as further resources."""
    before = ((0, 0), (problem.capacity.shape[1], 0))
    behind = ((0, 0), (0, len(quotas.most)))
    return replace(
        problem,
        demand=np.pad(problem.demand, behind),
        capacity=np.append(problem.capacity, quotas.most[None], axis=1),
        whole=np.append(problem.whole, quotas.need, axis=1),
        held_from=np.append(problem.held_from, quotas.held_from),
        held_to=np.append(problem.held_to, quotas.held_to),
        held_node=np.append(problem.held_node, np.zeros_like(quotas.held_from)),
        held_amount=np.append(np.pad(problem.held_amount, behind), np.pad(quotas.held_amount, before), axis=0),
        free_now=np.pad(problem.free_now, behind),
    )
