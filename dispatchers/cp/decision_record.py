"""What is to be known of a decision."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...models import Status, least_cost
from ..protocol import State
from ..space import Space
from .candidates import Candidates
from .cp_plan import Plan


@dataclass
class DecisionRecord:
    """One decision, as it is reported.

    Attributes
    ----------
    candidates
        Jobs that could get a start time and fit now.
    blocked
        Jobs that do not fit now and got one.
    intervals
        Those and the running ones.
    requested, available
        Resource units that the candidates ask for and that are free.
    status
        ``none`` (nobody can start), ``trivial`` (all can), ``unchanged``, or what is known of the schedule:
        ``optimal``, ``decided`` (none in which other jobs start now costs less), ``feasible``, ``infeasible``,
        ``unknown``.
    proved
        Whether no schedule in which other jobs start now costs less.
    objective, bound
        Of the paper, over the jobs with a start time; ``None`` without a schedule or a bound.
    gap
        How far the objective may be from the best, as a share of what a schedule can change: what it has when all start
        now is taken out.
    deterministic_time
        Seconds of CP-SAT.
    used
        Who made the schedule: ``list``, ``local search``, ``cp-sat``, ``fluid`` or ``none``.
    gain
        By how much the objective is below that of the best list schedule.
    changed
        Whether other jobs are to start now than in that.
    postponed
        Jobs that were to start now but found no place.
    failure
        Which objective or constraint failed, so that the list schedule was followed or jobs were held back; and whether
        no plan keeps all deadlines. Empty if nothing of that was so.
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
    used: str = "none"
    gain: float = 0.0
    changed: bool = False
    postponed: int = 0
    failure: str = ""

    @classmethod
    def of(cls, state: State, space: Space, candidates: Candidates, resources: int) -> DecisionRecord:
        """Begin the record of a decision between `candidates` on a machine of so many resources, the first of all."""
        fitting, blocked = candidates
        requested = sum(entry.nodes * sum(entry.demand[:resources]) for entry in fitting)
        intervals = len(fitting) + len(blocked) + len(state.running)
        return cls(len(fitting), len(blocked), intervals, requested, sum(space.totals[:resources]))

    def starts_all(self, value: float) -> None:
        """Note that all candidates start, which is best, and the objective of that."""
        self.status, self.objective, self.bound, self.gap, self.used = "trivial", value, value, 0.0, "list"

    def follows(self, plan: Plan) -> None:
        """Note what is known of the problem and what comes of it."""
        answer, schedule, listed = plan.answer, plan.schedule, plan.listed
        self.status, self.deterministic_time, self.used = answer.status.value, answer.time, plan.used
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
        if listed is not None:
            self.gain = (listed.cost - schedule.cost) / plan.scale
            self.changed = bool(((listed.starts == 0) != (schedule.starts == 0)).any())
