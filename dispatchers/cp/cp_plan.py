"""Plan of one decision: the candidates as a problem, the search for a schedule, and its use."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from ...base import InputError, IntArray
from ...models import (
    WHENEVER,
    Answer,
    Calls,
    DecisionBudget,
    NodeBoxes,
    PlanObjective,
    Problem,
    Schedule,
    SchedulingModel,
    Search,
    Status,
    in_order,
    list_orders,
    list_schedule,
)
from ..moldable.job_modes import JobModes
from ..problems import problem_of
from ..protocol import State, Waiting
from ..site.restrictions import PlannedConstraint, Restrictions
from ..space import PoolSpace, Space, place_all
from .candidates import CandidateJobs, Chosen
from .cp_options import ConstraintProgrammingOptions, Formulation
from .ruled_room import RuledRoom
from .site_objectives import Goal, Objective


@dataclass(frozen=True, eq=False)
class CpPlan:
    """Start times of the candidates.

    Attributes
    ----------
    waiting
        Jobs with a start time.
    objective, scale
        What is minimised, and the weight in `problem` for a rate of one.
    problem
        The problem to solve.
    answer
        Result of the search.
    schedule
        Schedule to use, or ``None`` to wait.
    used
        Its origin: ``list``, ``local search``, ``cp-sat``, ``schedule-or-postpone`` or ``none``.
    own
        A site's objective of whole plans, if any.
    """

    waiting: list[Waiting]
    objective: Objective
    scale: float
    problem: Problem
    answer: Answer
    schedule: Schedule | None
    used: str
    own: PlanObjective | None = None

    def starting(self, pooled: bool) -> Chosen:
        """Return the jobs that start now, by priority, with their placement unless the nodes are pooled."""
        if self.schedule is None:
            return []
        now = np.flatnonzero(self.schedule.starts == 0).tolist()
        nodes = self.schedule.counts.shape[1]
        if pooled or nodes == 1:
            return [(self.waiting[index], None) for index in now]
        return [(self.waiting[index], np.repeat(np.arange(nodes), self.schedule.counts[index])) for index in now]


@dataclass(eq=False)
class Planner:
    """Creates plans.

    Attributes
    ----------
    options
        Settled options.
    goal
        The objective.
    rng
        Random generator of the local search.
    last
        Jobs of the last plan by planned start, as positions in the trace. The next plan begins with this order.
    models
        Number of exported models, see the option `export`.
    own
        A site's objective of the last whole plan, if any.
    """

    options: ConstraintProgrammingOptions
    goal: Goal
    rng: np.random.Generator
    last: list[int] = field(default_factory=list)
    models: int = 0
    own: PlanObjective | None = None

    def plan(
        self,
        state: State,
        candidates: CandidateJobs,
        most: int,
        restrictions: Restrictions | None = None,
        room: RuledRoom | None = None,
    ) -> CpPlan:
        """Search for the best schedule. If none is found use the best list schedule, or wait if none exists.

        Parameters
        ----------
        state, candidates
            Present state, and candidates by priority.
        most
            Number of jobs with a start time, if all jobs are candidates. The others are put at the end of the horizon.
        restrictions
            Constraints on the schedule.
        room
            What the rules of the machine leave.
        """
        options = self.options
        waiting, earliest = self._planned(state, candidates)
        horizon = self.horizon(state, waiting)
        free = waiting
        pinned = list[tuple[Waiting, int]]()
        if not (options.reduced or options.formulation == "pcp"):  # The others stand at the end of the horizon.
            free = waiting[:most]
            pinned = [(entry, max(horizon - entry.predicted, 0)) for entry in waiting[most:]]
        objective = self.goal.objective(free, state.now)
        problem, scale = problem_of(
            state,
            free,
            objective.rates,
            due=objective.due,
            pooled=options.pooled,
            overdue=bool(options.underestimates),
            pinned=pinned,
            earliest=earliest,
            instant=options.formulation == "pcp",
        )
        if self.shortened(state):
            # A job may start until the end of the horizon, and end after it.
            problem = replace(problem, latest=np.minimum(problem.latest, max(horizon, 0)))
            horizon = horizon + int(problem.duration.max()) if horizon >= 0 else horizon
        beside: list[PlannedConstraint] = []
        if room is not None:
            problem = room.narrow(problem, free, bool(options.underestimates))
            horizon = max(horizon, problem.horizon)
        if restrictions is not None:
            problem, beside = restrictions.narrow(problem, free, bool(options.underestimates))
            horizon = max(horizon, problem.horizon) + restrictions.delay
        answer = self._solved(problem, free, horizon, state, beside)
        if restrictions is not None and answer.schedule is None and answer.listed is None:
            relaxed = restrictions.relaxed(problem)
            if relaxed is not problem:
                problem = relaxed
                answer = self._solved(problem, free, horizon, state, beside)
        if restrictions is not None and beside:
            restrictions.follow(answer, free)
        schedule = answer.schedule
        used = answer.source
        if schedule is None and (answer.status is not Status.INFEASIBLE or not state.running):
            schedule, used = answer.listed, "list"
        # A plan without starts on an empty machine would wait for ever. A solver's first schedule within its limit may
        # be one.
        idle = schedule is not None and not len(state.running) and not (schedule.starts == 0).any()
        if idle and answer.listed is not None and (answer.listed.starts == 0).any():
            schedule, used = answer.listed, "list"
        return CpPlan(free, objective, scale, problem, answer, schedule, used, self.own)

    def objective(self, jobs: list[Waiting], chosen: Sequence[Waiting], state: State) -> Objective:
        """Return the objective of jobs on their `chosen` requests. Here these are their own."""
        del chosen
        return self.goal.objective(jobs, state.now)

    def _solved(
        self,
        problem: Problem,
        waiting: list[Waiting],
        horizon: int,
        state: State,
        beside: Sequence[PlannedConstraint] = (),
    ) -> Answer:
        """Return the best schedule found. If the objective failed, only the first list schedule."""
        if self.goal.failure:
            listed = list_schedule(problem, np.arange(problem.jobs))
            return Answer(Status.UNKNOWN, None, listed=listed)
        search = self._search(problem, waiting, horizon)
        search.beside = beside
        search.objective = self.own = self.goal.of_plan(waiting, state, problem) if self.goal.planned else None
        answer = search.solve(self._orders(problem, waiting))
        if answer.schedule is not None and self.options.reduced:
            self.last = [waiting[row].order for row in in_order(answer.schedule.starts).tolist()]
        return answer

    def _search(self, problem: Problem, waiting: list[Waiting], horizon: int) -> Search:
        """Return the search for a problem under these options."""
        options = self.options
        whole = not self.options.reduced
        return Search(
            problem,
            horizon,
            DecisionBudget(options.seconds),
            options.solver_limit,
            options.iterations,
            solver=whole or options.solver == "cp-sat",
            whole=whole,
            postponing=options.search == "schedule-or-postpone",
            hinted=options.search == "cp-sat" and (not whole or options.formulation == "hcp"),
            calls=Calls(options.limit == "wall", options.log),
            labels=[f"{job.job.id}" for job in waiting],
            rng=self.rng,
            inspect=self._export if options.export else None,
            allocation=NodeBoxes(problem) if options.boxes and problem.nodes > 1 else None,
        )

    def _export(self, model: SchedulingModel) -> None:
        """Write a model as a file for CP-SAT's own tools."""
        folder = Path(self.options.export)
        folder.mkdir(parents=True, exist_ok=True)
        self.models += 1
        path = folder / f"model-{self.models:06d}.pbtxt"
        if not model.variables.model.export_to_file(str(path)):
            raise InputError(f"export: cannot write {path}; name a folder that can be written to")

    def _orders(self, problem: Problem, waiting: list[Waiting]) -> list[IntArray]:
        """Return the orders of the lists: by priority, by weight, of the last plan, by latest start.

        Version 0 has only the first.
        """
        if not self.options.reduced or self.options.search == "schedule-or-postpone":
            return [np.arange(problem.jobs)]
        orders = list_orders(problem)
        orders.append(self._resumed(waiting, orders[1]))
        if int(problem.latest.min()) < WHENEVER:
            orders.append(np.argsort(problem.latest, kind="stable"))
        return orders

    def _planned(self, state: State, candidates: CandidateJobs) -> tuple[list[Waiting], IntArray | None]:
        """Return the jobs to plan, and the earliest start of each.

        A blocked job may start at the next end, if the pool has room then. Waiting for the predicted end of its nodes
        would waste earlier room, as most predictions are too long.
        """
        fitting, blocked = candidates
        if not blocked or not self.options.pooled:
            return fitting + blocked, None
        ends = np.maximum(state.running.predicted_end - state.now, 1)
        earliest = np.zeros(len(fitting) + len(blocked), dtype=np.int64)
        earliest[len(fitting) :] = ends.min(initial=ends.max(initial=1))
        return fitting + blocked, earliest

    def shortened(self, state: State) -> bool:
        """Return whether overruns shorten the horizon, by the seconds since their predicted ends."""
        return not self.options.underestimates and bool((state.running.predicted_end < state.now).any())

    def horizon(self, state: State, candidates: Sequence[Waiting]) -> int:
        """Return the sum of all durations: the latest start of any job, seconds from now."""
        remaining = state.running.predicted_end - state.now
        if self.options.underestimates:
            remaining = np.maximum(remaining, 1)
        return int(remaining.sum()) + sum(entry.predicted for entry in candidates)

    def _resumed(self, waiting: list[Waiting], by_ratio: IntArray) -> IntArray:
        """Return the order of the last plan, with new jobs inserted by their ratio of weight to work."""
        place = {order: rank for rank, order in enumerate(self.last)}
        ratio = np.empty(len(waiting), dtype=np.int64)
        ratio[by_ratio] = np.arange(len(by_ratio))
        known = [job for job in by_ratio.tolist() if waiting[job].order in place]
        old = sorted(known, key=lambda job: place[waiting[job].order])
        new = [job for job in by_ratio.tolist() if waiting[job].order not in place]
        merged: list[int] = []
        for job in old:
            while new and ratio[new[0]] < ratio[job]:
                merged.append(new.pop(0))
            merged.append(job)
        return np.array(merged + new, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class EndObjective(Objective):
    """Objective of jobs by the starts of their modes, -1 for modes not chosen. The end counts.

    The lateness of a job is that of its fastest mode with the same end. So its slowdown is relative to its shortest
    possible run time.

    Attributes
    ----------
    fastest, duration
        Seconds of the job's fastest mode, and of this one. Shape (rows,).
    """

    fastest: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    duration: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def value(self, starts: IntArray) -> float:
        """Return the objective of a schedule, recomputed."""
        late = starts + self.duration - self.fastest
        if self.due is not None:
            late = np.maximum(late - self.due, 0)
        return float((self.rates * late)[starts >= 0].sum()) + self.constant


@dataclass(eq=False)
class ModesPlanner(Planner):
    """Creates plans of moldable jobs.

    Attributes
    ----------
    modes
        Modes of the jobs.
    """

    modes: JobModes = field(default_factory=JobModes)

    def plan(
        self,
        state: State,
        candidates: CandidateJobs,
        most: int,
        restrictions: Restrictions | None = None,
        room: RuledRoom | None = None,
    ) -> CpPlan:
        """Search for the best modes and starts of the candidates. Without any choice, plan as usual.

        Under constraints, which ignore modes, every job runs on its own request.
        """
        jobs = candidates.fitting
        if all(len(self.modes.of(job, state)) == 1 and not job.job.shapes for job in jobs):
            return super().plan(state, candidates, most, restrictions, room)
        each = [[mode.waiting for mode in self.modes.of(job, state)] for job in jobs]
        rows = [entry for modes in each for entry in modes]
        job_of = np.repeat(np.arange(len(jobs)), [*map(len, each)])
        objective = self._ends(jobs, rows, job_of, state)
        due = None if objective.due is None else objective.due + objective.fastest
        problem, scale = problem_of(state, rows, objective.rates, due=due, overdue=bool(self.options.underestimates))
        if room is not None:
            problem = room.narrow(problem, rows, bool(self.options.underestimates))
        problem = replace(problem, mode_of=job_of)
        answer = self._solved(problem, rows, problem.horizon, state)
        schedule = answer.schedule or answer.listed
        used = answer.source if answer.schedule else "list"
        return CpPlan(rows, objective, scale, problem, answer, schedule, used)

    def objective(self, jobs: list[Waiting], chosen: Sequence[Waiting], state: State) -> EndObjective:
        """Return the objective of the jobs' ends, each in its chosen mode."""
        return self._ends(jobs, chosen, np.arange(len(jobs)), state)

    def _ends(self, jobs: list[Waiting], rows: Sequence[Waiting], job_of: IntArray, state: State) -> EndObjective:
        fastest = [self.modes.fastest(job, state).predicted for job in jobs]
        shown = [job.shown_as(predicted=least) for job, least in zip(jobs, fastest, strict=True)]
        terms = self.goal.objective(shown, state.now)
        return EndObjective(
            terms.rates[job_of],
            None if terms.due is None else terms.due[job_of],
            terms.constant,
            np.array(fastest, dtype=np.int64)[job_of],
            np.array([row.predicted for row in rows], dtype=np.int64),
        )


def all_together(space: Space, candidates: list[Waiting], formulation: Formulation) -> Chosen | None:
    """Return all candidates if they can start together, which is optimal. Else ``None``."""
    if not _sums_suffice(space, candidates):
        return None
    if len(candidates) == 1 or formulation == "hcp" or isinstance(space, PoolSpace):
        return [(entry, None) for entry in candidates]
    placed = place_all(space, candidates)
    if placed is None:
        return None
    for entry, placement in zip(candidates, placed, strict=True):
        space.give(placement, entry.demand)
    return list(zip(candidates, placed, strict=True))


def _sums_suffice(space: Space, jobs: Sequence[Waiting]) -> bool:
    """Return whether the free amounts of all nodes together suffice for all jobs."""
    needs = (sum(entry.nodes * entry.demand[resource] for entry in jobs) for resource in range(len(space.totals)))
    return all(need <= free for need, free in zip(needs, space.totals, strict=True))
