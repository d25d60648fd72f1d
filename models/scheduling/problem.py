"""The scheduling problem of one instant: which waiting job starts when, beside what already holds the machine."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...base import IntArray
from .binding import Shortage, shortage
from .node_classes import NodeClasses, classes_now, equal_rows, node_classes
from .node_groups import Instant, instant_of, no_instant
from .quotas import Quotas

#: The latest start of a job that may start whenever it can.
WHENEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class Problem:
    """Jobs to be given start times on a machine of which parts are held; all times in whole seconds from now.

    A job holds ``slots`` times ``demand`` for ``duration`` seconds from its start. Several slots may lie on one node,
    and they stay where they are. The cost of a schedule is the sum of ``weight * max(0, start - due)`` (Galleguillos et
    al., CP 2019, sections 2.2 and 4, where the constants are left out).

    On a machine of one node this is the pooled problem of HCP; on many, the problem of PCP with its allocation. On one
    node with `free_now`, the jobs that start now must have places on those nodes, and what starts later shares the
    pool: PCP of the instant.

    **Modes.** A job that can run in several ways has a row for each in all that is of shape (jobs,), one after the
    other, with the same number in `mode_of`. In a schedule exactly one of them is taken; the others have the start -1.
    Then the end counts, not the start: the cost is the sum of ``weight * max(0, start + duration - due)`` over the rows
    that are taken. Lists, the local search and CP-SAT know modes on one node, where jobs may start at any time.

    Attributes
    ----------
    duration
        Seconds, shape (jobs,); less than one second counts as one.
    slots
        Node slots, shape (jobs,), at least 1.
    demand
        Amounts a slot asks for, shape (jobs, resources).
    weight
        Cost of a second's delay past `due`, shape (jobs,), not negative.
    due
        Seconds from now until which a start costs nothing, shape (jobs,); zero if not given.
    capacity
        Shape (nodes, resources).
    held_from, held_to
        When something else holds amounts, shape (held,), half-open: running jobs from 0 to their expected end.
    held_node, held_amount
        Where, shape (held,), and how much, shape (held, resources).
    earliest
        Seconds from now before which a job may not start, shape (jobs,); zero if not given.
    free_now
        What is free now on each node that the one node of `capacity` stands for, shape (nodes now, resources); no rows
        where the pool is all there is.
    latest
        Seconds from now after which a job may not start, shape (jobs,); :data:`WHENEVER` if not given.
    whole
        Amounts that a job asks for beside those of its slots, shape (jobs, resources); zero if not given, and on
        several nodes, which have no place for them.
    quotas
        What whole jobs take on several nodes. On one node a quota is one of the resources: see :meth:`with_quotas`.
    mode_of
        Which job each row is a mode of, shape (jobs,), from 0 on, without gaps and never falling. If not given, each
        row is a job of its own.

    Raises
    ------
    ValueError
        If shapes disagree, or something is negative that must not be.
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
        jobs, resources = len(self.duration), np.asarray(self.capacity).shape[1]
        zeros, held = np.zeros(jobs, dtype=np.int64), len(self.held_from)
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
        """Number of jobs that want a start time; of their modes, where they have several."""
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
        """Seconds from now until which a start costs nothing, shape (jobs,)."""
        return self.due - self.duration if self.has_modes else self.due

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return len(self.capacity)

    @cached_property
    def need(self) -> IntArray:
        """Amounts a whole job asks for, shape (jobs, resources)."""
        return self.slots[:, None] * self.demand + self.whole

    @cached_property
    def share(self) -> NDArray[np.float64]:
        """Part of the machine that a job asks for, the mean over the resources, shape (jobs,)."""
        share: NDArray[np.float64] = (self.need / np.maximum(self.capacity.sum(axis=0), 1)).mean(axis=1)
        return share

    @cached_property
    def horizon(self) -> int:
        """A time by which all jobs can be done one after the other."""
        ends = [self.held_to, self.earliest, *([] if self.quotas is None else [self.quotas.held_to])]
        return max(int(times.max(initial=0)) for times in ends) + int(self.duration.sum())

    @cached_property
    def pooled(self) -> Problem:
        """The relaxation in which all nodes are one, but for the jobs that start now: what bounds are found on."""
        if self.nodes == 1:
            return self
        pool = Problem(
            self.duration, self.slots, self.demand, self.weight, self.capacity.sum(axis=0, keepdims=True), self.due,
            self.held_from, self.held_to, np.zeros_like(self.held_node), self.held_amount, self.earliest,
            free_now=self._free_at_once(), latest=self.latest, mode_of=self.mode_of,
        )  # fmt: skip
        return pool if self.quotas is None else pool.with_quotas(self.quotas)

    def _free_at_once(self) -> IntArray:
        """Return what is free now on each node, shape (nodes, resources), nothing where more is held than there is."""
        free, held = self.capacity.copy(), self.held_from == 0
        np.subtract.at(free, self.held_node[held], self.held_amount[held])
        return np.maximum(free, 0)

    def of_jobs(self, jobs: IntArray) -> Problem:
        """Return the problem of some of the jobs alone, by their numbers, each in the mode of its row."""
        columns = ("duration", "slots", "demand", "weight", "due", "earliest", "latest", "whole")
        quotas = self.quotas and replace(self.quotas, need=self.quotas.need[jobs])
        rows = {name: getattr(self, name)[jobs] for name in columns}
        part = replace(self, quotas=quotas, **rows | {"due": self.due_start[jobs], "mode_of": np.arange(len(jobs))})
        part.__dict__["classes"] = self.classes  # Nothing of it is of the jobs.
        return part

    def with_quotas(self, quotas: Quotas) -> Problem:
        """Return the problem in which whole jobs take of quotas as well; on one node these are further resources."""
        if self.nodes > 1:
            return replace(self, quotas=quotas)
        return _with_resources(self, quotas)

    @cached_property
    def profile(self) -> tuple[IntArray, IntArray]:
        """What is free on one node beside what is held.

        The times at which it changes, shape (steps,), the first of them 0, and the free amounts from each on, shape
        (steps, resources). Below zero where more is held than there is.
        """
        noted = () if self.quotas is None else (self.quotas.times,)
        times = rising(np.concatenate((np.zeros(1, dtype=np.int64), self.held_from, self.held_to, *noted)))
        begun, ended = (_passed(each, self.held_amount, times) for each in (self.held_from, self.held_to))
        return times, self.capacity[0] + ended - begun

    @cached_property
    def shortage(self) -> Shortage:
        """What can be short on one node."""
        return shortage(self.need, *self.profile)

    @cached_property
    def classes(self) -> NodeClasses:
        """The profile by class of nodes that nothing tells apart."""
        classes = node_classes(self.capacity, self.held_from, self.held_to, self.held_node, self.held_amount)
        return classes if self.quotas is None else classes.at(np.union1d(classes.times, self.quotas.times))

    @cached_property
    def classes_now(self) -> NodeClasses:
        """The nodes of `free_now` by class."""
        return classes_now(self.free_now)

    @cached_property
    def instant(self) -> Instant:
        """What starts now on the nodes of `free_now`, for the compiled code; without nodes if there are none."""
        there = len(self.free_now)
        return instant_of(self.classes_now, self.slots, self.demand, self.first_later) if there else no_instant()

    @cached_property
    def first_later(self) -> int:
        """The first second at which a job that does not start now can gain by starting, at least 1.

        Whatever is moved up as far as it goes starts now, at a time before which it may not, or as something ends.
        """
        times = np.concatenate((self.held_to, self.earliest, self.duration))
        return int(times[times > 0].min(initial=np.iinfo(np.int64).max))

    @property
    def overfull(self) -> bool:
        """Whether more is held at some time than there is."""
        return bool(self.classes.free.min(initial=0) < 0)

    @cached_property
    def alike(self) -> list[IntArray]:
        """Jobs that differ in nothing but their number, weight and due date aside, as groups of two or more.

        None where jobs have modes, of which all would have to be the same.
        """
        if self.has_modes:
            return []
        taken = () if self.quotas is None else (self.quotas.need,)
        columns = (self.duration, self.earliest, self.latest, self.slots, self.demand, self.whole, *taken)
        _, group = equal_rows(np.column_stack(columns))
        return [np.flatnonzero(group == number) for number in np.flatnonzero(np.bincount(group) > 1).tolist()]

    @cached_property
    def kind(self) -> IntArray:
        """A number that is the same for jobs that differ in nothing but their number, shape (jobs,)."""
        kind = np.arange(self.jobs)
        for group in self.alike:
            first, label = equal_rows(np.column_stack((self.weight[group], self.due[group])))
            kind[group] = group[first][label]
        return kind

    def cost(self, starts: IntArray) -> int:
        """Return the cost of starting the jobs at `starts`, shape (jobs,); below 0 for a mode that is not taken."""
        late = np.maximum(starts - self.due_start, 0)
        return int((self.weight * late)[starts >= 0].sum() if self.has_modes else (self.weight * late).sum())


def taken_modes(problem: Problem, starts: IntArray) -> tuple[Problem, IntArray]:
    """Return the problem of the modes that are taken, and their starts; the same where jobs have one mode."""
    if not problem.has_modes:
        return problem, starts
    rows = np.flatnonzero(starts >= 0)
    if not np.array_equal(problem.mode_of[rows], np.arange(len(problem.first_rows))):
        raise ValueError(f"starts: expected one mode of each job, got rows {rows.tolist()}")
    return problem.of_jobs(rows), starts[rows]


def least_cost(problem: Problem) -> int:
    """Return the cost if every job started as early as it may, in the mode in which it then costs least."""
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
    """Return the different times in rising order; ``numpy.unique`` takes several times as long where most are."""
    times = np.sort(times, kind="stable")
    different: IntArray = times[np.append(True, times[1:] != times[:-1])]
    return different


def _passed(time: IntArray, amount: IntArray, times: IntArray) -> IntArray:
    """Return the sums of the amounts, shape (held, resources), whose time has come at each of `times`."""
    order = np.argsort(time, kind="stable")
    sums = np.concatenate((np.zeros((1, amount.shape[1]), dtype=np.int64), np.cumsum(amount[order], axis=0)))
    return sums[np.searchsorted(time[order], times, side="right")]


def _with_resources(problem: Problem, quotas: Quotas) -> Problem:
    """Return the problem of one node in which quotas are further resources."""
    before, behind = ((0, 0), (problem.capacity.shape[1], 0)), ((0, 0), (0, len(quotas.most)))
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
