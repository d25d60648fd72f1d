"""Which running jobs give way for an on-demand job: killed or checkpointed, at the least loss, for every deadline.

The problem and the table are those of A. Maurya, B. Nicolae, I. Guliani, M. M. Rafique: "CoSim: A Simulator for
Co-Scheduling of Batch and On-Demand Jobs in HPC Datacenters", DS-RT 2020, sections II and III. Checkpoints are written
one after another: their times, each with the wait for its moment, add up to at most the deadline. Killing takes no
time. Minimised is the loss of the killed jobs, then the total time of the checkpoints. Beyond the paper, whoever is
killed or checkpointed may lose something when it starts again, and a job that is predicted to end in time frees its
nodes at a risk. A table holds for the deadlines at which the same jobs end in time, so that there is one more for each
such end up to the horizon.

Algorithm 1 as printed does not do the second: of several entries of the same loss its last line may take any. Here a
plan takes the fewest steps that have the loss.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...base.checks import check_whole
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
    Candidates,
    Table,
    answer_all,
    fill,
    fill_wide,
    least_step,
    places,
    trace_back,
)

#: Sums of losses from here on, in their unit, are added as Python's integers.
_WIDE = 1 << (2 * LOW_BITS - 1)


class EvictionPlan:
    """The best decision for every deadline, from :func:`plan`.

    ``plan[deadline]`` is that of a deadline of 0 to the horizon, in the unit of the times; between two steps it is that
    of the earlier one. Its length is the number of :attr:`deadlines`, and it iterates over their decisions.

    Attributes
    ----------
    nodes
        How many are to be freed.
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
        """Give the decision for each of :attr:`deadlines`."""
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

        Up to :attr:`nodes` it is read off the same table. For more the table of all nodes is filled, once.

        Raises
        ------
        ValueError
            If it is no whole number of at least 0.
        """
        nodes = check_whole("plan: nodes", nodes, 0)
        tables = self._tables if nodes <= self._tables.most else self._tables.whole
        return EvictionPlan(tables, nodes)

    def _at(self, step: int) -> Eviction:
        if step not in self._made:
            self._made[step] = self._tables.at(step).decide(self.nodes, step)
        return self._made[step]


def plan(jobs: Sequence[RunningJob], nodes_needed: int, horizon: float, step: float = 1) -> EvictionPlan:
    """Find who gives way to free nodes, for every deadline up to a horizon, at the least loss.

    The answer is exact, in loss and then in total time of checkpoints, for any losses.

    Parameters
    ----------
    jobs
        What runs.
    nodes_needed
        How many nodes are to be freed at least; more than the jobs have is infeasible.
    horizon
        The latest deadline.
    step
        The resolution of the deadlines, in the same unit as `horizon` and the times of checkpoints. Those are rounded
        up to steps, so that no plan is late. Time and memory grow with jobs * nodes * horizon / step, nodes divided by
        their greatest common divisor.

    Raises
    ------
    ValueError
        If two jobs share an id or an argument is out of its range; the message names it, expected and received.
    """
    nodes_needed = checked(jobs, nodes_needed)
    clock = Clock(step)
    horizon = number("plan", "horizon", horizon)
    total = sum(job.nodes for job in jobs)
    return EvictionPlan(_TablesByEnd(jobs, min(nodes_needed, total), clock, clock.down(horizon)), nodes_needed)


class PlanCore(NamedTuple):
    """The jobs of a plan, as arrays: the compiled part of :func:`plan` alone, where nobody ends by itself.

    Attributes
    ----------
    jobs
        As they stand in the table.
    needed
        How many nodes are to be freed, in their greatest common divisor.
    last, horizon
        The step after which more time changes nothing, and that of the latest deadline.
    """

    jobs: Candidates
    needed: int
    last: int
    horizon: int

    @classmethod
    def of(cls, jobs: Sequence[RunningJob], nodes_needed: int, horizon: float, clock: Clock) -> PlanCore:
        """Return the arrays of some jobs; arguments and errors are those of :func:`plan`."""
        tables = _Tables(jobs, checked(jobs, nodes_needed), clock, 0, clock.down(number("plan", "horizon", horizon)))
        return cls(tables.candidates, -(-tables.most // tables.grain), tables.last, tables.horizon)

    def run(self) -> tuple[ByteArray, int]:
        """Return what each job does for each deadline, shape (deadlines, jobs), and how many cells were filled."""
        first = places(self.jobs.nodes, self.needed, self.last)
        does = answer_all(self.jobs, self.needed, self.last, self.horizon, first)
        reach = np.minimum(np.cumsum(self.jobs.nodes), self.needed)
        return does, int(reach.sum()) * (self.last + 1)


class _TablesByEnd:
    """The tables of some jobs, for so many nodes at most: one for the deadlines at which the same jobs have ended."""

    def __init__(self, jobs: Sequence[RunningJob], most: int, clock: Clock, horizon: int) -> None:
        self.jobs, self.clock, self.horizon, self.most = tuple(jobs), clock, horizon, most
        ends = {clock.up(job.ends) for job in jobs if job.ends is not None}
        self._begins = [0, *sorted(end for end in ends if 0 < end <= horizon)]
        lasts = [*(begin - 1 for begin in self._begins[1:]), horizon]
        self._tables = [_Tables(jobs, most, clock, *span) for span in zip(self._begins, lasts, strict=True)]

    @cached_property
    def whole(self) -> _TablesByEnd:
        """The tables of all nodes."""
        return _TablesByEnd(self.jobs, sum(job.nodes for job in self.jobs), self.clock, self.horizon)

    def at(self, step: int) -> _Tables:
        """Return the table for a deadline."""
        return self._tables[bisect_right(self._begins, step) - 1]


class _Tables:
    """The table of some jobs for deadlines from `begin` to `horizon`, between which nobody ends, and how to read it."""

    def __init__(self, jobs: Sequence[RunningJob], most: int, clock: Clock, begin: int, horizon: int) -> None:
        self.jobs, self.clock, self.begin, self.horizon, self.most = tuple(jobs), clock, begin, horizon, most
        self.total = sum(job.nodes for job in jobs)

    @cached_property
    def grain(self) -> int:
        """The greatest common divisor of the nodes."""
        return math.gcd(*(job.nodes for job in self.jobs)) or 1

    @cached_property
    def order(self) -> list[int]:
        """The jobs by nodes: the fewer the earlier ones free, the less there is to fill."""
        return sorted(range(len(self.jobs)), key=lambda place: self.jobs[place].nodes)

    @cached_property
    def saves(self) -> list[tuple[Action, int] | None]:
        """The quickest checkpoint of each job and its steps."""
        return [quickest(job, self.clock) for job in self.jobs]

    @cached_property
    def last(self) -> int:
        """The step after which more time changes nothing."""
        return min(self.horizon, sum(save[1] for save in self.saves if save is not None))

    @cached_property
    def quits(self) -> list[Action]:
        """How each job best frees its nodes in no time of checkpoints: killed, or at its own end."""
        return [no_time(job, self.clock, self.begin) for job in self.jobs]

    @cached_property
    def losses(self) -> tuple[list[int], int]:
        """What each job loses so, then what each loses that is saved, in whole units, and how many units make 1."""
        quits = [cost(job, action) for job, action in zip(self.jobs, self.quits, strict=True)]
        return integers([*quits, *(cost(job, "system") for job in self.jobs)])

    @cached_property
    def candidates(self) -> Candidates:
        """The jobs as they stand in the table."""
        saves = [self.saves[place] for place in self.order]
        times = [self.last + 1 if save is None else min(save[1], self.last + 1) for save in saves]
        nodes = [self.jobs[place].nodes // self.grain for place in self.order]
        halves = []
        for losses in self._ordered_losses():
            shown = [0] * len(losses) if self.wide else losses
            halves += [[loss >> LOW_BITS for loss in shown], [loss & LOW_MASK for loss in shown]]
        return Candidates(*np.array([nodes, *halves, times], dtype=np.int64))

    def _ordered_losses(self) -> tuple[list[int], list[int]]:
        """Return the losses of jobs that quit, and of those that are saved, in the order of the table."""
        quits = [self.losses[0][place] for place in self.order]
        return quits, [self.losses[0][len(self.jobs) + place] for place in self.order]

    @cached_property
    def wide(self) -> bool:
        """Whether sums of losses do not fit into the compiled table."""
        return sum(self.losses[0]) >= _WIDE

    @cached_property
    def table(self) -> Table:
        """The table, filled when it is first read."""
        most = -(-self.most // self.grain)
        first = places(self.candidates.nodes, most, self.last)
        if self.wide:
            return fill_wide(self.candidates, *self._ordered_losses(), most, self.last, first)
        return fill(self.candidates, most, self.last, first)

    def decide(self, nodes: int, step: int) -> Eviction:
        """Return the decision that frees so many nodes in so many steps."""
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
        loss, used, freed = 0, 0, 0
        for place in np.flatnonzero(does).tolist():
            job, save = self.jobs[place], self.saves[place]
            freed += job.nodes
            if does[place] == SAVED and save is not None:
                actions[job.id], used = save[0], used + save[1]
                loss += self.losses[0][len(self.jobs) + place]
            else:
                actions[job.id], loss = self.quits[place], loss + self.losses[0][place]
        return Eviction(deadline, float(Fraction(loss, self.losses[1])), used * self.clock.step, actions, freed)
