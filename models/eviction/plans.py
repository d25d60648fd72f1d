"""Choose running jobs to kill or checkpoint for an on-demand job, at the least loss, for every deadline.

Problem and table are those of A. Maurya, B. Nicolae, I. Guliani, M. M. Rafique: "CoSim: A Simulator for Co-Scheduling
of Batch and On-Demand Jobs in HPC Datacenters", DS-RT 2020, sections II and III.

Checkpoints are written one after another. Their times, each with its wait, sum to at most the deadline. A kill takes no
time. The plan minimises the loss of killed jobs, then the total time of checkpoints.

Two things go beyond the paper. An evicted job may lose more when it restarts. A job predicted to end in time frees its
nodes at a risk. A table holds for deadlines with the same jobs ended. So each such end up to the horizon adds a table.

Algorithm 1 as printed does not minimise the time: among entries of equal loss its last line may take any. Here a plan
takes the fewest steps of that loss.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...base import check_whole
from ...base.argument_types import names_wrong_types
from .evictable import (
    Action,
    Clock,
    Eviction,
    RunningJob,
    checked,
    cost,
    infeasible,
    integers,
    no_time,
    number,
    quickest,
)
from .loss_table import (
    LOW_BITS,
    LOW_MASK,
    SAVED,
    ByteArray,
    LossTable,
    TableJobs,
    answer_all,
    fill,
    fill_wide,
    least_step,
    places,
    trace_back,
)

#: Larger sums of losses, in their unit, use Python's integers.
_WIDE = 1 << (2 * LOW_BITS - 1)


class EvictionPlan:
    """The best decision for every deadline, from :func:`plan`.

    ``plan[deadline]`` is the decision for a deadline from 0 to the horizon, in the unit of the times. Between two steps
    it is that of the earlier one. Its length is the number of :attr:`deadlines`. Iteration yields their decisions.

    Attributes
    ----------
    nodes
        Number of nodes to free.
    deadlines
        0, 1, 2, ... steps, as times.
    """

    def __init__(self, tables: _TablesByEnd, nodes: int) -> None:
        self.nodes = nodes
        self.deadlines: tuple[float, ...] = tuple(index * tables.clock.step for index in range(tables.horizon + 1))
        self._tables = tables
        self._made: dict[int, Eviction] = {}

    def __len__(self) -> int:
        """Return the number of deadlines."""
        return len(self.deadlines)

    def __iter__(self) -> Iterator[Eviction]:
        """Yield the decision for each of :attr:`deadlines`."""
        return map(self._at, range(len(self.deadlines)))

    def __getitem__(self, deadline: float) -> Eviction:
        """Return the decision for a deadline.

        Raises
        ------
        IndexError
            If it lies outside 0 to the horizon.
        """
        if not 0 <= deadline < math.inf or self._tables.clock.down(deadline) > self._tables.horizon:
            raise IndexError(f"deadline: expected 0 to {self.deadlines[-1]}, got {deadline!r}")
        return self._at(self._tables.clock.down(deadline))

    def for_nodes(self, nodes: int) -> EvictionPlan:
        """Return the plan that frees another number of nodes.

        Up to :attr:`nodes` it uses the same table. For more, the table of all nodes is filled once.

        Raises
        ------
        ValueError
            If `nodes` is not an integer of at least 0.
        """
        nodes = check_whole("plan: nodes", nodes, 0)
        tables = self._tables if nodes <= self._tables.most else self._tables.whole
        return EvictionPlan(tables, nodes)

    def _at(self, step: int) -> Eviction:
        if step not in self._made:
            self._made[step] = self._tables.at(step).decide(self.nodes, step)
        return self._made[step]


@names_wrong_types
def plan(jobs: Sequence[RunningJob], nodes_needed: int, horizon: float, step: float = 1) -> EvictionPlan:
    """Choose the jobs to evict to free nodes, at the least loss, for every deadline up to a horizon.

    The answer is exact for any losses. Ties go to the least total time of checkpoints.

    Parameters
    ----------
    jobs
        Running jobs.
    nodes_needed
        Number of nodes to free, at least. More than the jobs use is infeasible.
    horizon
        Latest deadline.
    step
        Resolution of the deadlines, in the unit of `horizon` and of checkpoint times. Checkpoint times are rounded up
        to steps, so no plan is late. Time and memory grow with jobs * nodes * horizon / step. Nodes count in units of
        their greatest common divisor.

    Raises
    ------
    ValueError
        If two jobs share an id, or an argument is out of its range. The message names it, expected and received.
    """
    nodes_needed = checked(jobs, nodes_needed)
    clock = Clock(step)
    horizon = number("plan", "horizon", horizon)
    total = sum(job.nodes for job in jobs)
    return EvictionPlan(_TablesByEnd(jobs, min(nodes_needed, total), clock, clock.down(horizon)), nodes_needed)


class PlanCore(NamedTuple):
    """Input arrays of the compiled part of :func:`plan`, without jobs that end by themselves.

    Attributes
    ----------
    jobs
        Jobs in table order.
    needed
        Number of nodes to free, in units of their greatest common divisor.
    last, horizon
        Step after which more time changes nothing, and step of the latest deadline.
    """

    jobs: TableJobs
    needed: int
    last: int
    horizon: int

    @classmethod
    def of(cls, jobs: Sequence[RunningJob], nodes_needed: int, horizon: float, clock: Clock) -> PlanCore:
        """Return the arrays of some jobs. Arguments and errors are those of :func:`plan`."""
        tables = _Tables(jobs, checked(jobs, nodes_needed), clock, 0, clock.down(number("plan", "horizon", horizon)))
        return cls(tables.candidates, -(-tables.most // tables.grain), tables.last, tables.horizon)

    def run(self) -> tuple[ByteArray, int]:
        """Return the action of each job by deadline, shape (deadlines, jobs), and the number of cells filled."""
        first = places(self.jobs.nodes, self.needed, self.last)
        does = answer_all(self.jobs, self.needed, self.last, self.horizon, first)
        reach = np.minimum(np.cumsum(self.jobs.nodes), self.needed)
        return does, int(reach.sum()) * (self.last + 1)


class _TablesByEnd:
    """Tables of some jobs, for at most `most` nodes: one per range of deadlines with the same jobs ended."""

    def __init__(self, jobs: Sequence[RunningJob], most: int, clock: Clock, horizon: int) -> None:
        self.jobs = tuple(jobs)
        self.clock = clock
        self.horizon = horizon
        self.most = most
        ends = {clock.up(job.ends) for job in jobs if job.ends is not None}
        self._begins = [0, *sorted(end for end in ends if 0 < end <= horizon)]
        lasts = [*(begin - 1 for begin in self._begins[1:]), horizon]
        self._tables = [_Tables(jobs, most, clock, *span) for span in zip(self._begins, lasts, strict=True)]

    @cached_property
    def whole(self) -> _TablesByEnd:
        """The tables of all nodes."""
        return _TablesByEnd(self.jobs, sum(job.nodes for job in self.jobs), self.clock, self.horizon)

    def at(self, step: int) -> _Tables:
        """Return the table of a deadline."""
        return self._tables[bisect_right(self._begins, step) - 1]


class _Tables:
    """Table of some jobs for deadlines from `begin` to `horizon`. No job ends between these."""

    def __init__(self, jobs: Sequence[RunningJob], most: int, clock: Clock, begin: int, horizon: int) -> None:
        self.jobs = tuple(jobs)
        self.clock = clock
        self.begin = begin
        self.horizon = horizon
        self.most = most
        self.total = sum(job.nodes for job in jobs)

    @cached_property
    def grain(self) -> int:
        """Greatest common divisor of the nodes."""
        return math.gcd(*(job.nodes for job in self.jobs)) or 1

    @cached_property
    def order(self) -> list[int]:
        """Jobs by number of nodes. With small jobs first, fewer cells need filling."""
        return sorted(range(len(self.jobs)), key=lambda place: self.jobs[place].nodes)

    @cached_property
    def saves(self) -> list[tuple[Action, int] | None]:
        """Quickest checkpoint of each job, and its steps."""
        return [quickest(job, self.clock) for job in self.jobs]

    @cached_property
    def last(self) -> int:
        """Step after which more time changes nothing."""
        return min(self.horizon, sum(save[1] for save in self.saves if save is not None))

    @cached_property
    def quits(self) -> list[Action]:
        """Best way of each job to free its nodes without a checkpoint: kill, or its own end."""
        return [no_time(job, self.clock, self.begin) for job in self.jobs]

    @cached_property
    def losses(self) -> tuple[list[int], int]:
        """Loss of each job without, then with a checkpoint, in whole units, and the number of units in 1."""
        quits = [cost(job, action) for job, action in zip(self.jobs, self.quits, strict=True)]
        return integers([*quits, *(cost(job, "system") for job in self.jobs)])

    @cached_property
    def candidates(self) -> TableJobs:
        """Jobs in table order."""
        saves = [self.saves[place] for place in self.order]
        times = [self.last + 1 if save is None else min(save[1], self.last + 1) for save in saves]
        nodes = [self.jobs[place].nodes // self.grain for place in self.order]
        halves = []
        for losses in self._ordered_losses():
            shown = [0] * len(losses) if self.wide else losses
            halves += [[loss >> LOW_BITS for loss in shown], [loss & LOW_MASK for loss in shown]]
        return TableJobs(*np.array([nodes, *halves, times], dtype=np.int64))

    def _ordered_losses(self) -> tuple[list[int], list[int]]:
        """Return the losses without and with a checkpoint, in table order."""
        quits = [self.losses[0][place] for place in self.order]
        return quits, [self.losses[0][len(self.jobs) + place] for place in self.order]

    @cached_property
    def wide(self) -> bool:
        """Whether sums of losses exceed the compiled table."""
        return sum(self.losses[0]) >= _WIDE

    @cached_property
    def table(self) -> LossTable:
        """The table, filled at its first use."""
        most = -(-self.most // self.grain)
        first = places(self.candidates.nodes, most, self.last)
        if self.wide:
            return fill_wide(self.candidates, *self._ordered_losses(), most, self.last, first)
        return fill(self.candidates, most, self.last, first)

    def decide(self, nodes: int, step: int) -> Eviction:
        """Return the decision that frees `nodes` nodes in `step` steps."""
        deadline = step * self.clock.step
        if nodes > self.total:
            return infeasible(deadline, nodes, self.total)
        if not nodes:
            return Eviction(deadline, 0.0, 0)
        target = -(-nodes // self.grain)
        steps = least_step(self.table, target, min(step, self.last))
        does = np.empty(len(self.jobs), dtype=np.uint8)
        does[self.order] = trace_back(self.candidates, self.table, target, steps)
        actions: dict[str, Action] = {}
        loss = 0
        used = 0
        freed = 0
        for place in np.flatnonzero(does).tolist():
            job = self.jobs[place]
            save = self.saves[place]
            freed += job.nodes
            if does[place] == SAVED and save is not None:
                actions[job.id] = save[0]
                used = used + save[1]
                loss += self.losses[0][len(self.jobs) + place]
            else:
                actions[job.id] = self.quits[place]
                loss = loss + self.losses[0][place]
        return Eviction(deadline, float(Fraction(loss, self.losses[1])), used * self.clock.step, actions, freed)
