"""The plan of one decision: the candidates as a problem, lists and local search, the solver, and what is reported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ...base import InputError, IntArray
from ...models import (
    FOR_ALL,
    ON_THE_POOL,
    WHENEVER,
    Answer,
    Constraint,
    Decision,
    FluidDecision,
    Narrowed,
    Problem,
    Schedule,
    Source,
    Status,
    best_of,
    comparable,
    earliest_starts,
    improve,
    in_order,
    least_cost,
    list_orders,
    list_schedule,
    narrowed,
    only_chain,
    rearranged,
    solve_direct,
    solve_placed,
    solve_pooled,
)
from ...workloads import Machine
from ..moldable.job_modes import JobModes
from ..problems import problem_of
from ..protocol import State, Waiting
from ..space import PoolSpace, Space, place_all
from .candidates import Candidates, Chosen
from .cp_options import ConstraintProgrammingOptions, Formulation
from .restrictions import Restrictions
from .site_objectives import Goal, Objective

#: The local search goes in so many parts; one that brings nothing is the last.
_PARTS = 4
#: Nodes with which version 0 of PCP is solved: CP-SAT's limit does not count what it takes to begin with a model.
_MOST_NODES = 2000


@dataclass(frozen=True, eq=False)
class Plan:
    """When the candidates start.

    Attributes
    ----------
    waiting
        Who gets a start time.
    objective, scale
        What is minimised, and the weight in `problem` that stands for a rate of one.
    problem
        What was to be solved.
    listed
        The best list schedule, if there is any.
    answer
        What is known of the problem.
    schedule
        What is followed, or ``None`` to wait.
    used
        Who made it: ``list``, ``local search``, ``cp-sat``, ``fluid`` or ``none``.
    """

    waiting: list[Waiting]
    objective: Objective
    scale: float
    problem: Problem
    listed: Schedule | None
    answer: Answer
    schedule: Schedule | None
    used: str

    def starting(self, pooled: bool) -> Chosen:
        """Return who starts now, in order of priority, and where unless the nodes are pooled."""
        if self.schedule is None:
            return []
        now = np.flatnonzero(self.schedule.starts == 0).tolist()
        nodes = self.schedule.counts.shape[1]
        if pooled or nodes == 1:
            return [(self.waiting[index], None) for index in now]
        return [(self.waiting[index], np.repeat(np.arange(nodes), self.schedule.counts[index])) for index in now]


@dataclass(eq=False)
class Planner:
    """How plans are made.

    Attributes
    ----------
    options
        Settled.
    goal
        The objective.
    rng
        Of the local search.
    last
        The jobs of the last plan as they were to start, by their place in the trace: the next one begins with that.
    """

    options: ConstraintProgrammingOptions
    goal: Goal
    rng: np.random.Generator
    last: list[int] = field(default_factory=list)

    @property
    def families(self) -> tuple[Constraint, ...]:
        """Constraints for all sites, which every plan keeps; with any, nothing starts without a plan."""
        return FOR_ALL

    def plan(self, state: State, candidates: Candidates, most: int, restrictions: Restrictions | None = None) -> Plan:
        """Look for the best schedule; where there is none take the list's, or wait if that is proved.

        Parameters
        ----------
        state, candidates
            Now, and who may get a start time, in order of priority.
        most
            How many do, where all jobs are candidates: the others are put at the end of the horizon.
        restrictions
            What constraints ask for beside.
        """
        options = self.options
        waiting, earliest = self._planned(state, candidates)
        horizon = self._horizon(state, waiting)
        free, pinned = self._split(waiting, most, horizon)
        objective = self.goal.objective(free, state.now)
        problem, scale = problem_of(
            state, free, objective.rates, due=objective.due, pooled=options.pooled,
            overdue=bool(options.underestimates), pinned=pinned, earliest=earliest,
            instant=options.formulation == "pcp",
        )  # fmt: skip
        if restrictions is not None:
            problem = restrictions.narrow(problem, free, bool(options.underestimates))
            horizon = max(horizon, problem.horizon)
        listed, answer = self._solved(problem, free, horizon)
        if restrictions is not None and answer.schedule is None and listed is None:
            relaxed = restrictions.relaxed(problem)
            if relaxed is not problem:
                problem = relaxed
                listed, answer = self._solved(problem, free, horizon)
        schedule, used = answer.schedule, "list" if answer.source == "hint" else answer.source
        if schedule is None and (answer.status is not Status.INFEASIBLE or not state.running):
            schedule, used = listed, "list"
        # A plan that starts nobody on an empty machine, as a solver's first within its limit may, waits for ever.
        idle = schedule is not None and not len(state.running) and not (schedule.starts == 0).any()
        if idle and listed is not None and (listed.starts == 0).any():
            schedule, used = listed, "list"
        return Plan(free, objective, scale, problem, listed, answer, schedule, used)

    def objective(self, jobs: list[Waiting], chosen: Sequence[Waiting], state: State) -> Objective:
        """Return what is minimised of jobs, on what they are `chosen` to run on: here their own requests."""
        del chosen
        return self.goal.objective(jobs, state.now)

    def _solved(self, problem: Problem, waiting: list[Waiting], horizon: int) -> tuple[Schedule | None, Answer]:
        """Return the best list schedule, and what comes of it; that in the order given where the objective failed."""
        if self.families:
            return self._under(self.families, narrowed(problem, self.families), waiting, horizon)
        if self.options.reduced and not self.goal.failure:
            return self._reduced(problem, waiting, horizon)
        listed = list_schedule(problem, np.arange(problem.jobs))
        if self.goal.failure:
            return listed, Answer(Status.UNKNOWN, None, None, 0.0, "none")
        return listed, self._whole(problem, listed, horizon)

    def _planned(self, state: State, candidates: Candidates) -> tuple[list[Waiting], IntArray | None]:
        """Return who is planned, and when each can start at the earliest.

        The blocked ones as soon as anything ends, if the pool has room then: to wait until their nodes are predicted to
        be free would give away room that is free earlier, as most predictions are too long.
        """
        fitting, blocked = candidates
        if not blocked or not self.options.pooled:
            return fitting + blocked, None
        ends = np.maximum(state.running.predicted_end - state.now, 1)
        earliest = np.zeros(len(fitting) + len(blocked), dtype=np.int64)
        earliest[len(fitting) :] = ends.min(initial=ends.max(initial=1))
        return fitting + blocked, earliest

    def _horizon(self, state: State, candidates: Sequence[Waiting]) -> int:
        """Return the sum of all durations, from now."""
        remaining = state.running.predicted_end - state.now
        if self.options.underestimates:
            remaining = np.maximum(remaining, 1)
        return int(remaining.sum()) + sum(entry.predicted for entry in candidates)

    def _split(
        self, candidates: list[Waiting], most: int, horizon: int
    ) -> tuple[list[Waiting], list[tuple[Waiting, int]]]:
        """Return who gets a start time, and who is put at the end of the horizon, with his start."""
        if self.options.reduced or self.options.formulation == "pcp":
            return candidates, []
        return candidates[:most], [(entry, max(horizon - entry.predicted, 0)) for entry in candidates[most:]]

    def _whole(self, problem: Problem, listed: Schedule | None, horizon: int) -> Answer:
        """Solve version 0: that of HCP goes by the priority first, that of PCP has the solver's search alone."""
        limit = self.options.solver_limit
        if self.options.formulation == "hcp" or problem.nodes == 1:
            usable = self.options.formulation == "hcp" and not problem.overfull
            hint = listed if usable else None
            return solve_pooled(problem, hint, limit, horizon=horizon, every_resource=True)
        if problem.nodes > _MOST_NODES:
            raise InputError(
                "pcp: version 0 has an interval for each job and node, minutes of work on large machines: expected at "
                f"most {_MOST_NODES:,} nodes, got {problem.nodes:,}; versions 1 to 3 take any number"
            )
        return solve_direct(problem, None, limit, every_resource=True)

    def _reduced(self, problem: Problem, waiting: list[Waiting], horizon: int) -> tuple[Schedule | None, Answer]:
        """Return the best list schedule, and what comes of it."""
        limit = self.options.solver_limit
        chain = only_chain(problem)
        if chain is not None:
            listed = list_schedule(problem, chain)
            if listed is not None and int((listed.starts + problem.duration).max()) <= horizon:
                return listed, Answer(Status.OPTIMAL, listed, listed.cost, 0.0, "list")
        orders = self._orders(problem, waiting)
        listed, which = best_of(problem, orders)
        if listed is None:
            return None, solve_pooled(problem.pooled, None, limit, horizon=horizon)
        if self.options.pooled or problem.nodes == 1:
            answer = self._sought(problem, listed, orders[which], horizon)
        else:
            best, source = self._improved(problem, listed, orders[which])
            # There is a list schedule, so that no second call with a higher limit can be needed.
            answer = solve_placed(problem, best, replace(limit, most=limit.first))
            answer = replace(answer, source=source) if answer.source == "hint" else answer
        self._remember(answer.schedule, waiting)
        return listed, answer

    def _orders(self, problem: Problem, waiting: list[Waiting]) -> list[IntArray]:
        """Return the orders of the lists: by priority, by weight, that of the last plan, by the latest start."""
        orders = list_orders(problem)
        orders.append(self._resumed(waiting, orders[1]))
        if int(problem.latest.min()) < WHENEVER:
            orders.append(np.argsort(problem.latest, kind="stable"))
        return orders

    def _remember(self, schedule: Schedule | None, waiting: list[Waiting]) -> None:
        if schedule is not None:
            self.last = [waiting[job].order for job in np.argsort(schedule.starts, kind="stable").tolist()]

    def _under(
        self, families: Sequence[Constraint], problem: Problem, waiting: list[Waiting], horizon: int
    ) -> tuple[Schedule | None, Answer]:
        """Do so under constraints for all sites, of a problem that they have narrowed; no schedule is used unasked.

        Of the models only those that know constraints are solved: not the program with a fluid, and with nodes the
        direct model. No list that keeps all of them is no end: CP-SAT may find a schedule.
        """
        horizon = max(horizon, problem.horizon)
        failed = bool(self.goal.failure)
        orders = [np.arange(problem.jobs)] if failed else self._orders(problem, waiting)
        listed: Schedule | None = None
        order = orders[0]
        for tried in orders:
            found = list_schedule(problem, tried)
            if found is None or not _kept(families, problem, found):
                continue
            if listed is None or found.cost < listed.cost:
                listed, order = found, tried
        if failed:
            return listed, Answer(Status.UNKNOWN, None, None, 0.0, "none")
        limit, beside = self.options.solver_limit, [Narrowed(family) for family in families]
        if not self.options.pooled and problem.nodes > 1:
            answer = solve_direct(problem, listed, limit, beside=beside)
        elif listed is None or not self.options.reduced:
            whole = not self.options.reduced
            limit = limit if listed is not None else replace(limit, restarts=None)  # Until there is a schedule.
            answer = solve_pooled(problem.pooled, listed, limit, horizon=horizon, every_resource=whole, beside=beside)
        else:
            best, source = self._improved(problem, listed, order)
            if not _kept(families, problem, best):
                best, source = listed, "list"
            decision = Decision(problem, best, source, horizon, (*ON_THE_POOL, *beside))
            answer = decision.known() if self.options.solver == "none" else decision.search(limit)
        self._remember(answer.schedule, waiting)
        return listed, answer

    def _sought(self, problem: Problem, listed: Schedule, order: IntArray, horizon: int) -> Answer:
        """Look for a better schedule than the list's, where prices do not tell that it starts the right jobs now."""
        first = Decision(problem, listed, "list", horizon)
        if int((listed.starts + problem.duration).max()) <= horizon:
            known = first.known()
            if known.decided:
                return known
        best, source = self._improved(problem, listed, order)
        if int((best.starts + problem.duration).max()) > horizon:
            return solve_pooled(problem, None, self.options.solver_limit, horizon=horizon)
        decision = Decision(problem, best, source, horizon, bounds=first.bounds)
        if self.options.solver == "fluid":
            return FluidDecision(decision).search()
        return decision.known() if self.options.solver == "none" else decision.search(self.options.solver_limit)

    def _improved(self, problem: Problem, listed: Schedule, order: IntArray) -> tuple[Schedule, Source]:
        """Return what the local search makes of a list schedule: itself, with its ties, unless one is better."""
        if not self.options.iterations or listed.cost == problem.cost(problem.earliest):
            return listed, "list"
        best, _ = improve(problem, order, self.options.iterations, self.rng, parts=_PARTS)
        if best.cost >= listed.cost:
            return listed, "list"
        return rearranged(problem, best, list(comparable(problem))), "local search"

    def _resumed(self, waiting: list[Waiting], by_ratio: IntArray) -> IntArray:
        """Return the order of the last plan, with new jobs put in where their ratio of weight to work has them."""
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


def _kept(families: Sequence[Constraint], problem: Problem, schedule: Schedule) -> bool:
    """Return whether all of the families hold."""
    return all(family.holds(problem, schedule.starts) for family in families)


#: Modes of all jobs of a plan with which CP-SAT is asked: with more it hardly proves anything within its limits.
MOST_ROWS = 12


@dataclass(frozen=True, eq=False)
class EndObjective(Objective):
    """An objective of jobs by the starts of their modes, -1 for those that are not taken: the end counts.

    A job is as late as it would be in its fastest mode with the same end; so the slowdown is over the least time that
    it could take.

    Attributes
    ----------
    fastest, duration
        Seconds that a job takes in its fastest mode, and in this one, shape (rows,).
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
    """How plans of moldable jobs are made.

    Attributes
    ----------
    modes
        Of the jobs.
    """

    modes: JobModes = field(default_factory=JobModes)

    def plan(self, state: State, candidates: Candidates, most: int, restrictions: Restrictions | None = None) -> Plan:
        """Look for the best modes and starts of the candidates; as always if nobody has a choice.

        Under constraints for all sites, which know no modes, every job runs on its own request.
        """
        jobs = candidates.fitting
        if self.families or all(len(self.modes.of(job, state.machine)) == 1 and not job.job.shapes for job in jobs):
            return super().plan(state, candidates, most, restrictions)
        each = [[mode.waiting for mode in self.modes.of(job, state.machine)] for job in jobs]
        rows, job_of = [entry for modes in each for entry in modes], np.repeat(np.arange(len(jobs)), [*map(len, each)])
        objective = self._ends(jobs, rows, job_of, state)
        due = None if objective.due is None else objective.due + objective.fastest
        problem, scale = problem_of(
            state, rows, objective.rates, due=due, overdue=bool(self.options.underestimates)
        )  # fmt: skip
        problem = replace(problem, mode_of=job_of)
        listed, answer = self._planned_modes(problem, rows)
        used = "list" if answer.source == "hint" else answer.source
        return Plan(rows, objective, scale, problem, listed, answer, answer.schedule, used)

    def objective(self, jobs: list[Waiting], chosen: Sequence[Waiting], state: State) -> EndObjective:
        """Return what the ends of jobs cost, each in the mode that is chosen."""
        return self._ends(jobs, chosen, np.arange(len(jobs)), state)

    def _ends(self, jobs: list[Waiting], rows: Sequence[Waiting], job_of: IntArray, state: State) -> EndObjective:
        fastest = [self.modes.fastest(job, state.machine).predicted for job in jobs]
        shown = [job.shown_as(predicted=least) for job, least in zip(jobs, fastest, strict=True)]
        terms = self.goal.objective(shown, state.now)
        return EndObjective(
            terms.rates[job_of], None if terms.due is None else terms.due[job_of], terms.constant,
            np.array(fastest, dtype=np.int64)[job_of], np.array([row.predicted for row in rows], dtype=np.int64),
        )  # fmt: skip

    def _planned_modes(self, problem: Problem, rows: list[Waiting]) -> tuple[Schedule | None, Answer]:
        if self.goal.failure:
            return list_schedule(problem, problem.first_rows), Answer(Status.UNKNOWN, None, None, 0.0, "none")
        orders = list_orders(problem)
        orders.append(self._resumed(rows, orders[1]))
        listed, which = best_of(problem, orders)
        if listed is None:
            return None, Answer(Status.INFEASIBLE, None, None, 0.0, "none")
        least = _least(problem)
        if listed.cost == least:
            return listed, Answer(Status.OPTIMAL, listed, least, 0.0, "list")
        best, source = self._improved(problem, listed, orders[which])
        answer = Answer(Status.OPTIMAL if best.cost == least else Status.FEASIBLE, best, least, 0.0, source)
        if self.options.solver == "cp-sat" and answer.status is not Status.OPTIMAL and problem.jobs <= MOST_ROWS:
            answer = solve_pooled(problem, best, self.options.solver_limit)
            answer = replace(answer, source=source) if answer.source == "hint" else answer
        assert answer.schedule is not None
        self.last = [rows[row].order for row in in_order(answer.schedule.starts).tolist()]
        return listed, answer


def _least(problem: Problem) -> int:
    """Return what the jobs cost if each were alone beside what is held."""
    alone = earliest_starts(problem)
    if alone is None:
        return least_cost(problem)
    late = problem.weight * np.maximum(alone - problem.due_start, 0)
    return int(np.minimum.reduceat(late, problem.first_rows).sum())


def all_together(space: Space, candidates: list[Waiting], formulation: Formulation) -> Chosen | None:
    """Return all candidates, if they can start together; that is the best there can be."""
    if len(candidates) == 1:
        return [(candidates[0], None)]
    for resource, free in enumerate(space.totals):
        if sum(entry.nodes * entry.demand[resource] for entry in candidates) > free:
            return None
    if formulation == "hcp" or isinstance(space, PoolSpace):
        return [(entry, None) for entry in candidates]
    placed = place_all(space, candidates)
    if placed is None:
        return None
    for entry, placement in zip(candidates, placed, strict=True):
        space.give(placement, entry.demand)
    return list(zip(candidates, placed, strict=True))


def all_fastest(space: Space, modes: JobModes, jobs: Sequence[Waiting], machine: Machine) -> Chosen | None:
    """Return all jobs in their fastest modes if the sums leave room for them together: the best there can be."""
    fastest = [modes.fastest(job, machine) for job in jobs]
    for resource, free in enumerate(space.totals):
        if sum(entry.nodes * entry.demand[resource] for entry in fastest) > free:
            return None
    return [(entry, None) for entry in fastest]
