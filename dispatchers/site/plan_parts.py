"""View of whole plans for site constraints and objectives: job ids, nodes, running jobs, and CP-SAT's model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ...base import IntArray, check_whole
from ...models import CpModel, IntervalVar, IntVar, LinearExprT, Problem, Schedule, Variables
from ...workloads import Machine
from ..protocol import JobView, State, Waiting
from .site_constraints import SiteConstraint


@dataclass(frozen=True)
class PlannedJob:
    """A waiting job in a plan, or a running job.

    Attributes
    ----------
    job
        The job, with the fields of :class:`~hpcdispatch.workloads.Job` except the run time.
    duration
        Planned seconds.
    start
        Seconds from now, negative for a running job. ``None`` for a job without a planned start.
    nodes
        Node of each slot. Empty if the nodes are not decided.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.dispatchers import JobView
    >>> from hpcdispatch.dispatchers.cp import PlannedJob
    >>> view = JobView(hd.Job("a", submit=0, runtime=100, walltime=900), hd.Machine(("core",), [[4]]))
    >>> PlannedJob(view, duration=900, start=60, nodes=(0,)).end
    960
    """

    job: JobView
    duration: int
    start: int | None = None
    nodes: tuple[int, ...] = ()

    @property
    def end(self) -> int | None:
        """Seconds from now. ``None`` for a job without a planned start."""
        return None if self.start is None else self.start + self.duration


@dataclass(frozen=True)
class ModelJob:
    """A waiting job in CP-SAT's model.

    Attributes
    ----------
    job, duration
        As in :class:`PlannedJob`.
    start
        Variable: seconds from now.
    interval
        From the start for the duration.
    on
        Literal per node that the job may use. Empty if the model has no nodes.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.dispatchers import JobView
    >>> from hpcdispatch.dispatchers.cp import ModelJob
    >>> from hpcdispatch.models import CpModel
    >>> view = JobView(hd.Job("a", submit=0, runtime=100, walltime=900), hd.Machine(("core",), [[4]]))
    >>> model = CpModel()
    >>> start = model.new_int_var(0, 3600, "start")
    >>> job = ModelJob(view, 900, start, model.new_fixed_size_interval_var(start, 900, "a"))
    >>> constraint = model.add(job.end <= 1800)
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
    """State around a plan.

    Attributes
    ----------
    now
        Seconds on the simulation's clock.
    machine
        Nodes and resources.
    waiting
        All waiting jobs by id, planned or not.
    running
        Running jobs by id. They end after now.
    """

    now: int
    machine: Machine
    waiting: Mapping[str, JobView]
    running: Mapping[str, PlannedJob]

    @cached_property
    def node_class(self) -> IntArray:
        """A number per node, equal for nodes of equal capacity. Shape (nodes,)."""
        return np.unique(self.machine.capacity, axis=0, return_inverse=True)[1].ravel()


@dataclass(frozen=True)
class PlannedJobs(Surroundings):
    """A schedule, as input of :meth:`PlanConstraint.holds` and :meth:`.PlanGoal.cost`.

    Attributes
    ----------
    jobs
        Planned jobs by id.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.dispatchers import JobView
    >>> from hpcdispatch.dispatchers.cp import PlannedJob, PlannedJobs
    >>> machine = hd.Machine(("core",), [[4]])
    >>> view = JobView(hd.Job("a", submit=0, runtime=100, walltime=900), machine)
    >>> planned = PlannedJob(view, duration=900, start=60)
    >>> plan = PlannedJobs(now=0, machine=machine, waiting={"a": view}, running={}, jobs={"a": planned})
    >>> plan.jobs["a"].end
    960
    """

    jobs: Mapping[str, PlannedJob]


@dataclass(frozen=True)
class PlanModel(Surroundings):
    """The model of a plan, as input of :meth:`PlanConstraint.add_to` and :meth:`.PlanGoal.expression`.

    Attributes
    ----------
    jobs
        Planned jobs by id.
    model
        CP-SAT's model. Any constraint may be added.
    horizon
        Latest end of any job, seconds from now.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.dispatchers.cp import PlanModel
    >>> from hpcdispatch.models import CpModel
    >>> plan = PlanModel(
    ...     now=0, machine=hd.Machine(("core",), [[4]]), waiting={}, running={}, jobs={}, model=CpModel(), horizon=3600
    ... )
    >>> latest = plan.model.new_int_var(0, plan.horizon, "latest")
    """

    jobs: Mapping[str, ModelJob]
    model: CpModel
    horizon: int


class PlanConstraint(SiteConstraint):
    """A constraint on a whole plan. `add_to` and `holds` must express the same condition.

    Attributes
    ----------
    delay
        Seconds by which it may put off a plan, beside the run times of its jobs. The model ends that much later.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.dispatchers.cp import HCP3, PlanConstraint
    >>> from hpcdispatch.testing import tiny
    >>> class AfterEachOther(PlanConstraint):
    ...     "Job d starts after the end of job c."
    ...
    ...     def add_to(self, plan):
    ...         if {"c", "d"} <= plan.jobs.keys():
    ...             plan.model.add(plan.jobs["d"].start >= plan.jobs["c"].end)
    ...
    ...     def holds(self, plan):
    ...         first, second = plan.jobs.get("c"), plan.jobs.get("d")
    ...         if first is None or second is None or None in (first.start, second.start):
    ...             return True
    ...         return second.start >= first.end
    >>> hd.simulate(tiny(), HCP3(constraints=[AfterEachOther()], blocked=5)).jobs["start"].tolist()
    [0, 0, 100, 160, 160]
    """

    delay: int = 86_400

    def add_to(self, plan: PlanModel) -> None:
        """Add it to CP-SAT's model."""
        raise NotImplementedError

    def holds(self, plan: PlannedJobs) -> bool:
        """Return whether a schedule meets it. Jobs may have unknown starts and nodes."""
        raise NotImplementedError

    def next_change(self, now: int) -> int | None:
        """Return when after `now` it may admit more jobs without any end. ``None`` if never."""
        return None


@dataclass(frozen=True)
class PlanView:
    """Maps the rows of a problem to jobs.

    Attributes
    ----------
    beside
        State around the plan.
    waiting
        Job of each row.
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
        rows = zip(self.waiting, self.problem.duration.tolist(), variables.jobs, strict=True)
        jobs = {
            entry.job.id: ModelJob(entry.job, duration, made.start, made.interval, on.get(row, {}))
            for row, (entry, duration, made) in enumerate(rows)
        }
        return PlanModel(*_fields(self.beside), jobs, variables.model, variables.horizon)

    def schedule(self, schedule: Schedule) -> PlannedJobs:
        """Return a schedule with its jobs by id."""
        counts = schedule.counts if schedule.counts.shape[1] > 1 else schedule.counts[:, :0]
        placed = np.arange(counts.shape[1])
        rows = zip(self.waiting, self.problem.duration.tolist(), schedule.starts.tolist(), counts, strict=True)
        jobs = [
            PlannedJob(entry.job, duration, start, tuple(np.repeat(placed, here).tolist()))
            for entry, duration, start, here in rows
        ]
        return planned_jobs(self.beside, jobs)


def planned_jobs(beside: Surroundings, jobs: Sequence[PlannedJob]) -> PlannedJobs:
    """Return planned jobs with the state around the plan."""
    return PlannedJobs(*_fields(beside), {planned.job.id: planned for planned in jobs})


def _fields(beside: Surroundings) -> tuple[int, Machine, Mapping[str, JobView], Mapping[str, PlannedJob]]:
    return beside.now, beside.machine, beside.waiting, beside.running


def surroundings(state: State) -> Surroundings:
    """Return the state around a plan."""
    running = {}
    for run in state.running:
        left = max(run.predicted_end - state.now, 1)
        began = run.start - state.now
        running[run.job.id] = PlannedJob(run.job, left - began, began, tuple(np.asarray(run.placement).tolist()))
    return Surroundings(state.now, state.machine, {entry.job.id: entry.job for entry in state.queue}, running)


def checked_holds(part: PlanConstraint, plan: PlannedJobs) -> bool:
    """Return whether a schedule meets a constraint. Raises ``ValueError`` for any other answer."""
    holds = part.holds(plan)
    if not isinstance(holds, bool | np.bool_):
        raise ValueError(f"holds must return True or False, got {holds!r}")
    return bool(holds)


def checked_next_change(part: PlanConstraint, now: int) -> int | None:
    """Return when a constraint may admit more jobs. Raises ``ValueError`` unless that is a second after now."""
    change = part.next_change(now)
    return None if change is None else check_whole("next_change", change, now + 1)
