"""The constraint-programming dispatchers PCP and HCP (Galleguillos et al., CP 2019)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from heapq import nsmallest
from typing import Any, ClassVar, Literal

import numpy as np

from ...base.checks import check_choice
from ...models import (
    Answer,
    Limit,
    Problem,
    Schedule,
    Status,
    best_of,
    improve,
    list_orders,
    list_schedule,
    solve_direct,
    solve_placed,
    solve_pooled,
)
from ...workloads import Machine
from ..problems import problem_of
from ..protocol import Action, Placement, Start, State, Waiting
from ..space import PoolSpace, Space, place_all, space_of
from .expected_waits import ExpectedWaits
from .objectives import ExcessWait, Goal, Objective, Slowdown, WeightedWait

#: Where the allocation is decided: in the model (PCP), or after it by a rule (HCP).
Formulation = Literal["hcp", "pcp"]
#: Which jobs must have nodes under PCP: all of them for as long as they run, or those that start now.
Horizon = Literal["all", "now"]
#: What a limit is counted in: CP-SAT's deterministic time, or seconds on the wall clock.
LimitKind = Literal["deterministic", "wall"]
_VERSIONS = range(4)
#: The first limit in deterministic time, seconds; on the wall clock it is the paper's.
_FIRST = {"hcp": 0.005, "pcp": 0.03}
_FIRST_ON_THE_WALL = 1.0
_LAST = 16


class ConstraintProgramming:
    """Constraint programming plans the jobs that fit now; those it starts now are dispatched.

    The parameters are those of the paper's Table 1; the presets ``pcp`` to ``hcp3`` are its columns. What the versions
    mean can be set one by one.

    Parameters
    ----------
    formulation
        ``"hcp"``: resources pooled over all nodes, the jobs that start now are placed by priority, best fit, and those
        that find no place are postponed. ``"pcp"``: the nodes are part of the model.
    version
        0 to 3; what the next three are if they are not given.
    reduced
        From version 1 on. The model has only the first `m` jobs by priority, and of those the ones that fit now;
        resources that nobody asks for are left out; a decision that needs no solver calls none; a state in which
        nothing could be started is not solved again; a proof that there is no schedule ends the search, as do `k`
        restarts in vain. Without it all jobs are in the model, with ``"hcp"`` those after the first `m` at the end of
        the horizon, where they may leave no schedule at all; then nobody starts until a job ends.
    underestimates
        From version 2 on. A running job whose prediction has passed runs for one more second; otherwise it has a
        negative duration: it holds nothing and shortens the horizon.
    durations
        In version 3. The objective is the sum of slowdowns (s - q + d) / d, and the priority the slowdown now;
        otherwise waits weighted by the queue's expected wait.
    horizon
        Only with ``"pcp"``, from version 1 on. ``"all"``: every job of the plan has nodes, as the paper has it.
        ``"now"``: those that start now have, the others share the pool; they are planned anew at the next event.
    m
        How many jobs may get a start time, at least 1. Halved after a decision without a schedule until there is one.
    ewt
        Expected wait of each queue, where `durations` is off: ``measured`` (mean so far), seconds for all,
        ``queue:seconds;queue:seconds``, or the path of a trace with recorded waits.
    limit
        ``"deterministic"``, the same on any machine, or ``"wall"``, as the paper has it.
    d, d_max
        First limit for the solver, seconds, and the most it is doubled to while there is no schedule. By default 0.005
        (``"pcp"``: 0.03), on the wall clock 1; and 16 times as much.
    k
        Most restarts without a schedule.
    iterations
        Steps of local search on the best list schedule before it is given to the solver as its hint.

    Raises
    ------
    ValueError
        For a value outside its range.
    """

    uses: ClassVar[tuple[str, ...]] = ("numba", "ortools", "scipy")

    def __init__(
        self,
        formulation: Formulation = "hcp",
        version: int = 3,
        reduced: bool | None = None,
        underestimates: bool | None = None,
        durations: bool | None = None,
        horizon: Horizon = "now",
        m: int = 100,
        ewt: str = "measured",
        limit: LimitKind = "deterministic",
        d: float | None = None,
        d_max: float | None = None,
        k: int = 2,
        iterations: int = 0,
    ) -> None:
        check_choice("formulation", formulation, Formulation)
        check_choice("horizon", horizon, Horizon)
        check_choice("limit", limit, LimitKind)
        if version not in _VERSIONS:
            raise ValueError(f"version must be 0, 1, 2 or 3, got {version!r}")
        for name, value, least in (("m", m, 1), ("k", k, 0), ("iterations", iterations, 0)):
            if value < least:
                raise ValueError(f"{name} must be >= {least}, got {value}")
        self.formulation = formulation
        self.version = version
        self.reduced = version >= 1 if reduced is None else reduced
        self.underestimates = version >= 2 if underestimates is None else underestimates
        self.durations = version >= 3 if durations is None else durations
        self.horizon = horizon
        self.m = m
        self.iterations = iterations
        self.limit = _limit(formulation, limit, d, d_max, k if self.reduced else None)
        self.waits = ExpectedWaits(ewt)
        self.goal: Goal = Slowdown()
        if not self.durations:
            self.goal = (ExcessWait if formulation == "pcp" else WeightedWait)(self.waits)
        self.reset(None)

    def reset(self, machine: Machine | None, rng: np.random.Generator | None = None) -> None:
        """Forget the waits measured and the last decision."""
        self.waits.reset()
        self._rng = np.random.default_rng(0) if rng is None else rng
        self._most = self.m
        self._record: dict[str, Any] = {}
        self._stuck: tuple[bytes, list[tuple[int, int]]] | None = None

    def report(self) -> Mapping[str, Any]:
        """Return what is to be known of the last decision.

        ``candidates``: jobs that could get a start time. ``intervals``: those and the running ones. ``requested``,
        ``available``: resource units that the candidates ask for and that are free. ``status``: ``none`` (nobody can
        start), ``trivial`` (all can), ``unchanged``, or the solver's. ``objective``, ``bound``: of the paper, over the
        candidates. ``deterministic_time``: seconds of CP-SAT. ``used``: whose schedule, ``hint``, ``solver``, ``list``
        or ``none``. ``gain``: by how much the solver lowered the objective of its hint. ``changed``: whether other jobs
        are to start now than in the hint. ``postponed``: jobs that were to start now but found no place.
        """
        return self._record

    def dispatch(self, state: State) -> Sequence[Action]:
        """Choose the candidates, plan them, and start those whose time is now."""
        space = space_of(state, "best-fit")
        candidates = self._candidates(state, space) if self.reduced else self._ranked(state, len(state.queue))
        self._describe(state, space, candidates)
        chosen = self._choose(state, space, candidates) if candidates else []
        actions: list[Action] = []
        for waiting, placement in chosen:
            if placement is None:
                placement = space.place(waiting.nodes, waiting.demand)  # noqa: PLW2901
            elif not space.put(placement, waiting.demand):
                placement = None  # noqa: PLW2901
            if placement is None:
                self._record["postponed"] += 1
                continue
            actions.append(Start(waiting, placement))
            self.waits.started(waiting.job.queue, state.now - waiting.job.submit)
        return actions

    # The candidates.

    def _ranked(self, state: State, count: int) -> list[Waiting]:
        """Return the first jobs by priority; ties by demand times duration, then by submission."""
        now, priority = state.now, self.goal.priority
        totals = state.machine.capacity.sum(axis=0).tolist()

        def urgency(waiting: Waiting) -> tuple[float, float]:
            share = sum(amount / total for amount, total in zip(waiting.demand, totals, strict=True) if amount)
            return -priority(waiting, now), share * waiting.nodes * waiting.predicted

        if count >= len(state.queue):
            return sorted(state.queue, key=urgency)
        return nsmallest(count, state.queue, key=urgency)

    def _candidates(self, state: State, space: Space) -> list[Waiting]:
        """Return those of the first `m` jobs that fit now, each by itself."""
        fits = {entry.order for entry in state.queue if self._fits(space, entry)}
        if not fits:
            return []
        return [entry for entry in self._ranked(state, self._most) if entry.order in fits]

    def _fits(self, space: Space, waiting: Waiting) -> bool:
        if self.formulation == "pcp":
            return space.room(waiting.demand, waiting.nodes) >= waiting.nodes
        return all(waiting.nodes * unit <= free for unit, free in zip(waiting.demand, space.totals, strict=True))

    def _describe(self, state: State, space: Space, candidates: list[Waiting]) -> None:
        self._record = {
            "candidates": len(candidates),
            "intervals": len(candidates) + len(state.running),
            "requested": sum(entry.nodes * sum(entry.demand) for entry in candidates),
            "available": sum(space.totals),
            "status": "none",
            "objective": None,
            "bound": None,
            "deterministic_time": 0.0,
            "used": "none",
            "gain": 0.0,
            "changed": False,
            "postponed": 0,
        }

    # The choice.

    def _choose(
        self, state: State, space: Space, candidates: list[Waiting]
    ) -> Sequence[tuple[Waiting, Placement | None]]:
        """Return who starts now, in order of priority, and where if that is decided."""
        if self.reduced:
            together = self._together(space, candidates)
            if together is not None:
                objective = self.goal.objective(candidates, state.now)
                value = objective.value(np.zeros(len(candidates), dtype=np.int64))
                self._record |= {"status": "trivial", "objective": value, "bound": value, "used": "list"}
                return together
            if self._unchanged(state):
                self._record["status"] = "unchanged"
                return []
        started = self._plan(state, candidates)
        if not started and self.reduced:
            self._stuck = (state.free.tobytes(), [(entry.order, entry.attempt) for entry in state.queue])
        return started

    def _together(self, space: Space, candidates: list[Waiting]) -> list[tuple[Waiting, Placement | None]] | None:
        """Return all candidates, if they can start together; that is the best there can be."""
        if len(candidates) == 1:
            return [(candidates[0], None)]
        for resource, free in enumerate(space.totals):
            if sum(entry.nodes * entry.demand[resource] for entry in candidates) > free:
                return None
        if self.formulation == "hcp" or isinstance(space, PoolSpace):
            return [(entry, None) for entry in candidates]
        placed = place_all(space, candidates)
        if placed is None:
            return None
        for entry, placement in zip(candidates, placed, strict=True):
            space.give(placement, entry.demand)
        return list(zip(candidates, placed, strict=True))

    def _unchanged(self, state: State) -> bool:
        """Return whether nothing could be started the last time and nothing is new since."""
        if self._stuck is None:
            return False
        free, queue = self._stuck
        same = free == state.free.tobytes() and queue == [(entry.order, entry.attempt) for entry in state.queue]
        if not same:
            self._stuck = None
        return same

    # The plan.

    def _plan(self, state: State, candidates: list[Waiting]) -> list[tuple[Waiting, Placement | None]]:
        """Ask the solver; without its schedule take the list's, or wait if there is proved to be none."""
        free, pinned, horizon = self._horizon(state, candidates)
        objective = self.goal.objective(free, state.now)
        problem, scale = problem_of(
            state, free, objective.rates, due=objective.due, pooled=self.formulation == "hcp",
            overdue=self.underestimates, pinned=pinned,
        )  # fmt: skip
        listed, hint = self._hint(problem)
        answer = self._solve(problem, hint, horizon)
        solved = answer.schedule is not None
        self._most = self.m if solved else max(1, self._most // 2)
        schedule = answer.schedule
        self._record |= {"status": answer.status.value, "deterministic_time": answer.time, "used": answer.source}
        if schedule is None and (answer.status is not Status.INFEASIBLE or not state.running):
            schedule, self._record["used"] = listed, "list"
        if schedule is None:
            return []
        self._book(objective, scale, schedule, answer, hint)
        now = np.flatnonzero(schedule.starts == 0).tolist()
        if self.formulation == "hcp" or problem.nodes == 1:
            return [(free[index], None) for index in now]
        return [(free[index], np.repeat(np.arange(problem.nodes), schedule.counts[index])) for index in now]

    def _horizon(
        self, state: State, candidates: list[Waiting]
    ) -> tuple[list[Waiting], list[tuple[Waiting, int]], int | None]:
        """Return who gets a start time, who is put at the end of the horizon and when he starts, and that horizon."""
        least = 1 if self.underestimates else None
        remaining = [run.predicted_end - state.now for run in state.running]
        horizon = sum(rest if least is None else max(rest, least) for rest in remaining)
        horizon += sum(entry.predicted for entry in candidates)
        if self.reduced or self.formulation == "pcp":
            return candidates, [], horizon
        late = candidates[self._most :]
        return candidates[: self._most], [(entry, max(horizon - entry.predicted, 0)) for entry in late], horizon

    def _hint(self, problem: Problem) -> tuple[Schedule | None, Schedule | None]:
        """Return the list schedule of the priority, and what the solver gets as its hint.

        Version 0 of PCP has the solver's own search, from nothing; that of HCP goes by the priority first.
        """
        if not self.reduced:
            listed = list_schedule(problem, np.arange(problem.jobs))
            holds = self.formulation == "hcp" and not problem.overfull
            return listed, listed if holds else None
        orders = list_orders(problem)
        best, which = best_of(problem, orders)
        if best is not None and self.iterations:
            best, _ = improve(problem, orders[which], self.iterations, self._rng)
        return best, best

    def _solve(self, problem: Problem, hint: Schedule | None, horizon: int | None) -> Answer:
        if self.formulation == "hcp" or problem.nodes == 1:
            return solve_pooled(problem, hint, self.limit, horizon=horizon, every_resource=not self.reduced)
        if not self.reduced:
            return solve_direct(problem, hint, self.limit, every_resource=True)
        # There is a list schedule, so that no second call with a higher limit can be needed.
        once = replace(self.limit, most=self.limit.first)
        return solve_placed(problem, hint, once, horizon=self.horizon)

    def _book(
        self, objective: Objective, scale: float, schedule: Schedule, answer: Answer, hint: Schedule | None
    ) -> None:
        value = objective.value(schedule.starts)
        self._record["objective"] = value
        if answer.bound is not None:
            self._record["bound"] = value - (schedule.cost - answer.bound) / scale
        if hint is not None:
            self._record["gain"] = (hint.cost - schedule.cost) / scale
            self._record["changed"] = bool(((hint.starts == 0) != (schedule.starts == 0)).any())


def _limit(formulation: str, kind: str, first: float | None, most: float | None, restarts: int | None) -> Limit:
    wall = kind == "wall"
    if first is None:
        first = _FIRST_ON_THE_WALL if wall else _FIRST[formulation]
    if most is None:
        most = _LAST * first
    if not first > 0:
        raise ValueError(f"d must be > 0 seconds, got {first:g}")
    if not most >= first:
        raise ValueError(f"d_max must be >= d = {first:g} seconds, got {most:g}")
    return Limit(first, most, restarts, wall)
