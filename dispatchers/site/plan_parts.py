"""Constraints and objectives of a site that see a whole plan: job ids, nodes, running jobs, and CP-SAT's model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ...base import IntArray
from ...base.checks import check_whole
from ...models import CpModel, IntervalVar, IntVar, LinearExprT, Problem, Schedule, Variables
from ...workloads import Machine
from ..protocol import JobView, State, Waiting
from .site_constraints import SiteConstraint


@dataclass(frozen=True)
class PlannedJob:
    """A waiting job in a plan, or a running one.

    Attributes
    ----------
    job
        The job, with the fields of :class:`~hpcdispatch.workloads.Job` but for the run time.
    duration
        Seconds that it is planned to run.
    start
        Seconds from now, below 0 for a running job; ``None`` for a job that is not planned to start.
    nodes
        The node of each slot; empty where the nodes are not decided.
    """

    job: JobView
    duration: int
    start: int | None = None
    nodes: tuple[int, ...] = ()

    @property
    def end(self) -> int | None:
        """Seconds from now; ``None`` for a job that is not planned to start."""
        return None if self.start is None else self.start + self.duration


@dataclass(frozen=True)
class ModelJob:
    """A waiting job in CP-SAT's model.

    Attributes
    ----------
    job, duration
        As of :class:`PlannedJob`.
    start
        A variable: seconds from now.
    interval
        From the start for the duration.
    on
        A literal for each node that the job may have slots on; empty where the nodes are not in the model.
    """

    job: JobView
    duration: int
    start: IntVar
    interval: IntervalVar
    on: Mapping[int, IntVar] = field(default_factory=dict)

    @property
    def end(self) -> LinearExprT:
        """Seconds from now, an expression."""
        return self.start + self.duration


@dataclass(frozen=True)
class Surroundings:
    """What a plan is made beside.

    Attributes
    ----------
    now
        Seconds on the clock of the simulation.
    machine
        Its nodes and resources.
    waiting
        All waiting jobs by id, planned or not.
    running
        The running jobs by id; they end after now.
    """

    now: int
    machine: Machine
    waiting: Mapping[str, JobView]
    running: Mapping[str, PlannedJob]

    @cached_property
    def node_class(self) -> IntArray:
        """A number for each node, the same for nodes of equal capacity, shape (nodes,)."""
        classes: IntArray = np.unique(self.machine.capacity, axis=0, return_inverse=True)[1].ravel()
        return classes


@dataclass(frozen=True)
class PlannedJobs(Surroundings):
    """A schedule, as :meth:`PlanConstraint.holds` and :meth:`.PlanGoal.cost` see it.

    Attributes
    ----------
    jobs
        The jobs of the plan by id.
    """

    jobs: Mapping[str, PlannedJob]


@dataclass(frozen=True)
class PlanModel(Surroundings):
    """The model of a plan, as :meth:`PlanConstraint.add_to` and :meth:`.PlanGoal.expression` see it.

    Attributes
    ----------
    jobs
        The jobs of the plan by id.
    model
        CP-SAT's model, to which anything may be added.
    horizon
        No job ends later, seconds from now.
    """

    jobs: Mapping[str, ModelJob]
    model: CpModel
    horizon: int


class PlanConstraint(SiteConstraint):
    """A constraint on a whole plan: both methods say the same, one to CP-SAT and one of a schedule."""

    def add_to(self, plan: PlanModel) -> None:
        """Add it to CP-SAT's model."""
        raise NotImplementedError

    def holds(self, plan: PlannedJobs) -> bool:
        """Return whether a schedule meets it; of jobs without a start, and of their nodes, nothing is known."""
        raise NotImplementedError

    def next_change(self, now: int) -> int | None:
        """Return when after `now` it may admit more, though no job has ended; ``None`` if never."""
        return None


@dataclass(frozen=True)
class PlanView:
    """What translates the rows of a problem to jobs.

    Attributes
    ----------
    beside
        What the plan is made beside.
    waiting
        The job of each row.
    problem
        The problem.
    """

    beside: Surroundings
    waiting: Sequence[Waiting]
    problem: Problem

    def model(self, variables: Variables) -> PlanModel:
        """Return the model with its jobs by id."""
        on: dict[int, dict[int, IntVar]] = {}
        for (row, node), literal in variables.on.items():
            on.setdefault(row, {})[node] = literal
        jobs = {
            entry.job.id: ModelJob(entry.job, duration, made.start, made.interval, on.get(row, {}))
            for row, (entry, duration, made) in enumerate(
                zip(self.waiting, self.problem.duration.tolist(), variables.jobs, strict=True)
            )
        }
        return PlanModel(*_fields(self.beside), jobs, variables.model, variables.horizon)

    def schedule(self, schedule: Schedule) -> PlannedJobs:
        """Return a schedule with its jobs by id."""
        counts = schedule.counts if schedule.counts.shape[1] > 1 else schedule.counts[:, :0]
        placed = np.arange(counts.shape[1])
        rows = zip(self.waiting, self.problem.duration.tolist(), schedule.starts.tolist(), counts, strict=True)
        return planned_jobs(
            self.beside,
            [
                PlannedJob(entry.job, duration, start, tuple(np.repeat(placed, here).tolist()))
                for entry, duration, start, here in rows
            ],
        )


def planned_jobs(beside: Surroundings, jobs: Sequence[PlannedJob]) -> PlannedJobs:
    """Return jobs of a plan beside what is there."""
    return PlannedJobs(*_fields(beside), {planned.job.id: planned for planned in jobs})


def _fields(
    beside: Surroundings,
) -> tuple[int, Machine, Mapping[str, JobView], Mapping[str, PlannedJob]]:
    return beside.now, beside.machine, beside.waiting, beside.running


def surroundings(state: State) -> Surroundings:
    """Return what a plan of a state is made beside."""
    running = {}
    for run in state.running:
        left, began = max(run.predicted_end - state.now, 1), run.start - state.now
        running[run.job.id] = PlannedJob(run.job, left - began, began, tuple(np.asarray(run.placement).tolist()))
    return Surroundings(state.now, state.machine, {entry.job.id: entry.job for entry in state.queue}, running)


def checked_holds(part: PlanConstraint, plan: PlannedJobs) -> bool:
    """Return whether a schedule meets a constraint; raise ``ValueError`` if it says something else."""
    holds = part.holds(plan)
    if not isinstance(holds, bool | np.bool_):
        raise ValueError(f"holds must return True or False, got {holds!r}")
    return bool(holds)


def checked_next_change(part: PlanConstraint, now: int) -> int | None:
    """Return when a constraint may admit more; raise ``ValueError`` if that is no second after now."""
    change = part.next_change(now)
    return None if change is None else check_whole("next_change", change, now + 1)
