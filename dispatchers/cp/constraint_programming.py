"""The constraint-programming dispatchers PCP and HCP (Galleguillos et al., CP 2019)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Unpack

import numpy as np

from ...models import Status, least_cost
from ...workloads import Machine
from ..moldable.job_modes import JobModes
from ..options import Configured, Preset
from ..protocol import Action, Start, State
from ..rule_book import has_rules
from ..site.expected_waits import ExpectedWaits
from ..site.machine_rules import machine_constraints
from ..site.restrictions import Restrictions, SiteRules
from ..site.site_constraints import create_constraints
from ..space import PoolSpace, Space, place_at, space_of
from .candidates import CandidateJobs, Chosen, candidates_of, moldable_candidates, most_urgent
from .cp_options import ConstraintProgrammingGiven, ConstraintProgrammingOptions, Formulation
from .cp_plan import CpPlan, ModesPlanner, Planner, all_together
from .ruled_room import RuledRoom
from .site_objectives import CheckedGoal, ExcessWait, Goal, Slowdown, WeightedWait, create_objective


@dataclass
class DecisionRecord:
    """Record of one decision, for reports.

    Attributes
    ----------
    candidates
        Number of candidates that fit now.
    blocked
        Number of planned jobs that do not fit now.
    intervals
        Number of these and of the running jobs.
    requested, available
        Resource units that the candidates need, and that are free.
    status
        ``none`` (no job can start), ``trivial`` (all can), ``unchanged``, or the status of the schedule: ``optimal``,
        ``decided`` (none that starts other jobs now costs less), ``feasible``, ``infeasible``, ``unknown``.
    proved
        Whether no schedule that starts other jobs now costs less.
    objective, bound
        Objective of the paper over the jobs with a start time, and its bound. ``None`` without a schedule or a bound.
    gap
        Distance of the objective from the bound, as a share of the part that a schedule can change. Excluded is the
        objective if all jobs start now.
    deterministic_time
        Seconds of CP-SAT.
    budget_used
        Seconds of the budget that the decision used.
    exceeded
        Number of decisions so far that exceeded their budget and used their best schedule.
    used
        Origin of the starts: ``list``, ``local search``, ``cp-sat``, ``schedule-or-postpone`` or ``none``.
    gain
        Improvement of the objective over the best list schedule. ``None`` if no list schedule meets the constraints.
    changed
        Whether other jobs start now than by lists alone. If no list schedule meets the constraints, lists start jobs by
        priority, each if the constraints admit it.
    postponed
        Jobs planned to start now that did not fit on the nodes.
    failure
        The objective or constraint that failed or put jobs off, and why. Then lists were used, or jobs were held back.
        Also says if no plan meets all deadlines. Empty otherwise.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.testing import tiny
    >>> result = hd.simulate(tiny(), "hcp3")
    >>> result.decisions[["time", "candidates", "status", "used"]].head(3)
       time  candidates   status  used
    0     0           2  trivial  list
    1    10           0     none  none
    2    20           1  trivial  list
    """

    candidates: int
    blocked: int
    intervals: int
    requested: int
    available: int
    status: str = "none"
    proved: bool = True
    objective: float | None = None
    bound: float | None = None
    gap: float | None = None
    deterministic_time: float = 0.0
    budget_used: float = 0.0
    exceeded: int = 0
    used: str = "none"
    gain: float | None = 0.0
    changed: bool = False
    postponed: int = 0
    failure: str = ""

    @classmethod
    def of(cls, state: State, space: Space, candidates: CandidateJobs, resources: int) -> DecisionRecord:
        """Create the record of a decision between `candidates`. Only the first `resources` resources count."""
        fitting, blocked = candidates
        requested = sum(entry.nodes * sum(entry.demand[:resources]) for entry in fitting)
        intervals = len(fitting) + len(blocked) + len(state.running)
        return cls(len(fitting), len(blocked), intervals, requested, sum(space.totals[:resources]))

    def starts_all(self, value: float) -> None:
        """Record that all candidates start, which is optimal, and the objective."""
        self.status = "trivial"
        self.objective = value
        self.bound = value
        self.gap = 0.0
        self.used = "list"

    def follows(self, plan: CpPlan) -> None:
        """Record the result of a plan."""
        answer = plan.answer
        schedule = plan.schedule
        listed = plan.answer.listed
        self.status = answer.status.value
        self.deterministic_time = answer.solver_time
        self.used = plan.used
        self.budget_used = answer.spent
        if answer.decided and answer.status is Status.FEASIBLE:
            self.status = "decided"
        self.proved = answer.decided or answer.status is Status.INFEASIBLE
        if schedule is None:
            return
        self.objective = plan.objective.value(schedule.starts)
        problem = plan.problem
        at_once = least_cost(problem) if problem.has_modes else problem.cost(np.zeros_like(schedule.starts))
        changeable = schedule.cost - at_once
        if answer.bound is not None:
            self.bound = self.objective - (schedule.cost - answer.bound) / plan.scale
            self.gap = (schedule.cost - answer.bound) / changeable if changeable else 0.0
        self.gain = None
        if listed is not None:
            self.gain = (listed.cost - schedule.cost) / plan.scale
            self.changed = bool(((listed.starts == 0) != (schedule.starts == 0)).any())


class ConstraintProgramming(Configured[ConstraintProgrammingOptions]):
    """Plans the jobs that fit now by constraint programming, and starts those planned for now.

    The options are those of :class:`ConstraintProgrammingOptions`. As an attribute, `constraints` is a tuple of them.

    Attributes
    ----------
    settled
        The options, with the defaults of the version filled in.
    waits
        Expected waits of the queues.
    goal
        Objective and priority.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.dispatchers import ConstraintProgramming
    >>> from hpcdispatch.testing import tiny
    >>> dispatcher = ConstraintProgramming(formulation="hcp", m=50)
    >>> hd.simulate(tiny(), dispatcher).jobs["start"].tolist()
    [0, 0, 250, 20, 50]
    """

    Options = ConstraintProgrammingOptions
    uses: ClassVar[tuple[str, ...]] = ("numba", "ortools", "scipy")
    on_profile: ClassVar[bool] = True

    def __init__(
        self, options: ConstraintProgrammingOptions | None = None, /, **given: Unpack[ConstraintProgrammingGiven]
    ) -> None:
        super().__init__(options, **given)
        self.settled = self.options.settled()
        self.waits = ExpectedWaits(self.options.ewt)
        self.constraints = create_constraints(self.options.constraints)
        self.reset(None)

    def _goal(self) -> Goal:
        if self.options.objective:
            return CheckedGoal(create_objective(self.options.objective, ewt=self.options.ewt), self._rules)
        goal: Goal = Slowdown()
        if not self.settled.durations:
            goal = (ExcessWait if self.options.formulation == "pcp" else WeightedWait)(self.waits)
        return CheckedGoal(goal, self._rules) if self._rules is not None else goal

    @property
    def name(self) -> str:
        """The column of the paper's Table 1, such as ``HCP3``, or its short form ``PCP3-fast``."""
        fast = "-fast" if self.settled.pooled and self.options.formulation == "pcp" else ""
        return f"{self.options.formulation.upper()}{self.options.version or ''}{fast}"

    def reset(self, machine: Machine | None, rng: np.random.Generator | None = None) -> None:
        """Drop measured waits and the last decision."""
        self._rules = SiteRules(self.constraints) if self.constraints else None
        self.goal = self._goal()
        self.goal.reset(machine)
        if self._rules is not None and machine is not None:
            self._rules.reset(machine, machine_constraints(machine))
        self._exceeded = 0
        self._modes = JobModes()
        plans = (self.settled, self.goal, np.random.default_rng(0) if rng is None else rng)
        self._planner = ModesPlanner(*plans, modes=self._modes) if self.settled.molds else Planner(*plans)
        self._most = self.options.m
        self._record: DecisionRecord | None = None
        self._stuck: tuple[bytes, list[tuple[int, int]]] | None = None

    def report(self) -> Mapping[str, Any]:
        """Return the fields of the last :class:`DecisionRecord`."""
        return {} if self._record is None else vars(self._record)

    def dispatch(self, state: State) -> Sequence[Action]:
        """Choose the candidates, plan them, and start those planned for now."""
        restrictions = None if self._rules is None else Restrictions(self._rules, state)
        room = RuledRoom(state) if has_rules(state) else None
        width = len(state.machine.resources)
        if restrictions is not None:
            state = restrictions.state
        self.goal.observe(state)
        space = space_of(state, "best-fit")
        candidates = self._candidates(state, space, restrictions, room)
        self._record = record = DecisionRecord.of(state, space, candidates, width)
        chosen: Chosen = []
        if candidates.fitting:
            chosen = self._choose(state, space, candidates, record, restrictions, room)
        record.exceeded = self._exceeded
        actions = _placed(space, chosen, restrictions, room)
        record.postponed = len(chosen) - len(actions)
        if not actions and restrictions is not None and restrictions.planned:
            actions = self._start_beyond(state, space, candidates, restrictions, room)
            record.used = "list" if actions else record.used
        answer = actions if restrictions is None else restrictions.answer(actions)
        for start in actions:
            self.goal.started(start.job, state.now)
        if self._rules is not None and self._rules.noting:
            self._rules.started(actions, state.now)
        record.failure = (restrictions is not None and restrictions.failure) or self.goal.failure
        return list(map(self._modes.shaped, actions)) if self.settled.molds else answer

    def _candidates(
        self, state: State, space: Space, restrictions: Restrictions | None, room: RuledRoom | None
    ) -> CandidateJobs:
        settled = self.settled
        if settled.molds:
            allows = None if room is None else room.allows
            return moldable_candidates(state, space, self._modes, self.goal, settled.filter, self._most, allows)
        if not settled.reduced:
            # In queue order. The model contains the first ones by priority.
            places = np.arange(len(state.queue))
            first = places if settled.formulation == "pcp" else places[: self._most]
            rest = [state.queue[place] for place in places[len(first) :].tolist()] if settled.rest == "end" else []
            return CandidateJobs(most_urgent(state, self.goal, first, len(first)) + rest, [])
        filtered = "nodes" if settled.formulation == "pcp" else settled.filter
        allowed = None if restrictions is None else restrictions.allowed
        if room is not None:
            open_to = room.allows(state.queue)
            allowed = open_to if allowed is None else allowed & open_to
        return candidates_of(state, space, self.goal, filtered, self._most, settled.blocked, allowed)

    def _choose(
        self,
        state: State,
        space: Space,
        candidates: CandidateJobs,
        record: DecisionRecord,
        restrictions: Restrictions | None,
        room: RuledRoom | None,
    ) -> Chosen:
        """Return the jobs that start now, by priority, with their placement if decided."""
        if self.settled.reduced:
            fitting = candidates.fitting
            together = self._together(state, space, candidates, restrictions, room)
            if together is not None:
                objective = self._planner.objective(fitting, [entry for entry, _ in together], state)
                record.starts_all(objective.value(np.zeros(len(fitting), dtype=np.int64)))
                return together
            if self._stuck is not None and self._stuck == _seen(state):
                record.status = "unchanged"
                return []
        plan = self._planner.plan(state, candidates, self._most, restrictions, room)
        if plan.answer.too_large:
            self._most = max(1, self._most // 2)
        elif plan.answer.schedule is not None:
            self._most = self.options.m
        record.follows(plan)
        if plan.own is not None and plan.schedule is not None:
            record.objective = plan.own.cost(plan.schedule)
            record.bound = None
            record.gap = None
            record.gain = plan.own.cost(plan.answer.listed) - record.objective if plan.answer.listed else None
        self._exceeded += plan.answer.exceeded
        chosen = plan.starting(self.options.formulation == "hcp")
        if restrictions is not None and restrictions.planned:
            by_priority: Chosen = [(entry, None) for entry in plan.waiting]
            if plan.schedule is None:
                record.used = "list"
                return by_priority  # Each starts if the constraints admit it.
            if plan.answer.listed is None:
                trial = restrictions.trial()
                listed = _placed(space, by_priority, trial, None if room is None else RuledRoom(state))
                for start in listed:
                    space.give(np.asarray(start.placement), start.job.demand)
                record.changed = {start.job.order for start in listed} != {entry.order for entry, _ in chosen}
        # With constraints or rules, the passing of time alone may allow a start.
        self._stuck = None if chosen or restrictions is not None or room is not None else _seen(state)
        return chosen

    def _start_beyond(
        self, state: State, space: Space, candidates: CandidateJobs, restrictions: Restrictions, room: RuledRoom | None
    ) -> list[Start]:
        """Start jobs by priority that the constraints admit, where a plan starts none of its own.

        On an empty machine these are the jobs outside of the plan: one of its jobs may wait for them. They are all
        jobs if the constraints have put off the plan's starts again and again.
        """
        put_off = restrictions.put_off
        if len(state.running) and not put_off:
            return []
        tried = set() if put_off else {entry.order for entry in (*candidates.fitting, *candidates.blocked)}
        jobs = most_urgent(state, self.goal, np.arange(len(state.queue)), len(state.queue))
        chosen: Chosen = [(entry, None) for entry in jobs if entry.order not in tried]
        return _placed(space, chosen, restrictions, room)

    def _together(
        self,
        state: State,
        space: Space,
        candidates: CandidateJobs,
        restrictions: Restrictions | None,
        room: RuledRoom | None,
    ) -> Chosen | None:
        """Return all candidates if they can start together, unless only a plan can tell whether they may."""
        if self.goal.planned or (restrictions is not None and restrictions.planned):
            return None
        if self._planner.shortened(state) and self._planner.horizon(state, candidates.fitting) < 0:
            return None  # No start is within the horizon.
        jobs = candidates.fitting
        if self.settled.molds:
            jobs = [self._modes.fastest(job, state) for job in jobs]
        elif candidates.blocked or not (restrictions is None or restrictions.together(jobs)):
            return None
        if room is not None:
            placed = room.place_together(jobs)
            return None if placed is None else list(zip(jobs, placed, strict=True))
        return all_together(space, jobs, self.options.formulation)


def _seen(state: State) -> tuple[bytes, list[tuple[int, int]]]:
    """Return the data that must change before a job that could not start may start."""
    return state.free.tobytes(), [(entry.order, entry.attempt) for entry in state.queue]


def _placed(space: Space, chosen: Chosen, restrictions: Restrictions | None, room: RuledRoom | None) -> list[Start]:
    """Return the starts of jobs with a placement that constraints and rules admit beside earlier starts."""
    starts = []
    for waiting, planned in chosen:
        if restrictions is not None and not restrictions.admits(waiting):
            continue
        placement = place_at(space, waiting, planned) if room is None else room.place(space, waiting, planned)
        if placement is None:
            continue
        nodes = None if isinstance(space, PoolSpace) else placement
        if restrictions is not None and not restrictions.takes(waiting, nodes):
            space.give(placement, waiting.demand)
            continue
        if room is not None:
            room.take(waiting, placement)
        starts.append(Start(waiting, placement))
    return starts


_FIXED = frozenset(("formulation", "version", "reduced", "underestimates", "durations", "horizon", "boxes"))


def _column(
    formulation: Formulation, version: int, summary: str
) -> tuple[ConstraintProgrammingOptions, str, frozenset[str]]:
    """Return options, summary and fixed options of a column of the table."""
    # Without the reduction there is no choice of candidates. PCP's candidates must fit on nodes.
    fixed = _FIXED | ({"filter"} if formulation == "pcp" else set())
    fixed = fixed - {"horizon"} if formulation == "pcp" and version else fixed
    if formulation == "pcp":
        fixed |= {"search"}
    if version or formulation == "pcp":
        fixed |= {"rest"}
    if not version:
        fixed |= {"filter", "blocked", "iterations", "solver"}
    options = ConstraintProgrammingOptions(formulation, version, horizon="all")
    return options, summary, fixed


HCP = Preset(
    ConstraintProgramming,
    *_column("hcp", 0, "HCP of Borghesi et al. (CP 2015): all jobs in the model, past the first m at its end."),
)
HCP1 = Preset(ConstraintProgramming, *_column("hcp", 1, "HCP with a reduced model and search control."))
HCP2 = Preset(ConstraintProgramming, *_column("hcp", 2, "HCP1 that copes with underestimated durations."))
HCP3 = Preset(ConstraintProgramming, *_column("hcp", 3, "HCP2 that minimises the sum of slowdowns."))
PCP = Preset(
    ConstraintProgramming, *_column("pcp", 0, "PCP of Bartolini et al. (CP 2014): all jobs and all nodes in the model.")
)
PCP1 = Preset(ConstraintProgramming, *_column("pcp", 1, "PCP with a reduced model and search control."))
PCP2 = Preset(ConstraintProgramming, *_column("pcp", 2, "PCP1 that copes with underestimated durations."))
PCP3 = Preset(ConstraintProgramming, *_column("pcp", 3, "PCP2 that minimises the sum of slowdowns."))
PCPFast = Preset(
    ConstraintProgramming,
    ConstraintProgrammingOptions("pcp", 3, horizon="now"),
    "PCP3 in which only the jobs that start now have nodes; the others share the pool.",
    _FIXED | {"filter", "rest", "search"},
)
PCP21 = Preset(
    ConstraintProgramming,
    ConstraintProgrammingOptions("pcp", 3, horizon="all", boxes=True),
    "PCP of Galleguillos et al. (CP 2021): PCP3 with boxes of slots. Only domains grow with the nodes.",
    _FIXED | {"filter", "rest", "search"},
)
