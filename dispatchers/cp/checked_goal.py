"""The goal of a dispatcher, checked: what it does when a part of a site fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from ...base import FloatArray, IntArray
from ...models import Problem
from ...workloads import Machine
from ..columns import WaitingJobs
from ..protocol import State, Waiting
from .plan_parts import PlanGoal, PlannedObjective, PlanView, surroundings
from .plug_in_calls import PlugInCalls, PlugInError
from .restrictions import SiteRules
from .site_objectives import Goal, Objective, Slowdown, checked_terms, numbers_of

T = TypeVar("T")


class CheckedGoal(Goal):
    """A goal that may fail: once it has worked, a decision in which it does goes by the slowdown, and says so.

    Parameters
    ----------
    inner
        The goal.
    rules
        Constraints, of which some may raise the rates of jobs.
    """

    def __init__(self, inner: Goal, rules: SiteRules | None) -> None:
        self.inner = inner
        self.rules = rules
        self.name = inner.name
        self.planned = isinstance(inner, PlanGoal)
        self._calls = PlugInCalls("objective")
        self._instead = Slowdown()

    def reset(self, machine: Machine | None) -> None:
        """Begin a simulation."""
        self._calls = PlugInCalls("objective")
        self._calls.call(self.inner, self.inner.reset, machine)

    def observe(self, state: State) -> None:
        """Look at the state before a decision."""
        self.failure, self._calls.now = "", state.now
        self._tried(self.inner.observe, state)

    def started(self, waiting: Waiting, now: int) -> None:
        """Learn that a job starts now."""
        self._tried(self.inner.started, waiting, now)

    def priorities(self, queue: WaitingJobs[Waiting], places: IntArray, now: int) -> FloatArray:
        """Return how urgent jobs are; of all alike where that fails."""
        found = self._tried(self._priorities, queue, places, now)
        urgency = self._instead.priorities(queue, places, now) if found is None else found
        return urgency * self._factors([queue[place] for place in places.tolist()], now)

    def objective(self, waiting: Sequence[Waiting], now: int) -> Objective:
        """Return the terms of the goal, or those of the slowdown where it fails."""
        found = self._tried(self._terms, list(waiting), now)
        terms = self._instead.objective(waiting, now) if found is None else found
        return replace(terms, rates=terms.rates * self._factors(waiting, now))

    def of_plan(self, waiting: Sequence[Waiting], state: State, problem: Problem) -> PlannedObjective | None:
        """Return what CP-SAT minimises if the goal is one of whole plans."""
        if not isinstance(self.inner, PlanGoal) or self.failure:
            return None
        view = PlanView(surroundings(state), waiting, problem)
        return PlannedObjective(self.inner, view, self._calls, self._fail)

    def _fail(self, reason: str) -> None:
        self.failure = reason

    def _factors(self, waiting: Sequence[Waiting], now: int) -> FloatArray:
        rules = self.rules
        if rules is None or not rules.weighing:
            return np.ones(len(waiting))
        try:
            return np.array([rules.factor(entry.job, now) for entry in waiting], dtype=np.float64)
        except PlugInError as error:
            self.failure = str(error)
            return np.ones(len(waiting))

    def _priorities(self, queue: WaitingJobs[Waiting], places: IntArray, now: int) -> FloatArray:
        return numbers_of("priorities", self.inner.priorities(queue, places, now), len(places))

    def _terms(self, waiting: list[Waiting], now: int) -> Objective:
        return checked_terms(self.inner.objective(waiting, now), len(waiting))

    def _tried(self, function: Callable[..., T], *arguments: object) -> T | None:
        """Call what asks the goal; ``None`` where it fails, or has failed in this decision."""
        if self.failure:
            return None
        try:
            return self._calls.call(self.inner, function, *arguments)
        except PlugInError as error:
            self.failure = str(error)
            return None
