"""What is to be known of a decision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..protocol import State, Waiting
from ..space import Space
from .cp_plan import Plan


@dataclass
class DecisionRecord:
    """One decision, as it is reported.

    Attributes
    ----------
    candidates
        Jobs that could get a start time.
    intervals
        Those and the running ones.
    requested, available
        Resource units that the candidates ask for and that are free.
    status
        ``none`` (nobody can start), ``trivial`` (all can), ``unchanged``, or the solver's.
    objective, bound
        Of the paper, over the candidates; ``None`` without a schedule or a bound.
    deterministic_time
        Seconds of CP-SAT.
    used
        Whose schedule: ``hint``, ``solver``, ``list`` or ``none``.
    gain
        By how much the solver lowered the objective of its hint.
    changed
        Whether other jobs are to start now than in the hint.
    postponed
        Jobs that were to start now but found no place.
    """

    candidates: int
    intervals: int
    requested: int
    available: int
    status: str = "none"
    objective: float | None = None
    bound: float | None = None
    deterministic_time: float = 0.0
    used: str = "none"
    gain: float = 0.0
    changed: bool = False
    postponed: int = 0

    @classmethod
    def of(cls, state: State, space: Space, candidates: Sequence[Waiting]) -> DecisionRecord:
        """Begin the record of a decision between `candidates`."""
        requested = sum(entry.nodes * sum(entry.demand) for entry in candidates)
        return cls(len(candidates), len(candidates) + len(state.running), requested, sum(space.totals))

    def starts_all(self, value: float) -> None:
        """Note that all candidates start, which is best, and the objective of that."""
        self.status, self.objective, self.bound, self.used = "trivial", value, value, "list"

    def follows(self, plan: Plan) -> None:
        """Note what the solver said and what comes of it."""
        answer, schedule, hint = plan.answer, plan.schedule, plan.hint
        self.status, self.deterministic_time, self.used = answer.status.value, answer.time, plan.used
        if schedule is None:
            return
        self.objective = plan.objective.value(schedule.starts)
        if answer.bound is not None:
            self.bound = self.objective - (schedule.cost - answer.bound) / plan.scale
        if hint is not None:
            self.gain = (hint.cost - schedule.cost) / plan.scale
            self.changed = bool(((hint.starts == 0) != (schedule.starts == 0)).any())
